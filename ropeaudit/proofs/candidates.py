"""Small integer relations that the floats of a table nearly satisfy: hints, never a proof.

Every float is rational, so a table has relations without end; what counts is whether there are
more of them, or smaller ones, than values drawn at random would show. Pairs tell ratios (``a =
1000 b`` in a ladder whose base is a power of ten, ``7 a = 3 b`` in a quantised table); three and
four neighbours tell steps of one size, as a quantiser with an offset leaves them.

What can be seen depends on the precision. float32 has 24 bits, so among the 63 distances of a
table of width 128 one ratio with coefficients up to a product of about a thousand is worth a look;
of bfloat16 with its 8 bits nothing is but what recurs at other distances.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from ropeaudit.exact import encoding
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import record
from ropeaudit.schedule.fit.cells import shown
from ropeaudit.schedule.float32 import FORMATS, FloatFormat, on_grid

CLAIM = "candidates"
METHOD = "Integer relations that the stored floats nearly satisfy (PSLQ)."
REASON = "A relation between floats proves nothing."
CHANCE = 0.1
"""Relations are listed where random values would show as many, as small, less often than this."""
LISTED, ALIKE = 12, 4
"""Relations listed altogether, and with the same coefficients."""
ROUNDINGS = 4
"""Half units in the last place by which an engine's value may be off."""
_TUPLES = {2: 4000, 3: 1500, 4: 300}
"""Sets of channels tried, by size: about four seconds of PSLQ."""
_WINDOW = {3: 7, 4: 5}
"""Three and four channels are taken from as many neighbours."""
_LARGEST = 10**6
_ZETA = {2: 1.645, 3: 1.202, 4: 1.082}


@record()
class Relation:
    """``coefficients`` by channel: the sum of coefficient times value is ``residual``."""

    coefficients: Mapping[int, int]
    residual: Fraction

    @property
    def pattern(self) -> tuple[int, ...]:
        return tuple(self.coefficients.values())

    @property
    def size(self) -> int:
        """What is small about a small relation: the product of its coefficients."""
        return math.prod(map(abs, self.pattern))


def prove(exhibit: Exhibit) -> Claim:
    """Always undecided; lists the relations that chance explains least, the smallest first.

    Looks at values that turn, each once. Deterministic; a few seconds.
    """
    schedule = exhibit.schedule
    relations = listed(schedule.inv_freq, schedule.dtype, schedule.static_channels)
    evidence: dict[str, Any] = {
        "relations": [
            {
                "coefficients": {str(k): c for k, c in r.coefficients.items()},
                "residual": encoding.number(r.residual),
            }
            for r in relations
        ],
        "reason": REASON,
    }
    return Claim(
        claim=CLAIM,
        schedule=schedule.name,
        status=Status.UNDECIDED,
        method=METHOD,
        evidence=evidence,
    )


def listed(
    values: Sequence[float], dtype: str, static: frozenset[int] = frozenset()
) -> list[Relation]:
    """The relations worth a look, those that chance explains least first."""
    grid = _grid(values, dtype)
    channels = _channels(values, static, grid.smallest)
    error = ROUNDINGS * 2.0**-grid.precision
    found: list[tuple[float, int, Relation]] = []
    for count in _TUPLES:
        sets = list(_sets(channels, count))
        kinds = _kinds(values, sets, error)
        by_pattern: dict[tuple[int, ...], list[Relation]] = {}
        for relation in _search(values, sets, error, count):
            by_pattern.setdefault(relation.pattern, []).append(relation)
        tried = len(set(kinds.values()))
        for alike in by_pattern.values():
            times = len({kinds[tuple(r.coefficients)] for r in alike})
            odds = chance(tried, count, alike[0].size, times, error)
            if odds < math.log10(CHANCE):
                found += [(odds, at, r) for at, r in enumerate(alike[:ALIKE])]
    found.sort(key=lambda f: (f[0], f[2].size, f[1], tuple(f[2].coefficients)))
    return [relation for _, _, relation in found[:LISTED]]


def _grid(values: Sequence[float], dtype: str) -> FloatFormat:
    """The format that says how many bits the values really have."""
    if dtype == "float64" and not all(on_grid(v, "float32") for v in values if v - v == 0):
        return FloatFormat("float64", 53, -1022, sys.float_info.max)
    return FORMATS[shown(values)]


def chance(sets: int, count: int, size: int, times: int, error: float) -> float:
    """log10 of how often random values would satisfy a relation as small, as often as was seen.

    A sum of ``count`` values with given coefficients lies within ``error`` of zero with a
    probability of about ``error``, so ``times`` of ``sets`` do as often as a Poisson count of mean
    ``sets * error`` reaches ``times``. Coefficients with a product up to ``size`` can be chosen in
    about ``(2**(count-1) - 1) * size * (1 + ln size)**(count-1) / (count-1)!`` ways, and one in
    ``zeta(count)`` of them has no common factor.
    """
    ways = (2 ** (count - 1) - 1) * size * (1 + math.log(size)) ** (count - 1) / _ZETA[count]
    hits = times * math.log10(sets * error) - math.lgamma(times + 1) / math.log(10)
    return math.log10(ways / math.factorial(count - 1)) + min(hits, 0.0)


def _kinds(
    values: Sequence[float], sets: Sequence[tuple[int, ...]], error: float
) -> dict[tuple[int, ...], int]:
    """Sets that say the same have one number.

    A ladder repeats itself: what holds of channels i, j holds of i + 1, j + 1, and is one
    coincidence and not many. So sets with equal distances and equal ratios count once.
    """
    spread = 8 * error
    by_distance: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
    for chosen in sets:
        by_distance.setdefault(tuple(k - chosen[0] for k in chosen), []).append(chosen)
    kinds: dict[tuple[int, ...], int] = {}
    known: dict[tuple[tuple[int, ...], ...], int] = {}
    for distances, members in by_distance.items():
        steps = []
        for at in range(1, len(distances)):
            ratios = [math.log(values[m[at]]) - math.log(values[m[0]]) for m in members]
            steps.append(_clusters(ratios, spread))
        for chosen, *ids in zip(members, *steps, strict=True):
            kinds[chosen] = known.setdefault((distances, tuple(ids)), len(known))
    return kinds


def _clusters(numbers: Sequence[float], spread: float) -> list[int]:
    """One number for all that follow each other, in size, at no more than ``spread``."""
    found, last, cluster = [0] * len(numbers), -math.inf, 0
    for at in sorted(range(len(numbers)), key=lambda i: numbers[i]):
        cluster += numbers[at] - last > spread
        found[at], last = cluster, numbers[at]
    return found


def _channels(values: Sequence[float], static: frozenset[int], smallest: float) -> list[int]:
    """The first channel of each positive finite value; subnormal ones lack bits."""
    first: dict[float, int] = {}
    for k, v in enumerate(values):
        if k not in static and smallest <= v < math.inf:
            first.setdefault(v, k)
    return sorted(first.values())


def _sets(channels: Sequence[int], count: int) -> Iterator[tuple[int, ...]]:
    """Channels to be tried together: all pairs, or the sets within a window of neighbours.

    Where there are too many, every so many first channels are taken, with all that follow them.
    """
    total, most = len(channels), _TUPLES[count]
    reach = _WINDOW.get(count, total)
    each = math.comb(reach - 1, count - 1) if count > 2 else max(1, total // 2)
    step = max(1, math.ceil(total * each / most))
    for at in range(0, total, step):
        behind = channels[at + 1 : at + reach]
        if count == 2 and len(behind) > most:
            behind = behind[:: math.ceil(len(behind) / most)]
        for others in combinations(behind, count - 1):
            yield (channels[at], *others)


def _search(
    values: Sequence[float], sets: Sequence[tuple[int, ...]], error: float, count: int
) -> Iterator[Relation]:
    """Relations that hold to ``error`` of the sum's largest part and need every channel."""
    from mpmath.ctx_mp import MPContext

    context = MPContext()  # its own precision; the library's is left alone
    context.prec = 128
    tolerance = context.mpf(error)
    largest = min(_LARGEST, max(1, int((1 / error) ** (1 / count))))
    for chosen in sets:
        exact = [Fraction(values[k]) for k in chosen]
        scale = max(exact)
        parts = [context.mpf(v.numerator) / v.denominator for v in (e / scale for e in exact)]
        try:
            found = context.pslq(parts, tol=tolerance, maxcoeff=largest, maxsteps=1000)
        except (ValueError, ZeroDivisionError, OverflowError):
            continue
        if not found or 0 in found or max(map(abs, found)) > largest:
            continue
        sign = 1 if found[0] > 0 else -1
        whole = [sign * int(c) // math.gcd(*map(int, found)) for c in found]
        residual = sum((c * v for c, v in zip(whole, exact, strict=True)), Fraction(0))
        size_of = sum(abs(c) * v for c, v in zip(whole, exact, strict=True))
        if abs(residual) <= size_of * Fraction(error):
            yield Relation(dict(zip(chosen, whole, strict=True)), residual)
