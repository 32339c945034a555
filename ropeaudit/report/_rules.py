"""The catalogue of rules and the explanation of one, as pages for people and as JSON."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.explain import Entry, Explanation
from ropeaudit.packs import Pack
from ropeaudit.report._terminal import Ink, View, pad, safe
from ropeaudit.report.json_v1 import FORMAT, TOOL, page

FORMATS = ("console", "json", FORMAT)
_COLORS = {"error": "red", "warning": "yellow", "info": "blue"}


def check_format(name: str) -> None:
    """Raises UsageError unless the catalogue can be written in this format."""
    if name not in FORMATS:
        raise UsageError(f"format {name} is for findings; rules come as {' or '.join(FORMATS[:2])}")


def render_rules(name: str, entries: Sequence[Entry], packs: Sequence[Pack], view: View) -> str:
    """All rules: a line each, grouped by the hundred of their id, or JSON."""
    if name != "console":
        return page(
            {
                "schema": "ropeaudit/rules/1",
                "tool": TOOL,
                "packs": [
                    {"name": p.name, "version": p.version, "sha256": p.sha256} for p in packs
                ],
                "rules": [_as_json(e) for e in entries],
            }
        )
    ink = Ink(view)
    names = [p.name for p in packs]
    width = max(len(safe(e.name)) for e in entries)
    columns = [max(7, len(n)) for n in names]
    titles = "  ".join(pad(safe(n), w) for n, w in zip(names, columns, strict=True))
    ink.line((f"{'rule':7}{'name':{width}}  {titles}", "dim"))
    group = ""
    for entry in entries:
        if group and entry.id[:3] != group:
            ink.line()
        group = entry.id[:3]
        cells: list[tuple[str, str | None]] = [(f"{entry.id:7}", "bold")]
        cells.append((pad(safe(entry.name), width), None))
        for pack, column in zip(names, columns, strict=True):
            level = entry.severities.get(pack)
            word = "-" if level is None else level.label
            cells.append(("  " + pad(word, column), _COLORS.get(word, "dim")))
        ink.line(*cells)
        if view.verbose:
            ink.paragraph(safe(entry.why), indent=7, style="dim")
            ink.line((f"       {_place(entry)}", "dim"))
    ink.line()
    ink.line(("ropeaudit explain RULE says what a rule checks, and why", "dim"))
    return ink.text()


def render_explanation(name: str, explanation: Explanation, view: View) -> str:
    """One rule in full, as a page or as JSON."""
    if name != "console":
        return page(
            {
                "schema": "ropeaudit/explanation/1",
                "tool": TOOL,
                **_as_json(explanation.entry),
                "title": explanation.title,
                "sections": dict(explanation.sections),
            }
        )
    ink, entry = Ink(view), explanation.entry
    ink.line((entry.id, "bold"), " ", (safe(entry.name), "bold"))
    ink.paragraph(safe(explanation.title), indent=0)
    ink.line()
    for pack, level in entry.severities.items():
        ink.line(f"  {pad(safe(pack), 10)}", (level.label, _COLORS[level.label]))
    if entry.options:
        options = ", ".join(f"{safe(k)} {safe(v)}" for k, v in entry.options.items())
        ink.paragraph(options, indent=12, label="  with")
    if entry.applies_to:
        ink.paragraph(", ".join(map(safe, entry.applies_to)), indent=12, label="  for")
    if entry.why or entry.fix:
        ink.line()
        ink.paragraph(safe(entry.why), indent=6, label="  why ")
        ink.paragraph(safe(entry.fix), indent=6, label="  fix ")
    for heading, text in explanation.sections.items():
        ink.line()
        ink.line((heading, "bold"))
        for part in re.split(r"\n\s*\n", text):
            for item in _items(part):
                ink.paragraph(safe(_unmarked(item)), indent=2)
    ink.line()
    ink.line((f"since {safe(entry.since)} · {_place(entry)}", "dim"))
    return ink.text()


def _items(part: str) -> list[str]:
    """A paragraph as one piece, a list as its items."""
    return re.split(r"\n(?=[-*] )", part)


def _unmarked(text: str) -> str:
    """Docstring text without its back quotes and on one line."""
    return " ".join(text.replace("``", "`").replace("`", "").split())


def _place(entry: Entry) -> str:
    line = "" if entry.line is None else f":{entry.line}"
    return f"{safe(entry.file)}{line} · {safe(entry.source)}"


def _as_json(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "name": entry.name,
        "severity": entry.severity.label,
        "severities": {pack: level.label for pack, level in entry.severities.items()},
        "check": entry.check,
        "options": dict(entry.options),
        "applies_to": list(entry.applies_to),
        "why": entry.why,
        "fix": entry.fix,
        "since": entry.since,
        "source": {"file": entry.file, "line": entry.line, "check": entry.source},
    }
