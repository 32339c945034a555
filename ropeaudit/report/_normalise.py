"""Proposals for configs: as a diff, for people with what engines make of it, and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.normalise.interface import SCHEMA, Change, Engine, Normalised, agrees
from ropeaudit.report._numbers import plural
from ropeaudit.report._terminal import Ink, View, pad, safe, width_of, wrap
from ropeaudit.report.json_v1 import FORMAT, TOOL, page
from ropeaudit.schedule.views import View as Reading

FORMATS = ("console", "json", FORMAT, "diff")
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_LONGEST = 60
"""Characters of a value that the list of changes shows."""


def check_format(name: str) -> None:
    """Raises UsageError unless proposals can be written in this format."""
    if name not in FORMATS:
        raise UsageError(f"format {name} is for findings; proposals come as console, diff or json")


def render(name: str, found: Sequence[Normalised], view: View) -> str:
    """The page in the format ``name``."""
    if name == "console":
        return console(found, view)
    if name == "diff":
        return "".join(line for one in found for line in diff(one))
    return page({"schema": SCHEMA, "tool": TOOL, "files": [document(one) for one in found]})


def diff(one: Normalised) -> Iterator[str]:
    """Lines of a unified diff, with the file's own line ends; none where nothing changes."""
    if one.status != "changed":
        return
    name = safe(one.file or one.target)
    made = difflib.unified_diff(_lines(one.before), _lines(one.after), name, name)
    for line in made:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _lines(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as for every tool that reads diffs."""
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1].removesuffix("\n")
    return lines if lines[-1] else lines[:-1]


def document(one: Normalised) -> dict[str, Any]:
    """The keys of one file."""
    problem = one.error
    return {
        "target": one.target,
        "file": one.file,
        "status": one.status,
        "reason": one.reason,
        "error": None
        if problem is None
        else {"kind": problem.kind, "message": problem.message, "where": problem.where},
        "written": one.written,
        "tried": one.tried,
        "changes": [
            {"pointer": c.pointer, "before": c.before, "after": c.after, "why": c.why}
            for c in one.changes
        ],
        "agreeing": {
            "before": sum(e.agreed for e in one.engines),
            "after": sum(e.agrees for e in one.engines),
            "of": len(one.engines),
        },
        "engines": {e.name: _engine(e) for e in one.engines},
        "cautions": list(one.cautions),
        "advice": list(one.advice),
        "diff": "".join(diff(one)) or None,
    }


def _engine(engine: Engine) -> dict[str, Any]:
    return {
        "before": _outcome(engine.before),
        "after": _outcome(engine.after),
        "why": engine.why,
        "elsewhere": engine.elsewhere,
    }


def _outcome(view: Reading) -> dict[str, Any]:
    return {
        "agrees": agrees(view),
        "status": view.status,
        "reason": view.reason,
        "words": [] if view.distance is None else list(view.distance.words),
        "ignored": list(view.ignored),
    }


def console(found: Sequence[Normalised], view: View) -> str:
    """The diff of each file, then what its engines make of it."""
    ink = Ink(view)
    for index, one in enumerate(found):
        if index:
            ink.line()
        for line in "".join(diff(one)).split("\n")[:-1]:
            text = safe(line.removesuffix("\r"))
            header = line.startswith(("--- ", "+++ "))
            ink.line((text, "bold" if header else _STYLES.get(line[:1])))
        if one.status == "changed":
            ink.line()
        _summary(ink, one)
    return ink.text()


def _summary(ink: Ink, one: Normalised) -> None:
    ink.line((safe(one.file or one.target), "bold"), f"  {said(one)}")
    if one.engines:
        _engines(ink, one)
    for text in one.cautions:
        ink.paragraph(f"note: {safe(text)}", indent=2, style="yellow")
    for text in one.advice:
        ink.paragraph(f"advice: {safe(text)}", indent=2, style="dim")
    if ink.view.verbose:
        _changes(ink, one.changes)


def told(one: Normalised) -> str:
    """The file and what came of it, as one line."""
    return f"{safe(one.file or one.target)}: {said(one)}"


def said(one: Normalised) -> str:
    """What came of it, as a clause."""
    if one.error is not None:
        return f"error: {safe(one.error.message)}"
    if one.status == "nothing":
        return f"nothing to normalise: {safe(one.reason or 'it has no spelling to choose')}"
    if one.status == "normal":
        return "normal already"
    count = plural(len(one.changes), "change")
    return f"{count}, written" if one.written else f"{count} proposed; --write writes"


def _engines(ink: Ink, one: Normalised) -> None:
    engines = one.engines
    before, after = sum(e.agreed for e in engines), sum(e.agrees for e in engines)
    count = f"{after}" if before == after else f"{before} → {after}"
    ink.line(("  agree    ", "dim"), f"{count} of {len(engines)} with the reference")
    gained = [e.name for e in engines if e.agrees and not e.agreed]
    if gained:
        ink.paragraph(f"gained: {safe(', '.join(gained))}", indent=2, style="green")
    unmasked = [e.name for e in engines if e.unmasked]
    if unmasked:
        told = f"refused the file, and now would read it wrongly: {', '.join(unmasked)}"
        ink.paragraph(safe(told), indent=2, style="yellow")
    rest = [e for e in engines if not e.agrees]
    rows = [e for e in rest if ink.view.verbose or _matters(e)]
    if rows:
        said = f"no spelling ({plural(one.tried, 'text')} built) makes these agree as well:"
        ink.line((f"  {said}", "dim"))
    width = max((width_of(safe(e.name)) for e in rows), default=0)
    for engine in rows:
        _row(ink, engine, width)
    hidden = len(rest) - len(rows)
    if hidden:
        said = f"{plural(hidden, 'engine')} of which nothing is known; -v names them"
        ink.line((f"  {said}", "dim"))


def _row(ink: Ink, engine: Engine, width: int) -> None:
    style = {"refuses": "yellow", "not_covered": "dim"}.get(engine.after.status, "red")
    first, *rest = wrap(safe(engine.why or ""), max(20, ink.view.width - width - 6))
    ink.line(f"    {pad(safe(engine.name), width)}  ", (first, style))
    for line in rest:
        ink.line(" " * (width + 6), (line, style))


def _matters(engine: Engine) -> bool:
    return engine.after.status != "not_covered"


def _changes(ink: Ink, changes: Sequence[Change]) -> None:
    for change in changes:
        before, after = _short(change.before), _short(change.after)
        ink.line(f"  {safe(change.pointer)}  ", (f"{before} → {after}", "cyan"))
        ink.paragraph(safe(change.why), indent=6, style="dim")


def _short(raw: str | None) -> str:
    if raw is None:
        return "(absent)"
    text = safe(" ".join(raw.split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
