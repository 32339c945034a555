"""The signs of a formula: those that a terminal has, and LaTeX's."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Protocol


class Signs(Protocol):
    """A way to write formulas. ``letter`` stands for coefficients that follow no rule."""

    letter: str
    times: str
    pi: str
    log: str

    def number(self, value: Fraction) -> str: ...

    def power(self, base: str, exponent: str) -> str: ...

    def over(self, top: str, bottom: str) -> str: ...

    def product(self, leading: str, factors: Sequence[str]) -> str: ...


class _Plain:
    letter, times, pi, log = "c_k", "·", "π", "ln"

    def number(self, value: Fraction) -> str:
        return str(value)

    def power(self, base: str, exponent: str) -> str:
        bare = f"({base})" if "/" in base else base
        if exponent == "1":
            return bare
        return f"{bare}^({exponent})" if set(exponent) - set("0123456789") else f"{bare}^{exponent}"

    def over(self, top: str, bottom: str) -> str:
        return f"{top}/{bottom}"

    def product(self, leading: str, factors: Sequence[str]) -> str:
        return self.times.join(part for part in (leading, *factors) if part)


class _Latex:
    letter, times, pi, log = "c_k", r" \cdot ", r"\pi", r"\ln"

    def number(self, value: Fraction) -> str:
        if value.denominator == 1:
            return str(value.numerator)
        sign = "-" if value < 0 else ""
        return rf"{sign}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"

    def power(self, base: str, exponent: str) -> str:
        bare = rf"\left({base}\right)" if "frac" in base else base
        return bare if exponent == "1" else f"{bare}^{{{exponent}}}"

    def over(self, top: str, bottom: str) -> str:
        return rf"\frac{{{_bare(top)}}}{{{_bare(bottom)}}}"

    def product(self, leading: str, factors: Sequence[str]) -> str:
        return self.times.join(part for part in (leading, *factors) if part)


def _bare(text: str) -> str:
    """``text`` without parentheses around all of it: a fraction bar groups by itself."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if not depth and at < len(text) - 1:
            return text
    return text[1:-1]


PLAIN: Signs = _Plain()
LATEX: Signs = _Latex()
