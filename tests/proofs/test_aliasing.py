"""Channels that integer positions cannot tell apart: never with pi-free tables that differ."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations, islice
from typing import Any

import mpmath
import pytest

from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.terms import ZERO, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.proofs import aliasing
from ropeaudit.proofs.interface import Claim, Status
from ropeaudit.schedule.core import Axis
from tests.proofs import forms
from tests.proofs.forms import exhibit, power


def prove(terms: list[Any], **kw: Any) -> Claim:
    return aliasing.prove(exhibit(terms, **kw))


@pytest.mark.parametrize(
    "terms",
    [
        forms.default(10_000, 128),
        forms.default("1/10000", 128),
        forms.ntk(10**6, 4, 64),
        forms.llama3(),
        forms.llama3(factor=4),
        # 710/113 is 2 pi to seven digits and no more.
        [power(scale="710/113"), power(scale="1420/113"), power()],
    ],
)
def test_algebraic_tables_do_not_alias(terms: list[Term]) -> None:
    claim = prove(terms)
    assert (claim.claim, claim.status) == ("aliasing", Status.PROVED)
    assert claim.evidence == {"channels": len(terms)}
    assert "transcendental (Lindemann 1882)" in claim.method


def test_equal_channels_alias() -> None:
    claim = prove([power(), power(scale="1/2"), power((2, -1)), power((4, "-1/2"))])
    assert claim.status is Status.REFUTED
    assert claim.evidence == {"pairs": [[1, 2], [1, 3], [2, 3]]}
    assert prove(forms.default(1, 8)).evidence["pairs"] == [
        [i, j] for i in range(4) for j in range(i + 1, 4)
    ]


def test_opposite_blends_alias() -> None:
    theta = power((2, "1/2"))
    terms: list[Term] = [PiBlend(theta, F(1), F(-9)), power(), PiBlend(theta, F(-1), F(9))]
    assert prove(terms).evidence == {"pairs": [[0, 2]]}


def test_zeros_alias_with_each_other_only() -> None:
    assert prove([power(), ZERO]).status is Status.PROVED
    assert prove([ZERO, power(), ZERO]).evidence == {"pairs": [[0, 2]]}
    assert prove([ZERO, power(), ZERO], static=[0, 2]).evidence == {"channels": 1}


def test_other_axes_are_not_compared() -> None:
    axes = [Axis("h", (0, 3)), Axis("w", (4, 7))]
    assert prove(forms.default(100, 8) * 2, axes=axes).status is Status.PROVED


def test_yarn_by_enclosures() -> None:
    claim = prove(forms.yarn())
    assert (claim.status, claim.evidence) == (Status.PROVED, {"channels": 64})
    assert "Enclosures" in claim.method
    twice = prove([*forms.yarn(), *forms.yarn()])
    assert twice.evidence["pairs"] == [[k, k + 64] for k in range(64)]


def _ramp(scale: forms.Number) -> Ramp:
    theta = power((10, "-1/2"), scale=scale)
    return Ramp(theta, 40, Cutoff(64, F(9), F(10)), Cutoff(64, F(900), F(10)), F(4))


def test_ramps_beyond_a_turn_are_held_between_multiples() -> None:
    fast = _ramp(1000)
    claim = prove([fast, power(), power(scale=50), _ramp(7)])
    assert claim.status is Status.PROVED


def _near_two_pi(digits: int) -> Term:
    """A rational that differs from 2 pi less a ramp by about 10**-digits."""
    lo, _ = enclose(_ramp(1), 2000)
    context = mpmath.MPContext()
    context.dps = digits
    turn = F(str(2 * context.pi))
    return Power(F(math.floor((turn - lo) * 10**digits), 10**digits))


def test_precision_is_raised_until_a_sum_is_off_a_turn() -> None:
    terms = [_ramp(1), _near_two_pi(60)]
    assert prove(terms, bits=64).evidence["bits"] == 64
    assert prove(terms).status is Status.PROVED


def test_equal_ramps_that_look_different_stay_undecided() -> None:
    theta = power((10, "-1/2"))
    a = Ramp(theta, 3, F(0), Cutoff(64, F(500), F(10)), F(4))
    b = Ramp(theta, 3, F(0), Cutoff(128, F(500), F(100)), F(4))
    claim = prove([a, b], bits=256)
    reason = "The enclosures are not narrow enough to decide."
    assert (claim.status, claim.method) == (Status.UNDECIDED, reason)
    assert claim.evidence == {"reason": reason, "bits": 256}


def test_a_ramp_without_value_is_never_proved() -> None:
    end = Cutoff(64, F(10), F(1))
    assert prove([power(), Ramp(power(), 1, F(0), end, F(4))]).status is Status.UNDECIDED


def test_of_too_many_pairs_the_first_are_listed() -> None:
    claim = prove(forms.default(1, 2 * 1025))
    assert claim.status is Status.REFUTED
    assert len(claim.evidence["pairs"]) == aliasing.MAX_PAIRS
    every = combinations(range(1025), 2)
    assert claim.evidence["pairs"] == [list(p) for p in islice(every, aliasing.MAX_PAIRS)]


def test_too_many_pairs_to_compare() -> None:
    """Values beyond half a turn have to be held between multiples of it pair by pair."""
    ramps: list[Term] = [_ramp(F(1000 + k)) for k in range(257)]
    claim = prove(ramps)
    assert (claim.status, claim.evidence["bits"]) == (Status.UNDECIDED, 2048)


def test_edges() -> None:
    assert prove([power()]).evidence == {"channels": 1}
    assert prove([ZERO], static=[0]).evidence == {"channels": 0}
    claim = aliasing.prove(forms.formless([1.0, 1.0]))
    assert (claim.status, claim.evidence) == (Status.UNDECIDED, {"reason": "no law is known"})
