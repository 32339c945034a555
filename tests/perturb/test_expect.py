"""Every perturbation makes the rules fire that it lists, on real models; what is whole is silent.

The default run takes some models of each kind and deals the recipes out to them; the slow one takes
every recipe on every model of the zoo.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ropeaudit.audit import Bound, audit_subject, bind
from ropeaudit.errors import UsageError
from ropeaudit.findings import Status
from ropeaudit.packs import load_pack
from ropeaudit.perturb import beside
from ropeaudit.perturb.recipe import parse
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import SubjectReport
from tests.perturb.recipes import EVERY
from tests.schedules import plain, raw, subject

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
ALL = sorted(p.name for p in ZOO.iterdir() if p.is_dir())
KINDS = (
    "HuggingFaceTB__SmolLM2-135M",  # plain
    "meta-llama__Llama-3.2-1B-Instruct",  # llama3
    "google__gemma-3-1b-it",  # two layer types
    "google__gemma-4-26B-A4B",  # most channels zero by design
    "microsoft__Phi-4-mini-reasoning",  # longrope, part of the head
    "deepseek-ai__DeepSeek-V3",  # yarn, interleaved
    "Qwen__Qwen2.5-VL-7B-Instruct",  # sections, and a tower
)
DEALT = 4
"""Every model of the default run gets each fourth recipe, starting at another one."""


@cache
def rules() -> tuple[Bound, ...]:
    return bind([load_pack("core"), load_pack("research")])


@cache
def model(name: str) -> Subject:
    return resolve(str(ZOO / name / "config.json"), offline=True)


def judged(base: Subject, variant: Variant) -> SubjectReport:
    return audit_subject(replace(base, schedules=beside.audited(variant)), rules())


def missing(base: Subject, variant: Variant) -> list[str]:
    """Rules that a variant's last step lists and that stay silent, one line each."""
    report = judged(base, variant)
    step = variant.recipe.steps[-1]
    out = []
    for before, made in variant.changed():
        names = {
            s.name
            for s in report.subject.stored()
            if s.inv_freq == made.inv_freq and s.component == made.component
        }
        fired = {f.rule for f in report.findings if f.status is Status.FAIL and f.schedule in names}
        wanted = step.module.expect(step.params, before, made)
        out += [f"{variant.recipe.text} on {made.name}: {r}" for r in sorted(wanted - fired)]
    return out


CASES = [
    pytest.param(name, recipe, id=f"{name}-{recipe}")
    for at, name in enumerate(KINDS)
    for recipe in EVERY[at % DEALT :: DEALT]
]


@pytest.mark.parametrize(("name", "recipe"), CASES)
def test_what_is_listed_fires(name: str, recipe: str) -> None:
    base = model(name)
    try:
        variant = make(base.schedules, recipe)
    except UsageError as error:
        assert "does not scale a plain ladder" in str(error)
        assert "gemma-4" in name
        return
    assert bool(variant.changed()) is (recipe != "identity")
    assert missing(base, variant) == []


def test_each_recipe_is_dealt_to_a_model() -> None:
    assert {case.values[1] for case in CASES} == set(EVERY)


@pytest.mark.parametrize("recipe", [r for r in EVERY if r != "identity"])
def test_every_recipe_lists_a_rule(recipe: str) -> None:
    """On a plain table of 32 channels none can pass unseen."""
    base = plain(1e5, 64, trained=8192)
    variant = make([base], recipe)
    step = variant.recipe.steps[-1]
    assert step.module.expect(step.params, base, variant.schedules[0])
    assert missing(subject(base), variant) == []


LISTED = {
    "int8:sym": {"RA101", "RA104", "RA401"},
    "int8:affine": {"RA101", "RA401"},
    "log8": {"RA401"},
    "log4": {"RA101", "RA401"},
    "cast:bf16": {"RA501"},
    "cast:fp8_e4m3": {"RA101", "RA104", "RA501"},
    "noise:eps=0.1,seed=0": {"RA203", "RA401"},
    "cluster:at=0,codim=2,gap=3": {"RA101", "RA401"},
    "apart:at=8,gap=3": {"RA201", "RA401"},
    "apart:at=0,gap=1": {"RA401"},
    "swap:at=0,gap=3": {"RA201", "RA401"},
    "int8:sym+jitter:eps=1e-7": {"RA102", "RA401"},
    "zero:from=1,to=2": {"RA101", "RA104", "RA401"},
    "zero:from=1,to=1": {"RA104", "RA401"},
    "yarn:factor=4,original=8192": {"RA305", "RA401"},
    "linear:factor=2": {"RA401"},
    "identity": set(),
}


@pytest.mark.parametrize("recipe", LISTED)
def test_what_is_listed(recipe: str) -> None:
    """By hand, so that a list that shrinks to nothing is seen."""
    base = plain(1e5, 64, trained=8192)
    variant = make([base], recipe)
    step = variant.recipe.steps[-1]
    assert step.module.expect(step.params, base, variant.schedules[0]) == LISTED[recipe]


@pytest.mark.parametrize("name", [*KINDS, *ALL[::12]])
def test_identity_changes_no_finding(name: str) -> None:
    base = model(name)
    if not any(s.is_text for s in base.schedules):
        return
    report = judged(base, make(base.schedules, "identity"))
    assert report.findings == audit_subject(base, rules()).findings
    assert report.subject.schedules == base.schedules


def test_a_bare_table_is_judged_against_itself() -> None:
    """Nothing else says what the weights were trained with."""
    table: Schedule = raw(plain(1e6, 64).inv_freq)
    base = subject(table, format="raw")
    variant = make([table], "linear:factor=2")
    report = judged(base, variant)
    assert [s.name for s in report.subject.schedules] == ["text", "text/stored"]
    assert "RA401" in {f.rule for f in report.findings}
    whole = audit_subject(base, rules())
    assert "RA401" not in {f.rule for f in whole.findings}


def test_names_in_an_audited_variant_are_unique() -> None:
    for name in KINDS:
        base = model(name)
        for recipe in ("int8:sym", "int8:sym@layers=0-1+log4@layers=1-2"):
            schedules = beside.audited(make(base.schedules, recipe))
            assert len({s.name for s in schedules}) == len(schedules)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", EVERY)
def test_what_is_listed_fires_on_every_model(recipe: str) -> None:
    made, found = 0, []
    for name in ALL:
        base = model(name)
        if not any(s.is_text for s in base.schedules):
            continue
        try:
            variant = make(base.schedules, parse(recipe))
        except UsageError:
            continue  # one that cannot be made is refused in words, which other tests look at
        made += bool(variant.changed())
        found += [f"{name}: {line}" for line in missing(base, variant)]
    assert found == []
    assert made > 100 or recipe == "identity"
