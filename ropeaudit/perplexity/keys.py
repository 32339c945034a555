"""What makes two measurements the same: digests of model, table, text, settings and versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ropeaudit.perplexity._slots import original_length
from ropeaudit.schedule.core import Schedule


def digest(value: Any) -> str:
    """SHA-256 of ``value`` as JSON with sorted keys; floats by their shortest decimals."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def schedule_id(schedules: Iterable[Schedule]) -> str:
    """Digest of the tables that a model computes with, whatever they were made by.

    Two variants with the same numbers for the same layers have the same id: schedules that were
    split by layers and left equal count as one.
    """
    layers: dict[str, set[int] | None] = {}
    for schedule in schedules:
        numbers = digest(
            {
                "component": schedule.component,
                "layer_type": schedule.layer_type,
                "variant": schedule.variant,
                "inv_freq": [float(v).hex() for v in schedule.inv_freq],
                "attention_scaling": schedule.attention_scaling,
                "softmax_scale": schedule.softmax_scale,
                "pairing": schedule.pairing,
            }
        )
        known = layers.get(numbers, set())
        own = schedule.layers
        layers[numbers] = None if own is None or known is None else known | set(own)
    return digest(sorted((n, None if s is None else sorted(s)) for n, s in layers.items()))


def in_force(schedules: Sequence[Schedule], length: int) -> tuple[Schedule, ...]:
    """The schedules that a window of ``length`` tokens is computed with.

    Of tables that depend on the length (``short`` and ``long``, ``@n`` of dynamic scaling) these
    are the ones for this length: a cell does not depend on which others are measured beside it.
    """
    shortest: dict[tuple[str, str | None], int] = {}
    for schedule in schedules:
        limit = _length(schedule)
        if limit is not None and limit >= length:
            place = (schedule.component, schedule.layer_type)
            shortest[place] = min(limit, shortest.get(place, limit))

    def serves(schedule: Schedule) -> bool:
        limit = _length(schedule)
        if limit is not None:
            return limit == shortest.get((schedule.component, schedule.layer_type))
        if schedule.variant in ("short", "long"):
            return (length <= original_length(schedule)) == (schedule.variant == "short")
        return True

    return tuple(filter(serves, schedules))


def _length(schedule: Schedule) -> int | None:
    name = schedule.variant or ""
    return int(name[1:]) if name[:1] == "@" and name[1:].isdigit() else None


def cell_key(
    *,
    model: str,
    table: str,
    text: str,
    tokens: str,
    settings: Mapping[str, Any],
    versions: Mapping[str, Any],
) -> str:
    """The key of one cell: equal keys mean equal numbers.

    ``model``, ``table`` and ``text`` are digests, and so is ``tokens``, of the ids that windows are
    cut from (:func:`token_digest`): another tokenizer makes another text.
    """
    return digest(
        {
            "model": model,
            "table": table,
            "text": text,
            "tokens": tokens,
            "settings": dict(settings),
            "versions": dict(versions),
        }
    )


def token_digest(tokens: Sequence[int]) -> str:
    """SHA-256 of token ids, eight bytes each, little-endian."""
    from array import array
    from sys import byteorder

    numbers = array("q", tokens)
    if byteorder == "big":
        numbers.byteswap()
    return sha256(numbers.tobytes()).hexdigest()
