"""No law rises: the engine's tables over all parameters, and witnesses that verify."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ropeaudit.certify import certify
from ropeaudit.errors import InvalidValue
from ropeaudit.proofs._rising import rise
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import FORMATS, f32, round_to
from ropeaudit.verifier import rising, verify

LENGTH = "original_max_position_embeddings"
BASES = st.one_of(
    st.sampled_from([1e4, 5e5, 1e6, 1e11, 10000.5, 2.0, 1.0000001, 1 + 2.0**-23, 1e30, 3e38]),
    st.floats(1.0000001, 1e38),
)
FACTORS = st.one_of(st.sampled_from([1.0, 1.0000001, 2.0, 4.0, 8.0, 32.0, 1e6, 1e30]),
                    st.floats(1, 1e38))  # fmt: skip
LENGTHS = st.one_of(st.sampled_from([1.0, 64.0, 4096.0, 8192.0, 131072.0]), st.floats(1e-3, 1e12))
WIDTHS = st.integers(1, 40).map(lambda n: 2 * n)


def table(law: str, base: float, dim: int, scaling: dict[str, Any]) -> Sequence[float]:
    built = family(law)
    assert built is not None
    partial = scaling.pop("partial_rotary_factor", 1.0)
    try:
        return built.build(
            Inputs(
                rope_theta=base,
                rotary_dim=dim,
                head_dim=dim,
                partial_rotary_factor=partial,
                scaling=scaling,
            )
        ).inv_freq
    except (InvalidValue, OverflowError, ZeroDivisionError):
        assume(False)
        raise


def never_rises(values: Sequence[float]) -> bool:
    """As the module promises, before any tolerance."""
    assert all(v >= 0 for v in values)
    least = math.inf
    for value in values:
        if value > least * (1 + 2.0**-10) + 4 * 2.0**-149:
            return False
        least = min(least, value)
    return all(rise(values, dtype, 0) is None for dtype in FORMATS)


@given(BASES, WIDTHS, st.floats(1e-30, 1e30), st.floats(0, 1))
@settings(max_examples=30)
def test_ladders_fall(base: float, dim: int, factor: float, part: float) -> None:
    assert never_rises(table("default", base, dim, {}))
    assert never_rises(table("linear", base, dim, {"factor": factor}))
    padded = {"factor": factor, "partial_rotary_factor": part}
    values = table("proportional", base, dim, padded)
    assert never_rises(values)
    assert all(a >= b for a, b in pairwise(values))


@given(BASES, WIDTHS, FACTORS, LENGTHS, st.floats(1e-3, 1e4), st.floats(1, 1e4), st.booleans())
@settings(max_examples=40)
def test_yarn_falls(
    base: float, dim: int, factor: float, original: float, slow: float, more: float, cut: bool
) -> None:
    scaling = {"factor": factor, LENGTH: original, "truncate": cut}
    scaling |= {"beta_slow": slow, "beta_fast": slow * more}
    assert never_rises(table("yarn", base, dim, scaling))


@given(BASES, WIDTHS, FACTORS, LENGTHS, st.floats(1e-3, 1e3), st.floats(0.9, 100))
@settings(max_examples=40)
def test_llama3_falls(
    base: float, dim: int, factor: float, original: float, low: float, times: float
) -> None:
    high = low * times
    assume(high == low or 2048 * abs(high - low) >= max(high, factor * low))
    scaling = {"factor": factor, LENGTH: original, "low_freq_factor": low, "high_freq_factor": high}
    assert never_rises(table("llama3", base, dim, scaling))


@pytest.mark.parametrize("factor", [2.0, 8.0, 32.0])
@pytest.mark.parametrize("high", [1 + 2.0**-9, 1.01, 4.0])
def test_llama3_falls_at_the_ends_of_its_band(factor: float, high: float) -> None:
    """Lengths that put a channel next to each bound, where roundings leave the band."""
    base, dim = 5e5, 128
    for k in range(0, 64, 21):
        theta = f32(base ** (-k / 64))
        for bound in (1.0, high):
            exact = bound * 2 * math.pi / theta
            for step in (-2, -1, 0, 1, 2):
                original = exact * (1 + step * 2.0**-24)
                values = table("llama3", base, dim, {
                    "factor": factor, LENGTH: original,
                    "low_freq_factor": 1.0, "high_freq_factor": high,
                })  # fmt: skip
                assert never_rises(values)


@given(
    st.lists(
        st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, 0.5, 2.0, 448.0, 2.0**-149, 2.0**-133, 2.0**-24]),
            st.floats(-1, 1e5, width=32),
            st.floats(allow_nan=True, allow_infinity=True, width=32),
        ),
        min_size=1,
        max_size=9,
    ),
    st.sampled_from(sorted(FORMATS)),
    st.sampled_from([0, 1, 2, 8, 999, 2**22, 2**53]),
)
@settings(max_examples=80)
def test_prover_and_verifier_see_the_same(values: list[float], dtype: str, steps: int) -> None:
    values = [round_to(v, dtype) for v in values]
    words = {math.inf: "inf", -math.inf: "-inf"}
    spelled = ["nan" if v != v else words.get(v) or Fraction(v) for v in values]
    found = rising.rise(spelled, dtype, steps)
    own = rise(values, dtype, steps)
    assert own == (None if found is None else found["channels"])


@pytest.mark.parametrize("dtype", [*FORMATS, "float64"])
@pytest.mark.parametrize("away", [-1, 1])
def test_a_rise_counts_beyond_what_roundings_explain(dtype: str, away: int) -> None:
    """Next to the bound on either side; a float64 table counts as float32."""
    grid = "float32" if dtype == "float64" else dtype
    fmt = FORMATS[grid]
    room = 12 if grid == "float32" else 2
    bound = (1 + 2 * room * fmt.spacing(1.0)) * (1 + 2.0**-10)
    edge = round_to(bound, grid)
    while (edge - room * fmt.spacing(edge)) <= bound:
        edge += fmt.spacing(edge)
    value = edge if away > 0 else edge - fmt.spacing(edge)
    assert (rise([1.0, value], grid, room - 4 if room == 12 else 1) is None) == (away < 0)


@settings(max_examples=20)
@given(
    st.lists(st.floats(0, 2, width=64), min_size=1, max_size=8),
    st.sampled_from(["float64", *FORMATS]),
    st.sampled_from([0, 1, 8, 1000]),
)
def test_tables_of_any_format_make_certificates_that_verify(
    tmp_path_factory: pytest.TempPathFactory, values: list[float], dtype: str, ulp: int
) -> None:
    """Also float64 tables whose float32 roundings happen to be narrower numbers."""
    near = [v for v in (round_to(v, dtype) for v in values) if math.isfinite(v)]
    table = near + [math.nextafter(v, 0) for v in near]
    path = tmp_path_factory.mktemp("tables") / "table.json"
    path.write_text(json.dumps(table))
    result = verify(certify([str(path)], ulp=ulp).to_json())
    assert result.kind == "verified", (table, result.message)


def test_a_hidden_rise_is_demanded(tmp_path: Path) -> None:
    """A certificate may not call undecided what its own table refutes, nor show another witness."""
    from tests.verifier.certificates import hashed, plain

    path = tmp_path / "table.json"
    path.write_text("[1.0, 0.3, 0.7, 0.9, 0.1]")
    document = plain(certify([str(path)]).document)
    place = next(i for i, c in enumerate(document["claims"]) if c["claim"] == "recovery")
    claim = document["claims"][place]
    assert claim["status"] == "refuted"
    assert claim["evidence"]["witness"]["channels"] == [1, 2]
    witness = claim["evidence"]["witness"]
    for change in (
        {"channels": [1, 3], "values": [witness["values"][0], str(Fraction(f32(0.9)))]},
        {"channels": [0, 2]}, {"channels": [2, 1]}, {"channels": [1, 2, 3]}, {"values": ["1", "2"]},
    ):  # fmt: skip
        evidence = claim["evidence"] | {"witness": witness | change}
        document["claims"][place] = claim | {"evidence": evidence}
        assert verify(hashed(document)).kind == "refused", change
    bare = {k: v for k, v in claim["evidence"].items() if k != "witness"}
    method = "No parameters that were tried reproduce the table within the tolerance."
    document["claims"][place] = claim | {
        "status": "undecided", "method": method, "evidence": bare,
    }  # fmt: skip
    assert verify(hashed(document)).kind == "refused"
