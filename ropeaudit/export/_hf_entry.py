"""One rope dict that makes an engine rebuild wanted tables: type longrope, a factor a channel.

    inv_freq_k = 1 / (factor_k * base ** (2k/d))

``attention_factor`` is stated, so that ``factor`` and the lengths decide nothing any more; they
stay, because DeepSeek's softmax scale is computed from ``factor`` and ``mscale_all_dim``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.export import _factors
from ropeaudit.export._pairs import Target
from ropeaudit.export._table import PATCH
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

STILL = 1e39
"""Infinite in float32, so the frequency is exactly 0; smaller numbers leave tiny frequencies."""
LONE_BASE = 1.0
"""With this base every power is exactly 1, whatever rounds it."""
_OF_OTHER_LAWS = frozenset(
    {"type", "short_factor", "long_factor", "short_mscale", "long_mscale", "attention_factor"}
    | {"low_freq_factor", "high_freq_factor", "beta_fast", "beta_slow", "truncate"}
)
_ORIGINAL = "original_max_position_embeddings"
_READS_ORIGINAL = "llama_4_scaling_beta"
"""Where this key is, attention is scaled by position and the original length."""


@record(kw_only=True)
class Entry:
    """The dict, and whether the base had to be replaced by 1."""

    values: dict[str, Any]
    lone: bool = False


def entry(
    source: Mapping[str, Any], target: Target, *, top_original: Any = None, declared: Any = None
) -> Entry:
    """The dict for ``target`` in place of ``source``, a dict with the engine's defaults filled in.

    ``top_original``: the original length beside the dict, which wins over the one inside;
    ``declared``: the declared length. Raises UsageError for tables that no such dict can give.
    """
    short, long = target.short, target.long
    if short.attention_scaling != long.attention_scaling:
        raise UsageError(
            f"schedule {quoted(short.name)} has attention scaling {short.attention_scaling}, its "
            f"long variant {long.attention_scaling}, and a config holds one; {PATCH}"
        )
    base = target.base[0].rope_theta
    if base is None:
        raise UsageError(f"the base of schedule {quoted(short.name)} is not known; {PATCH}")
    lists, lone = _lists(base, short, long)
    values: dict[str, Any] = {"rope_type": "longrope"}
    if source.get("type") in ("longrope", "su"):
        values["type"] = "longrope"  # Phi-3: some readers know only this spelling
    values |= {k: v for k, v in source.items() if k not in _OF_OTHER_LAWS and k != "rope_type"}
    values["rope_theta"] = LONE_BASE if lone else base
    values["short_factor"], values["long_factor"] = lists
    if source.get("rope_type", source.get("type", "default")) == "default":
        values["factor"] = 1.0
    elif values.get("factor") is None:
        values.pop("factor", None)
        if "type" not in values and target.base[0].rope_type != "longrope":
            values["factor"] = 1.0
    attention = float(short.attention_scaling)
    values["attention_factor"] = attention
    values[_ORIGINAL] = _original(source, target, top_original, declared)
    values["short_mscale"] = values["long_mscale"] = attention
    _set_partial(values, short)
    return Entry(values=values, lone=lone)


def _lists(base: float, short: Schedule, long: Schedule) -> tuple[list[list[float]], bool]:
    """The short and the long list, and whether they are for base 1.

    A cluster of channels may have no value that all of them reach with the model's own base, or one
    that depends on how a library rounds powers. Base 1 has neither problem.
    """
    dim = short.rotary_dim
    powers = _factors.ways(base, dim)
    found = [_choose(s, powers) for s in (short, long)]
    lone = None in found
    if lone:
        found = [_choose(s, [(LONE_BASE,)] * len(powers)) for s in (short, long)]
    lists = []
    for schedule, choice in zip((short, long), found, strict=True):
        if choice is None:
            raise UsageError(
                f"schedule {quoted(schedule.name)} holds values that no float32 factors give: "
                f"NaN, infinite, below 1e-38, or too close to each other; {PATCH}"
            )
        lists.append(list(choice.factors))
    return lists, lone


def _choose(schedule: Schedule, powers: list[_factors.Ways]) -> _factors.Choice | None:
    if len(powers) != len(schedule.inv_freq):
        raise UsageError(
            f"schedule {quoted(schedule.name)} has {len(schedule.inv_freq)} channels, a plain "
            f"table of its rotary width has {len(powers)}; {PATCH}"
        )
    return _factors.choose(schedule.inv_freq, powers, _factors.single, still=STILL)


def _original(source: Mapping[str, Any], target: Target, top: Any, declared: Any) -> Any:
    """The length at which the lists change; the declared one where there is but one table.

    vLLM takes it for the longest text, and derives the attention scaling from its ratio to the
    declared length where it finds no other.
    """
    if top is not None:
        return top
    short = target.short
    if len(target.wanted) > 1:
        if short.variant is not None and short.variant.startswith("@"):
            return int(short.variant[1:])
        stated = short.parameters.get(_ORIGINAL) or short.context.trained or source.get(_ORIGINAL)
        return int(stated) if stated else declared
    if source.get(_READS_ORIGINAL) is not None and source.get(_ORIGINAL) is not None:
        return source[_ORIGINAL]
    return declared or source.get(_ORIGINAL) or short.context.trained or 1


def _set_partial(values: dict[str, Any], schedule: Schedule) -> None:
    """The rotated part of the head, stated where longrope would rotate another width.

    The plain law ignores a fraction in some model types, and the proportional one means something
    else by it.
    """
    head, width = schedule.head_dim, schedule.rotary_dim
    if head is None:
        return
    partial = values.get("partial_rotary_factor")
    if int(head * (1.0 if partial is None else partial)) == width:
        return
    fraction = width / head
    values["partial_rotary_factor"] = (
        fraction if int(head * fraction) == width else (width + 0.5) / head
    )
