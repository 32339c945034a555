"""What other engines make of a folder that transformers reads as wanted.

The rules are those of vLLM 0.33 and SGLang 0.5.23 (``rotary_embedding/__init__.py``,
``phi3_long_rope_scaled_rope.py``, ``models/deepseek_v2.py``), mlx-lm 0.32 (``rope_utils.py``) and
the converter of llama.cpp (``conversion/``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.export import _factors
from ropeaudit.export._pairs import Target
from ropeaudit.readers.transformers.rope_dicts import Node, Rope
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.interface import powers

_LISTS_IN_GGUF = frozenset({"phi3", "phimoe", "minicpm3"})


def notes(node: Node, rope: Rope, target: Target) -> Iterator[str]:
    """Sentences on engines that refuse or misread one written schedule."""
    name, model = target.short.name, quoted(node.model_type)
    if target.short.axes is not None or rope.values.get("mrope_section") is not None:
        yield (
            f"schedule {name}: vLLM and SGLang drop the axes (mrope_section) with longrope, so "
            "images and videos get wrong positions there"
        )
    if node.rope.get("softmax"):
        yield (
            f"schedule {name}: vLLM and SGLang read every scaled config of {model} as YaRN and "
            "lose the table; transformers builds it"
        )
    elif target.short.pairing == "interleaved":
        yield f"schedule {name}: vLLM and SGLang refuse longrope with interleaved pairs"
    if target.short.inv_freq != target.long.inv_freq:
        yield (
            f"schedule {name}: two tables by length; vLLM chooses by max_model_len, mlx-lm always "
            "takes the long one"
        )
    if (target.short.variant or "").startswith("@"):
        yield (
            f"schedule {name}: dynamic scaling has become two fixed tables, {target.short.variant} "
            f"and {target.long.variant}; between these lengths the source's own table differs"
        )
    if node.model_type not in _LISTS_IN_GGUF:
        yield (
            f"schedule {name}: llama.cpp's converter drops the factors for {model}; convert the "
            "source and perturb that file, with --to gguf=FILE"
        )


def check(values: Mapping[str, Any], found: list[Schedule]) -> None:
    """Rebuild the tables of one rope dict by vLLM's formula, and compare with transformers'.

    vLLM takes the attention scaling from ``short_mscale`` and ``long_mscale``. Raises UsageError.
    """
    for schedule, part in ((found[0], "short"), (found[-1], "long")):
        turns = powers(values["rope_theta"], schedule.rotary_dim)
        table = tuple(
            _factors.single(f, p)
            for f, p in zip(_float32(values[f"{part}_factor"]), turns, strict=True)
        )
        if table != schedule.inv_freq or values[f"{part}_mscale"] != schedule.attention_scaling:
            raise UsageError(
                f"schedule {quoted(schedule.name)} comes out otherwise by vLLM's formula than by "
                "transformers'; report this"
            )


def _float32(values: list[float]) -> list[float]:
    from ropeaudit.schedule.float32 import f32s

    return f32s(values)
