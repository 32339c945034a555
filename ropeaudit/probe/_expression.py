"""Targets of a probe: small expressions of d, L and omega, read by grammar and never executed.

``d`` is the lag in positions (an array), ``L`` the length that was fitted, ``omega`` a frequency in
radians per position, ``pi`` the number. Allowed are numbers, ``+ - * / **``, parentheses and the
functions of :data:`FUNCTIONS`. Everything is a float64: no integer can grow without end.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.records import field, record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

MAX_TEXT = 400
MAX_DEPTH = 40
NAMES = ("d", "L", "omega", "pi")
FUNCTIONS = ("abs", "cos", "exp", "log", "sin", "sqrt")
TARGETS = {"phase": "cos(omega*d)", "linear": "d/L", "mixed": "(d/L)*cos(omega*d)"}
"""The targets of the published table: names that stand for a whole expression."""
_WHAT = (
    "numbers, + - * / **, parentheses, the names d, L, omega, pi and the functions "
    + ", ".join(FUNCTIONS)
)
_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "true_divide",
    ast.Pow: "power",
}

Term = Callable[[Mapping[str, Any]], Any]


@record()
class Expression:
    """A target: ``text`` as it was written, ``source`` what it stands for.

    Two spellings of a shipped name and its formula have the same ``source``.
    """

    text: str
    source: str
    term: Term = field(compare=False)

    def values(self, lags: Array, *, length: int, omega: float) -> Array:
        """The target at ``lags`` (count,), float64.

        Raises UsageError where it is not finite, with the first such lag.
        """
        import numpy as np

        given = {"d": lags, "L": float(length), "omega": float(omega), "pi": np.pi}
        with np.errstate(all="ignore"):
            found: Array = np.broadcast_to(np.asarray(self.term(given), np.float64), lags.shape)
        wrong = ~np.isfinite(found)
        if wrong.any():
            at = lags[int(np.argmax(wrong))]
            raise UsageError(
                f"target {quoted(self.text)} is no finite number at d = {at:g} (L = {length}); "
                "give an expression that is finite at every lag, such as log(1 + d)"
            )
        return found


def parse(text: str) -> Expression:
    """Read one expression; raises UsageError with the place of what is wrong."""
    source = " ".join(text.split())
    if not source:
        raise UsageError("the target is empty; give an expression of d, such as cos(omega*d)")
    if len(source) > MAX_TEXT:
        raise UsageError(
            f"the target has {len(source)} characters, at most {MAX_TEXT} are read; shorten it"
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # such as a number that runs into a word
            tree = ast.parse(source, mode="eval")
    except SyntaxError as error:
        raise _wrong(source, error.offset or len(source) + 1, "cannot be read") from None
    except (ValueError, RecursionError, MemoryError):  # a NUL; too many parentheses
        raise _wrong(source, 1, "cannot be read") from None
    return Expression(text=source, source=ast.unparse(tree), term=_term(tree.body, source, 0))


def _wrong(source: str, column: int, why: str) -> UsageError:
    return UsageError(f"target {quoted(source)}, column {column}: {why}; expected {_WHAT}")


def _term(node: ast.expr, source: str, depth: int) -> Term:
    """The function that a syntax tree stands for; what is not listed here is refused."""
    column = 1 + len(source.encode()[: node.col_offset].decode())  # offsets count bytes
    if depth > MAX_DEPTH:
        raise _wrong(source, column, f"is nested more than {MAX_DEPTH} deep")
    match node:
        case ast.Constant(value=value):
            return _number(value, source, column)
        case ast.Name(id=name):
            return _name(name, source, column)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            held = _term(inner, source, depth + 1)
            if isinstance(sign, ast.UAdd):
                return held
            return lambda given: -held(given)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _operation(
                _BINARY[type(op)], _term(left, source, depth + 1), _term(right, source, depth + 1)
            )
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in FUNCTIONS:
            return _function(name, _term(inner, source, depth + 1))
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            raise _wrong(source, column, f"{name} takes one argument")
        case ast.Call(func=ast.Name(id=name)):
            near = suggestion(name, FUNCTIONS)
            raise _wrong(source, column, f"no function is called {quoted(name)}{near}")
        case _:
            part = ast.get_source_segment(source, node) or source
            raise _wrong(source, column, f"{quoted(part, 40)} is not allowed here")


def _number(value: object, source: str, column: int) -> Term:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(source, column, f"{quoted(value, 40)} is no number")
    try:
        number = float(value)
    except OverflowError:
        raise _wrong(source, column, "the number is beyond float64") from None
    import numpy as np

    constant = np.float64(number)
    return lambda _: constant


def _name(name: str, source: str, column: int) -> Term:
    if name in FUNCTIONS:
        raise _wrong(source, column, f"{name} is a function; write {name}(...)")
    if name not in NAMES:
        near = suggestion(name, (*NAMES, *TARGETS) if name == source else NAMES)
        raise _wrong(source, column, f"no quantity is called {quoted(name)}{near}")
    return lambda given: given[name]


def _operation(name: str, left: Term, right: Term) -> Term:
    import numpy as np

    work = getattr(np, name)
    return lambda given: work(left(given), right(given))


def _function(name: str, inner: Term) -> Term:
    import numpy as np

    work = getattr(np, name)
    return lambda given: work(inner(given))
