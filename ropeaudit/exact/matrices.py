"""Matrices of floats taken as what they are: integers times a power of two.

Every question here is decided in integers. Arithmetic goes on modulo primes below 2^31, batched in
int64; a residue that is not zero proves that the integer is not, and enough primes prove that it
is.
Matrices are (batch, n, n).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

from ropeaudit.records import field, record

_MANTISSA = 53
_START = (1 << 31) - 1
"""The largest prime below 2^31; products of two residues fit into int64."""
_WITNESSES = (2, 3, 5, 7)
"""Bases by which Miller and Rabin's test decides all numbers below 3.2e9."""


@record()
class Dyadic:
    """Float64 values as ``mantissa * 2^(exponent + shift)``, exactly; ``exponent`` >= 0.

    ``bits``: every ``|value| * 2^-shift`` is an integer below ``2^bits``.
    """

    mantissa: Any = field(compare=False)
    exponent: Any = field(compare=False)
    shift: int
    bits: int

    def residues(self, p: int) -> Any:
        """The integers ``value * 2^-shift`` modulo ``p``, int64 in [0, p)."""
        import numpy as np

        powers = np.array([pow(2, k, p) for k in range(int(self.exponent.max(initial=0)) + 1)])
        return self.mantissa % p * powers[self.exponent] % p

    def integer(self, *at: int) -> int:
        """One of the integers itself."""
        return int(self.mantissa[at]) << int(self.exponent[at])


def dyadic(values: Any) -> Dyadic:
    """Finite float64 values of any shape as integers with one power of two in common."""
    import numpy as np

    fraction, exponent = np.frexp(values)
    mantissa = (fraction * 2.0**_MANTISSA).astype(np.int64)
    # Trailing zeros belong to the power of two: a float32 has 24 bits, not 53.
    low = mantissa & -mantissa
    zeros = np.where(mantissa == 0, 0, np.frexp(low.astype(np.float64))[1] - 1)
    mantissa = mantissa >> zeros
    exponent = exponent.astype(np.int64) - _MANTISSA + zeros
    used = mantissa != 0
    if not used.any():
        return Dyadic(mantissa, np.zeros_like(mantissa), 0, 0)
    shift = int(exponent[used].min())
    exponent = np.where(used, exponent - shift, 0)
    sizes = np.frexp(np.abs(mantissa).astype(np.float64))[1] + exponent
    return Dyadic(mantissa, exponent, shift, int(sizes.max()))


def primes() -> Iterator[int]:
    """Primes below 2^31, falling."""
    yield from (n for n in range(_START, 2, -2) if _is_prime(n))


@cache
def _is_prime(n: int) -> bool:
    d, s = n - 1, 0
    while d % 2 == 0:
        d, s = d // 2, s + 1
    for base in _WITNESSES:
        x = pow(base, d, n)
        if x in (1, n - 1):
            continue
        for _ in range(s - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def enough(bits: int) -> list[int]:
    """Primes whose product is above ``2^(bits + 1)``, so that residues give a signed integer."""
    return list(islice(primes(), max(1, -(-(bits + 2) // 30))))


def times(a: Any, b: Any, p: int) -> Any:
    """``a @ b`` modulo p, for residues in [0, p); halves of 16 bits keep sums within int64."""
    high, low = a >> 16, a & 0xFFFF
    return ((high @ b) % p * 65536 + (low @ b)) % p


def characteristic(m: Any, p: int) -> Any:
    """Coefficients (batch, n + 1) of ``det(x I - M)`` modulo p, constant term first.

    By similarity to Hessenberg form; H. Cohen, A Course in Computational Algebraic Number Theory,
    algorithm 2.2.9.
    """
    import numpy as np

    h = _hessenberg(m % p, p)
    batch, n, _ = h.shape
    rows = np.zeros((n + 1, batch, n + 1), dtype=np.int64)
    rows[0, :, 0] = 1
    for k in range(n):
        now = np.zeros((batch, n + 1), dtype=np.int64)
        now[:, 1:] = rows[k, :, :-1]
        now -= h[:, k, k, None] * rows[k] % p
        below = np.ones(batch, dtype=np.int64)
        for i in range(1, k + 1):
            below = below * h[:, k - i + 1, k - i] % p
            now -= (h[:, k - i, k] * below % p)[:, None] * rows[k - i] % p
        rows[k + 1] = now % p
    return rows[n]


def _hessenberg(h: Any, p: int) -> Any:
    import numpy as np

    h = h.copy()
    batch, n, _ = h.shape
    each = np.arange(batch)
    for k in range(n - 2):
        pivot = k + 1 + np.argmax(h[:, k + 1 :, k] != 0, axis=1)
        for turned in (h, h.swapaxes(1, 2)):  # rows, then columns: a similarity
            turned[each, pivot], turned[:, k + 1] = turned[:, k + 1].copy(), turned[each, pivot]
        factors = h[:, k + 2 :, k] * _inverse(h[:, k + 1, k], p)[:, None] % p
        h[:, k + 2 :] = (h[:, k + 2 :] - factors[:, :, None] * h[:, k + 1, None] % p) % p
        added = h[:, :, k + 2 :] * factors[:, None, :] % p
        h[:, :, k + 1] = (h[:, :, k + 1] + added.sum(axis=2)) % p
    return h


def _inverse(values: Any, p: int) -> Any:
    """Inverses modulo p, 0 for 0 (Fermat)."""
    found, square, power = values * 0 + 1, values % p, p - 2
    while power:
        if power & 1:
            found = found * square % p
        square = square * square % p
        power >>= 1
    return found


def combined(residues: Any, moduli: list[int]) -> list[int]:
    """Signed integers from their residues (primes, count), by the Chinese remainder theorem."""
    found, product = [0] * residues.shape[1], 1
    for row, p in zip(residues.tolist(), moduli, strict=True):
        inverse = pow(product, -1, p)
        found = [v + product * ((r - v) * inverse % p) for v, r in zip(found, row, strict=True)]
        product *= p
    return [v - product if 2 * v > product else v for v in found]


def coefficient_bits(n: int, bits: int) -> int:
    """Bits of every coefficient of the characteristic polynomial of integers below ``2^bits``.

    Each is a sum of C(n, k) minors, and Hadamard bounds a minor by ``(sqrt(n) 2^bits)^k``.
    """
    return n + math.ceil(n * (bits + 0.5 * math.log2(max(n, 1))))
