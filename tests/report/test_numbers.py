"""Shortest decimals against numpy's, and values as JSON can hold them."""

from __future__ import annotations

import json
import math
from enum import Enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.report._numbers import evidence, exact, layers, ranges, short
from ropeaudit.report._plain import float32_decimals, numbers, plain

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


def _digits(text: str) -> str:
    mantissa = text.lower().lstrip("-").split("e")[0].replace(".", "").strip("0")
    return mantissa or "0"


@given(st.lists(FLOAT32, max_size=20))
def test_decimals_are_float32_and_as_short_as_numpys(values: list[float]) -> None:
    found = float32_decimals(values)
    for value, decimal in zip(values, found, strict=True):
        assert np.float32(decimal) == np.float32(value)
        peer = np.format_float_scientific(np.float32(value), unique=True)
        assert len(_digits(repr(decimal))) <= len(_digits(peer))


@pytest.mark.parametrize(
    ("value", "decimal"),
    [
        (0.8146172165870667, 0.8146172),
        (float(np.float32(2.455141e-06)), 2.455141e-06),
        (1.401298464324817e-45, 1e-45),
        (3.4028234663852886e38, 3.4028235e38),
        (16777216.0, 16777216.0),
        (0.1, 0.1),
    ],
)
def test_known_decimals(value: float, decimal: float) -> None:
    assert float32_decimals([value]) == [decimal]


def test_words_for_what_json_cannot_hold() -> None:
    assert numbers([math.nan, math.inf, -math.inf, 0.5]) == ["nan", "inf", "-inf", 0.5]


class _Word(Enum):
    A = "a"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_plain_is_json(value: object) -> None:
    again = json.loads(json.dumps(plain(value), allow_nan=False))
    assert again == plain(value)


def test_plain_of_odd_values() -> None:
    assert plain({2: frozenset({3, 1}), "a": (_Word.A, 10**2000)}) == {
        "2": [1, 3],
        "a": ["a", "an integer of 6644 bits"],
    }


def test_numbers_for_people() -> None:
    assert [short(v) for v in (6.28, 8192, 2.56e6, math.inf, 1e-5)] == [
        "6.28", "8.19k", "2.56M", "inf", "1e-05",
    ]  # fmt: skip
    assert [exact(v) for v in (500000.0, 0.5, None, 1e30)] == ["500000", "0.5", "-", "1e+30"]
    assert ranges([3, 0, 1, 7, 2]) == "0–3, 7"
    assert layers(None) == "all"
    assert layers([]) == "none"
    assert layers(range(0, 40, 2)) == "20 of 0–38"
    found = evidence({"clusters": [list(range(28, 64))], "none": None, "x": [1.5] * 9}, full=False)
    assert found == "clusters [[28–63]] · x [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, … 9 in all]"


def test_evidence_has_units_and_only_what_says_something() -> None:
    found = {
        "unseen": {"32768": 18, "65536": 20},
        "phase_error": {"32768": 5.69921875},
        "max_phase_drift": math.pi,
        "log_gaps": {"min": 0.22314355, "max": 0.69314718},
        "relations": [{"i": 0, "phase": 1e-5}] * 4,
        "expected": 0.0021665706,
        "max_ulp": 5435051.0,
        "cast_back": False,
        "assumed": True,
        "max_cluster": 1,
        "clusters": [],
    }
    assert evidence(found, full=False) == (
        "unseen 18 at 32768, 20 at 65536 · phase_error 5.699 rad at 32768 · max_phase_drift π rad"
        " · log_gaps min 0.2231, max 0.6931 · relations [{i 0, phase 1e-05 rad}, {i 0, phase 1e-05"
        " rad}, {i 0, phase 1e-05 rad}, … 4 in all] · expected 0.002166571 · max_ulp 5435051 ·"
        " assumed yes"
    )
    full = evidence(found, full=True)
    for part in ("cast_back no", "max_cluster 1 · clusters []", "min 0.2231435", "rad at 32768"):
        assert part in full
    assert evidence({"max_phase_drift": 3.1414}, full=False) == "max_phase_drift 3.141 rad"
    assert evidence({"max_phase_drift": math.inf}, full=False) == "max_phase_drift inf rad"


@pytest.mark.parametrize(
    ("found", "text"),
    [
        ({"clusters": [[0, 1, 2, 7]]}, "clusters [[0–2, 7]]"),
        ({"clusters": [[None, 2, [9, 10]]]}, "clusters [[all, 2, [9, 10]]]"),
        ({"heads": [[None, 0], [1, 0]]}, "heads [[all, 0], [1, 0]]"),
        ({"unit": [0, 1, 2]}, "unit [0, 1, 2]"),
        ({"fastest": [1, 0, 7]}, "fastest [1, 0, 7]"),
        ({"worst": [None, 3]}, "worst [all, 3]"),
        ({"expected": None, "pair": [None, 1]}, "expected none · pair [none, 1]"),
        ({"by": {"attention": None}}, "by attention none"),
        ({"paths": [[0, 1, 2], [2, 1]]}, "paths [[0, 1, 2], [2, 1]]"),
        ({"grid": [4, 14, 14]}, "grid [4, 14, 14]"),
    ],
)
def test_only_indices_become_ranges(found: dict[str, object], text: str) -> None:
    assert evidence(found, full=True) == text
