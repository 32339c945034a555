"""Certificates as pages: each kind of claim in words, hostile names, narrow and plain terminals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from ropeaudit.certify import certify
from ropeaudit.errors import UsageError
from ropeaudit.proofs.certificate import Certificate, Part, assemble
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.proofs.recovery import NONE
from ropeaudit.records import replace
from ropeaudit.report._certificate import (
    check_format,
    outcome,
    render,
    summary,
)
from ropeaudit.report._claims import words
from ropeaudit.report._terminal import View, width_of
from ropeaudit.report._verification import render_check
from ropeaudit.schedule.subject import Subject
from ropeaudit.verifier import verify
from tests.report.golden import same_as_golden
from tests.report.test_schemas import _closed as closed
from tests.schedules import plain, raw

ROOT = Path(__file__).parents[2]
REQUIRED = ("form", "distinct")
TARGETS = (
    "fixtures/rules/RA601/pass/stored",
    "fixtures/rules/RA602/fail/factors-meet",
    "fixtures/rules/RA601/unknown/bare-table.json",
    "fixtures/no-such-file",
)


@pytest.fixture(scope="module")
def certificate() -> Certificate:
    """What the fixtures say, whatever the version: pages are compared byte for byte."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr("ropeaudit.proofs.certificate.__version__", "0.0.0")
        return certify(TARGETS, offline=True)


@pytest.fixture(autouse=True)
def _version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ropeaudit.report._certificate.__version__", "0.0.0")


@pytest.mark.parametrize(
    ("name", "form", "view"),
    [
        ("prove-plain.txt", "console", View()),
        ("prove-color.txt", "console", View(color=True, width=80)),
        ("prove-ascii.txt", "console", View(unicode=False, width=60)),
        ("prove-verbose.txt", "console", View(verbose=True)),
        ("prove-markdown.txt", "markdown", View()),
        ("prove-json.txt", "json", View()),
    ],
)
def test_pages_are_golden(certificate: Certificate, name: str, form: str, view: View) -> None:
    same_as_golden(name, render(form, certificate, REQUIRED, view))


def test_the_json_page_is_the_certificate_and_verifies(certificate: Certificate) -> None:
    text = render("json", certificate, REQUIRED, View())
    assert json.loads(text) == certificate.document
    assert verify(text).kind == "verified"


def _schema(name: str) -> Any:
    schema = json.loads((ROOT / "docs" / "schemas" / name).read_text())
    Draft202012Validator.check_schema(schema)
    return schema


def test_the_json_pages_follow_their_schemas(certificate: Certificate) -> None:
    everything = [str(p) for p in sorted((ROOT / "fixtures" / "rules").glob("RA60*/*/*"))]
    schema = Draft202012Validator(closed(_schema("certificate-1.json")))
    for found in (certificate, certify(everything)):
        schema.validate(found.document)
    wrong = json.loads(certificate.to_json())
    wrong["schedules"][0]["table"][0] = "0.5"
    with pytest.raises(ValidationError):
        schema.validate(wrong)
    schema = Draft202012Validator(closed(_schema("verification-1.json")))
    for text in (certificate.to_json(), certificate.to_json()[:-9], json.dumps(wrong)):
        schema.validate(json.loads(render_check("json", "c.json", verify(text), View())))


def test_checks_have_pages(certificate: Certificate) -> None:
    whole = verify(certificate.to_json())
    assert render_check("console", "c.json", whole, View()).startswith(
        " VERIFIED  c.json\n    digest and 55 claims verified: "
    )
    refused = verify(certificate.to_json().replace('"refuted"', '"proved"', 1))
    assert render_check("console", "c.json", refused, View()).startswith(" REFUSED  c.json\n")
    assert render_check("markdown", "`|c", refused, View()).startswith("- **refused** `` `|c ``: ")


def test_a_narrow_page_keeps_its_width_and_ascii_its_alphabet(certificate: Certificate) -> None:
    page = render("console", certificate, REQUIRED, View(width=60))
    body = [line for line in page.splitlines() if line.startswith("    ")]
    assert max(map(width_of, body)) <= 66  # the least that is kept for words, beside the claim
    assert render("console", certificate, REQUIRED, View(unicode=False)).isascii()


def test_many_targets_get_a_line_each_and_what_is_not_proved(certificate: Certificate) -> None:
    parts = certificate.parts[:3] * 3
    page = render("console", replace(certificate, parts=parts), REQUIRED, View())
    assert page.count(" PROVED ") == page.count(" REFUTED ") == page.count(" UNDECIDED ") == 3
    assert "θ_k" not in page
    assert page.count("refuted    distinct") == 3
    assert page.count("undecided  form") == 3
    assert "relations" not in page


def test_what_is_required_decides_the_badge(certificate: Certificate) -> None:
    stored, meeting, bare, missing = certificate.parts
    assert outcome(stored, REQUIRED) == "PROVED"
    assert outcome(stored, ("geometric",)) == "REFUTED"
    assert outcome(meeting, ("form",)) == "PROVED"
    assert outcome(bare, REQUIRED) == "UNDECIDED"
    assert outcome(missing, REQUIRED) == "UNREADABLE"
    assert outcome(Part(subject=Subject(target="x", format="raw")), ()) == "NOTHING TO PROVE"
    assert summary(certificate).startswith("4 targets · ")


def test_unknown_formats_are_refused() -> None:
    for name in ("console", "json", "json-v1", "markdown"):
        check_format(name)
    with pytest.raises(UsageError, match="console, json or markdown"):
        check_format("github")


def test_hostile_names_stay_text(certificate: Certificate) -> None:
    evil = "models/[red]\x1b[31m`|*<b>\u202e"
    subject = replace(certificate.parts[1].subject, target=evil)
    found = replace(certificate, parts=(replace(certificate.parts[1], subject=subject),))
    for form in ("console", "markdown"):
        page = render(form, found, REQUIRED, View())
        assert "\x1b" not in page
        assert "\u202e" not in page
    assert "``models/" in render("markdown", found, REQUIRED, View())


def told(claim: str, status: Status, exhibit: Exhibit | None = None, **evidence: Any) -> str:
    made = Claim(claim=claim, schedule="text", status=status, method="-", evidence=evidence)
    return words(made, exhibit or Exhibit(schedule=plain(), form=None))


FIT = {
    "rope_theta": 1000000, "rotary_dim": 128, "rope_type": "linear", "parameters": {"factor": 4},
    "dtype": "float32", "max_ulp": 0,
}  # fmt: skip


def test_claims_in_words() -> None:
    proved, refuted, undecided = Status.PROVED, Status.REFUTED, Status.UNDECIDED
    assert told("form", undecided, reason="Too wide.", bits=4096) == "Too wide. (4096 bits)"
    assert told("recovery", proved, **FIT, next=None, ambiguous=[]) == (
        "linear, base 1000000, 128 dims (factor 4), exactly in float32"
    )
    other = FIT | {"rope_theta": 999984, "parameters": {"factor": 5}}
    more = told("recovery", proved, **FIT, next=FIT | {"max_ulp": 1234}, ambiguous=[other])
    assert more.endswith(
        "; it could be base 999984, factor 5 as well; next best: linear, base 1000000, 128 dims, "
        "1,234 steps off"
    )
    law = FIT | {"rope_type": "yarn", "parameters": {}}
    more = told("recovery", proved, **FIT, next=FIT, ambiguous=[law, *[other] * 4])
    one = "base 999984, factor 5"
    assert more.endswith(
        f"; it could be yarn, base 1000000, 128 dims or {one} or {one} or {one} or 1 more as well; "
        "next best: linear, base 1000000, 128 dims, as near"
    )
    shown = {"channels": [1, 4], "values": ["1/8", "1/4"]}
    assert told("recovery", refuted, reason=NONE, witness=shown) == (
        "channel 1 holds 0.125 and channel 4 holds 0.25, and with a base above 1 no table of a "
        "known law rises"
    )
    shown = {"channels": [1], "values": ["-1/8"]}
    assert told("recovery", refuted, reason="It is odd.", witness=shown) == (
        "channel 1 holds -0.125, and with a base above 1 no table of a known law is negative; "
        "It is odd"
    )
    off = told("recovery", undecided, reason="Nothing fits.", **FIT | {"max_ulp": 77})
    assert off == (
        "Nothing fits; the nearest is linear, base 1000000, 128 dims (factor 4), within 77 steps "
        "in float32"
    )
    assert told("distinct", proved, channels=1) == "no two channels turn, so none can be equal"
    assert told("geometric", proved, ratio=None) == "neighbours have one ratio throughout"
    ratio = {"coefficient": "1", "factors": [["10000", "1/64"]]}
    assert told("geometric", proved, ratio=[ratio, ratio]) == (
        "each channel is 10000^(1/64) times the next within its axis"
    )
    generators = [{"k": 0, "j": 2, "ratio": "1000/1"}, {"k": 1, "j": 2, "ratio": "3/2"}]
    assert "θ_0 = 1000·θ_2, θ_1 = (3/2)·θ_2" in told(
        "relations", proved, q_span_dimension=1, torus_dimension=1, generators=generators
    )
    relation = {"coefficients": {"0": 2, "3": -5}, "residual": "0"}
    assert told("candidates", undecided, relations=[relation], reason="-") == ("2·θ_0 + -5·θ_3 ≈ 0")
    assert told("candidates", undecided, relations=[], reason="-") == (
        "no small integer relation was found"
    )
    assert told("novel", refuted, value=3) == "value 3"


def test_a_long_list_is_cut_unless_all_is_wanted() -> None:
    pairs = [[k, k + 20] for k in range(12)]
    made = Claim(
        claim="aliasing", schedule="text", status=Status.REFUTED, method="-",
        evidence={"pairs": pairs},
    )  # fmt: skip
    exhibit = Exhibit(schedule=plain(), form=None)
    assert "and 8 more" in words(made, exhibit)
    assert "11 and 31" in words(made, exhibit, full=True)


def test_a_target_without_schedules_is_told_so() -> None:
    empty = assemble([Part(subject=Subject(target="x.json", format="hf-config"))], [])
    page = render("console", empty, REQUIRED, View())
    assert page.startswith(" NOTHING TO PROVE  x.json  hf-config\n")
    assert empty.exit_code() == 3


def test_a_witness_of_form_names_both_numbers() -> None:
    held = raw([1.0, 0.7], variant="stored")
    witness = {"channel": 1, "stored": "7/10", "closed_form": {}, "ulp": 9.5}
    evidence = {"witness": witness, "dtype": "float32", "tolerance": 8}
    exhibit = Exhibit(schedule=held, form=None)
    said = told("form", Status.REFUTED, exhibit, **evidence)
    assert said == (
        "channel 1 holds 0.7 and its closed form is unknown, 9.5 ulp of float32 away (tolerance 8)"
    )
