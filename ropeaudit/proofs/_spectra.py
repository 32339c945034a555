"""What is exactly true of stored generators: distinct planes, commuting axes.

A stored float is an integer times a power of two, so a skew matrix ``X - X^T`` of floats is, up to
that power, one of integers. Its characteristic polynomial is ``x^(n mod 2) q(x^2)`` with ``q(y)``
the product of ``y + w^2`` over the planes: planes have equal frequencies exactly where q has a
repeated root, the root 0 (channels that stand still) apart. Squarefree modulo one prime proves it
squarefree. Where no prime does, q is made over the integers and taken apart.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

from ropeaudit.exact import matrices, polynomials
from ropeaudit.records import record

TRIES = 3
"""Primes that are tried before the integers: one that hits a discriminant by chance is rare."""
MOST_BITS = 1 << 14
"""Bits of the coefficients up to which the integers are tried."""


@record(kw_only=True)
class Planes:
    """What became of one group of blocks that share a head.

    ``prime``: one modulo which q is squarefree, with at most one root 0. Else ``parts``:
    multiplicity -> how many different frequencies have it; ``squares``: multiplicity -> the exact
    ``w^2`` that occur so often, where they are rational; ``still``: planes that stand still. All
    None where nothing was decided.
    """

    prime: int | None = None
    parts: dict[int, int] | None = None
    squares: dict[int, tuple[Fraction, ...]] | None = None
    still: int | None = None

    @property
    def largest(self) -> int | None:
        """The most planes that share a frequency other than 0; None where nothing was decided."""
        if self.prime is not None:
            return 1
        return None if self.parts is None else max(self.parts, default=1)


def planes(x: Any) -> list[Planes]:
    """Decide each group of ``x`` (axes, groups, blocks, n, n), ``X - X^T`` being the generators.

    Of several axes it is the combination ``sum_k (k + 1) B_k`` that is decided.
    """
    import numpy as np

    axes, groups, blocks, n, _ = x.shape
    held = matrices.dyadic(x)
    found = [Planes() for _ in range(groups)]
    left = list(range(groups))
    for p in islice(matrices.primes(), TRIES):
        if not left:
            break
        q = _squared(_skew(_mixed(held.residues(p)[:, left], p), p), p)
        for at, group in enumerate(left):
            if polynomials.is_squarefree_mod(_product(q[at].tolist(), p), p):
                found[group] = Planes(prime=p)
        left = [g for g in left if found[g].prime is None]
    # A difference doubles the bound; a combination of axes has weights that sum to this.
    bits = matrices.coefficient_bits(n, held.bits + (axes * (axes + 1) // 2).bit_length())
    if not left or bits > MOST_BITS:
        return found
    moduli = matrices.enough(bits)
    residues = np.stack(
        [_squared(_skew(_mixed(held.residues(p)[:, left], p), p), p) for p in moduli]
    )
    for at, group in enumerate(left):
        each = [matrices.combined(residues[:, at, b], moduli) for b in range(blocks)]
        found[group] = _taken_apart(_product(each), held.shift)
    return found


def _mixed(r: Any, p: int) -> Any:
    return sum((k + 1) * part for k, part in enumerate(r)) % p


def _skew(r: Any, p: int) -> Any:
    return (r - r.swapaxes(-1, -2)) % p


def _squared(b: Any, p: int) -> Any:
    """q of each matrix of ``b`` (..., n, n), in y = x^2: (..., n // 2 + 1)."""
    n = b.shape[-1]
    c = matrices.characteristic(b.reshape(-1, n, n), p)
    return c[:, n % 2 :: 2].reshape(*b.shape[:-2], n // 2 + 1)


def _product(polys: list[list[int]], p: int | None = None) -> list[int]:
    found = [1]
    for f in polys:
        made = [0] * (len(found) + len(f) - 1)
        for i, a in enumerate(found):
            for j, b in enumerate(f):
                made[i + j] += a * b
        found = made if p is None else [c % p for c in made]
    return found


def _taken_apart(q: list[int], shift: int) -> Planes:
    still = next(k for k, c in enumerate(q) if c)
    parts = polynomials.multiplicities(q[still:])
    scale = Fraction(4) ** shift
    return Planes(
        parts={m: len(f) - 1 for m, f in parts.items()},
        squares={m: _rational(f, scale) for m, f in parts.items()},
        still=still,
    )


def _rational(f: list[int], scale: Fraction) -> tuple[Fraction, ...]:
    """``w^2`` of a part with one root; a part of more roots need have no rational one."""
    return (Fraction(f[0], f[1]) * scale,) if len(f) == 2 else ()


@record(kw_only=True)
class Bracket:
    """The commutator of two axes: zero, or an entry (batch, row, column) that is not, exactly."""

    axes: tuple[int, int]
    entry: tuple[int, int, int] | None = None
    value: Fraction | None = None


def brackets(x: Any) -> list[Bracket]:
    """``[A_a, A_b]`` for all pairs of axes of ``x`` (axes, batch, n, n), ``A = X - X^T``.

    One residue that is not 0 proves that the entry is not; products of primes above the bound
    ``2 n (2^(bits + 1))^2`` prove that all are.
    """
    import numpy as np

    axes, _, n, _ = x.shape
    held = matrices.dyadic(x)
    bound = 2 * (held.bits + 1) + n.bit_length() + 1
    found = {}
    pairs = [(a, b) for a in range(axes) for b in range(a + 1, axes)]
    for p in matrices.enough(bound):
        r = _skew(held.residues(p), p)
        for a, b in pairs:
            if (a, b) in found:
                continue
            off = (matrices.times(r[a], r[b], p) - matrices.times(r[b], r[a], p)) % p
            if off.any():
                entry = tuple(int(k) for k in np.argwhere(off)[0])
                value = _entry(held, a, b, entry) * Fraction(4) ** held.shift
                found[a, b] = Bracket(axes=(a, b), entry=entry, value=value)  # type: ignore[arg-type]
    return [found.get(pair) or Bracket(axes=pair) for pair in pairs]


def _entry(held: matrices.Dyadic, a: int, b: int, entry: tuple[int, ...]) -> int:
    batch, i, j = entry
    n = held.mantissa.shape[-1]

    def skew(axis: int, row: int, column: int) -> int:
        return held.integer(axis, batch, row, column) - held.integer(axis, batch, column, row)

    return sum(skew(a, i, k) * skew(b, k, j) - skew(b, i, k) * skew(a, k, j) for k in range(n))


def equal_vectors(w: Any) -> list[list[list[int]]]:
    """Clusters of rows of ``w`` (groups, units, axes) that are equal or opposite, as stored.

    Per group lists of unit numbers, largest first; zero vectors stand still and take no part.
    """
    found = []
    for rows in w.tolist():
        seen: dict[tuple[float, ...], list[int]] = {}
        for unit, row in enumerate(rows):
            first = next((v for v in row if v), None)
            if first is not None:
                key = tuple(v + 0.0 if first > 0 else 0.0 - v for v in row)  # no -0.0
                seen.setdefault(key, []).append(unit)
        clusters = [units for units in seen.values() if len(units) > 1]
        found.append(sorted(clusters, key=lambda units: (-len(units), units)))
    return found
