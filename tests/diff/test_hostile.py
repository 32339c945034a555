"""Whatever two tables hold, they are compared: no crash, no hang, numbers that JSON can hold."""

from __future__ import annotations

import json
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.likeness import Likeness
from ropeaudit.report import _diff
from ropeaudit.report._terminal import View
from tests.schedules import llama3, plain, raw, subject, yarn

VALUES = st.one_of(
    st.floats(width=32),
    st.floats(),
    st.sampled_from([0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 1e-320, 1e308, -1.0]),
)
TABLES = st.lists(VALUES, min_size=1, max_size=70)
LAWS = st.sampled_from([plain(), llama3(), yarn(), plain(dim=64)])


@given(st.one_of(TABLES.map(raw), LAWS), st.one_of(TABLES.map(raw), LAWS), st.integers(1, 10**12))
def test_any_two_tables(a: object, b: object, length: int) -> None:
    left, right = subject(a), subject(b)  # type: ignore[arg-type]
    found = compare(left, right, Options(contexts=(length,)))
    document = json.loads(_diff.render("json", found, View()), parse_constant=pytest.fail)
    assert len(document["pairs"]) == 1
    for name in ("console", "markdown"):
        assert _diff.render(name, found, View(verbose=True))
    pair = found.pairs[0]
    assert 0 <= pair.max_phase_drift <= math.pi
    assert pair.max_abs_dlog >= 0
    if found.verdict is Likeness.SAME:
        assert pair.a.inv_freq == pair.b.inv_freq or any(v != v for v in pair.a.inv_freq)
    assert compare(left, left).verdict is Likeness.SAME
    back = compare(right, left, Options(contexts=(length,))).pairs[0]
    assert back.max_ulp == pair.max_ulp
    assert back.max_phase_drift == pair.max_phase_drift


def test_a_large_table_without_a_law() -> None:
    draw = random.Random(1)
    table = sorted((draw.random() for _ in range(4_000)), reverse=True)
    found = compare(subject(raw(table)), subject(raw(v / 3 for v in table)))
    assert found.verdict is Likeness.DIFFERENT
    assert [x.name for x in found.pairs[0].lost] == ["all frequencies multiplied"]
