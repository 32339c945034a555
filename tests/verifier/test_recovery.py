"""Recovered parameters are computed again; what fits less well than said is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.float32 import round_to
from ropeaudit.verifier import recovery
from ropeaudit.verifier.reading import Refused
from ropeaudit.verifier.schedules import Schedule


def table(*values: float, dtype: str = "float32", tolerance: int = 8) -> Schedule:
    return Schedule(
        target="table.json",
        name="text/stored",
        dtype=dtype,
        table=[Fraction(v) for v in values],
        groups=[[*range(len(values))]],
        static=frozenset(),
        tolerance=tolerance,
        terms=None,
        stated={},
        why_not="nothing",
    )


def fit(base: Any = 10000, dim: Any = 32, law: str = "default", **more: Any) -> dict[str, Any]:
    ulp = more.pop("max_ulp", 0)
    return {"rope_theta": base, "rotary_dim": dim, "rope_type": law, "max_ulp": ulp} | {
        "parameters": more
    }


def evidence(**changes: Any) -> dict[str, Any]:
    return fit() | {"dtype": "float32", "next": None, "ambiguous": []} | changes


PLAIN = table(*geometric(1e4, 32))


def status(schedule: Schedule, given: dict[str, Any]) -> str:
    return recovery.recovery(schedule, given, "/e")[0]


def test_what_reproduces_a_table_is_proved() -> None:
    assert status(PLAIN, evidence()) == "proved"
    assert status(PLAIN, evidence(ambiguous=[fit(10000.0001)])) == "proved"
    assert status(PLAIN, evidence(ambiguous=[fit(law="linear", factor=1)])) == "proved"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"rope_theta": 10001}, "/e/max_ulp: expected"),
        ({"rope_theta": 10000.0}, "a whole number without a point"),
        ({"rope_theta": -1}, "a number above 0"),
        ({"rope_theta": "10000"}, "a number above 0"),
        ({"rope_theta": 10**50}, "cannot build this table"),
        ({"rotary_dim": 30}, "/e/rotary_dim: expected a width of 16 channels"),
        ({"rotary_dim": 31}, "/e/max_ulp: expected"),
        ({"rope_type": "dynamic"}, "expected default or linear"),
        ({"rope_type": "linear"}, "/e/parameters/factor: expected this key"),
        ({"parameters": {"factor": 1}}, "no meaning here"),
        ({"max_ulp": 1}, "/e/max_ulp: expected 0, found 1"),
        ({"dtype": "bfloat16"}, '/e/dtype: expected "float32"'),
        ({"next": fit()}, "/e/next: expected other parameters"),
        ({"next": fit(10001)}, "/e/next/max_ulp: expected"),
        ({"ambiguous": [fit(10000.0001), fit(10000.0001)]}, "/e/ambiguous/1: expected other"),
        ({"ambiguous": [fit(10001)]}, "/e/ambiguous/0/max_ulp"),
    ],
)
def test_what_does_not_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as error:
        status(PLAIN, evidence(**changes))
    assert said in str(error.value)


def test_an_odd_head_has_no_proportional_table() -> None:
    odd = fit(dim=31, law="proportional", factor=1, partial_rotary_factor=1)
    with pytest.raises(Refused, match="cannot build this table"):
        status(PLAIN, evidence(ambiguous=[odd]))


def test_the_next_best_may_not_be_better() -> None:
    near = table(*geometric(1e4, 32)[:-1], geometric(1e4, 32)[-1] * (1 + 2**-22))
    off = fit(max_ulp=3) | {"dtype": "float32", "next": None, "ambiguous": []}
    steps = next(n for n in (2, 3, 4) if _holds(near, off | {"max_ulp": n}))
    other = fit(10000.01)
    with pytest.raises(Refused, match="/e/next/max_ulp"):
        status(near, off | {"max_ulp": steps, "next": other})


def _holds(schedule: Schedule, given: dict[str, Any]) -> bool:
    try:
        return status(schedule, given) == "proved"
    except Refused:
        return False


def test_a_narrow_table_is_compared_in_its_own_steps() -> None:
    values = [round_to(v, "bfloat16") for v in geometric(1e6, 32)]
    narrow = table(*values, dtype="bfloat16")
    told = fit(10**6) | {"dtype": "bfloat16", "next": None, "ambiguous": []}
    assert status(narrow, told) == "proved"
    rounded = table(*values)  # held in float32, but the values show the rounding
    assert status(rounded, told) == "proved"
    far = fit(1030000)
    steps = next(n for n in range(2, 9) if _undecided(narrow, told | far | {"max_ulp": n}))
    assert steps <= narrow.tolerance


def _undecided(schedule: Schedule, given: dict[str, Any]) -> bool:
    try:
        return status(schedule, given | {"reason": "too far"}) == "undecided"
    except Refused:
        return False


def test_a_tolerance_of_nothing() -> None:
    beside = [*geometric(1e4, 32)]
    beside[3] = beside[3] * (1 + 2**-23)
    given = fit(max_ulp=1) | {"dtype": "float32", "next": None, "ambiguous": []}
    assert status(table(*beside), given) == "proved"
    assert _undecided(table(*beside, tolerance=0), given)
    with pytest.raises(Refused, match="/e/reason: expected text"):
        status(table(*beside, tolerance=0), given)


def test_candidates_have_the_residual_that_they_state() -> None:
    schedule = table(1.0, 0.5, 0.25, 0.0)
    relation = {"coefficients": {"0": 1, "1": -2}, "residual": "0"}
    good = {"relations": [relation], "reason": "r"}
    assert recovery.candidates(schedule, good, "r", "/e")[0] == "undecided"
    for wrong, said in (
        (relation | {"residual": "1/4"}, '/e/relations/0/residual: expected "0"'),
        (relation | {"coefficients": {"0": 1}}, "at least two channels"),
        (relation | {"coefficients": {"0": 1, "9": -2}}, "a channel that turns"),
        (relation | {"coefficients": {"0": 1, "1": 0}}, "an integer other than 0"),
        (relation | {"coefficients": {"0": 2, "1": -4}}, "without a common factor"),
        (relation | {"coefficients": {"0": 1, "01": -2}}, "a channel that turns"),
    ):
        with pytest.raises(Refused, match=said):
            recovery.candidates(schedule, {"relations": [wrong], "reason": "r"}, "r", "/e")
    with pytest.raises(Refused, match="found it again"):
        recovery.candidates(schedule, {"relations": [relation] * 2, "reason": "r"}, "r", "/e")
