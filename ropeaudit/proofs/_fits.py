"""Sets of parameters that reproduce a table, as certificates write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ropeaudit.errors import InvalidValue
from ropeaudit.records import record, replace
from ropeaudit.schedule.families.interface import MAX_CHANNELS, powers, reciprocal
from ropeaudit.schedule.families.yarn import ramp_ends
from ropeaudit.schedule.fit.cells import UNIT, Cells, edges, shown, steps
from ropeaudit.schedule.fit.decimals import digits, neighbours, simplest, spelled
from ropeaudit.schedule.fit.geometric import base_interval
from ropeaudit.schedule.fit.guess import Guess, exponents, table
from ropeaudit.schedule.fit.yarn import end_ranges
from ropeaudit.schedule.float32 import FORMATS, f32

MIN_CHANNELS = 3
"""Frequencies that a law must meet to be one: a base and a factor fit any two."""
_LONG = 6
"""Digits of a base above which float32 leaves room for other decimals."""
_HALVINGS = 4
LENGTH = "original_max_position_embeddings"
_SCALED = {
    "yarn": (LENGTH, "beta_fast", "beta_slow"),
    "llama3": (LENGTH, "low_freq_factor", "high_freq_factor"),
}
"""Parameters of which only quotients enter a table."""


@record()
class Fit:
    """``steps``: whole steps of ``dtype``, the format that the table shows, for each channel."""

    guess: Guess
    dtype: str
    steps: tuple[int, ...]
    table: tuple[float, ...]

    @property
    def max_ulp(self) -> int:
        return max(self.steps, default=0)

    def as_dict(self) -> dict[str, Any]:
        """Numbers as a config spells them."""
        guess = self.guess
        return {
            "rope_theta": spelled(guess.rope_theta),
            "rotary_dim": guess.rotary_dim,
            "rope_type": guess.rope_type,
            "parameters": {
                k: v if isinstance(v, bool) else spelled(v) for k, v in guess.parameters.items()
            },
            "max_ulp": self.max_ulp,
        }


def as_fit(guess: Guess, values: Sequence[float]) -> Fit | None:
    """``guess`` measured against a table; None where it builds none or an infinite value."""
    if guess.rope_type == "proportional" and "factor" not in guess.parameters:
        guess = replace(guess, parameters={"factor": 1.0, **guess.parameters})
    try:
        built = table(guess, len(values))
    except (InvalidValue, OverflowError, ZeroDivisionError):
        return None
    dtype = shown(values)
    apart = steps(values, built, dtype) if len(built) == len(values) else [math.inf]
    if max(apart) == math.inf:
        return None
    return Fit(guess, dtype, tuple(map(int, apart)), tuple(built))


def next_best(best: Fit, known: Sequence[Fit], values: Sequence[float]) -> dict[str, Any] | None:
    """The nearer of the neighbouring bases with as many digits; None where neither gives a table.

    It tells how sharply the table decides for the base.
    """
    taken = [f.guess for f in (best, *known)]
    near = [replace(best.guess, rope_theta=b) for b in neighbours(best.guess.rope_theta) if b > 0]
    found = [f for g in near if g not in taken and (f := as_fit(g, values)) is not None]
    found = [f for f in found if f.max_ulp >= best.max_ulp]
    return min(found, key=lambda f: f.max_ulp).as_dict() if found else None


def others(best: Fit, alike: Sequence[Fit], cells: Cells) -> list[Fit]:
    """Other parameters with the same ``max_ulp``.

    Another law; and where one number alone may vary within an interval, its least and greatest
    value that were seen to fit.
    """
    found: list[Fit] = []
    seen = [best.guess]
    most = max(1, MAX_CHANNELS // len(cells.values))  # each is computed again by a verifier
    for guess in (*(f.guess for f in alike), *_ends(best, cells), *_scaled(best.guess)):
        if guess not in seen and len(found) < most:
            seen.append(guess)
            fit = as_fit(guess, cells.values)
            if fit is not None and fit.max_ulp == best.max_ulp:
                found.append(fit)
    return found


def _scaled(guess: Guess) -> Iterator[Guess]:
    """Numbers of which only quotients count, all doubled."""
    keys = _SCALED.get(guess.rope_type)
    if keys:
        doubled = {k: 2 * guess.parameters[k] for k in keys}
        yield replace(guess, parameters={**guess.parameters, **doubled})


def _ends(best: Fit, cells: Cells) -> Iterator[Guess]:
    """The ends of what each number may be while the others stay."""
    guess = best.guess
    if best.max_ulp == 0:
        if cells.narrow:
            yield from _narrow_ends(best, cells)
        elif digits(guess.rope_theta) > _LONG:
            half = FORMATS["float32"].spacing(f32(guess.rope_theta)) / 2
            for side in (-half, half):
                edge = f32(guess.rope_theta) + side
                yield replace(guess, rope_theta=simplest(*sorted((edge, edge - side / 16))))
    if guess.rope_type == "yarn" and guess.parameters["truncate"]:
        yield from _whole_ramp(guess)


def _narrow_ends(best: Fit, cells: Cells) -> Iterator[Guess]:
    guess = best.guess

    fmt = FORMATS[cells.grid]
    inner = [edges(v, fmt) for v in cells.values]

    def holds(other: Guess) -> bool:
        try:
            built = table(other, len(inner))
        except (InvalidValue, OverflowError, ZeroDivisionError):
            return False
        return all(a < b < c for b, (a, c) in zip(built, inner, strict=True))

    def theta(value: float) -> Guess:
        return replace(guess, rope_theta=value)

    def of(key: str) -> Callable[[float], Guess]:
        return lambda value: replace(guess, parameters={**guess.parameters, key: value})

    for outer in _base_bounds(best, cells):
        yield from _edge(theta, guess.rope_theta, outer, holds)
    for outer in _factor_bounds(best, cells):
        yield from _edge(of("factor"), guess.parameters["factor"], outer, holds)
    for key in _loose(guess):
        value = guess.parameters[key]
        for side in (-value, value):
            yield from _edge(of(key), value, _beyond(of(key), value, side, holds), holds)


def _loose(guess: Guess) -> Sequence[str]:
    """Parameters that move every channel between the ends, a little each."""
    if guess.rope_type == "llama3":
        return ("high_freq_factor", LENGTH)
    loose = guess.rope_type == "yarn" and not guess.parameters["truncate"]
    return _SCALED["yarn"] if loose else ()


def _beyond(
    put: Callable[[float], Guess], value: float, side: float, holds: Callable[[Guess], bool]
) -> float:
    """A value near ``value`` that does not hold, or one half as large again."""
    for power in range(-14, -1, 2):
        outer = value + side * 2.0**power
        if not holds(put(outer)):
            break
    return outer


def _edge(
    put: Callable[[float], Guess], value: float, outer: float, holds: Callable[[Guess], bool]
) -> Iterator[Guess]:
    """The guess furthest from ``value`` towards ``outer`` that holds, to a few percent."""
    inner = value
    if holds(put(outer)):
        inner = outer
    else:
        for _ in range(_HALVINGS):
            centre = (inner + outer) / 2
            inner, outer = (centre, outer) if holds(put(centre)) else (inner, centre)
    if inner != value:
        yield put(simplest(*sorted((inner, inner + (value - inner) / 16))))


def _plain(guess: Guess, channels: int) -> list[float]:
    return reciprocal(powers(guess.rope_theta, guess.rotary_dim, channels))


def _base_bounds(best: Fit, cells: Cells) -> Sequence[float]:
    """What the channels allow that follow the ladder itself."""
    guess, channels = best.guess, len(cells.values)
    plain = _plain(guess, channels)
    factor = guess.parameters.get("factor", 1.0)
    ladder = guess.rope_type in ("linear", "proportional")
    by = factor if ladder else 1.0
    kept = [k for k, p in enumerate(plain) if _near(best.table[k] * by, p)]
    exps = exponents((guess.rotary_dim,), channels)
    part = cells.part(kept)
    found = base_interval(part, [exps[k] for k in kept], -2.2 * UNIT, math.log(by))
    return [math.exp(end) for end in found] if found and math.isfinite(sum(found)) else ()


def _factor_bounds(best: Fit, cells: Cells) -> Sequence[float]:
    """What the channels allow that are divided by the whole factor."""
    factor = best.guess.parameters.get("factor", 1.0)
    if factor == 1:
        return ()
    low, high = -math.inf, math.inf
    for k, p in enumerate(_plain(best.guess, len(cells.values))):
        if best.table[k] and _near(best.table[k] * factor, p):
            low = max(low, math.log(p) - cells.high[k] + 2.2 * UNIT)
            high = min(high, math.log(p) - cells.low[k] - 2.2 * UNIT)
    if not -85 < low < high < 85:
        return ()
    return math.exp(low), math.exp(high)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-6 * b


def _whole_ramp(guess: Guess) -> Iterator[Guess]:
    """Lengths and turns that give the same whole channels as ends of the ramp."""
    given = guess.parameters
    length, fast, slow = given[LENGTH], given["beta_fast"], given["beta_slow"]
    dim, base = guess.rotary_dim, guess.rope_theta
    low, high = ramp_ends(dim, base, length, fast, slow, truncate=True)
    first, last = end_ranges(base, dim, int(low), int(high))
    lengths = (
        max(first[0] * fast, last[0] * slow),
        min(first[1] * fast, last[1] * slow),
    )
    for key, ends, value in (
        (LENGTH, lengths, length),
        ("beta_fast", (length / first[1], length / first[0] if first[0] else math.inf), fast),
        ("beta_slow", (length / last[1], length / last[0] if last[0] else math.inf), slow),
    ):
        for end in ends:
            if 0 < end < 1e12 and abs(end / value - 1) > 1e-6:
                inside = simplest(*sorted((end, end + (value - end) / 16)))
                yield replace(guess, parameters={**given, key: inside})
