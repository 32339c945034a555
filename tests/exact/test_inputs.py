"""How the text of a number, or a float without one, becomes exact."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.exact.inputs import MAX_DIGITS, dyadic, shortest, spelled

F = Fraction


@pytest.mark.parametrize(("text", "used", "exact"), [
    ("1e6", 1e6, F(10**6)),
    ("1000000.0", 1e6, F(10**6)),
    ("10000.5", 10000.5, F(20001, 2)),
    ("0.1", 0.1, F(1, 10)),
    ("-2.5E-1", -0.25, F(-1, 4)),
    ("1.00000000000000000001", 1.0, 1 + F(1, 10**20)),
    ("-0", 0.0, F(0)),
    ("0e999999", 0.0, None), ("1e0000005", 1e5, F(100_000)),
    ("0.2", 0.1, None),
    ("1e400", math.inf, None),
    ("1e999999999999", math.inf, None),
    ("1e-999999", 0.0, None),
    (f"1{'0' * MAX_DIGITS}e-{MAX_DIGITS}", 1.0, None),
    ("0x10", 16.0, None),
    ("1_000", 1000.0, None),
    (" 1", 1.0, None),
    ("NaN", math.nan, None),
    ("true", 1.0, None),
    ('"4"', 4.0, None),
    (None, 4.0, None),
])  # fmt: skip
def test_texts_count_only_where_they_read_as_the_value(
    text: str | None, used: float, exact: Fraction | None
) -> None:
    found = spelled(text, used)
    assert found == exact
    assert found is None or isinstance(found, Fraction)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_without_a_text(used: float) -> None:
    assert dyadic(used) == F(used)
    assert float(shortest(used)) == used
    text = repr(used)
    if spelled(text, used) is not None:
        assert shortest(used) == spelled(text, used)


@pytest.mark.parametrize("used", [math.nan, math.inf, -math.inf])
def test_no_exact_number_is_infinite(used: float) -> None:
    for reading in (dyadic, shortest):
        with pytest.raises(InvalidValue, match="finite number"):
            reading(used)
