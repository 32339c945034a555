"""Recovery: tables without a law, odd input, tolerances, and certificates that verify."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from ropeaudit.certify import certify
from ropeaudit.proofs.interface import Status
from ropeaudit.schedule.float32 import f32, f32s, round_to
from ropeaudit.verifier import verify
from tests.proofs.recovered import LENGTH, claimed
from tests.schedules import cast, llama3, plain, proportional, quantised, raw, scaled, yarn


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([], "0 of 0 values"),
        ([1.0, 0.5], "a law needs 3"),
        ([0.0] * 64, "0 of 64 values"),
        ([1.0] * 64, "equal"),
        ([1.0, math.nan, 0.5, 0.1], "channel 1"),
        ([math.inf, 0.5, 0.1], "channel 0"),
        ([1e300, 1e200, 1.0], "no finite float32"),
        ([1e-40, 1e-41, 1e-42, 1e-44], "no parameters of default"),
        ([1 / (k + 1) for k in range(64)], "channels are off the nearest plain law"),
    ],
)
def test_odd_tables_are_undecided_with_a_reason(table: list[float], said: str) -> None:
    claim = claimed(raw(table))
    assert claim.status is Status.UNDECIDED
    assert said in claim.evidence["reason"]


@pytest.mark.parametrize(
    ("table", "channels", "said"),
    [
        ([1.0, -0.5, 0.25], [1], "channel 1 is negative"),
        ([0.1, 0.9, 0.5, 0.2] * 8, [0, 1], "no parameters of default"),
        ([0.0, 1.0], [0, 1], "1 of 2 values"),
        ([1.0, 0.0, 0.25, 0.125], [1, 2], "no parameters of default"),
        ([1.0, 0.5, 0.0, 0.0, 0.25, 0.125], [2, 4], "no parameters of default"),
        (plain(1e6).inv_freq * 2, [63, 64], "behind each other"),
    ],
)
def test_tables_that_do_what_no_law_does_are_refuted(
    table: list[float], channels: list[int], said: str
) -> None:
    claim = claimed(raw(table))
    assert claim.status is Status.REFUTED
    assert "never rise" in claim.method
    assert said in claim.evidence["reason"]
    shown = [str(Fraction(f32(table[k]))) for k in channels]
    assert claim.evidence["witness"] == {"channels": channels, "values": shown}


def test_a_table_that_rises_by_itself_is_a_law() -> None:
    """A base below 1 is odd, and a law; so is a factor below 1."""
    rising = f32s(16.0 ** (k / 8) for k in range(8))
    evidence = claimed(raw(rising)).evidence
    assert (evidence["rope_theta"], evidence["max_ulp"]) == (0.0625, 0)
    # Wider than float32, in which it is 1, 10 and 100 and seems to be rounded to bfloat16.
    evidence = claimed(raw([1.0, 9.999999999999998, 99.99999999999997])).evidence
    assert (evidence["rope_theta"], evidence["dtype"]) == (0.001, "bfloat16")


def test_damaged_tables_name_the_channel() -> None:
    moved = [v * 1.05 if k == 10 else v for k, v in enumerate(plain(1e6).inv_freq)]
    evidence = claimed(raw(f32s(moved))).evidence
    assert (evidence["rope_theta"], evidence["rope_type"]) == (1e6, "default")
    assert evidence["max_ulp"] > 8
    assert "1 of 64 channels are off" in evidence["reason"]
    assert "channel 10" in evidence["reason"]


@pytest.mark.parametrize(("bits", "mode"), [(8, "sym"), (8, "affine"), (8, "log"), (4, "sym")])
def test_quantised_tables_have_no_law(bits: int, mode: str) -> None:
    assert claimed(quantised(plain(1e6), bits, mode)).status is Status.UNDECIDED


def test_a_list_of_factors_is_no_law() -> None:
    grown = [1 + k * k / 50 for k in range(48)]
    law = scaled("longrope", 1e4, 96, declared=4096, scaling={LENGTH: 4096} | {
        "short_factor": grown, "long_factor": grown
    })  # fmt: skip
    claim = claimed(law)
    assert claim.status is Status.UNDECIDED
    assert "factors" in claim.evidence["reason"]


def test_ladders_behind_each_other_are_told_apart() -> None:
    parts = [v for d in (16, 56, 56) for v in plain(1e4, d).inv_freq]
    assert "base 10000 over the widths 16, 56, 56" in claimed(raw(parts)).evidence["reason"]
    ladder = plain(1e4, 64).inv_freq
    assert "dealt" in claimed(raw([*ladder[::2], *ladder[1::2]])).evidence["reason"]


def test_a_rounding_step_is_no_licence_in_narrow_formats() -> None:
    """One step of bfloat16 is 0.8 %: allowed only where float32 steps cross a boundary."""
    held = list(cast(plain(1e6), "bfloat16").inv_freq)
    held[9] = round_to(held[9] * (1 + 2.0**-7), "bfloat16")
    assert claimed(raw(held)).status is Status.UNDECIDED


def test_the_tolerance_is_the_exhibit_s() -> None:
    """Powers in float64, rounded once, miss the engine by 3 ulp at this width."""
    table = raw(f32s(1e4 ** (-2 * k / 96) for k in range(48)))
    off = claimed(table).evidence["max_ulp"]
    assert off >= 3
    assert claimed(table, off).status is Status.PROVED
    assert claimed(table, off - 1).status is Status.UNDECIDED


@pytest.mark.parametrize(
    "table",
    [
        plain(1e6).inv_freq,
        cast(plain(1e6), "bfloat16").inv_freq,
        cast(yarn(), "bfloat16").inv_freq,
        cast(llama3(dim=64), "float16").inv_freq,
        proportional(64, 0.25).inv_freq,
        plain(1e4, 21).inv_freq,
        quantised(plain(1e6, 32), 8, "log").inv_freq,
        [*plain(1e4, 16).inv_freq, *plain(1e4, 16).inv_freq],
        [1.0, 0.5, 0.25, 0.125],
    ],
)
def test_the_certificate_is_verified(table: Sequence[float], tmp_path: Path) -> None:
    (tmp_path / "table.json").write_text(json.dumps(list(table)))
    certificate = certify([str(tmp_path / "table.json")])
    assert "recovery" in {c.claim for c in certificate.claims}
    assert verify(certificate.to_json()).kind == "verified", verify(certificate.to_json())


@pytest.mark.parametrize("ulp", [0, 1, 1000, 999_999])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3", "float8_e5m2"])
def test_a_wide_tolerance_is_none_in_narrow_formats(dtype: str, ulp: int, tmp_path: Path) -> None:
    """Of a table that rises, as of one that falls; certificates verify, whatever they say."""
    for base in (1e-3, 1e4):
        values = [round_to(base ** (-k / 12) * (1 + k % 3 / 7), dtype) for k in range(12)]
        (tmp_path / "table.json").write_text(json.dumps(values))
        certificate = certify([str(tmp_path / "table.json")], ulp=ulp)
        claim = next(c for c in certificate.claims if c.claim == "recovery")
        assert claim.status is not Status.PROVED or claim.evidence["max_ulp"] <= min(ulp, 1)
        assert verify(certificate.to_json()).kind == "verified", verify(certificate.to_json())
