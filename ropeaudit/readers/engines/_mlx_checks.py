"""Configs that mlx-lm's ``ModelArgs`` turn away, beyond arguments that are missing."""

from __future__ import annotations

from collections.abc import Callable

from ropeaudit.errors import shown
from ropeaudit.readers.engines._raw_keys import Raw
from ropeaudit.readers.engines.interface import Refuses


def _typed(raw: Raw, spelled: str, allowed: tuple[str, ...]) -> None:
    """A rope_scaling that is not empty needs a factor and a known type, spelled one way."""
    scaling = raw.child("rope_scaling")
    if scaling is None or not scaling.data:
        return
    missing = [key for key in ("factor", spelled) if not scaling.has(key)]
    if missing:
        raise Refuses(f"its rope_scaling needs {' and '.join(missing)}, which is missing")
    if scaling.data[spelled] not in allowed:
        known = " or ".join(allowed)
        raise Refuses(f"it supports {known} scaling, not {shown(scaling.data[spelled])}")


def internlm2(raw: Raw) -> None:
    _typed(raw, "type", ("linear", "dynamic"))


def internlm3(raw: Raw) -> None:
    _typed(raw, "rope_type", ("linear", "dynamic"))


def qwen2_moe(raw: Raw) -> None:
    """The check is there, and the scaling is then not applied."""
    _typed(raw, "type", ("linear",))


def nemotron_nas(raw: Raw) -> None:
    whole_heads(raw)
    scaling = raw.child("rope_scaling")
    if scaling is None or not scaling.data:
        return
    if not scaling.has("factor") or scaling.data.get("rope_type") is None:
        raise Refuses("its rope_scaling needs factor and rope_type, and one is missing")


def square(raw: Raw) -> None:
    """cohere2.py 43: the heads must add up to the hidden size."""
    widths = [raw.width(key) for key in ("hidden_size", "head_dim", "num_attention_heads")]
    if widths[0] != widths[1] * widths[2]:
        raise Refuses("hidden_size is not head_dim times num_attention_heads")


def whole_heads(raw: Raw) -> None:
    """gpt_neox.py 39, phi.py 43, nemotron-nas.py 161: no remainder of the hidden size."""
    if raw.width("hidden_size") % raw.width("num_attention_heads"):
        raise Refuses("hidden_size is no multiple of num_attention_heads")


CHECKS: dict[str, Callable[[Raw], None]] = {
    f.__name__: f for f in (internlm2, internlm3, qwen2_moe, nemotron_nas, square, whole_heads)
}
