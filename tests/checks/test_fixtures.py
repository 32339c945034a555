"""Every rule against its own examples: failing ones are found, passing ones are not.

``fixtures/rules/<ID>/{pass,fail,unknown}``: each direct child (file or folder) is one target.
``expect.json`` beside them may say, by a child's name, the ``severity`` expected, words that the
message ``contains``, and the ``context`` lengths, ``override`` values and ``readers`` that it is
audited with;
``no_unknown`` says why a rule can never be unknown.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import Bound, audit_subject, bind, resolve
from ropeaudit.findings import Finding, Status
from ropeaudit.packs import load_pack, shipped
from tests import make_table_fixtures

FOLDER = Path(__file__).parents[2] / "fixtures" / "rules"
KINDS = ("pass", "fail", "unknown")


@cache
def rules() -> dict[str, Bound]:
    """Each rule of the shipped packs as ``core`` has it, or the pack that adds it."""
    found: dict[str, Bound] = {}
    for name in shipped():
        for bound in bind([load_pack(name)]):
            found.setdefault(bound.rule.id, bound)
    return found


@cache
def expectations(rule: str) -> dict[str, Any]:
    path = FOLDER / rule / "expect.json"
    found: dict[str, Any] = json.loads(path.read_text()) if path.is_file() else {}
    return found


def children(rule: str, kind: str) -> list[Path]:
    folder = FOLDER / rule / kind
    return sorted(folder.iterdir()) if folder.is_dir() else []


EXAMPLES = [
    pytest.param(rule.name, kind, child, id=f"{rule.name}-{kind}-{child.name}")
    for rule in sorted(FOLDER.iterdir())
    for kind in KINDS
    for child in children(rule.name, kind)
]


def audited(rule: str, child: Path) -> tuple[Finding, ...]:
    expect = expectations(rule).get(child.name, {})
    contexts = tuple(expect.get("context", ()))
    subject = resolve(
        str(child),
        contexts=contexts,
        overrides=expect.get("override", ()),
        offline=True,
        encoding=expect.get("encoding", {}),
    )
    assert subject.error is None, subject.error
    asked = tuple(expect.get("readers", ()))
    return audit_subject(subject, [rules()[rule]], contexts=contexts, readers=asked).findings


@pytest.mark.parametrize(("rule", "kind", "child"), EXAMPLES)
def test_example(rule: str, kind: str, child: Path) -> None:
    found = audited(rule, child)
    if kind == "pass":
        assert found == ()
        return
    expect = expectations(rule).get(child.name, {})
    status = Status.FAIL if kind == "fail" else Status.UNKNOWN
    if kind == "unknown":
        assert {f.status for f in found} == {Status.UNKNOWN}
    meant = [f for f in found if f.status is status and f.rule == rule]
    assert meant, f"expected a finding of status {status}, got {found}"
    severities = {f.severity.label for f in meant}
    assert expect.get("severity", next(iter(severities))) in severities
    if "severity" in expect:  # nothing worse than what is expected
        assert max(f.severity for f in meant).label == expect["severity"]
    messages = [f.message for f in meant]
    assert any(expect.get("contains", "") in m for m in messages), messages
    assert all(0 < len(m) < 600 and "\n" not in m for m in messages), messages


@pytest.mark.parametrize("rule", sorted(rules()))
def test_no_shipped_rule_lacks_examples(rule: str) -> None:
    assert children(rule, "pass"), f"{rule} has no passing example"
    assert children(rule, "fail"), f"{rule} has no failing example"
    reason = expectations(rule).get("no_unknown")
    assert bool(children(rule, "unknown")) != bool(reason), (
        f"{rule} needs examples that stay unknown, or a reason under no_unknown, and not both"
    )


def test_examples_belong_to_rules_and_expectations_to_examples() -> None:
    known = set(rules())
    for folder in FOLDER.iterdir():
        assert folder.name in known, f"examples of a rule that no pack holds: {folder.name}"
        names = {child.name for kind in KINDS for child in children(folder.name, kind)}
        assert set(expectations(folder.name)) - {"no_unknown"} <= names
        assert {p.name for p in folder.iterdir()} <= {*KINDS, "expect.json"}


def test_table_examples_are_what_their_script_writes() -> None:
    written = make_table_fixtures.files()
    for rule in make_table_fixtures.RULES:
        there = {
            path.relative_to(FOLDER).as_posix(): path.read_bytes()
            for path in (FOLDER / rule).rglob("*")
            if path.is_file()
        }
        assert there == {k: v for k, v in written.items() if k.startswith(f"{rule}/")}
