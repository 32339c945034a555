"""Engines' readings of one config beside the reference's, and how far they are from it."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.readers.engines._core_words import words
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Request
from ropeaudit.readers.engines.known import Chosen
from ropeaudit.readers.interface import Resolution
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import dlog, phase_drift
from ropeaudit.schedule.views import Distance, View

LOG_TOLERANCE = 1e-5
"""Distances in log up to here come from the order of float32 operations (llama.cpp: 2.2e-6)."""
FACTOR_TOLERANCE = 1e-4
LAYER_COUNTS = ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "layer_types")
"""Keys that state how many layers there are."""

Pair = tuple[Schedule, Schedule]
"""A schedule of an engine and the reference's that serves the same layers."""


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
    except Exception as error:  # a fault of ours must not hide what the other engines do
        if os.environ.get("ROPEAUDIT_DEBUG"):
            raise
        status, reason = "not_covered", _fault(request, error)
    return seen(chosen, status, reason, built, against, silent=frozenset(_silent(request)))


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
) -> View:
    """A View of ``chosen`` with its distance, where both sides have something to compare.

    ``silent``: aspects that cannot be compared for this target, beside the release's own.
    """
    built = built or Built()
    release = chosen.release
    return View(
        reader=release.name,
        version=release.version,
        how=release.how,
        status=status,
        reason=reason,
        schedules=built.schedules,
        ignored=built.ignored,
        notes=(*built.notes, *((chosen.note,) if chosen.note else ())),
        distance=distance(built.schedules, against, silent=release.silent | silent),
    )


def distance(
    engine: Sequence[Schedule],
    reference: Sequence[Schedule],
    *,
    silent: frozenset[str] = frozenset(),
) -> Distance | None:
    """How far ``engine`` is from ``reference``; None where no component is built by both.

    ``silent`` names aspects without evidence, as in ``Release.silent``; they are not compared.
    """
    pairs = list(paired(engine, reference))
    if not pairs:
        return None
    each = {name: _measured(found) for name, found in _by_name(pairs).items()}
    width = any(_widths_differ(a, b) for a, b in pairs)
    dlogs = [m.dlog for m in each.values() if m.dlog is not None]
    found = Distance(
        max_abs_dlog=None if width else max(dlogs, default=0.0),
        max_phase_drift=max(m.drift for m in each.values()),
        attention=None if "attention" in silent else _extreme(m.attention for m in each.values()),
        softmax=None if "softmax" in silent else _extreme(m.softmax for m in each.values()),
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
    far = _max_dlog(ours, theirs)
    return far is not None and far <= LOG_TOLERANCE and ours.rotary_dim == theirs.rotary_dim


@record()
class _Measure:
    """Numbers of one of the engine's schedules against all that it answers to."""

    dlog: float | None
    drift: float
    attention: float
    softmax: float

    def as_dict(self) -> dict[str, float | None]:
        return {
            "max_abs_dlog": self.dlog,
            "max_phase_drift": self.drift,
            "attention": self.attention,
            "softmax": self.softmax,
        }


def _by_name(pairs: Iterable[Pair]) -> dict[str, list[Pair]]:
    """Pairs by the reference's name, since that is what a user knows."""
    found: dict[str, list[Pair]] = {}
    for a, b in pairs:
        found.setdefault(b.name, []).append((a, b))
    return found


def _measured(pairs: Sequence[Pair]) -> _Measure:
    dlogs = [d for a, b in pairs if (d := _max_dlog(a, b)) is not None]
    return _Measure(
        max(dlogs, default=None),
        max(_drift(a, b) for a, b in pairs),
        _extreme(_ratio(a.attention_scaling, b.attention_scaling) for a, b in pairs),
        _extreme(_ratio(a.softmax_scale, b.softmax_scale) for a, b in pairs),
    )


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


def _max_dlog(a: Schedule, b: Schedule) -> float | None:
    """Largest log distance of a channel; None for tables of different widths."""
    if len(a.inv_freq) != len(b.inv_freq):
        return None
    if a.inv_freq == b.inv_freq:
        return 0.0
    return max(_size(dlog(x, y)) for x, y in zip(a.inv_freq, b.inv_freq, strict=True))


def _size(value: float) -> float:
    return math.inf if math.isnan(value) else abs(value)


def _widths_differ(a: Schedule, b: Schedule) -> bool:
    return len(a.inv_freq) != len(b.inv_freq) or a.rotary_dim != b.rotary_dim


def _drift(a: Schedule, b: Schedule) -> float:
    """How far the phases part within the length that the table is for; 0 where none is known."""
    length = _length(b)
    if length is None or a.inv_freq == b.inv_freq:
        return 0.0
    if len(a.inv_freq) != len(b.inv_freq):
        return math.pi
    return max(phase_drift(x, y, length) for x, y in zip(a.inv_freq, b.inv_freq, strict=True))


def _length(schedule: Schedule) -> int | None:
    if not schedule.is_text:
        return None
    variant = schedule.variant or ""
    if variant.startswith("@") and variant[1:].isdecimal():
        return int(variant[1:])
    context = schedule.context
    return context.trained if variant == "short" else context.declared or context.trained


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


def _ratio(ours: float, theirs: float) -> float:
    return ours / theirs if theirs else (1.0 if ours == theirs else math.inf)


def _extreme(ratios: Iterable[float]) -> float:
    """The ratio farthest from 1."""
    return max(ratios, key=lambda r: abs(math.log(r)) if 0 < r < math.inf else math.inf)
