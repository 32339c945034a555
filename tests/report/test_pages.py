"""What a page tells, how often and in which order; pictures and their legends."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.findings import Finding, Severity, Skipped, Status
from ropeaudit.records import replace
from ropeaudit.report import console, github, markdown
from ropeaudit.report._kinds import KINDS, summary
from ropeaudit.report._schedules import picture
from ropeaudit.report._terminal import Ink, View, width_of
from ropeaudit.schedule.core import Context
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import Report
from tests.report import canned


def test_blank_lines_stand_alone() -> None:
    report = canned.report()
    only_infos = replace(canned.failing(), findings=canned.failing().findings[-2:])
    report = replace(report, subjects=(report.subjects[0], only_infos))
    for view in (View(), View(verbose=True)):
        page = console.render(report, view)
        assert "\n\n\n" not in page
        assert page.count("\n\n  2 infos") == (0 if view.verbose else 2)


def test_what_never_turns_is_dim() -> None:
    page = console.render(canned.report(), View(color=True))
    row = next(line for line in page.splitlines() if "λ" in line)
    turning, _, beyond = row.partition("│")
    assert "\x1b[36m▅" in turning
    assert "\x1b[36m" not in beyond
    assert "\x1b[2m▅" in beyond


def test_many_passing_targets_are_counted() -> None:
    good = canned.report().subjects[2]
    many = Report(packs=(canned.pack(),), subjects=(good,) * 40 + (canned.failing(),))
    page = console.render(many)
    assert page.count("models/gemma") == 0
    assert "40 more targets pass" in page
    assert page.count("RA101") == 1
    some = Report(packs=(canned.pack(),), subjects=(good,) * 8)
    assert console.render(some).count("models/gemma") == 8


def test_a_window_dims_what_it_hides() -> None:
    subject = canned.report().subjects[2].subject
    page = console.render_schedules([subject], View(color=True))
    row = [line for line in page.splitlines() if "λ" in line][1]
    within, _, beyond = row.partition("│")
    assert "\x1b[36m▄" in within
    assert "\x1b[36m" not in beyond


def test_many_tables_are_drawn_on_request() -> None:
    tables = [replace(canned.plain_schedule(1e4 * (k + 1)), variant=f"@{k}") for k in range(8)]
    subject = Subject(target="x", format="raw", schedules=(*tables, tables[0]))
    page = console.render_schedules([subject])
    assert page.count("λ") == console.MANY_PICTURES
    assert "2 more tables (-v draws them)" in page
    whole = console.render_schedules([subject], View(verbose=True))
    assert whole.count("λ") == 8
    assert "\n  text/@0, text/@0\n" in whole  # one picture for equal tables, under both names
    longer = replace(tables[0], context=replace(tables[0].context, declared=65536))
    both = Subject(target="x", format="raw", schedules=(tables[0], longer))
    assert console.render_schedules([both]).count("λ") == 2


def test_the_same_finding_of_two_schedules_is_told_once() -> None:
    report = canned.failing()
    twice = (report.findings[0], replace(report.findings[0], schedule="text"))
    page = console.render(
        Report(packs=(canned.pack(),), subjects=(replace(report, findings=twice),))
    )
    assert page.count("RA101") == 1
    assert "text/stored, text" in page


def test_the_same_said_by_two_rules_is_told_once_by_the_graver() -> None:
    report = canned.failing()
    grave = report.findings[0]
    mild = replace(grave, rule="RA402", name="ignored-key", severity=Severity.WARNING, fix="x")
    two = replace(report, findings=(mild, grave))
    page = console.render(Report(packs=(canned.pack(),), subjects=(two,)))
    assert page.count(grave.message) == 1
    assert "error RA101 duplicate-frequency, RA402  text/stored" in page
    assert "1 error · 1 warning" in page
    page = console.render(Report(packs=(canned.pack(),), subjects=(two,)), View(verbose=True))
    assert page.count(grave.message) == 2


def test_undecided_is_shown_whatever_its_severity() -> None:
    report = canned.failing()
    info = replace(report.findings[-1], status=Status.UNKNOWN, severity=Severity.INFO)
    one = replace(report, findings=(info,))
    page = console.render(Report(packs=(canned.pack(),), subjects=(one,)))
    assert "unknown RA303" in page


def test_infos_are_told_where_the_gate_fails_on_them() -> None:
    failing = canned.failing()
    infos = tuple(f for f in failing.findings if f.severity is Severity.INFO)
    one = replace(failing, findings=infos)
    gate = Report(packs=(canned.pack(),), subjects=(one,), fail_on=Severity.INFO)
    usual = replace(gate, fail_on=Severity.ERROR)
    for page in (console.render, github.render, markdown.render):
        assert infos[0].message in page(gate)
        assert infos[0].message not in page(usual)
    assert "::notice" in github.render(gate)
    assert github.render(usual) == "ropeaudit: fail, 1 target, 2 infos\n"


def _undecided(rule: str, message: str) -> Finding:
    some = canned.failing().findings[0]
    return replace(some, rule=rule, status=Status.UNKNOWN, message=message)


def test_one_reason_for_many_undecided_rules_is_told_once() -> None:
    reason = "channel 6 holds NaN or infinity."
    found = (
        _undecided("RA101", f"Whether frequencies are equal cannot be decided: {reason}"),
        _undecided("RA102", f"Whether they nearly coincide cannot be decided: {reason}"),
        _undecided("RA203", "No base could be fitted."),
        replace(canned.failing().findings[0], rule="RA105"),
    )
    report = Report(packs=(canned.pack(),), subjects=(replace(canned.failing(), findings=found),))
    for page in (console.render(report), github.render(report), markdown.render(report)):
        assert page.count(reason) == 1
        assert page.index("RA105") < page.index("RA101, RA102".replace(", ", page_comma(page)))
        assert "No base could be fitted." in page
    assert console.render(report, View(verbose=True)).count(reason) == 2
    assert "3 rules undecided" in console.render(report)


def page_comma(page: str) -> str:
    return "%2C " if page.startswith("::") else ", "


def test_every_target_is_of_one_kind() -> None:
    report = canned.report()
    kinds = [part.partition(" ") for part in summary(report)]
    words = {word: int(count) for count, _, word in kinds}
    assert sum(words.get(k, 0) for k in KINDS) == len(report.subjects) == words["targets"]
    assert words["nothing to audit"] == words["unreadable"] == 1
    assert "::warning file=models/bert,title=nothing to audit::" in github.render(report)


def test_a_rule_that_ran_somewhere_is_not_called_inapplicable() -> None:
    failing = canned.failing()
    skipped = (
        Skipped("RA301", "text/stored: no length"),
        Skipped("RA302", "text: no length"),
        Skipped("RA302", "text/stored: no length"),
        Skipped("RA305", "no scaling"),
        Skipped("RA404", "text: no original length"),
    )
    one = replace(failing, skipped=skipped, findings=())
    page = console.render(Report(packs=(canned.pack(),), subjects=(one,)))
    assert "not applicable (-v says why): RA302, RA305\n" in page
    page = console.render(Report(packs=(canned.pack(),), subjects=(one,)), View(verbose=True))
    assert "RA301 not applicable: text/stored: no length" in page


def test_what_has_no_place_on_the_axis_is_counted() -> None:
    def drawn(*values: float) -> str:
        table = replace(canned.plain_schedule(), inv_freq=values)
        return console.render_schedules([Subject(target="x", format="raw", schedules=(table,))])

    assert "nothing turns: 2 of 2 channels are 0" in drawn(0.0, 0.0)
    assert "1 of 2 channels are 0, 1 are NaN or infinite" in drawn(0.0, math.nan)
    assert "positions, 1 never turn, 2 NaN or infinite" in drawn(1.0, 0.1, 0.0, math.inf, math.nan)


@given(
    st.integers(40, 120),
    st.lists(st.integers(7, 10**6), min_size=1, max_size=3, unique=True),
    st.booleans(),
)
def test_a_legend_hangs_on_its_marks(width: int, lengths: list[int], unicode: bool) -> None:
    trained, *rest = lengths
    context = Context(
        trained=trained,
        declared=rest[0] if rest else trained,
        window=rest[1] if len(rest) > 1 else None,
    )
    table = replace(canned.plain_schedule(), context=context)
    view = View(width=width, unicode=unicode)
    ink = Ink(view)
    picture(ink, table)
    row, *legend = ink.text().splitlines()
    assert all(width_of(line) <= width for line in (row, *legend))
    told = " ".join(" ".join(legend).split())
    assert told.count(" of 64 channels turn ") == 1
    for length in lengths:
        assert re.search(rf"\b{length}\b", told)
    bar, corners = ("│", "└┘│") if unicode else ("|", "/\\|")
    for line in legend:
        for column, sign in enumerate(line):
            assert sign not in corners or row[column] == bar


def test_a_value_that_makes_no_schedule_is_placed(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "rope_theta": -5.0}, indent=1))
    report = ropeaudit.audit(path)
    assert report.subjects[0].subject.format == "hf-config"
    assert f"at  {path}:3 /rope_theta\n" in console.render(report)
    assert github.render(report).startswith(f"::error file={path},line=3,title=unreadable::")
    assert f"at `{path}:3 /rope_theta`" in markdown.render(report)
    given = ropeaudit.audit(path, overrides="rope_theta=abc")
    assert "(from --override)" in console.render(given)
    assert f"at  {path} /rope_theta\n" in console.render(given)
    healed = ropeaudit.audit(path, overrides=["rope_theta=1e6", "hidden_act=x"])
    assert healed.exit_code == 0
