"""Two targets as named engines read them: what each makes of A against what it makes of B."""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.diff.compare import Options, begun, compare
from ropeaudit.diff.interface import Comparison, Readings
from ropeaudit.readers.engines.known import find, singled
from ropeaudit.records import replace
from ropeaudit.schedule.subject import Subject
from ropeaudit.schedule.views import View

_FACTORS = {"softmax": "softmax_scale", "attention": "attention_scaling"}
"""Aspects that a release may be silent about, by the attribute of a schedule that tells them."""


def compare_readings(a: Subject, b: Subject, options: Options) -> Comparison:
    """Compare two subjects that have views, engine by engine; ``options.readers`` names them.

    Pairs and what else is told of them are those of all engines, one engine after the other.
    """
    named = singled(options.readers) if options.insist else frozenset()
    readings = tuple(
        _readings(a, b, left, right, options, left.reader in named)
        for left, right in zip(a.views, b.views, strict=False)
    )
    found = [(r.reader, r.found) for r in readings if r.found is not None]
    notes = dict.fromkeys(note for _, f in found for note in f.notes)
    return replace(
        begun(a, b, options),
        readers=readings,
        pairs=tuple(p for _, f in found for p in f.pairs),
        unpaired=tuple(u for _, f in found for u in f.unpaired),
        undecided=tuple(f"{name}: {why}" for name, f in found for why in f.undecided),
        notes=tuple(notes),
    )


def _readings(
    a: Subject, b: Subject, left: View, right: View, options: Options, named: bool
) -> Readings:
    loads = left.status == right.status == "ok"
    if not loads or bool(left.schedules) != bool(right.schedules):
        return Readings(a=left, b=right, named=named)
    found = compare(_as_read(a, left), _as_read(b, right), options)
    open_ = tuple(_silence(a, b, left))
    return Readings(
        a=left,
        b=right,
        named=named,
        found=replace(found, undecided=(*found.undecided, *open_)),
    )


def _as_read(subject: Subject, view: View) -> Subject:
    """The subject as this engine alone sees it; stored tables and encodings are none of its."""
    equal = {_FACTORS[aspect]: 1.0 for aspect in _silent(view)}
    return replace(
        subject,
        schedules=tuple(replace(s, **equal) for s in view.schedules) if equal else view.schedules,
        encodings=(),
        views=(),
        observations=(),
        notes=view.notes,
        error=None,
    )


def _silent(view: View) -> list[str]:
    return sorted(find([view.reader])[0].release.silent & _FACTORS.keys())


def _silence(a: Subject, b: Subject, view: View) -> Iterator[str]:
    """What the engine may build otherwise for one side, where nobody looked at how it does."""
    for aspect in _silent(view):
        stated = [{getattr(s, _FACTORS[aspect]) for s in side.built()} for side in (a, b)]
        if stated[0] != stated[1]:
            what = "the logits" if aspect == "softmax" else "cos and sin"
            yield f"A and B state other factors on {what}, and what it does with them is not known"
