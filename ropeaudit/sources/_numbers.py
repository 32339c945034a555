"""Numbers in text: a column, a row, a CSV with a header, or what ``print`` makes of an array."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ropeaudit.errors import InvalidValue, quoted, quoted_path

_COLUMNS = ("inv_freq", "inverse_frequency", "frequency", "freq", "theta", "omega", "value")
_CELL = re.compile(r"[^,;\s]+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|nan)", re.I)
MAX_TOKEN = 2000
"""Characters of one number; Python's own float is exact well before."""


def looks_numeric(head: bytes) -> bool:
    """Whether ``head`` is text whose first or second line holds nothing but numbers."""
    try:
        text = head.decode("utf-8", "strict" if len(head) < 64 else "ignore")
    except UnicodeDecodeError:
        return False
    if any(ord(c) < 32 and c not in "\t\r\n" for c in text):
        return False
    lines = [cells for _, cells in _rows(text, len(text))][:2]
    return any(cells and all(_NUMBER.fullmatch(c) for c in cells) for cells in lines)


def numbers_of(text: str, file: str, most: int) -> tuple[float, ...]:
    """The table in ``text``; of several columns the one that a header names, or the only one
    besides a count from zero. Raises InvalidValue.
    """
    values: list[float] = []
    widths: set[int] = set()
    header: list[str] | None = None
    column: int | None = None
    for line, cells in _rows(text, most):
        if len(values) + len(cells) > most:
            raise InvalidValue(
                f"{quoted_path(file)} holds more than the {most} values of any table"
            )
        if not widths and header is None and not any(_NUMBER.fullmatch(c) for c in cells):
            header = [c.lower() for c in cells]
            column = _column(header, file)
            continue
        widths.add(len(cells))
        values += [_number(c, file, line) for c in cells]
    if header is not None or _counted(values, widths):
        width = len(header) if header is not None else 2
        if widths - {width}:
            raise InvalidValue(
                f"{quoted_path(file)} has rows of {sorted(widths)[:4]} cells under a header of "
                f"{width}; give every row as many"
            )
        values = values[column if column is not None else width - 1 :: width]
    return tuple(values)


def _rows(text: str, most: int) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells, of one line at most ``most`` + 1; no comments, no brackets."""
    start, line = 0, 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line += 1
        content = text[start:end].split("#", 1)[0].strip().removeprefix("\ufeff").strip("[](){}")
        cells = [m.group().strip("\"'") for m in islice(_CELL.finditer(content), most + 1)]
        if cells:
            yield line, cells
        start = end + 1


def _number(cell: str, file: str, line: int) -> float:
    if len(cell) > MAX_TOKEN or not _NUMBER.fullmatch(cell):
        raise InvalidValue(
            f"{quoted_path(file)} holds {quoted(cell)} on line {line}, expected a number",
            where=f"line {line}",
        )
    return float(cell)


def _column(header: list[str], file: str) -> int:
    for name in _COLUMNS:
        if name in header:
            return header.index(name)
    if len(header) == 1:
        return 0
    raise InvalidValue(
        f"{quoted_path(file)} has the columns {quoted(', '.join(header))}, "
        "expected one named inv_freq",
        where="line 1",
    )


def _counted(values: list[float], widths: set[int]) -> bool:
    """Whether rows of two cells begin with 0, 1, 2, ... (a numbered list of at least two)."""
    return widths == {2} and len(values) > 2 and values[::2] == list(range(len(values) // 2))
