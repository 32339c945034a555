"""Every format renders the canned report; the results are kept as golden files."""

from __future__ import annotations

import io
import json
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.findings import Verdict
from ropeaudit.records import replace
from ropeaudit.report import console, github, interface, json_v1, markdown
from ropeaudit.report._terminal import View, ascii_only, detect, width_of, wrap
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
    assert {"console", "github", "json", "json-v1", "markdown"} <= set(interface.names())
    for name in interface.names():
        module = interface.load(name)
        assert interface.ALIASES.get(name, name) == module.FORMAT
        assert module.render(canned.report()).endswith("\n")
    with pytest.raises(UsageError, match="did you mean markdown"):
        interface.load("markdwn")
    with pytest.raises(UsageError, match="use one of console, json"):
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


def test_color_changes_no_text() -> None:
    colored = console.render(canned.report(), View(color=True))
    assert "\x1b[" in colored
    assert ESCAPE.sub("", colored) == console.render(canned.report(), View())


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
