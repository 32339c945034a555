"""Schedules cut in two by layers, each part with a name of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import spans

_MAX_LABEL = 60


def split(
    base: Schedule, lawful: Schedule, now: Schedule, wanted: Sequence[int], taken: set[str]
) -> Iterator[tuple[Schedule, Schedule, bool]]:
    """(lawful, now, inside) for the layers outside of ``wanted`` and for those inside.

    One part where the schedule lies wholly inside or outside. The part inside is named after its
    layers (``layers_3-7``); the rest keeps its name, unless that was given for layers before.
    ``taken`` holds the names in use and is added to.
    """
    inside = tuple(n for n in now.layers or () if n in set(wanted))
    outside = tuple(n for n in now.layers or () if n not in set(wanted))
    if not inside or not outside:
        yield lawful, now, bool(inside)
        return
    fresh = now.layer_type == base.layer_type
    for layers, hit in ((outside, False), (inside, True)):
        kind = now.layer_type if fresh and not hit else _kind(base, now, layers, taken)
        yield (
            replace(lawful, layers=layers, layer_type=kind),
            replace(now, layers=layers, layer_type=kind),
            hit,
        )


def _kind(base: Schedule, now: Schedule, layers: Sequence[int], taken: set[str]) -> str:
    label = _label(layers)
    wanted = f"{base.layer_type}.{label}" if base.layer_type else label
    kind, count = wanted, 1
    while (name := replace(now, layer_type=kind).name) in taken:
        count += 1
        kind = f"{wanted}.{count}"
    taken.add(name)
    return kind


def _label(layers: Sequence[int]) -> str:
    """``layer_3``, ``layers_3-7``, ``layers_0-2_5``; long lists are counted."""
    text = f"layer{'' if len(layers) == 1 else 's'}_{'_'.join(spans(layers))}"
    if len(text) <= _MAX_LABEL:
        return text
    return f"layers_{layers[0]}_and_{len(layers) - 1}_more"
