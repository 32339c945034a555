"""Candidates: relations that are there are found, and random tables show none."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import mpmath
import pytest

from ropeaudit.certify import certify
from ropeaudit.proofs import candidates
from ropeaudit.proofs.candidates import chance, listed
from ropeaudit.proofs.interface import Exhibit, Status
from ropeaudit.schedule.float32 import f32s, round_to
from ropeaudit.verifier import verify
from tests.schedules import plain, proportional, quantised, raw


def patterns(values: Sequence[float], dtype: str = "float32") -> set[tuple[int, ...]]:
    return {r.pattern for r in listed(values, dtype)}


def scattered(seed: int, count: int = 14) -> list[float]:
    """Frequencies with no law: logarithms drawn evenly, largest first."""
    draw = random.Random(seed)
    return f32s(sorted((math.exp(-12 * draw.random()) for _ in range(count)), reverse=True))


def test_a_ladder_over_a_power_of_ten_shows_its_ratio() -> None:
    """With base 1e4 and 16 channels every fourth frequency is a tenth."""
    found = listed(plain(1e4, 32).inv_freq, "float32")
    assert [dict(r.coefficients) for r in found[:4]] == [{k: 1, k + 4: -10} for k in range(4)]


@pytest.mark.slow
def test_a_ratio_of_a_thousand_is_just_seen_in_float32() -> None:
    assert (1, -1000) in patterns(plain(1e6, 128).inv_freq)


def test_a_ladder_without_rational_ratios_shows_nothing() -> None:
    assert patterns(plain(5e5, 32).inv_freq) == set()


@pytest.mark.parametrize("mode", ["sym", "affine"])
def test_quantised_tables_are_full_of_small_relations(mode: str) -> None:
    found = listed(quantised(plain(1e6, 64), 8, mode).inv_freq, "float32")
    assert len(found) == candidates.LISTED
    assert all(r.size <= 12 for r in found[:4])
    if mode == "affine":  # an offset leaves only steps of one size
        assert all(sum(r.pattern) == 0 for r in found)


def test_a_hidden_ratio_is_found() -> None:
    values = scattered(7)
    values[11] = f32s([values[3] * 3 / 7])[0]
    found = listed(values, "float32")
    assert dict(found[0].coefficients) == {3: 3, 11: -7}


def test_a_hidden_sum_of_neighbours_is_found() -> None:
    values = scattered(8)
    values[5] = f32s([values[6] + values[7]])[0]
    found = listed(values, "float32")
    assert (5, 6, 7) in [tuple(r.coefficients) for r in found]


@pytest.mark.parametrize("seed", range(4))
def test_random_tables_show_nothing(seed: int) -> None:
    assert listed(scattered(seed), "float32") == []


def test_random_tables_in_bfloat16_show_nothing() -> None:
    values = [round_to(v, "bfloat16") for v in scattered(3)]
    assert listed(values, "float32") == []


def test_the_error_that_is_allowed_is_the_table_s() -> None:
    """float64 values are told apart where float32 values agree."""
    values = [float(v) for v in scattered(9, 10)]
    values[4] = values[2] * 2 / 5 * (1 + 1e-9)
    assert (2, -5) not in patterns(values, "float64")
    assert (2, -5) in patterns(f32s(values))
    values[4] = values[2] * 2 / 5
    assert (2, -5) in patterns(values, "float64")


def test_residuals_are_exact_and_within_a_few_roundings() -> None:
    values = plain(1e4, 32).inv_freq
    for r in listed(values, "float32"):
        exact = sum(c * Fraction(values[k]) for k, c in r.coefficients.items())
        size = sum(abs(c) * values[k] for k, c in r.coefficients.items())
        assert r.residual == exact
        assert abs(exact) <= size * candidates.ROUNDINGS * 2.0**-24
        assert math.gcd(*r.coefficients.values()) == 1
        assert next(iter(r.coefficients.values())) > 0


def test_a_ladder_s_copies_count_once() -> None:
    """A relation that holds at every shift is one coincidence: odds are those of one."""
    assert chance(63, 2, 1000, 1, 2.0**-22) > chance(63, 2, 1000, 2, 2.0**-22)
    found = listed(plain(1e4, 32).inv_freq, "float32")
    assert max(len([r for r in found if r.pattern == p]) for p in {r.pattern for r in found}) <= 4


def test_odds_grow_with_what_was_tried() -> None:
    error = 2.0**-22
    base = chance(100, 2, 10, 1, error)
    assert chance(1000, 2, 10, 1, error) > base
    assert chance(100, 2, 1000, 1, error) > base
    assert chance(100, 3, 10, 1, error) > base
    assert chance(100, 2, 10, 3, error) < base


def test_equal_zero_and_subnormal_values_take_no_part() -> None:
    assert listed([1.0] * 9, "float32") == []
    assert listed([0.0] * 9, "float32") == []
    assert listed([1e-40, 2e-40, 3e-42, 7e-44], "float32") == []
    assert listed([], "float32") == []
    assert listed([math.nan, math.inf, 1.0, -0.5], "float32") == []
    padded = proportional(64, 0.5)
    channels = {
        k for r in listed(padded.inv_freq, "float32", padded.static_channels)
        for k in r.coefficients
    }  # fmt: skip
    assert channels.isdisjoint(padded.static_channels)


def test_it_is_never_more_than_a_candidate() -> None:
    before = mpmath.mp.prec
    exhibit = Exhibit(schedule=quantised(plain(1e6, 32), 8, "sym"), form=None)
    claim = candidates.prove(exhibit)
    assert claim.status is Status.UNDECIDED
    assert claim.evidence["relations"]
    assert claim == candidates.prove(exhibit)  # the same every time
    assert mpmath.mp.prec == before


def test_the_certificate_is_verified(tmp_path: Path) -> None:
    for at, table in enumerate((plain(1e4, 16), quantised(plain(1e4, 16), 8, "sym"))):
        path = tmp_path / f"{at}.json"
        path.write_text(json.dumps(list(table.inv_freq)))
        certificate = certify([str(path)], candidates=True)
        assert certificate.claims[-1].claim == "candidates"
        assert verify(certificate.to_json()).kind == "verified", verify(certificate.to_json())


def test_raw_tables_of_any_size_are_quick_to_refuse() -> None:
    assert (
        candidates.prove(Exhibit(schedule=raw([0.0] * 65536), form=None)).evidence["relations"]
        == []
    )
