"""A line on standard error that says how far a long run is; nothing where nobody watches."""

from __future__ import annotations

import os
import sys
import time
from typing import TextIO

_CELLS = 24
_SECONDS = 0.2
"""Redrawn no more often than this."""


class Bar:
    """Called with tokens done, tokens in all and seconds left (None: not known yet).

    Draws only on a terminal that can move its cursor, and takes its line away in the end. Standard
    output is never touched.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        able = self._stream is not None and self._stream.isatty()
        self._on = able and os.environ.get("TERM") != "dumb"
        self._last = float("-inf")
        self._front = ""

    def begin(self, front: str) -> None:
        """What the line starts with from now on; shown at once."""
        self._front = f"{front} " if front else ""
        self._draw(f"{self._front}loading ...")

    def __call__(self, done: int, total: int, left: float | None) -> None:
        now = time.monotonic()
        if not self._on or (now - self._last < _SECONDS and done < total):
            return
        self._last = now
        share = done / total if total else 1.0
        full = round(share * _CELLS)
        bar = "#" * full + "." * (_CELLS - full)
        rest = "" if left is None or done >= total else f", {clock(left)} left"
        self._draw(f"{self._front}[{bar}] {int(100 * share)} % of {total:,} tokens{rest}")

    def end(self) -> None:
        """Take the line away."""
        self._draw("")

    def _draw(self, text: str) -> None:
        if not self._on:
            return
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
            self._stream.write(f"\r{text[: columns - 1] if columns > 1 else text}\x1b[K")
            self._stream.flush()
        except OSError:  # the terminal is gone; the run is not
            self._on = False


def clock(seconds: float) -> str:
    """``4 s``, ``1:05``, ``2:03:04``."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
