"""Closed forms of the scaling laws against mpmath, against the tables, and at their edges."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.exact.terms import ZERO, ClosedForm, Cutoff, PiBlend, Power, Ramp
from tests.exact_values import close, form, mp, number, value

F = Fraction
widths = st.sampled_from([4, 6, 24, 64, 96, 128])
odd_widths = st.sampled_from([3, 5, 25, 48, 72])
bases = st.one_of(
    st.sampled_from([F(10_000), F(1_000_000), F(20_001, 2), F(2**31 - 1), F(1, 2)]),
    st.fractions(F(11, 10), 10**9, max_denominator=1000),
)
factors = st.fractions(F(1, 4), 64, max_denominator=8).filter(bool)
quick = settings(max_examples=25)


def agree(found: ClosedForm, wanted: list[Any]) -> None:
    assert len(found.terms) == len(wanted)
    for k, (term, direct) in enumerate(zip(found.terms, wanted, strict=True)):
        assert close(value(term), direct), (k, term, direct)


def plain(base: Any, dim: int) -> list[Any]:
    return [number(base) ** (mp.mpf(-2 * k) / dim) for k in range((dim + 1) // 2)]


@quick
@given(bases, st.one_of(widths, odd_widths), factors)
def test_plain_linear_and_fixed_ntk(base: Fraction, dim: int, factor: Fraction) -> None:
    agree(form("default", base, dim), plain(base, dim))
    agree(form("linear", base, dim, factor=factor), [v / number(factor) for v in plain(base, dim)])
    step = number(factor) ** (mp.mpf(2) / dim)
    agree(
        form("ntk_fixed", base, dim, factor=factor), [v / step for v in plain(base * factor, dim)]
    )


@quick
@given(bases, st.one_of(widths, odd_widths), factors, st.integers(1, 10**6))
def test_grown_bases(base: Fraction, dim: int, factor: Fraction, length: int) -> None:
    def grown(by: Any) -> list[Any]:
        larger = number(base) * by ** (mp.mpf(dim) / (dim - 2))
        return [larger ** (mp.mpf(-2 * k) / dim) for k in range((dim + 1) // 2)]

    agree(form("ntk_alpha", base, dim, alpha=factor), grown(number(factor)))
    found = form(
        "dynamic", base, dim, factor=factor, max_position_embeddings=F(4096), length=length
    )
    reached = max(length, 4096)
    agree(found, grown(number(factor * reached / 4096 - (factor - 1))))
    assert found.parameters["length"] == reached
    assert type(found.parameters["length"]) is int


def test_dynamic_starts_as_the_plain_table() -> None:
    start = form("dynamic", 10_000, 64, factor=4, max_position_embeddings=F(2048))
    assert start.terms == form("default", 10_000, 64).terms
    assert start.parameters["length"] == 2048


@quick
@given(bases, st.integers(3, 12), st.data())
def test_longrope_divides_by_its_lists(base: Fraction, half: int, data: st.DataObject) -> None:
    short, long = (
        tuple(data.draw(st.lists(factors, min_size=half, max_size=half))) for _ in range(2)
    )
    scaling = {
        "short_factor": short,
        "long_factor": long,
        "original_max_position_embeddings": 4096,
    }
    table = plain(base, 2 * half)
    for length, chosen in ((None, short), (4096, short), (4097, long)):
        found = form("longrope", base, 2 * half, length=length, **scaling)
        agree(found, [v / number(f) for v, f in zip(table, chosen, strict=True)])
        assert found.parameters["factors"] == chosen


def yarn_directly(
    base: Fraction,
    dim: int,
    factor: Fraction,
    original: Fraction,
    betas: tuple[Fraction, Fraction],
    truncate: bool,
) -> list[Any]:
    """Peng et al., 2309.00071, eq. 17-23, as transformers clamps the two ends."""

    def channel(beta: Fraction) -> Any:
        at = mp.log(number(original) / (number(beta) * 2 * mp.pi))
        return dim * at / (2 * mp.log(number(base)))

    low, high = channel(betas[0]), channel(betas[1])
    if truncate:
        low, high = mp.floor(low), mp.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    if low == high:
        high += mp.mpf(1) / 1000
    out = []
    for k, theta in enumerate(plain(base, dim)):
        rise = min(max((k - low) / (high - low), 0), 1)
        out.append(theta * (1 - rise) + theta / number(factor) * rise)
    return out


@settings(max_examples=50)
@given(
    bases,
    widths,
    factors,
    st.sampled_from([F(1), F(7), F(512), F(4096), F(32768), F(10**6)]),
    st.tuples(factors, factors),
    st.booleans(),
)
def test_yarn(
    base: Fraction,
    dim: int,
    factor: Fraction,
    original: Fraction,
    betas: tuple[Fraction, Fraction],
    truncate: bool,
) -> None:
    scaling = {
        "factor": factor,
        "original_max_position_embeddings": original,
        "beta_fast": betas[0],
        "beta_slow": betas[1],
        "truncate": truncate,
    }
    if betas[0] == betas[1] and not truncate:
        with pytest.raises(InvalidValue, match="no closed form"):
            form("yarn", base, dim, **scaling)
        return
    found = form("yarn", base, dim, **scaling)
    agree(found, yarn_directly(base, dim, factor, original, betas, truncate))
    for k, term in enumerate(found.terms):
        if truncate:
            assert isinstance(term, Power)
        if isinstance(term, Ramp):
            assert term.channel == k
            assert isinstance(term.low, Cutoff) or isinstance(term.high, Cutoff)


def test_yarn_keeps_the_habits_of_the_engine() -> None:
    scaling: dict[str, Any] = {"factor": 4, "original_max_position_embeddings": 32768}
    usual = form("yarn", 1_000_000, 128, **scaling)
    assert usual.parameters["beta_fast"] == 32
    assert usual.parameters["beta_slow"] == 1
    assert usual.parameters["truncate"] is True
    assert form("yarn", 1_000_000, 128, **scaling, beta_fast=0, beta_slow=None) == usual
    assert form("yarn", 1_000_000, 128, **scaling, truncate=F(1)) == usual
    untruncated = form("yarn", 1_000_000, 128, **scaling, truncate=False)
    assert form("yarn", 1_000_000, 128, **scaling, truncate=None) == untruncated
    assert any(isinstance(t, Ramp) for t in untruncated.terms)
    derived = form(
        "yarn",
        1_000_000,
        128,
        **{**scaling, "factor": None},
        max_position_embeddings=F(100_000),
    )
    assert derived.parameters["factor"] == F(3125, 1024)
    neutral = form("yarn", 1_000_000, 128, **{**scaling, "factor": 1}, truncate=False)
    assert neutral.terms == form("default", 1_000_000, 128).terms


def test_yarn_ends_are_rounded_by_enclosures_and_not_by_floats() -> None:
    """A length at which the float cutoff is a whole number, and the exact one just below it."""
    dim, base = 128, 10_000
    low = 20
    original = F(repr(32 * 2 * math.pi * base ** (2 * low / dim)))
    exact = dim * mp.log(number(original) / (64 * mp.pi)) / (2 * mp.log(base))
    assert abs(exact - low) < 1e-10
    scaling = {"factor": 2, "original_max_position_embeddings": original}
    betas = (F(32), F(1))
    agree(
        form("yarn", base, dim, **scaling), yarn_directly(F(base), dim, F(2), original, betas, True)
    )


@settings(max_examples=40)
@given(
    bases,
    st.one_of(widths, odd_widths),
    factors,
    st.sampled_from([F(512), F(8192)]),
    st.sampled_from([(F(1), F(4)), (F(1, 2), F(1)), (F(2), F(2)), (F(4), F(1)), (F(1), F(3, 2))]),
)
def test_llama3(
    base: Fraction,
    dim: int,
    factor: Fraction,
    original: Fraction,
    bounds: tuple[Fraction, Fraction],
) -> None:
    low, high = map(number, bounds)
    length, by = number(original), number(factor)
    wanted = []
    for theta in plain(base, dim):
        wave = 2 * mp.pi / theta
        if wave > length / low:
            wanted.append(theta / by)
        elif wave < length / high:
            wanted.append(theta)
        else:
            smooth = (length / wave - low) / (high - low)
            wanted.append((1 - smooth) * theta / by + smooth * theta)
    found = form(
        "llama3",
        base,
        dim,
        factor=factor,
        low_freq_factor=bounds[0],
        high_freq_factor=bounds[1],
        original_max_position_embeddings=original,
    )
    agree(found, wanted)
    banded = [t for t in found.terms if isinstance(t, PiBlend)]
    assert all(t.slope for t in banded)
    assert not (banded and (factor == 1 or bounds[0] >= bounds[1]))


def test_the_constant_of_llama3s_blend_vanishes_at_the_ratio_of_its_bounds() -> None:
    found = form(
        "llama3",
        500_000,
        128,
        factor=4,
        low_freq_factor=1,
        high_freq_factor=4,
        original_max_position_embeddings=8192,
    )
    banded = [t for t in found.terms if isinstance(t, PiBlend)]
    assert len(banded) == 6
    assert {t.constant for t in banded} == {F(0)}
    assert {t.slope for t in banded} == {F(8192 * 3, 4) / 6}


@quick
@given(st.integers(8, 200), st.fractions(0, 1, max_denominator=16), factors)
def test_proportional_stands_still_beyond_its_share(
    head: int, share: Fraction, factor: Fraction
) -> None:
    found = form("proportional", 10**6, head, partial_rotary_factor=share, factor=factor)
    turning = min(math.floor(share * head) // 2, head // 2)
    table = [number(10**6) ** (mp.mpf(-2 * k) / head) / number(factor) for k in range(turning)]
    assert found.terms[turning:] == (ZERO,) * (head // 2 - turning)
    for term, direct in zip(found.terms, table, strict=False):
        assert close(value(term), direct)


@quick
@given(bases, st.sampled_from([8, 12, 40, 64, 72, 80]))
def test_towers_rearrange_the_plain_ladder(base: Fraction, dim: int) -> None:
    whole = plain(base, dim)
    agree(form("axial", base, dim), plain(base, dim // 2))
    agree(form("axial_thirds", base, dim), plain(base, 2 * (dim // 6)))
    agree(form("axial_dealt", base, dim), [*whole[0::2], *whole[1::2]])
    agree(form("dinov3", base, dim), [v**2 for v in whole[: math.ceil(dim / 4)]])
    n = dim // 2
    sections = (F(1), F(n - 3), F(2))
    wanted = [*whole[: n - 2][0::2], *whole[: n - 2][1::2], *whole[n - 2 :]]
    agree(form("ernie_3d", base, dim, mrope_section=sections), wanted)
    agree(form("ladders", base, dim, axes_dim=(F(4), F(dim))), [*plain(base, 4), *whole])
