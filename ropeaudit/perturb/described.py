"""A variant in the keys of ``ropeaudit/variant/1``, the same on a page and in a written record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.perturb.measure import Measure, measures
from ropeaudit.perturb.recipe import Step
from ropeaudit.perturb.variant import Variant

if TYPE_CHECKING:
    from ropeaudit.perturb._encodings_measure import EncodingMeasure
    from ropeaudit.perturb._encodings_run import MadeEncoding

Plain = Callable[[Any], Any]
"""Makes a value one that JSON can hold: words for infinities, lists for tuples."""


def described(variant: Variant, plain: Plain) -> dict[str, Any]:
    """The keys ``recipe``, ``max_cluster`` and ``measures``: what was done and what came of it.

    Where the variant has learned encodings, also ``encodings``.
    """
    found = measures(variant)
    steps = variant.recipe.steps
    said = variant.found or ((),) * len(steps)
    clusters = [m.max_cluster for m in found]
    clusters += [m.max_cluster for e in variant.encodings for m in e.measures]
    whole = {
        "recipe": {
            "text": variant.recipe.text,
            "steps": [_step(s, f, plain) for s, f in zip(steps, said, strict=True)],
        },
        "max_cluster": max(clusters, default=1),
        "measures": [_measure(m, plain) for m in found],
    }
    if variant.encodings:
        whole["encodings"] = [_encoding(e, plain) for e in variant.encodings]
    return whole


def _step(step: Step, found: Sequence[Mapping[str, Any]], plain: Plain) -> dict[str, Any]:
    scope = {name: getattr(step.scope, name) for name in ("layer_type", "layers", "head")}
    if step.scope.quantity is not None:
        scope["quantity"] = step.scope.quantity
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


def _encoding(made: MadeEncoding, plain: Plain) -> dict[str, Any]:
    """What it is, its lists in the order of channels that recipes count, and the measures."""
    encoding = made.encoding
    return {
        "name": encoding.name,
        "kind": encoding.kind,
        "head_dim": encoding.head_dim,
        "heads": encoding.heads,
        "layers": plain(encoding.layers),
        "axes": list(encoding.axes),
        "dtype": encoding.dtype,
        "settings": plain(dict(encoding.settings)),
        "changed": made.changed,
        "measures": [_encoding_measure(m, plain) for m in made.measures],
        "lists": [
            {
                "quantity": item.quantity,
                "layer": item.layer,
                "head": item.head,
                "axis": item.axis,
                "values": plain(item.now),
            }
            for item in made.lists
        ],
    }


def _encoding_measure(m: EncodingMeasure, plain: Plain) -> dict[str, Any]:
    return {
        "quantity": m.quantity,
        "lists": m.lists,
        "max_cluster": m.max_cluster,
        "smallest_log_gap": plain(m.smallest_log_gap),
        "largest_dlog": plain(m.largest_dlog),
        "max_abs_dlog": plain(m.max_abs_dlog),
        "layer": m.layer,
        "head": m.head,
        "axis": m.axis,
        "channel": m.channel,
        "zeroed": m.zeroed,
        "max_phase_drift": plain(m.max_phase_drift),
        "max_bias_drift": plain(m.max_bias_drift),
        "extent": plain(m.extent),
    }
