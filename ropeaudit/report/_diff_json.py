"""A comparison as JSON: ``ropeaudit/diff/1`` (docs/schemas/diff-1.json)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ropeaudit.report._diff_readers import members as readers
from ropeaudit.report._plain import numbers, plain
from ropeaudit.report.json_v1 import TOOL, page
from ropeaudit.report.json_v1 import subject as as_json

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Comparison, Pair


def render(found: Comparison) -> str:
    """Verdict, both subjects as ``show`` writes them, then every pair with all its channels."""
    severity = found.severity
    return page(
        {
            "schema": "ropeaudit/diff/1",
            "tool": TOOL,
            "verdict": found.verdict.value,
            "severity": None if severity is None else severity.label,
            "fail_on": found.fail_on.label,
            "exit_code": found.exit_code,
            "ulp": found.ulp,
            "overrides": {"a": list(found.overrides[0]), "b": list(found.overrides[1])},
            "subjects": [as_json(found.a), as_json(found.b)],
            **readers(found),
            "pairs": [_pair(p) for p in found.pairs],
            **_encodings(found),
            "unpaired": [
                {
                    "side": u.side,
                    "schedule": u.schedule.name,
                    "reason": u.reason,
                    "difference": u.matters,
                    "reader": u.schedule.reader,
                }
                for u in found.unpaired
            ],
            "undecided": list(found.undecided),
            "notes": list(found.notes),
        }
    )


def _encodings(found: Comparison) -> dict[str, Any]:
    if not (found.encodings or found.unpaired_encodings):
        return {}
    from ropeaudit.report import _diff_encodings

    return _diff_encodings.members(found)


def _pair(pair: Pair) -> dict[str, Any]:
    left = numbers([math.nan if c.a is None else c.a for c in pair.channels])
    right = numbers([math.nan if c.b is None else c.b for c in pair.channels])
    return {
        "a": pair.a.name,
        "b": pair.b.name,
        "reader": pair.reader,
        "context": pair.context,
        "context_source": pair.context_source,
        "verdict": pair.likeness.value,
        "severity": None if pair.severity is None else pair.severity.label,
        "ulp": pair.tolerance,
        "channels": [
            {
                "k": c.k,
                "a": None if c.a is None else left[at],
                "b": None if c.b is None else right[at],
                "ulp": c.ulp,
                "dlog": plain(c.dlog),
                "phase_drift": plain(c.phase_drift),
            }
            for at, c in enumerate(pair.channels)
        ],
        "max_ulp": pair.max_ulp,
        "max_abs_dlog": plain(pair.max_abs_dlog),
        "max_phase_drift": plain(pair.max_phase_drift),
        "new_clusters": [list(c) for c in pair.new_clusters],
        "attention_scaling": plain(pair.attention_scaling),
        "softmax_scale": plain(pair.softmax_scale),
        "pairing": [pair.a.pairing, pair.b.pairing],
        "rotary_dim": [pair.a.rotary_dim, pair.b.rotary_dim],
        "lost": [found.text for found in pair.lost],
        "kinds": [found.name for found in pair.lost],
    }
