"""Engines that nobody asked for are a line each on the page, whatever their number."""

from __future__ import annotations

from ropeaudit.findings import Finding, Severity
from ropeaudit.records import replace
from ropeaudit.report import console, github, markdown
from ropeaudit.report._terminal import View
from ropeaudit.verdict import Report
from tests.report import canned

NAMES = ("tgi-2026.01", "ctranslate2+tf4.57")


def misread(severity: Severity, *names: str, asked: bool = False, said: str = "base 1") -> Finding:
    evidence = {"readers": list(names), "differs": [said], "asked": asked}
    return replace(
        canned.failing().findings[0],
        rule="RA406", name="reader-disagreement", severity=severity, message="It differs.",
        evidence=evidence, location=None, fix=None,
    )  # fmt: skip


def report(*findings: Finding, count: int = 1, fail_on: Severity = Severity.ERROR) -> Report:
    one = replace(canned.failing(), findings=findings)
    return Report(packs=(canned.pack(),), subjects=(one,) * count, fail_on=fail_on)


def test_a_line_each_under_the_gravest_severity() -> None:
    found = misread(Severity.INFO, *NAMES), misread(Severity.WARNING, "mlx-lm-0.32", said="base 2")
    page = console.render(report(*found))
    lines = page[page.index("warning RA406") :].splitlines()
    assert lines[0].endswith("engines that would build another schedule (-v says more)")
    assert lines[1:4] == [
        "    tgi-2026.01         base 1",
        "    ctranslate2+tf4.57  base 1",
        "    mlx-lm-0.32         base 2",
    ]
    assert "It differs." not in page
    assert "2 infos" not in page


def test_verbose_tells_each_in_full() -> None:
    page = console.render(report(misread(Severity.INFO, *NAMES)), View(verbose=True))
    assert "It differs." in page
    assert "engines that would build another schedule" not in page


def test_engines_that_were_asked_for_are_findings_like_others() -> None:
    page = console.render(report(misread(Severity.ERROR, NAMES[0], asked=True)))
    assert "error RA406 reader-disagreement" in page
    assert "It differs." in page


def test_many_targets_leave_out_what_is_information() -> None:
    info = console.render(report(misread(Severity.INFO, *NAMES), count=9))
    assert NAMES[0] not in info
    warning = console.render(report(misread(Severity.WARNING, *NAMES), count=9))
    assert warning.count(NAMES[0]) == 9


def test_hostile_words_stay_words() -> None:
    page = console.render(report(misread(Severity.WARNING, "x\x1b[31m", said=canned.HOSTILE)))
    assert "\x1b" not in page


def test_other_formats_say_it_as_a_finding() -> None:
    for render in (github.render, markdown.render):
        assert "It differs." in render(report(misread(Severity.WARNING, *NAMES)))
        assert "It differs." not in render(report(misread(Severity.INFO, *NAMES)))
