"""The document that records a variant: ``ropeaudit/variant/1``.

It holds the recipe and the tables, every number as the shortest decimal that names exactly the same
float64, so that the tables are read back bit for bit.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropeaudit._version import __version__
from ropeaudit.errors import quoted
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import max_cluster

SCHEMA = "ropeaudit/variant/1"


def record_of(
    recipe: Any, schedules: Sequence[Schedule], written: Iterable[Mapping[str, Any]] = ()
) -> str:
    """The document as JSON text, one schedule a line; ``schedules`` with the tables to record."""
    clusters = [max_cluster(s, ignore=s.static_channels) for s in schedules]
    head: dict[str, Any] = {
        "schema": SCHEMA,
        "tool": {"name": "ropeaudit", "version": __version__},
        "recipe": {"text": recipe.text, "steps": [_step(s) for s in recipe.steps]},
    }
    lines = [f'  "{key}": {json.dumps(_plain(value))}' for key, value in head.items()]
    rows = ",\n    ".join(json.dumps(_plain(schedule(s)), allow_nan=False) for s in schedules)
    lines.append(f'  "schedules": [\n    {rows}\n  ]' if rows else '  "schedules": []')
    lines.append(f'  "max_cluster": {max(clusters, default=1)}')
    lines.append(f'  "written": {json.dumps(_plain(list(written)))}')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _step(step: Any) -> dict[str, Any]:
    return {"text": step.text, "head": step.head, "parameters": step.parameters()}


def schedule(schedule: Schedule) -> dict[str, Any]:
    """What decides the rotation of one schedule; keys as in ``ropeaudit/schedules/1``."""
    context = schedule.context
    return {
        "name": schedule.name,
        "component": schedule.component,
        "layer_type": schedule.layer_type,
        "variant": schedule.variant,
        "layers": schedule.layers,
        "rope_type": schedule.rope_type,
        "rope_theta": schedule.rope_theta,
        "head_dim": schedule.head_dim,
        "rotary_dim": schedule.rotary_dim,
        "pairing": schedule.pairing,
        "axes": schedule.axes
        and [{"axis": a.axis, "channels": list(a.channels)} for a in schedule.axes],
        "inv_freq": schedule.inv_freq,
        "dtype": schedule.dtype,
        "attention_scaling": schedule.attention_scaling,
        "softmax_scale": schedule.softmax_scale,
        "context": {"trained": context.trained, "declared": context.declared},
    }


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
