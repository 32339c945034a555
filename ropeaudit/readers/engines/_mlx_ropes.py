"""Rotary layers of mlx-lm (``mlx_lm/models/rope_utils.py``), as inputs of the common laws.

0.32.2, ``initialize_rope`` (235-330), read and run: ``type`` beats ``rope_type`` (242); ``linear``
divides positions (249); ``dynamic`` grows with the sequence (252); ``llama3`` defaults to low 1,
high 4, original 8192 (75-94); ``yarn`` has original 4096 by default, knows neither
attention_factor nor truncate, and its factor on the input is always the ratio of two mscale terms,
of which the lower one is 1 where mscale_all_dim is absent (125-180); ``longrope`` always takes the
long list, and its attention factor from the two lengths alone (11-66); ``mrope`` is plain.
0.28.4 has no ``dynamic``, ``proportional`` or other spellings of yarn, and takes the logarithm of a
longrope ratio below 1 too.
"""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._raw_keys import Raw, number
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.records import replace
from ropeaudit.schedule.families.yarn import mscale

YARN = ("yarn", "deepseek_yarn", "telechat3-yarn")


def initialize(turn: Turn, scaling: Raw | None, *, old: bool) -> Turn:
    """``turn`` under the dict ``scaling``, as ``initialize_rope`` chooses the class.

    Raises Refuses where that function or the class it calls stops.
    """
    if scaling is None:
        return turn
    kind = rope_type(scaling)
    if kind == "default":
        return turn
    if kind == "linear":
        return linear(turn, scaling)
    if kind == "llama3":
        return _llama3(turn, scaling)
    if kind == "yarn" or (kind in YARN and not old):
        return yarn(turn, scaling)
    if kind == "longrope":
        original = number(scaling.need("original_max_position_embeddings"), "the original length")
        # Both lists are indexed, and only the long one is used.
        if not scaling.has("short_factor"):
            raise Refuses("it needs short_factor, which is missing")
        return su(turn, scaling.need("long_factor"), original, old=old)
    if kind == "mrope":
        return _mrope(turn, scaling)
    if kind == "dynamic" and not old:
        return _dynamic(turn, scaling)
    if kind == "proportional" and not old:
        return _proportional(turn, scaling)
    raise Refuses(f"it knows no rope type {shown(kind)}")


def rope_type(scaling: Raw) -> Json:
    """``type``, then ``rope_type``, then the plain one."""
    return (scaling.get("type") if scaling.has("type") else None) or (
        scaling.get("rope_type", "default")
    )


def linear(turn: Turn, scaling: Raw) -> Turn:
    return replace(turn, law="linear", scaling={"factor": _factor(scaling)})


def _factor(scaling: Raw) -> float:
    return number(scaling.need("factor"), "factor")


def _dynamic(turn: Turn, scaling: Raw) -> Turn:
    if turn.declared is None:
        raise Refuses("dynamic scaling needs max_position_embeddings, which it does not read here")
    return replace(turn, law="dynamic", scaling={"factor": _factor(scaling)})


def _llama3(turn: Turn, scaling: Raw) -> Turn:
    values: dict[str, Json] = {
        "factor": _factor(scaling),
        "low_freq_factor": scaling.number("low_freq_factor", 1.0),
        "high_freq_factor": scaling.number("high_freq_factor", 4.0),
        "original_max_position_embeddings": scaling.number(
            "original_max_position_embeddings", 8192
        ),
    }
    stated = scaling.data.get("original_max_position_embeddings")
    return replace(turn, law="llama3", scaling=values, original=_length(stated))


def yarn(turn: Turn, scaling: Raw) -> Turn:
    values: dict[str, Json] = {
        "factor": _factor(scaling),
        "original_max_position_embeddings": scaling.number(
            "original_max_position_embeddings", 4096
        ),
        "beta_fast": scaling.number("beta_fast", 32),
        "beta_slow": scaling.number("beta_slow", 1),
    }
    if not (values["beta_fast"] and values["beta_slow"]):
        raise Refuses("it divides by beta_fast and beta_slow, and one of them is 0")
    top, bottom = scaling.number("mscale", 1), scaling.number("mscale_all_dim", 0)
    below = mscale(values["factor"], bottom)
    if not below:
        raise Refuses("mscale_all_dim makes it divide by 0")
    stated = scaling.data.get("original_max_position_embeddings")
    return replace(
        turn,
        law="yarn",
        scaling=values,
        attention=mscale(values["factor"], top) / below,
        original=_length(stated),
    )


def su(
    turn: Turn, factors: Json, original: float, *, old: bool, attention: float | None = None
) -> Turn:
    """SuScaledRoPE: the long list always, half pairing, the factor from the two lengths."""
    channels = turn.rotary // 2
    values = factors
    if not isinstance(factors, list):
        values = [number(factors, "long_factor")] * channels
    elif len(factors) == 1:
        values = factors * channels
    if len(values) != channels:
        raise Refuses(f"long_factor has {len(values)} entries for {channels} channels")
    if turn.declared is None:
        raise Refuses("longrope needs max_position_embeddings, which it does not read here")
    return replace(
        turn,
        law="longrope",
        pairing="half",
        scaling={
            "long_factor": values,
            "original_max_position_embeddings": original,
            "attention_factor": attention or _from_lengths(turn.declared, original, old=old),
        },
        length=int(original) + 1,
        original=_length(original),
    )


def _from_lengths(declared: int, original: float, *, old: bool) -> float:
    if original <= 0 or original == 1:
        raise Refuses("it takes the logarithm of the original length, which is none")
    ratio = declared / original
    if ratio <= 1 and not old:
        return 1.0
    square = 1 + math.log(ratio) / math.log(original)
    if square < 0:
        raise Refuses("the declared length is too far below the original one for its square root")
    return math.sqrt(square)


def _mrope(turn: Turn, scaling: Raw) -> Turn:
    sections: Any = scaling.get("mrope_section") or []
    if not isinstance(sections, list) or len(sections) != 3:
        raise Refuses("mrope needs three sections")
    return turn


def _proportional(turn: Turn, scaling: Raw) -> Turn:
    partial = scaling.number("partial_rotary_factor", 1.0)
    if partial > 1 and int(turn.rotary * min(partial, 2.0)) > turn.rotary:
        raise Refuses("partial_rotary_factor is above 1")
    values: dict[str, Json] = {"factor": scaling.number("factor", 1.0)}
    # The exponent runs over the width that the class is given, whatever the head's.
    return replace(turn, law="proportional", scaling=values, partial=partial, head=turn.rotary)


def _length(value: Json) -> int | None:
    return int(value) if isinstance(value, int | float) and value >= 1 else None


def softmax(scaling: Raw | None, *, plain_too: bool) -> float:
    """What DeepSeek's attention multiplies its softmax scale with: a squared mscale term.

    ``plain_too``: whether a dict whose type is the plain one counts as well.
    """
    if scaling is None or (not plain_too and rope_type(scaling) == "default"):
        return 1.0
    weight = scaling.number("mscale_all_dim", 0)
    if not weight:
        return 1.0
    root = mscale(_factor(scaling), weight)
    return root * root
