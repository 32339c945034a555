"""How encodings are told: to people, to Markdown and to JSON, and never at length unasked."""

from __future__ import annotations

import json

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from ropeaudit.audit import audit_subject, bind
from ropeaudit.facts import Fact, Location, Note, Origin
from ropeaudit.findings import Severity
from ropeaudit.packs import load_pack
from ropeaudit.records import replace
from ropeaudit.report import console, json_v1, markdown
from ropeaudit.report._encodings import decimals, describe, look_at
from ropeaudit.report._findings import _spans
from ropeaudit.report._terminal import View
from ropeaudit.schedule.float32 import f32s
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import Report
from tests.checks.encodings import by_hand as make
from tests.encodings import jordan_models, layouts_jordan, layouts_liere
from tests.encodings.make import recognised
from tests.report.canned import HOSTILE
from tests.report.golden import same_as_golden
from tests.report.test_schemas import _closed, _schema

VECTORS = np.array([[(0.5, 0.25), (-0.5, -0.25), (0.25, 0.125)], [(1.0, 0.0), (0.0, 1.0), (0, 0)]])
RAW = np.arange(64.0).reshape(2, 2, 1, 4, 4) / 16


def subjects() -> list[Subject]:
    place = Location(file="vit.safetensors", tensor="freqs")
    vit = replace(
        make.mixed(VECTORS, (14, 14)),
        provenance=(Fact("freqs", "float32[2, 1, 6]", location=place),
                    Fact("theta", 10.0, Origin.DEFAULT)),
        notes=(Note("head_dim", "the head size is taken to be 6"),),
        assumed=frozenset({"theta"}),
        settings={"theta": 10.0, "pairing": "interleaved"},
    )  # fmt: skip
    tree = make.ape(make.generator([1.0, 0.5], 1), make.generator([0.75, 0.5], 2), branches=2)
    several = (make.jordan(bounded=16.0), make.jordan(gamma=(0.5, 0.25), order=3), make.alibi())
    return [
        Subject(target="vit", format="safetensors", encodings=(vit,)),
        Subject(target="liere", format="torch", encodings=(make.liere(RAW), tree)),
        Subject(target="many", format="torch", encodings=several),
        Subject(target=HOSTILE, format="torch", encodings=(replace(make.alibi(), name=HOSTILE),)),
    ]


def report() -> Report:
    pack = load_pack("core")
    rules = bind([pack])
    return Report(packs=(pack,), subjects=tuple(audit_subject(s, rules) for s in subjects()))


def test_pages_are_as_they_were() -> None:
    same_as_golden("encodings-show.txt", console.render_schedules(subjects()))
    verbose = View(verbose=True, width=80)
    same_as_golden("encodings-verbose.txt", console.render_schedules(subjects()[:1], verbose))
    ascii_ = View(unicode=False, width=60)
    same_as_golden("encodings-ascii.txt", console.render_schedules(subjects(), ascii_))
    same_as_golden("encodings-audit.txt", console.render(report()))
    same_as_golden("encodings-audit.md", markdown.render(report()))


def test_json_of_what_is_formula_is_as_it_was() -> None:
    plain = [subjects()[k] for k in (0, 2, 3)]
    same_as_golden("encodings-json.txt", json_v1.render_schedules(plain))


def test_json_keeps_to_its_schemas() -> None:
    shown = json.loads(json_v1.render_schedules(subjects()))
    schema = _closed(_schema("schedules-1.json"))
    _open_settings(schema)
    Draft202012Validator(schema).validate(shown)
    judged = json.loads(json_v1.render(report()))
    schema = _closed(_schema("report-1.json"))
    _open_settings(schema)
    Draft202012Validator(schema).validate(judged)
    liere = shown["subjects"][1]["encodings"][0]
    assert liere["spectrum"]["joint"] is False
    assert set(liere["spectrum"]["directions"]) == {"y+x", "y-x"}
    assert len(liere["spectrum"]["units"]) == 2 * 2


def _open_settings(schema: dict[str, object]) -> None:
    """Settings are the encoding's own, and not part of the contract."""
    found = schema["$defs"]["encoding"]["properties"]["settings"]  # type: ignore[index]
    found["additionalProperties"] = True


def test_a_subject_without_encodings_has_no_such_key() -> None:
    empty = Subject(target="x", format="raw")
    assert "encodings" not in json.loads(json_v1.render_schedules([empty]))["subjects"][0]


def test_a_large_checkpoint_is_told_in_few_lines() -> None:
    raw = layouts_liere.initial(8, layers=48, heads=2)
    whole = make.liere(raw)
    page = console.render_schedules([Subject(target="x", format="torch", encodings=(whole,))])
    assert page.count("\n") < 45
    assert "16 more layers (-v shows them)" in page


def test_numbers_are_shortest_for_float32_and_twelve_digits_else() -> None:
    stored = f32s([0.1, 1 / 3, 2.5])
    assert decimals(stored) == [0.1, 0.33333334, 2.5]
    assert decimals([0.1, 1 / 3 + 1e-16]) == [0.1, 0.333333333333]


def test_exit_code_and_verdict_of_encodings_alone() -> None:
    found = report()
    assert found.exit_code == 1  # the pair of equal vectors
    quiet = Report(packs=found.packs, subjects=found.subjects[3:])
    assert quiet.exit_code == 0
    assert [s.verdict.value for s in found.subjects] == ["fail", "pass", "pass", "pass"]
    assert {f.severity for s in found.subjects[1:] for f in s.findings} == {Severity.INFO}


@pytest.mark.parametrize(
    ("method", "told"),
    [
        ("rope_alibi", "16 planes and 1 slope a head ·"),
        ("direct_sum", "8 planes and 4 blocks a head ·"),
        ("jordan_rope", "8 blocks a head ·"),
        ("real_jordan", "8 blocks a head ·"),
        ("damped_rope", "8 planes a head ·"),
    ],
)
def test_units_are_counted_by_what_they_are(method: str, told: str) -> None:
    """A slope turns nothing; blocks are no planes, and beside blocks planes are no blocks."""
    if method == "rope_alibi":
        (encoding,) = recognised({}, layouts_jordan.config(method))
    else:
        encoding = jordan_models.read(method)
    line = describe(look_at(encoding))
    assert told in line, line


@pytest.mark.parametrize(("width", "told"), [(5, "1 channel never turns"), (4, None)])
def test_a_channel_left_over_is_told(width: int, told: str | None) -> None:
    raw = np.random.default_rng(0).normal(size=(2, width, width)).astype(np.float32)
    (encoding,) = recognised({"positional_encoder._primitives": raw})
    line = describe(look_at(encoding))
    assert (told in line) if told else ("never" not in line), line


def test_rules_in_a_row_are_told_as_one() -> None:
    rules = ["RA204", "RA701", "RA702", "RA703", "RA705", "RA706", "mine", "RA801"]
    assert list(_spans(rules)) == [
        "RA204", "RA701–RA703", "RA705", "RA706", "mine", "RA801",
    ]  # fmt: skip
    assert list(_spans([])) == []
