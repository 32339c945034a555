"""The document that records a variant: ``ropeaudit/variant/1``.

It holds the recipe and the tables, every number as the shortest decimal that names exactly the same
float64, so that the tables are read back bit for bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit._version import __version__
from ropeaudit.errors import quoted
from ropeaudit.export.interface import Request, Written
from ropeaudit.facts import Fact
from ropeaudit.perturb.described import described
from ropeaudit.perturb.variant import Variant
from ropeaudit.records import record_fields, replace
from ropeaudit.schedule.core import Schedule

SCHEMA = "ropeaudit/variant/1"
NOTHING: Mapping[str, Any] = {}


def recorded(request: Request, written: Written, more: Mapping[str, Any] = NOTHING) -> Written:
    """``written`` with its schedules in the variant's order, unwritten ones too, and a document.

    ``more``: further keys of the document.

    The path in the document is a name, so that the same variant in another folder is the same text.
    """
    by_name = {s.name: s for s in written.schedules}
    schedules = tuple(by_name.get(s.name, s) for s in request.variant.schedules)
    made = replace(request.variant, schedules=schedules)
    return replace(written, schedules=schedules, document=_text(request, made, written, more))


def _text(request: Request, made: Variant, written: Written, more: Mapping[str, Any]) -> str:
    keys: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "ropeaudit", "version": __version__},
        "target": request.source.target,
        **described(made, _plain),
        "schedules": [_schedule(s) for s in made.schedules],
        "written": [
            {
                "kind": written.kind,
                "path": "." if written.kind == "hf" else request.path.name,
                "max_ulp": written.max_ulp,
                "notes": written.notes,
            }
        ],
        **more,
    }
    return "{\n" + ",\n".join(f'  "{k}": {_value(k, v)}' for k, v in keys.items()) + "\n}\n"


def _value(key: str, value: Any) -> str:
    """As JSON; a schedule a line, which keeps comparisons by line readable."""
    if key != "schedules":
        return json.dumps(_plain(value), allow_nan=False)
    rows = ",\n    ".join(json.dumps(_plain(row), allow_nan=False) for row in value)
    return f"[\n    {rows}\n  ]"


def _schedule(schedule: Schedule) -> dict[str, Any]:
    """What decides the rotation of one schedule; keys as in ``ropeaudit/schedules/1``."""
    names = (
        "name", "component", "layer_type", "variant", "layers", "rope_type", "rope_theta",
        "head_dim", "rotary_dim", "pairing", "axes", "inv_freq", "dtype", "attention_scaling",
        "softmax_scale", "context", "provenance", "reader",
    )  # fmt: skip
    found = {name: getattr(schedule, name) for name in names}
    if schedule.axes is not None:
        found["axes"] = [{"axis": a.axis, "channels": a.channels} for a in schedule.axes]
    context = schedule.context
    found["context"] = {n: getattr(context, n) for n in record_fields(type(context))}
    found["provenance"] = [_fact(f) for f in schedule.provenance]
    return found


def _fact(fact: Fact) -> dict[str, Any]:
    place = {
        name: value
        for name in ("file", "pointer", "tensor", "key")
        if (value := getattr(fact.location, name, None)) is not None
    }
    return {"field": fact.field, "value": fact.value, **place, "provenance": fact.origin.value}


def _plain(value: Any) -> Any:
    """``value`` with lists for tuples and words for what JSON cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if value != value else ("inf" if value > 0 else "-inf")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, Sequence):
        return [_plain(v) for v in value]
    return quoted(value)
