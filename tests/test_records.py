"""Records against dataclasses: the same meaning."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.records import field, record, record_fields, replace


@record()
class R:
    """One of each kind."""

    a: int
    b: float = 2.0
    c: dict[str, int] = field(default_factory=dict, compare=False)

    @property
    def twice(self) -> int:
        return 2 * self.a


@dataclasses.dataclass(frozen=True, slots=True)
class D:
    a: int
    b: float = 2.0
    c: dict[str, int] = dataclasses.field(default_factory=dict, compare=False)


@record(kw_only=True)
class K:
    a: int
    b: int = 1


@record(frozen=False)
class M:
    a: int = 0


arguments = st.tuples(
    st.lists(st.integers(0, 2), max_size=4),
    st.dictionaries(st.sampled_from(["a", "b", "d"]), st.integers(0, 2), max_size=3),
)


def made(kind: Any, given: tuple[list[int], dict[str, int]]) -> Any:
    try:
        return kind(*given[0], **given[1])
    except TypeError:
        return None


@given(arguments, arguments)
def test_same_construction_equality_and_hash(one: Any, two: Any) -> None:
    r1, r2, d1, d2 = made(R, one), made(R, two), made(D, one), made(D, two)
    assert (r1 is None) == (d1 is None)
    if r1 is None or r2 is None:
        return
    assert (r1 == r2) == (d1 == d2)
    assert repr(r1) == repr(d1).replace("D(", "R(", 1)
    if r1 == r2:
        assert hash(r1) == hash(r2)


def test_frozen_slotted_and_documented() -> None:
    r = R(1)
    for name in ("a", "new"):
        with pytest.raises(AttributeError):
            setattr(r, name, 3)
    with pytest.raises(AttributeError):
        del r.a
    assert not hasattr(r, "__dict__")
    assert R.__doc__ == "One of each kind."
    assert r.twice == 2
    assert R(1) != D(1)
    assert R(1).c is not R(1).c


def test_keyword_only_and_mutable_records() -> None:
    with pytest.raises(TypeError, match="positional"):
        K(1)
    assert K(a=1).b == 1
    m = M()
    m.a = 5
    assert m == M(5)
    with pytest.raises(TypeError):
        hash(m)
    with pytest.raises(TypeError, match="default_factory"):

        @record()
        class Bad:
            a: list[int] = []  # noqa: RUF012


def test_copies() -> None:
    r = R(1, c={"x": 1})
    assert pickle.loads(pickle.dumps(r)).c == {"x": 1}
    assert copy.deepcopy(r) == r
    assert replace(r, a=7) == R(7)
    assert replace(r, a=7).c == {"x": 1}
    with pytest.raises(TypeError, match="no field"):
        replace(r, z=1)
    assert record_fields(R) == {"a": False, "b": True, "c": True}


def test_patterns_match() -> None:
    match R(1, 3.0):
        case R(a, b):
            assert (a, b) == (1, 3.0)
