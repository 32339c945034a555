"""Every schedule of the real configs has a closed form, and its table is that form."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path

import pytest

from ropeaudit.proofs import form
from ropeaudit.proofs.interface import Exhibit, Status
from ropeaudit.proofs.stated import exhibits, sources
from ropeaudit.resolve import resolve
from ropeaudit.schedule.families import family
from ropeaudit.schedule.subject import Subject
from tests.exact_values import value

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
NAMES = sorted(json.loads((ZOO / "index.json").read_text(encoding="utf-8"))["models"])
FURTHEST = {
    "tencent__Tencent-Hunyuan-Large__A50B-Pretrain": 7.383,
    "meta-llama__Llama-3.2-3B-Instruct": 6.257,
    "ibm-granite__granite-3b-code-instruct-128k": 6.153,
    "NousResearch__Yarn-Llama-2-13b-128k": 5.467,
}
"""Tables that the engine's float32 arithmetic takes furthest from their closed forms, in ulp:
exponents k/40 with a base above 1e7, and blends where a large factor leaves little of theta."""


@pytest.fixture(scope="module")
def subjects() -> dict[str, Subject]:
    return {name: resolve(str(ZOO / name / "config.json")) for name in NAMES}


@pytest.fixture(scope="module")
def found(subjects: dict[str, Subject]) -> dict[str, list[Exhibit]]:
    made = {name: exhibits(subject) for name, subject in subjects.items()}
    still = [name for name, members in made.items() if not members]
    assert all("no_rotary" in {n.kind for n in subjects[name].notes} for name in still), still
    return {name: members for name, members in made.items() if members}


def test_all_tables_are_their_closed_forms(found: dict[str, list[Exhibit]]) -> None:
    worst: dict[str, float] = {}
    for name, members in found.items():
        for exhibit in members:
            claim = form.prove(exhibit)
            assert claim.status is Status.PROVED, (name, exhibit.why_not, claim.evidence)
            worst[name] = max(worst.get(name, 0.0), claim.evidence["max_ulp"])
    assert {name: worst[name] for name in FURTHEST} == FURTHEST
    assert max(worst.values()) == max(FURTHEST.values())


def test_the_terms_are_the_tables_numbers_by_mpmath_too(found: dict[str, list[Exhibit]]) -> None:
    laws: dict[str, Exhibit] = {}
    for members in found.values():
        for exhibit in members:
            assert exhibit.form is not None
            laws.setdefault(exhibit.form.law, exhibit)
    assert {"default", "linear", "yarn", "llama3", "longrope", "dynamic", "proportional"} <= set(
        laws
    )
    for exhibit in laws.values():
        assert exhibit.form is not None
        for term, held in zip(exhibit.form.terms, exhibit.schedule.inv_freq, strict=True):
            assert abs(value(term) - held) <= 1e-6 * held


def test_law_and_inputs_rebuild_every_table(subjects: dict[str, Subject]) -> None:
    for name, subject in subjects.items():
        for schedule in subject.schedules:
            law = family(schedule.law or "")
            assert law is not None, name
            assert law.build(schedule.inputs).inv_freq == schedule.inv_freq


def test_sources_spell_the_parameters(found: dict[str, list[Exhibit]]) -> None:
    spelled = 0
    for name, members in found.items():
        for exhibit in members:
            assert exhibit.form is not None
            for key, place in sources(exhibit).items():
                assert set(place) == {"file", "pointer", "text"}
                parameter = exhibit.form.parameters[key]
                numbers = [Fraction(t) for t in re.findall(r"-?[0-9][0-9.eE+-]*", place["text"])]
                wanted = parameter if isinstance(parameter, tuple) else (parameter,)
                assert tuple(numbers) == wanted, (name, key)
                spelled += 1
    assert spelled > 200
