"""A comparison as Markdown: for a step summary or a pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ropeaudit._version import __version__
from ropeaudit.report import _diff_encodings, _diff_readers
from ropeaudit.report import _diff_words as words
from ropeaudit.report import _numbers as show
from ropeaudit.report._kinds import idle_overrides
from ropeaudit.report.markdown import code, text

if TYPE_CHECKING:
    from ropeaudit.diff._encodings_interface import EncodingPair
    from ropeaudit.diff.interface import Comparison, Pair, Readings


def render(found: Comparison) -> str:
    """Verdict, the two targets, a table of pairs, then what was lost."""
    severity = found.severity
    level = "" if severity is None else f" ({severity.label})"
    lines = [f"## ropeaudit diff: {found.verdict.value}{level}", ""]
    for side, subject, told in zip("AB", (found.a, found.b), found.overrides, strict=True):
        error = f": {text(subject.error.message)}" if subject.error else ""
        given = f" with {', '.join(map(code, told))}" if told else ""
        lines.append(f"- {side} {code(subject.target)}{given}{error}")
    lines.append("")
    if found.readers:
        lines += ["| reader | verdict | |", "|---|---|---|", *map(_engine, found.readers), ""]
    if found.pairs or found.encodings:
        lines += [
            "| pair | verdict | at | steps | log distance | phase drift |",
            "|---|---|---:|---:|---:|---:|",
            *map(_row, found.pairs),
            *map(_encoding_row, _diff_encodings.rows(found)),
            "",
        ]
    for before, pair in zip((None, *found.pairs), found.pairs, strict=False):
        if before is None or not words.repeats(before, pair):
            lines += _details(pair)
    for learned in found.encodings:
        lines += _encoding(learned)
    lines += [
        f"- {'**not compared**' if u.matters else 'not compared'}: {u.side.upper()} "
        f"{code(u.name)}, {text(u.reason)}"
        for u in found.unpaired_encodings
    ]
    lines += [
        f"- {'**not compared**' if u.matters else 'not compared'}: {u.side.upper()} "
        f"{code(u.schedule.name)}, {text(words.as_read(u))}{text(u.reason)}"
        for u in found.unpaired
    ]
    lines += [f"- **undecided**: {text(why)}" for why in found.undecided]
    lines += [f"- **note**: {text(said)}" for said in found.notes]
    idle = [said for s in (found.a, found.b) for said in idle_overrides(s)]
    lines += [f"- **note**: {text(said)}" for said in idle]
    if lines[-1]:
        lines.append("")
    lines.append(f"{', '.join(words.summary(found))}; ropeaudit {__version__}")
    return "\n".join(lines) + "\n"


def _engine(readings: Readings) -> str:
    said = text("; ".join(words.of_readings(readings))).replace("|", "\\|")
    return f"| {code(readings.reader)} | {_diff_readers.level(readings)} | {said} |"


def _heading(pair: Pair) -> str:
    """The pair's names, with the engine where one was named."""
    return f"{pair.reader} {words.heading(pair)}" if pair.reader else words.heading(pair)


def _row(pair: Pair) -> str:
    cells = [
        code(_heading(pair)).replace("|", "\\|"),
        pair.likeness.value if pair.severity is None else f"different ({pair.severity.label})",
        str(pair.context),
        "-" if pair.max_ulp is None else f"{pair.max_ulp:,}",
        show.short(pair.max_abs_dlog),
        f"{show.radians(pair.max_phase_drift)} rad",
    ]
    return f"| {' | '.join(cells)} |"


def _details(pair: Pair) -> list[str]:
    if pair.severity is None:
        return []
    lines = [f"### {code(_heading(pair))}", ""]
    lines += [f"- **{text(lost.name)}**{text(lost.text[len(lost.name) :])}" for lost in pair.lost]
    lines += [f"- {text(said)}" for said in words.told(pair)]
    return [*lines, ""]


def _encoding_row(cells: tuple[str, ...]) -> str:
    first, *rest = cells
    return f"| {' | '.join((code(first).replace('|', chr(92) + '|'), *map(text, rest)))} |"


def _encoding(pair: EncodingPair) -> list[str]:
    if pair.severity is None and not pair.notes:
        return []
    lines = [f"### {code(_diff_encodings.heading(pair))}", ""]
    lines += [f"- **{text(lost.name)}**{text(lost.text[len(lost.name) :])}" for lost in pair.lost]
    lines += [f"- {text(said)}" for said in _diff_encodings.sentences(pair)]
    for q in pair.quantities:
        told = _diff_encodings.worst_heads(q, 3)
        if len(told) > 1:
            places = "; ".join(map(_diff_encodings.at, told))
            lines.append(f"- {text(q.quantity)} differs most at {text(places)}")
    lines += [f"- note: {text(note.text)}" for note in pair.notes]
    return [*lines, ""]
