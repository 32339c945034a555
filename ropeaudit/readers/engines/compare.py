"""Engines' readings of one config beside the reference's, and how far they are from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.readers.engines._core_measure import Pair, extreme, max_dlog, measured, widths_differ
from ropeaudit.readers.engines._core_words import words
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Request
from ropeaudit.readers.engines.known import Chosen
from ropeaudit.readers.interface import Resolution
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.views import Distance, View

LOG_TOLERANCE = 1e-5
"""Distances in log up to here come from the order of float32 operations (llama.cpp: 2.2e-6)."""
FACTOR_TOLERANCE = 1e-4
MAX_SAID = 390
"""Characters of one reason or note, however long the numbers of a file are."""
LAYER_COUNTS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "layer_types")
"""Keys that state how many layers there are."""


def views(
    document: Document,
    chosen: Iterable[Chosen],
    *,
    reference: Resolution | None,
    against: Sequence[Schedule],
    lengths: tuple[int, ...] = (),
) -> tuple[View, ...]:
    """What each chosen release makes of ``document``, in the order asked for.

    ``reference``: what the newest transformers builds, None where it cannot or does not read such
    files; ``against``: the schedules that distances are taken from. What stops one engine stops no
    other: it is that engine's refusal, or not covered where the fault is ours.
    """
    request = Request(document=document, reference=reference, lengths=lengths)
    return tuple(_view(request, c, against) for c in chosen)


def _view(request: Request, chosen: Chosen, against: Sequence[Schedule]) -> View:
    status, reason, built = "ok", None, Built()
    try:
        built = chosen.engine.build(request, chosen.release)
    except (Refuses, InvalidValue) as error:
        status, reason = "refuses", str(error)
    except NotCovered as error:
        status, reason = "not_covered", str(error)
    except OverflowError:  # engines calculate alike: what overflows here overflows there
        status, reason = "refuses", "it cannot calculate with a value of this file"
    except Exception as error:  # a fault of ours must not hide what the other engines do
        if os.environ.get("ROPEAUDIT_DEBUG"):
            raise
        status, reason = "not_covered", _fault(request, error)
    silent, lengths = frozenset(_silent(request)), request.lengths
    return seen(chosen, status, reason, built, against, silent=silent, lengths=lengths)


def _silent(request: Request) -> Iterator[str]:
    """Aspects that this config leaves open, so that no difference in them is one of reading."""
    if request.is_params:
        yield "pairing"  # loaders permute the weights to the pairing that they turn
    inner = request.config.get("text_config")
    nodes = (request.config, inner if isinstance(inner, dict) else {})
    if not any(key in node for node in nodes for key in LAYER_COUNTS):
        yield "layers"  # engines have their own defaults of how many there are


def _fault(request: Request, error: Exception) -> str:
    """What is said of a fault of ours; less where values are such that the reference stops too."""
    if request.reference is None and not request.is_params:
        return "what it makes of a value at which the reference stops is not known"
    said = f"internal error ({type(error).__name__}: {quoted(str(error))})"
    return f"{said}; report it with the file"


def seen(
    chosen: Chosen,
    status: str,
    reason: str | None = None,
    built: Built | None = None,
    against: Sequence[Schedule] = (),
    *,
    silent: frozenset[str] = frozenset(),
    lengths: tuple[int, ...] = (),
) -> View:
    """A View of ``chosen`` with its distance, where both sides have something to compare.

    ``silent``: aspects that cannot be compared for this target, beside the release's own.
    ``lengths``: as for :func:`distance`.
    """
    built = built or Built()
    release = chosen.release
    said = (*built.notes, *((chosen.note,) if chosen.note else ()))
    return View(
        reader=release.name,
        version=release.version,
        how=release.how,
        status=status,
        reason=None if reason is None else quoted(reason, MAX_SAID),
        schedules=built.schedules,
        ignored=built.ignored,
        notes=tuple(replace(note, message=quoted(note.message, MAX_SAID)) for note in said),
        distance=distance(
            built.schedules, against, silent=release.silent | silent, lengths=lengths
        ),
    )


def distance(
    engine: Sequence[Schedule],
    reference: Sequence[Schedule],
    *,
    silent: frozenset[str] = frozenset(),
    lengths: tuple[int, ...] = (),
) -> Distance | None:
    """How far ``engine`` is from ``reference``; None where no component is built by both.

    ``silent`` names aspects without evidence, as in ``Release.silent``; they are not compared.
    ``lengths``: those asked for, the longest of which phases are compared at; a list of factors
    that serves none of them is left aside.
    """
    asked = max(lengths, default=None)
    pairs = list(paired(engine, [s for s in reference if serves(s, lengths)]))
    if not pairs:
        return None
    each = {name: measured(found, asked) for name, found in _by_name(pairs).items()}
    width = any(widths_differ(a, b) for a, b in pairs)
    dlogs = [m.dlog for m in each.values() if m.dlog is not None]
    found = Distance(
        max_abs_dlog=None if width else max(dlogs, default=0.0),
        max_phase_drift=max(m.drift for m in each.values()),
        attention=None if "attention" in silent else extreme(m.attention for m in each.values()),
        softmax=None if "softmax" in silent else extreme(m.softmax for m in each.values()),
        length=asked,
        layers=() if "layers" in silent else _layers(engine, reference),
        width=width,
        pairing="pairing" not in silent and any(a.pairing != b.pairing for a, b in pairs),
        schedules={name: m.as_dict() for name, m in each.items()},
    )
    if _same(found):
        return found
    text = _rotating(engine, "text")
    said = words(
        pairs,
        [p for p in pairs if not _tables_agree(*p)],
        factors=FACTOR_TOLERANCE,
        silent=silent,
        layers=found.layers,
        turning=None if text is None else frozenset(text),
    )
    return replace(found, same=False, words=said)


def serves(schedule: Schedule, lengths: tuple[int, ...]) -> bool:
    """Whether the reference turns by this table at one of ``lengths``, all where none is named."""
    original = schedule.context.trained
    if not lengths or original is None or schedule.variant not in ("short", "long"):
        return True
    return any((n > original) == (schedule.variant == "long") for n in lengths)


def _same(found: Distance) -> bool:
    """Whether what was measured is within the tolerances."""
    largest = found.max_abs_dlog
    factors = (found.attention, found.softmax)
    return (
        not (found.width or found.pairing or found.layers)
        and largest is not None
        and largest <= LOG_TOLERANCE
        and all(f is None or abs(f - 1) <= FACTOR_TOLERANCE for f in factors)
    )


def _tables_agree(ours: Schedule, theirs: Schedule) -> bool:
    far = max_dlog(ours, theirs)
    return far is not None and far <= LOG_TOLERANCE and ours.rotary_dim == theirs.rotary_dim


def _by_name(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Pairs by the reference's name, since that is what a user knows."""
    found: dict[str, list[Pair]] = {}
    for a, b in pairs:
        found.setdefault(b.name, []).append((a, b))
    return found


def paired(engine: Sequence[Schedule], reference: Sequence[Schedule]) -> Iterator[Pair]:
    """Every schedule of the reference with the engine's that serve the same layers.

    By layer type where both have it, else by common layers; then by variant. A table without
    variant stands for every variant of the other side, and so does the only one there is: an engine
    that always takes the long list is compared with the short one too.
    """
    for theirs in reference:
        same = [s for s in engine if s.component == theirs.component]
        group = _of_layers(same, theirs)
        exact = [s for s in group if s.variant == theirs.variant]
        if not exact and theirs.variant is not None:
            plain = [s for s in group if s.variant is None]
            exact = plain or (group if len(group) == 1 else [])
        elif not exact:
            exact = group
        for ours in exact:
            yield ours, theirs


def _of_layers(candidates: list[Schedule], theirs: Schedule) -> list[Schedule]:
    named = [s for s in candidates if s.layer_type == theirs.layer_type]
    if named:
        return named
    layers = set(theirs.layers or ())
    common = [s for s in candidates if layers and s.layers and layers & set(s.layers)]
    if common:
        return common
    # One table on either side serves all layers, whatever it is called.
    whole = [s for s in candidates if s.layer_type is None or theirs.layer_type is None]
    return [s for s in whole if not layers or s.layers is None]


def _layers(engine: Sequence[Schedule], reference: Sequence[Schedule]) -> tuple[int, ...]:
    """Layers that rotate on one side only, of the components that both have."""
    found: set[int] = set()
    for component in {s.component for s in engine} & {s.component for s in reference}:
        left, right = (_rotating(side, component) for side in (engine, reference))
        if left is not None and right is not None:
            found |= left ^ right
    return tuple(sorted(found))


def _rotating(side: Sequence[Schedule], component: str) -> set[int] | None:
    served = [s.layers for s in side if s.component == component]
    if any(layers is None for layers in served):
        return None
    return {i for layers in served for i in layers or ()}
