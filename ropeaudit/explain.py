"""What a rule means, from the rule's entry in its pack and its check's module docstring.

The docstring is the only documentation of a check: ``ropeaudit explain``, the rule pages and the
catalogue are all made from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ropeaudit.checks.interface import module_name
from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.findings import Severity
from ropeaudit.packs import Pack, Rule, load_pack, shipped
from ropeaudit.records import field, record

SECTIONS = (
    "What it checks", "Why it matters", "Passes when", "Fails when", "Exactness", "Options",
    "References",
)  # fmt: skip
"""Sections of a check's docstring, in order; each is there once."""

_HEADING = re.compile(rf"^(?:\*\*)?({'|'.join(SECTIONS)})(?:\.?\*\*)?[.:]?(?:[ \t]+|$)")


@record(kw_only=True)
class Entry:
    """A rule as the catalogue shows it.

    ``severities``: the severity in each pack that has the rule, by pack name. ``line``: where the
    rule begins in ``file``, the YAML of the pack that defines it. ``source``: the check's module.
    """

    id: str
    name: str
    check: str
    severity: Severity
    severities: Mapping[str, Severity]
    options: Mapping[str, str] = field(default_factory=dict)
    applies_to: tuple[str, ...] = ()
    why: str = ""
    fix: str = ""
    since: str = ""
    file: str = ""
    line: int | None = None
    source: str = ""


@record(kw_only=True)
class Explanation:
    """A rule with its check's documentation: a title and the texts of :data:`SECTIONS`."""

    entry: Entry
    title: str
    sections: Mapping[str, str]


def catalogue(packs: Iterable[Pack]) -> tuple[Entry, ...]:
    """Every rule of the packs, by id; the first pack that has a rule gives its words."""
    rules: dict[str, Rule] = {}
    severities: dict[str, dict[str, Severity]] = {}
    files: dict[str, str] = {}
    for pack in packs:
        files.setdefault(pack.name, pack.path)
        for rule in pack.rules:
            rules.setdefault(rule.id, rule)
            severities.setdefault(rule.id, {})[pack.name] = rule.severity
    return tuple(
        _entry(rule, severities[rule_id], files.get(rule.pack, ""))
        for rule_id, rule in sorted(rules.items())
    )


def explain(rule: str, packs: Iterable[str] | None = None) -> Explanation:
    """The explanation of a rule by id or name; ``packs`` are names or paths, default all shipped.

    Raises UsageError for an unknown rule and PackError for a pack that cannot be loaded.
    """
    entries = catalogue(load_pack(name) for name in packs or shipped())
    by_name = {key.lower(): entry for entry in entries for key in (entry.name, entry.id)}
    found = by_name.get(rule.lower())
    if found is None:
        known = [key for entry in entries for key in (entry.id, entry.name)]
        hint = suggestion(rule, known) or suggestion(rule.upper(), known)
        raise UsageError(f"no rule {quoted(rule)}{hint or '; `ropeaudit rules` lists them all'}")
    title, sections = documentation(found.check)
    return Explanation(entry=found, title=title, sections=sections)


def documentation(check: str) -> tuple[str, Mapping[str, str]]:
    """Title and sections of a check's module docstring, read without importing the check."""
    import ast

    source = Path(_source(check)).read_text(encoding="utf-8")
    text = ast.get_docstring(ast.parse(source)) or ""
    title, _, body = text.partition("\n")
    return title.strip(), dict(_sections(body))


def _sections(body: str) -> Iterator[tuple[str, str]]:
    name, lines = "", list[str]()
    for line in (*body.splitlines(), None):
        heading = _HEADING.match(line) if line is not None else None
        if line is not None and heading is None:
            lines.append(line)
            continue
        if name:
            yield name, _dedented(lines)
        if heading is not None and line is not None:
            name, lines = heading[1], [line[heading.end() :]]


def _dedented(lines: list[str]) -> str:
    """Lines without their common indent; the first one stands beside its heading."""
    import textwrap

    first, rest = lines[0].strip(), textwrap.dedent("\n".join(lines[1:]))
    return f"{first}\n{rest}".strip()


def _entry(rule: Rule, severities: Mapping[str, Severity], file: str) -> Entry:
    return Entry(
        id=rule.id,
        name=rule.name,
        check=rule.check,
        severity=rule.severity,
        severities=severities,
        options={k: str(v) for k, v in rule.with_.items()},
        applies_to=rule.applies_to,
        why=rule.why,
        fix=rule.fix,
        since=rule.since,
        file=file,
        line=_lines(file).get(rule.id),
        source=_source(rule.check),
    )


@cache
def _lines(file: str) -> Mapping[str, int]:
    """The line of each rule's id in a pack's YAML."""
    found: dict[str, int] = {}
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return found
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r"\s*-?\s*id:\s*[\"']?([A-Za-z0-9_-]+)", line)
        if match:
            found.setdefault(match[1], number)
    return found


@cache
def _source(check: str) -> str:
    spec = find_spec(module_name(check))
    return "" if spec is None or spec.origin is None else spec.origin
