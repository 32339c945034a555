"""The tables that ``PositionRotaryEmbedding.static`` chooses between (TGI).

``server/text_generation_server/layers/rotary.py`` 80-210 of commit db931fcf.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import as_number
from ropeaudit.readers.engines._attributes_loaded import Loaded
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import NotCovered, Refuses
from ropeaudit.records import replace
from ropeaudit.schedule.families.longrope import attention_of
from ropeaudit.schedule.families.yarn import mscale

_LLAMA3 = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")


def law_of(
    turn: Turn, scaling: Mapping[str, Any] | None, model: Loaded, lengths: tuple[int, ...]
) -> Iterator[Turn]:
    """``turn`` with the law that the scaling asks for; two or more where tables change."""
    if scaling is None:
        yield turn
        return
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in ("linear", "default", "mrope"):
        yield turn
    elif kind == "dynamic":
        yield from _dynamic(turn, scaling, lengths)
    elif kind == "llama3":
        numbers = {key: _number(scaling, key) for key in _LLAMA3}
        yield replace(turn, law="llama3", scaling=numbers, original=int(numbers[_LLAMA3[3]]))
    elif kind == "yarn":
        yield _yarn(turn, scaling)
    elif kind in ("su", "longrope"):
        yield from _longrope(turn, scaling, model)
    else:
        raise Refuses(f"it has no table for the rope type {quoted(kind)}")


def _number(scaling: Mapping[str, Any], key: str) -> float:
    found = as_number(scaling.get(key))
    if found is None or not math.isfinite(found):
        raise Refuses(f"it stops because {key} is missing in rope_scaling, or no number")
    return found


def _dynamic(turn: Turn, scaling: Mapping[str, Any], lengths: tuple[int, ...]) -> Iterator[Turn]:
    """Rebuilt for sequences beyond the declared length (394-420)."""
    declared = turn.declared
    if declared is None:
        raise Refuses("it needs max_position_embeddings for dynamic scaling")
    grown = replace(turn, law="dynamic", scaling={"factor": _number(scaling, "factor")})
    for n in dict.fromkeys(lengths or (declared, 2 * declared)):
        yield replace(grown, variant=f"@{n}", length=n)


def _yarn(turn: Turn, scaling: Mapping[str, Any]) -> Turn:
    factor = _number(scaling, "factor")
    original = _number(scaling, "original_max_position_embeddings")
    top, bottom = (
        _number({key: scaling.get(key, default)}, key)
        for key, default in (("mscale", 1.0), ("mscale_all_dim", 0.0))
    )
    divisor = mscale(factor, bottom)
    if not divisor:
        raise Refuses("mscale_all_dim makes its attention factor infinite")
    return replace(
        turn,
        law="yarn",
        scaling={"factor": factor, "original_max_position_embeddings": original},
        attention=mscale(factor, top) / divisor,
        original=int(original),
    )


def _longrope(turn: Turn, scaling: Mapping[str, Any], model: Loaded) -> Iterator[Turn]:
    original, declared = model.get("original_max_position_embeddings"), turn.declared
    if type(original) is not int or original < 2 or declared is None:
        raise Refuses("it needs original_max_position_embeddings on the top level for longrope")
    for key in ("short_factor", "long_factor"):
        found = scaling.get(key)
        if not isinstance(found, list) or 2 * len(found) != turn.rotary:
            raise Refuses(f"it needs {turn.rotary // 2} numbers in {key}")
    if "short_mscale" in scaling and "long_mscale" in scaling:
        raise NotCovered(
            "with short_mscale and long_mscale it multiplies frequencies by them instead of cos "
            "and sin, a table that was not run"
        )
    lists = {k: scaling[k] for k in ("short_factor", "long_factor")}
    law = replace(
        turn,
        law="longrope",
        scaling={**lists, "original_max_position_embeddings": original},
        attention=attention_of(declared / original, original),
        original=original,
    )
    yield replace(law, variant="short")
    yield replace(law, variant="long", length=original + 1)
