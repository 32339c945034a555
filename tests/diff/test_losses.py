"""Every kind of loss is named where it happened, and nowhere else."""

from __future__ import annotations

import math

import pytest

from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.likeness import Likeness
from ropeaudit.diff.losses import kinds
from ropeaudit.findings import Severity
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.interface import geometric
from tests.diff.loss_cases import CASES, DYNAMIC, Case, names, sides, unread
from tests.schedules import cast, llama3, plain, raw, stored, subject, yarn


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].replace(" ", "-"))
def test_it_is_named(case: Case) -> None:
    kind, a, b, others = case
    found = compare(*sides(a, b))
    assert kind in names(found)
    assert names(found) <= {kind, *others}
    assert found.verdict is Likeness.DIFFERENT
    grave = {k.NAME for k in kinds() if k.GRAVE}
    if kind in grave:
        assert found.severity is Severity.ERROR
    for pair in found.pairs:
        for lost in pair.lost:
            assert lost.text.startswith(f"{lost.name}: ")
            assert lost.grave is (lost.name in grave)
            assert "  " not in lost.text
            assert not lost.text.endswith(".")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].replace(" ", "-"))
def test_each_side_is_the_same_as_itself(case: Case) -> None:
    for side in case[1:3]:
        (one,) = sides(side)
        found = compare(one, one)
        assert found.verdict is Likeness.SAME
        assert names(found) == set()
        assert found.severity is None


OTHER_WAY = {
    "base defaulted": {"base changed"},
    "scaling dropped": {"scaling added"},
    "scaling added": {"scaling dropped"},
    "factors missing": {"scaling added"},
    "channels dropped": {"wrong rotary width"},
    "channels stopped": {"still channels turn"},
    "still channels turn": {"another law", "channels stopped"},
    "attention factor lost": {"attention factor changed"},
    "softmax scale lost": {"softmax scale changed"},
    "state of a long prompt": {"state of a long prompt"},
    "no frequencies": {"no frequencies"},
    "setting not read": {"setting not read"},
    "pairing layout changed": {"pairing layout changed"},
    "short and long swapped": {"short and long swapped"},
    "wrong original length": {"wrong original length"},
    "rotated layers changed": {"rotated layers changed"},
    "table rounded": {"table rounded"},
    "factor inverted": {"factor inverted"},
}
"""What the kinds are called that have a name of their own from the other side."""


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0].replace(" ", "-"))
def test_swapped_sides_part_as_far(case: Case) -> None:
    one, other = compare(*sides(*case[1:3])), compare(*sides(*case[2:0:-1]))
    assert other.verdict is one.verdict
    assert len(other.pairs) == len(one.pairs)
    assert {(p.b.name, p.a.name) for p in other.pairs} == {(p.a.name, p.b.name) for p in one.pairs}
    if case[0] in OTHER_WAY:
        assert names(other) == OTHER_WAY[case[0]]


def test_a_side_without_fault_is_not_blamed() -> None:
    broken = stored(plain(), [math.nan, *plain().inv_freq[1:]])
    alone = subject(plain(), observations=[unread()])
    for bad, said in (
        (subject(broken), "channel 0 of 64 is negative, huge, infinite or NaN in {}"),
        (alone, "in {}, nothing reads rope_scale"),
    ):
        for a, b, side in ((bad, subject(plain()), "A"), (subject(plain()), bad, "B")):
            (lost,) = compare(a, b).pairs[0].lost
            assert lost.text.partition(": ")[2] == said.format(side)
    assert compare(alone, alone).verdict is Likeness.SAME


def test_every_kind_has_a_case() -> None:
    names_ = [kind.NAME for kind in kinds()]
    assert len(set(names_)) == len(names_)
    assert set(names_) == {case[0] for case in CASES}


def test_words_of_a_loss() -> None:
    def said(a: Schedule, b: Schedule) -> list[str]:
        return [x.text for p in compare(*sides(a, b)).pairs for x in p.lost]

    assert said(llama3(), plain(5e5)) == ["scaling dropped: A has llama3 (factor 8), B has none"]
    assert said(yarn(), yarn(attention_scaling=4.0)) == [
        "attention factor changed: cos and sin are multiplied by 1.138629 in A, by 4 in B; that is "
        "the scaling factor itself"
    ]
    twice = yarn().attention_scaling ** 2
    assert said(yarn(), yarn(attention_scaling=twice))[0].endswith("; it is applied twice")
    assert said(plain(), stored(plain(), reversed(plain().inv_freq))) == [
        "channels reordered: B holds the values of A from the last to the first"
    ]
    assert said(DYNAMIC, stored(plain(48000.0)))[0].endswith("a prompt of about 11,640 positions")
    assert said(stored(cast(plain(1e6), "bfloat16")), plain(1e11)) == [
        "base changed: the table of A fits base 1,000,000, rounded to bfloat16, B has base "
        "100,000,000,000"
    ]


def test_the_known_reordering_of_weights_is_no_change() -> None:
    permuted = plain(pairing="interleaved", parameters={"pairing_before_conversion": "half"})
    for a, b in ((plain(), permuted), (permuted, plain())):
        assert compare(*sides(a, b)).verdict is Likeness.SAME


def test_a_layout_that_the_architecture_fixes_is_no_change() -> None:
    config = subject(plain(), model_type="own_model_text")
    made = subject(plain(pairing="interleaved"), model_type="own-model", format="gguf")
    other = subject(plain(pairing="interleaved"), model_type="command-r", format="gguf")
    assert compare(config, made).verdict is Likeness.SAME
    assert names(compare(config, other)) == {"pairing layout changed"}


def test_a_bare_table_does_not_tell_what_it_cannot() -> None:
    """Neither layout nor scalings of the logits stand in a tensor."""
    law = yarn(pairing="interleaved", softmax_scale=1.8)
    found = compare(*sides(law, stored(yarn())))
    assert found.verdict is Likeness.SAME
    assert found.pairs[0].attention_scaling == (law.attention_scaling, None)
    assert found.pairs[0].softmax_scale == (1.8, None)


def test_a_grid_of_powers_of_two_is_no_rounding() -> None:
    law = replace(plain(), inv_freq=tuple(2.0**-k for k in range(64)))
    other = raw(2.0 ** -(k + 1) for k in range(64))
    assert "table rounded" not in names(compare(*sides(law, other)))


def test_the_tolerance_decides() -> None:
    a = plain(5e6, 96)
    b = stored(a, [5e6 ** (-k / 48) for k in range(48)])
    (one, other) = sides(a, b)
    steps = compare(one, other).pairs[0].max_ulp
    assert steps is not None
    assert 4 < steps <= 16
    assert compare(one, other, Options(ulp=steps)).verdict is Likeness.EQUIVALENT
    assert compare(one, other, Options(ulp=steps - 1)).verdict is Likeness.DIFFERENT


def test_geometric_tables_of_other_bases_never_coincide() -> None:
    """Else a base could be lost unseen."""
    tables = {tuple(geometric(b, 64)) for b in (1e4, 1e5, 5e5, 1e6)}
    assert len(tables) == 4
