"""A variant in the keys of ``ropeaudit/variant/1``, the same on a page and in a written record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ropeaudit.perturb.measure import Measure, measures
from ropeaudit.perturb.recipe import Step
from ropeaudit.perturb.variant import Variant

Plain = Callable[[Any], Any]
"""Makes a value one that JSON can hold: words for infinities, lists for tuples."""


def described(variant: Variant, plain: Plain) -> dict[str, Any]:
    """The keys ``recipe``, ``max_cluster`` and ``measures``: what was done and what came of it."""
    found = measures(variant)
    steps = variant.recipe.steps
    said = variant.found or ((),) * len(steps)
    return {
        "recipe": {
            "text": variant.recipe.text,
            "steps": [_step(s, f, plain) for s, f in zip(steps, said, strict=True)],
        },
        "max_cluster": max((m.max_cluster for m in found), default=1),
        "measures": [_measure(m, plain) for m in found],
    }


def _step(step: Step, found: Sequence[Mapping[str, Any]], plain: Plain) -> dict[str, Any]:
    scope = {name: getattr(step.scope, name) for name in ("layer_type", "layers", "head")}
    return {
        "text": step.text,
        "head": step.head,
        "parameters": plain(step.parameters()),
        "scope": plain(scope) if step.scope else None,
        "found": [plain(f) for f in found],
    }


def _measure(m: Measure, plain: Plain) -> dict[str, Any]:
    return {
        "schedule": m.schedule,
        "max_cluster": m.max_cluster,
        "smallest_log_gap": plain(m.smallest_log_gap),
        "largest_dlog": plain(m.largest_dlog),
        "max_abs_dlog": plain(m.max_abs_dlog),
        "zeroed": m.zeroed,
        "max_phase_drift": plain(m.max_phase_drift),
        "length": m.length,
    }
