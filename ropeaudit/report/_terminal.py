"""Text for people: colour, width and escaping, independent of any terminal.

A :class:`View` says how a page may look; :class:`Ink` paints by it. This is done by hand, not with
rich, for two reasons: foreign text must never be parsed as markup, and rich costs 16 ms of imports
and 40 µs a line, which is felt in a run over thousands of configs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from typing import TextIO

from ropeaudit.errors import quoted
from ropeaudit.records import record

OFF_TERMINAL_WIDTH = 100
WIDEST = 120
"""Longer lines than this are hard to read."""
NARROWEST = 40

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "fail": "1;97;41",
    "unknown": "1;97;45",
    "warn": "1;30;43",
    "pass": "1;97;42",
    "none": "1;7",
}

_PLAIN = {
    "×": "x",
    "–": "-",
    "—": "-",
    "…": "...",
    "·": "|",
    "→": "->",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "±": "+-",
    "θ": "theta",
    "λ": "lambda",
    "π": "pi",
    "µ": "u",
    "“": '"',
    "”": '"',
    "’": "'",
}


@record()
class View:
    """How a page may look. The default is what a file gets: no colour, 100 columns, Unicode."""

    width: int = OFF_TERMINAL_WIDTH
    color: bool = False
    unicode: bool = True
    verbose: bool = False


def detect(
    stream: TextIO, *, color: str = "auto", verbose: bool = False, env: Mapping[str, str]
) -> View:
    """The view for ``stream``: NO_COLOR, FORCE_COLOR, TERM, COLUMNS and the encoding decide.

    ``color`` always or never wins over the environment. Off a terminal nothing is cut: the width
    only says where sentences are wrapped.
    """
    terminal = stream.isatty()
    if color == "auto":
        forced = env.get("FORCE_COLOR", "") not in ("", "0")
        wanted = terminal and env.get("TERM") != "dumb"
        colored = False if env.get("NO_COLOR") else forced or wanted
    else:
        colored = color == "always"
    columns = env.get("COLUMNS", "")
    if columns.isdecimal() and 0 < int(columns) < 10_000:
        width = int(columns)
    elif terminal:
        width = min(WIDEST, shutil.get_terminal_size().columns)
    else:
        width = OFF_TERMINAL_WIDTH
    encoding = (getattr(stream, "encoding", None) or "ascii").lower().replace("-", "")
    return View(max(NARROWEST, width), colored, encoding.startswith("utf"), verbose)


def safe(value: object) -> str:
    """Foreign text in full, with every control character escaped."""
    return quoted(value, limit=1_000_000)


def width_of(text: str) -> int:
    """Terminal cells that ``text`` (without escape codes) takes."""
    if text.isascii() or max(text) < "\u0300":
        return len(text)
    if all(c < "\u0300" or "\u2010" <= c <= "\u25ff" or "\u0370" <= c <= "\u04ff" for c in text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def pad(text: str, width: int) -> str:
    return text + " " * (width - width_of(text))


def wrap(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` cells, broken at spaces; a longer word stays whole."""
    line, used = "", 0
    for word in text.split():
        size = width_of(word)
        if line and used + 1 + size > width:
            yield line
            line, used = word, size
        else:
            line, used = (f"{line} {word}", used + 1 + size) if line else (word, size)
    yield line


class Ink:
    """Paints by a View and collects lines."""

    def __init__(self, view: View) -> None:
        self.view = view
        self.lines: list[str] = []

    def paint(self, text: str, style: str | None) -> str:
        """``text`` in ``style``; itself when the view has no colour."""
        if not style or not text or not self.view.color:
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def line(self, *parts: str | tuple[str, str | None]) -> None:
        """One line of plain and ``(text, style)`` parts; the text must be safe already."""
        if not self.view.color:
            self.lines.append("".join(p if isinstance(p, str) else p[0] for p in parts).rstrip())
            return
        pairs = [(p, None) if isinstance(p, str) else p for p in parts]
        while pairs and not pairs[-1][0].rstrip():
            pairs.pop()
        if pairs:  # blanks at the end go also when they are inside escape codes
            pairs[-1] = pairs[-1][0].rstrip(), pairs[-1][1]
        self.lines.append("".join(self.paint(*pair) for pair in pairs))

    def paragraph(
        self, text: str, *, indent: int, label: str = "", style: str | None = None
    ) -> None:
        """Wrapped text with a hanging indent; ``label`` stands dim in front of the first line."""
        for number, part in enumerate(wrap(text, self.view.width - indent)):
            head = pad(label, indent) if number == 0 else " " * indent
            self.line((head, "dim"), (part, style))

    def text(self) -> str:
        """All lines, with a final newline; transliterated when the view is not Unicode."""
        if not self.lines:
            return ""
        page = "\n".join(self.lines) + "\n"
        return page if self.view.unicode else ascii_only(page)


def ascii_only(text: str) -> str:
    """``text`` in ASCII: known signs by their plain spelling, anything else as an escape."""
    if text.isascii():
        return text
    for sign, plain in _PLAIN.items():
        text = text.replace(sign, plain)
    return text.encode("ascii", "backslashreplace").decode()
