"""Every format renders the canned report; the results are kept as golden files."""

from __future__ import annotations

import io
import json
import math
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.errors import UsageError
from ropeaudit.findings import Finding, Severity, Skipped, Status, Verdict
from ropeaudit.records import replace
from ropeaudit.report import console, github, interface, json_v1, markdown
from ropeaudit.report._kinds import KINDS, summary
from ropeaudit.report._schedules import picture
from ropeaudit.report._terminal import Ink, View, ascii_only, detect, width_of, wrap
from ropeaudit.schedule.core import Context
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import Report, SubjectReport
from tests.report import canned
from tests.report.golden import same_as_golden

VIEWS = {
    "plain": View(),
    "color": View(color=True),
    "verbose": View(verbose=True),
    "ascii": View(unicode=False),
    "narrow": View(width=60),
}
ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("name", VIEWS)
def test_console_pages(name: str) -> None:
    same_as_golden(f"console-{name}.txt", console.render(canned.report(), VIEWS[name]))


@pytest.mark.parametrize("name", ["github", "json-v1", "markdown"])
def test_machine_formats(name: str) -> None:
    same_as_golden(f"{name}.txt", interface.load(name).render(canned.report()))


@pytest.mark.parametrize("name", ["plain", "verbose"])
def test_show_pages(name: str) -> None:
    subjects = [s.subject for s in canned.report().subjects]
    same_as_golden(f"show-{name}.txt", console.render_schedules(subjects, VIEWS[name]))


def test_show_json() -> None:
    subjects = [s.subject for s in canned.report().subjects]
    text = json_v1.render_schedules(subjects)
    same_as_golden("show-json.txt", text)
    assert json.loads(text)["schema"] == "ropeaudit/schedules/1"


def test_every_module_is_a_format() -> None:
    assert interface.names() == ("console", "github", "json", "json-v1", "markdown")
    for name in interface.names():
        module = interface.load(name)
        assert interface.ALIASES.get(name, name) == module.FORMAT
        assert module.MACHINE is (name != "console")
        assert module.render(canned.report()).endswith("\n")
    with pytest.raises(UsageError, match="did you mean markdown"):
        interface.load("markdwn")
    with pytest.raises(UsageError, match="use one of console, json, json-v1"):
        interface.for_schedules("github")


def test_json_numbers_and_words() -> None:
    whole = json.loads(json_v1.render(canned.report()))
    text = whole["subjects"][0]["schedules"][0]
    assert text["inv_freq"][:3] == [1.0, 0.8146172, 0.6636013]
    assert '"max_abs_dlog": "inf"' in json_v1.render(canned.report())
    assert text["context"] == {
        "trained": 8192, "declared": 131072, "assumed": False, "window": None,
    }  # fmt: skip
    assert text["provenance"][0]["pointer"] == "/rope_theta"
    assert text["provenance"][1]["default"] is True
    assumed = whole["subjects"][2]["schedules"][0]["provenance"]
    assert {"field": "trained", "value": 32768, "assumed": True} in assumed


def test_json_is_the_same_twice_and_ascii() -> None:
    once, twice = json_v1.render(canned.report()), json_v1.render(canned.report())
    assert once == twice
    assert once.isascii()
    assert not any(ord(c) < 32 and c != "\n" for c in once)


def test_blank_lines_stand_alone() -> None:
    report = canned.report()
    only_infos = replace(canned.failing(), findings=canned.failing().findings[-2:])
    report = replace(report, subjects=(report.subjects[0], only_infos))
    for view in (View(), View(verbose=True)):
        page = console.render(report, view)
        assert "\n\n\n" not in page
        assert page.count("\n\n  2 infos") == (0 if view.verbose else 2)


def test_color_changes_no_text() -> None:
    colored = console.render(canned.report(), View(color=True))
    assert "\x1b[" in colored
    assert ESCAPE.sub("", colored) == console.render(canned.report(), View())


def test_what_never_turns_is_dim() -> None:
    page = console.render(canned.report(), View(color=True))
    row = next(line for line in page.splitlines() if "λ" in line)
    turning, _, beyond = row.partition("│")
    assert "\x1b[36m▅" in turning
    assert "\x1b[36m" not in beyond
    assert "\x1b[2m▅" in beyond


def _named(name: str) -> Report:
    report = canned.failing()
    finding = replace(report.findings[0], message=name, fix=name, evidence={name: name})
    subject = replace(report.subject, target=name, model_type=name)
    one = SubjectReport(subject=subject, verdict=Verdict.FAIL, findings=(finding,))
    return Report(packs=(canned.pack(),), subjects=(one,), skipped_targets=(name,))


HOSTILE = st.text(
    st.one_of(st.characters(), st.sampled_from("[]`|*_<>&@#\\\x1b\x07\r\n:,%\u202e\u2066\x9b\x00")),
    min_size=1,
    max_size=30,
)


@given(HOSTILE)
def test_foreign_text_cannot_control_a_terminal(name: str) -> None:
    for view in (View(), View(verbose=True), View(unicode=False)):
        page = console.render(_named(name), view)
        bad = [c for c in page if unicodedata.category(c) in ("Cc", "Cf", "Cs") and c != "\n"]
        assert not bad
        assert view.unicode or page.isascii()
    for module in (github, markdown):
        page = module.render(_named(name)).replace("\u200b", "")
        assert not any(unicodedata.category(c) == "Cc" and c != "\n" for c in page)


@given(HOSTILE)
def test_annotations_stay_on_their_lines(name: str) -> None:
    lines = github.render(_named(name)).splitlines()
    assert len(lines) == 2
    properties, _, message = lines[0].removeprefix("::error ").partition("::")
    assert {p.partition("=")[0] for p in properties.split(",")} == {"file", "title"}
    assert re.fullmatch(r"(?:[^%]|%25|%0D|%0A)*", message)


def test_github_order_count_and_escapes() -> None:
    assert github.escape("50% \r\n") == "50%25 %0D%0A"
    lines = github.render(canned.report()).splitlines()
    kinds = [re.match(r"::(\w+)", line)[1] for line in lines[:-1]]  # type: ignore[index]
    assert kinds == ["error"] * 3 + ["warning"] * 4
    assert "line=19" in lines[3]
    many = Report(packs=(canned.pack(),), subjects=(canned.failing(),) * 4)
    lines = github.render(many).splitlines()
    assert len(lines) == github.SHOWN + 2
    assert lines[-2] == "::notice title=ropeaudit::16 findings in all, 10 of them annotated"


@given(HOSTILE)
def test_markdown_spans_cannot_be_left(name: str) -> None:
    span = markdown.code(name)
    fence = re.match(r"`+", span)[0]  # type: ignore[index]
    inside = span[len(fence) : -len(fence)]
    assert span.endswith(fence)
    assert fence not in re.findall(r"`+", inside)
    plain = markdown.text(name)
    assert not re.search(r"(?<!\\)(?:\\\\)*[`*_\[\]<>|#~]", plain)


def test_markdown_is_cut_below_the_limit() -> None:
    many = Report(packs=(canned.pack(),), subjects=(canned.failing(),) * 3000)
    page = markdown.render(many)
    assert len(page.encode()) < 2**20
    assert "(cut here" in page


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


def test_promised_evidence_is_there() -> None:
    found = canned.failing().findings[0]
    for rule, keys in (
        ("RA105", {"max_cluster", "clusters"}),
        ("RA202", {"log_gaps"}),
        ("RA301", {"under_rotated", "critical_dim"}),
        ("RA402", {"expected", "found", "max_abs_dlog", "max_phase_drift"}),
        ("OURS1", set()),
    ):
        told = json_v1.finding(replace(found, rule=rule, evidence={"found": 7}))["evidence"]
        assert set(told) == keys | {"found"}
        assert told["found"] == 7


def test_an_empty_report_is_a_page() -> None:
    assert console.render(Report(packs=(canned.pack(),), subjects=())).startswith("nothing audited")
    assert console.render_schedules([Subject(target="x", format="raw")]) == "x  raw\n"


class _Stream(io.StringIO):
    def __init__(self, terminal: bool, encoding: str) -> None:
        super().__init__()
        self.terminal, self.spelt = terminal, encoding

    def isatty(self) -> bool:
        return self.terminal

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.spelt


@pytest.mark.parametrize(
    ("terminal", "option", "env", "color"),
    [
        (True, "auto", {}, True),
        (False, "auto", {}, False),
        (True, "auto", {"NO_COLOR": "1"}, False),
        (True, "auto", {"TERM": "dumb"}, False),
        (False, "auto", {"FORCE_COLOR": "1"}, True),
        (False, "auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (False, "auto", {"FORCE_COLOR": "0"}, False),
        (False, "always", {"NO_COLOR": "1"}, True),
        (True, "never", {"FORCE_COLOR": "1"}, False),
    ],
)
def test_color_is_decided_once(
    terminal: bool, option: str, env: dict[str, str], color: bool
) -> None:
    assert detect(_Stream(terminal, "utf-8"), color=option, env=env).color is color


def test_width_and_encoding() -> None:
    assert detect(_Stream(False, "utf-8"), env={}) == View()
    assert detect(_Stream(False, "utf-8"), env={"COLUMNS": "200"}).width == 200
    assert detect(_Stream(False, "utf-8"), env={"COLUMNS": "3"}).width == 40
    assert not detect(_Stream(False, "ascii"), env={}).unicode
    assert not detect(_Stream(False, "ISO-8859-1"), env={}).unicode
    assert width_of("日本") == 4
    assert width_of("λ 6 ▅│") == 6
    assert ascii_only("8192 → 131072 日") == "8192 -> 131072 \\u65e5"


@given(st.text(max_size=200), st.integers(10, 80))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    lines = list(wrap(text, width))
    assert " ".join(lines).split() == text.split()
    assert all(width_of(line) <= width or " " not in line for line in lines)


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
