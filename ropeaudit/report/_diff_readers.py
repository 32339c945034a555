"""A comparison as engines read both targets: a block where they differ, else a line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.records import replace
from ropeaudit.report._diff_words import of_readings
from ropeaudit.report._terminal import Ink, safe

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Comparison, Pair, Readings

_STYLES = {"same": "green", "equivalent": "green", "different": "red", "unknown": "magenta"}


def console(ink: Ink, found: Comparison, pairs: Callable[[Ink, Sequence[Pair]], None]) -> None:
    """Engines to which A and B are alike, then the others; ``pairs`` draws what was compared."""
    ink.line()
    for word in ("same", "equivalent"):
        alike = [r.reader for r in found.readers if r.verdict.value == word]
        if alike:
            _line(ink, alike, word, ())
    for (why, word), names in _without_pairs(found.readers).items():
        _line(ink, names, word, [why])
    for group in _alike(found.readers, every=ink.view.verbose):
        ink.line()
        _line(ink, [r.reader for r in group], group[0].verdict.value, of_readings(group[0]))
        pairs(ink, _pairs(group[0]))


def _alike(readings: Iterable[Readings], *, every: bool) -> list[list[Readings]]:
    """Engines of which pairs are shown, together where all that is told of them is the same."""
    groups: list[tuple[object, list[Readings]]] = []
    for each in readings:
        if each.found is None or (each.verdict.value in ("same", "equivalent") and not every):
            continue
        told = (of_readings(each), [_told(p) for p in _pairs(each)])
        group = next((g for known, g in groups if known == told), None)
        if group is None:
            groups.append((told, [each]))
        else:
            group.append(each)
    return [group for _, group in groups]


def _pairs(found: Readings) -> tuple[Pair, ...]:
    return () if found.found is None else found.found.pairs


def _told(pair: Pair) -> object:
    """The pair without the engine's name and where its values came from."""
    sides = (replace(s, reader=None, provenance=()) for s in (pair.a, pair.b))
    return (*sides, pair.context, pair.tolerance, pair.lost, pair.severity)


def _line(ink: Ink, names: Sequence[str], word: str, told: Iterable[str]) -> None:
    ink.paragraph(safe(f"{', '.join(names)}: {word}"), indent=2, label="  ", style=_STYLES[word])
    for text in told:
        ink.paragraph(safe(text), indent=4, label="    ", style="dim")


def _without_pairs(readings: Iterable[Readings]) -> dict[tuple[str, str], list[str]]:
    """Engines that do not build both sides, by reason and verdict."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in readings:
        if each.reason is not None:
            groups.setdefault((each.reason, each.verdict.value), []).append(each.reader)
    return groups


def level(found: Readings) -> str:
    """The verdict, with the severity of a difference."""
    grade = "" if found.severity is None else f" ({found.severity.label})"
    return f"{found.verdict.value}{grade}"


def members(found: Comparison) -> dict[str, Any]:
    """The key ``readers`` of the JSON; nothing where no engine was named."""
    if not found.readers:
        return {}
    return {"readers": {r.reader: _member(r) for r in found.readers}}


def _member(found: Readings) -> dict[str, Any]:
    severity = found.severity
    return {
        "verdict": found.verdict.value,
        "severity": None if severity is None else severity.label,
        "counts": found.counts,
        "reason": found.reason,
        "a": {"status": found.a.status, "reason": found.a.reason},
        "b": {"status": found.b.status, "reason": found.b.reason},
    }
