"""Polynomials over the integers and over a prime field: repeated roots, exactly.

A polynomial is a list of integers, constant term first, without a zero at the end.
"""

from __future__ import annotations

import math

Poly = list[int]


def trimmed(f: Poly) -> Poly:
    found = list(f)
    while found and found[-1] == 0:
        found.pop()
    return found


def derivative(f: Poly) -> Poly:
    return [k * c for k, c in enumerate(f)][1:]


def gcd_mod(f: Poly, g: Poly, p: int) -> Poly:
    """The greatest common divisor modulo the prime p, with leading coefficient 1."""
    f, g = trimmed([c % p for c in f]), trimmed([c % p for c in g])
    while g:
        f, g = g, _remainder_mod(f, g, p)
    if not f:
        return []
    inverse = pow(f[-1], -1, p)
    return [c * inverse % p for c in f]


def _remainder_mod(f: Poly, g: Poly, p: int) -> Poly:
    f, inverse = list(f), pow(g[-1], -1, p)
    while len(f) >= len(g):
        if f[-1]:
            factor, at = f[-1] * inverse % p, len(f) - len(g)
            for k, c in enumerate(g):
                f[at + k] = (f[at + k] - factor * c) % p
        f.pop()
    return trimmed(f)


def is_squarefree_mod(f: Poly, p: int) -> bool:
    """Whether f, of a degree below p, has no repeated factor modulo p.

    For a monic f over the integers that proves the same over the rationals: a repeated factor there
    would be one here.
    """
    return len(gcd_mod(f, derivative(f), p)) == 1


def primitive(f: Poly) -> Poly:
    """f without the common divisor of its coefficients, leading coefficient positive."""
    content = math.gcd(*f) if f else 0
    if not content:
        return []
    content = -content if f[-1] < 0 else content
    return [c // content for c in f]


def gcd(f: Poly, g: Poly) -> Poly:
    """The primitive greatest common divisor over the rationals (primitive remainders, Knuth
    4.6.1, algorithm E)."""
    f, g = primitive(trimmed(f)), primitive(trimmed(g))
    if len(f) < len(g):
        f, g = g, f
    while g:
        f, g = g, primitive(_pseudo_remainder(f, g))
    return f


def _pseudo_remainder(f: Poly, g: Poly) -> Poly:
    f, lead = list(f), g[-1]
    while len(f) >= len(g):
        top, at = f[-1], len(f) - len(g)
        f = [c * lead for c in f]
        for k, c in enumerate(g):
            f[at + k] -= top * c
        f = trimmed(f)
    return f


def quotient(f: Poly, g: Poly) -> Poly:
    """f / g for primitive g that divides f."""
    f, found = list(f), [0] * (len(f) - len(g) + 1)
    for at in range(len(found) - 1, -1, -1):
        found[at], rest = divmod(f[at + len(g) - 1], g[-1])
        if rest:
            raise ValueError("the division leaves a remainder")
        for k, c in enumerate(g):
            f[at + k] -= found[at] * c
    if any(f):
        raise ValueError("the division leaves a remainder")
    return found


def multiplicities(f: Poly) -> dict[int, Poly]:
    """``f`` up to a constant as a product of ``part ** m`` with squarefree, coprime parts (Yun).

    Only parts of positive degree.
    """
    f = primitive(trimmed(f))
    if len(f) < 2:
        return {}
    found: dict[int, Poly] = {}
    common = gcd(f, derivative(f))
    left = primitive(quotient(f, common))
    m = 1
    while len(left) > 1:
        shared = gcd(left, common)
        part = primitive(quotient(left, shared))
        if len(part) > 1:
            found[m] = part
        left, common = shared, primitive(quotient(common, shared))
        m += 1
    return found
