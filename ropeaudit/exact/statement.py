"""Closed forms as people write them: one formula a run of channels, plain or LaTeX, and for sympy.

The formula is found in the terms, not in the law's name, so it says what the numbers are and
nothing that the law merely intends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ropeaudit.exact._signs import LATEX, PLAIN, Signs
from ropeaudit.exact.terms import ClosedForm, Cutoff, PiBlend, Power, Ramp, Term
from ropeaudit.records import record

MAX_PIECES = 6
"""Formulas beyond which the coefficients are no rule but a list."""


@record()
class Piece:
    """A formula for the channels ``first`` to ``last``; its free letter is the channel ``k``."""

    first: int
    last: int
    formula: str


@record()
class Line:
    """``start + step * k``: what an exponent or a coefficient is in every channel of a run."""

    start: Fraction
    step: Fraction

    def at(self, k: int) -> Fraction:
        return self.start + self.step * k


def plain(form: ClosedForm) -> tuple[Piece, ...]:
    """The closed form in signs that a terminal has: ``1000000^(-k/64)``."""
    return _pieces(form.terms, PLAIN)


def latex(form: ClosedForm) -> str:
    """The closed form as one LaTeX formula, by cases where it has several."""
    pieces = _pieces(form.terms, LATEX)
    if not pieces:
        return ""
    if len(pieces) == 1:
        return rf"\theta_k = {pieces[0].formula}, \quad {_cases(pieces[0])}"
    rows = (rf"{p.formula} & {_cases(p)}" for p in pieces)
    return r"\theta_k = \begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"


def term(shape: Term, signs: Signs = PLAIN) -> str:
    """One term in plain signs (or LaTeX): ``1000000^(-1/64)``, ``1``, ``0``."""
    return _formula([shape], 0, signs)


def expression(shape: Term) -> Any:
    """The term as a sympy expression, exact."""
    import sympy

    def number(q: Fraction) -> Any:
        return sympy.Rational(q.numerator, q.denominator)

    def power(p: Power) -> Any:
        return sympy.Mul(
            number(p.coefficient), *(sympy.Pow(number(r), number(e)) for r, e in p.factors)
        )

    def end(at: Fraction | Cutoff) -> Any:
        if isinstance(at, Fraction):
            return number(at)
        return (
            at.dim * sympy.log(number(at.turns) / (2 * sympy.pi)) / (2 * sympy.log(number(at.base)))
        )

    if isinstance(shape, Power):
        return power(shape)
    theta = power(shape.theta)
    if isinstance(shape, PiBlend):
        return theta * (number(shape.constant) + number(shape.slope) * theta / sympy.pi)
    rise = (shape.channel - end(shape.low)) / (end(shape.high) - end(shape.low))
    return theta * (1 - rise + rise / number(shape.factor))


def _cases(piece: Piece) -> str:
    if piece.first == piece.last:
        return f"k = {piece.first}"
    return rf"{piece.first} \le k \le {piece.last}"


def _pieces(terms: Sequence[Term], signs: Signs) -> tuple[Piece, ...]:
    found = list(_runs(terms, _joined))
    if len(found) > MAX_PIECES:
        found = list(_runs(terms, _alike))
    return tuple(Piece(a, b, _formula(terms[a : b + 1], a, signs)) for a, b in found)


def _runs(
    terms: Sequence[Term], fits: Callable[[Sequence[Term], int], bool]
) -> list[tuple[int, int]]:
    """Longest runs, from the left, of terms that one formula states.

    What fits a run fits each shorter one, so its end is found by halving.
    """
    found: list[tuple[int, int]] = []
    first = 0
    while first < len(terms):
        last, beyond = first, len(terms)
        while beyond - last > 1:
            middle = (last + beyond) // 2
            if fits(terms[first : middle + 1], first):
                last = middle
            else:
                beyond = middle
        # Two points lie on every line: a run of two that a longer one can take is no run.
        if last == first + 1 and last + 1 < len(terms) and not _same(terms[first], terms[last]):
            last = first
        found.append((first, last))
        first = last + 1
    return found


def _same(a: Term, b: Term) -> bool:
    """Whether the coefficients agree, so that two channels alone are a run."""
    return isinstance(a, Power) and isinstance(b, Power) and a.coefficient == b.coefficient


def _joined(terms: Sequence[Term], first: int) -> bool:
    """Whether one formula states all terms, coefficients included."""
    if not _alike(terms, first):
        return False
    if not isinstance(terms[0], Power) or not terms[0].coefficient:
        return True
    return _line([_power(t).coefficient for t in terms], first) is not None


def _alike(terms: Sequence[Term], first: int) -> bool:
    """Whether the terms have one shape and their exponents lie on lines; coefficients may vary."""
    head = terms[0]
    if any(type(t) is not type(head) for t in terms):
        return False
    if isinstance(head, Power) and any(bool(head.coefficient) != bool(_power(t).coefficient)
                                       for t in terms):  # fmt: skip
        return False
    if any(_rest(t) != _rest(head) for t in terms):
        return False
    return all(_exponent(terms, radicand, first) is not None for radicand in _radicands(terms))


def _rest(shape: Term) -> object:
    """What must not change within a run, besides the power."""
    if isinstance(shape, PiBlend):
        return shape.theta.coefficient, shape.constant, shape.slope
    if isinstance(shape, Ramp):
        return shape.theta.coefficient, shape.low, shape.high, shape.factor
    return None


def _power(shape: Term) -> Power:
    return shape if isinstance(shape, Power) else shape.theta


def _radicands(terms: Sequence[Term]) -> list[Fraction]:
    """Radicands in order of appearance; 1 says nothing."""
    return [r for r in dict.fromkeys(r for t in terms for r, e in _power(t).factors if e) if r != 1]


def _exponent(terms: Sequence[Term], radicand: Fraction, first: int) -> Line | None:
    return _line(
        [sum((e for r, e in _power(t).factors if r == radicand), Fraction(0)) for t in terms],
        first,
    )


def _line(values: Sequence[Fraction], first: int) -> Line | None:
    """The line through all values at ``first``, ``first + 1``, ...; None if there is none."""
    step = values[1] - values[0] if len(values) > 1 else Fraction(0)
    line = Line(values[0] - step * first, step)
    return line if all(line.at(first + n) == v for n, v in enumerate(values)) else None


def _formula(terms: Sequence[Term], first: int, signs: Signs) -> str:
    head = terms[0]
    powers = [_power(t) for t in terms]
    if not powers[0].coefficient:
        return "0"
    coefficient = _line([p.coefficient for p in powers], first)
    factors = [
        signs.power(signs.number(r), _affine(line, signs))
        for r in _radicands(terms)
        if (line := _exponent(terms, r, first)) is not None
    ]
    theta = signs.product(_leading(coefficient, factors, signs), factors)
    if isinstance(head, PiBlend):
        bent = signs.over(f"{signs.number(head.slope)}{signs.times}{theta}", signs.pi)
        return f"{theta}{signs.times}({signs.number(head.constant)} + {bent})"
    if isinstance(head, Ramp):
        return f"{theta}{signs.times}{_ramp(head, len(terms), signs)}"
    return theta


def _leading(line: Line | None, factors: Sequence[str], signs: Signs) -> str:
    """The coefficient in front; nothing for a 1 that is not alone."""
    if line is None:
        return signs.letter
    if not line.step:
        return "" if line.start == 1 and factors else signs.number(line.start)
    return f"({_affine(line, signs)})"


def _affine(line: Line, signs: Signs) -> str:
    """``-k/64``, ``1/2``, ``1 - 3k/80``."""
    if not line.step:
        return signs.number(line.start)
    size = abs(line.step)
    top = "k" if size.numerator == 1 else f"{size.numerator}k"
    slope = top if size.denominator == 1 else signs.over(top, str(size.denominator))
    if not line.start:
        return f"-{slope}" if line.step < 0 else slope
    return f"{signs.number(line.start)} {'-' if line.step < 0 else '+'} {slope}"


def _ramp(ramp: Ramp, count: int, signs: Signs) -> str:
    k = "k" if count > 1 else str(ramp.channel)
    low, high = _end(ramp.low, signs), _end(ramp.high, signs)
    rise = signs.over(f"({k} - {low})", f"({high} - {low})")
    return f"(1 - {signs.number(1 - 1 / ramp.factor)}{signs.times}{rise})"


def _end(at: Fraction | Cutoff, signs: Signs) -> str:
    if isinstance(at, Fraction):
        return signs.number(at)
    log = f"{at.dim}{signs.times}{signs.log}({signs.number(at.turns)}/(2{signs.pi}))"
    return signs.over(log, f"(2{signs.times}{signs.log} {signs.number(at.base)})")
