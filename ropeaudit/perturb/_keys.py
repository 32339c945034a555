"""How the values of recipes are read and written; every reader raises ValueError with its wish."""

from __future__ import annotations

import math
import re
from typing import Any

from ropeaudit.perturb.interface import Key

_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_INTEGER = re.compile(r"\d{1,20}")


def written(value: float) -> str:
    """The shortest decimal that reads back as ``value``: 1000000, 0.25, 1e-7."""
    text = repr(float(value))
    if text.endswith(".0"):
        return text[:-2]
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def _float(text: str, wish: str) -> float:
    # float() alone would take "nan", "inf", "1_000" and digits of other scripts.
    value = float(text) if text.isascii() and _DECIMAL.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise ValueError(wish)
    return value + 0.0


def number(*, above: float | None = None, least: float | None = None, **kw: Any) -> Key:
    """A finite number, above or at least a bound."""
    bound = "" if above is None else f" above {written(above)}"
    bound += "" if least is None else f" of at least {written(least)}"

    def read(text: str) -> float:
        value = _float(text, f"a finite number{bound}")
        if (above is not None and value <= above) or (least is not None and value < least):
            raise ValueError(f"a finite number{bound}")
        return value

    return Key(read=read, write=written, **kw)


def whole(least: int, most: int, **kw: Any) -> Key:
    """A whole number within bounds."""

    def read(text: str) -> int:
        value = int(text) if text.isascii() and _INTEGER.fullmatch(text) else least - 1
        if not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return Key(read=read, **kw)


def choice(*words: str, **kw: Any) -> Key:
    """One of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(" or ".join(words))
        return text

    return Key(read=read, **kw)


def flag(**kw: Any) -> Key:
    """true or false."""

    def read(text: str) -> bool:
        if text not in ("true", "false"):
            raise ValueError("true or false")
        return text == "true"

    return Key(read=read, write=lambda value: "true" if value else "false", **kw)


def number_or(*words: str, least: float) -> Key:
    """One of a few words, or a number of at least ``least``."""
    wish = f"{', '.join(words)} or a number of at least {written(least)}"

    def read(text: str) -> str | float:
        if text in words:
            return text
        value = _float(text, wish)
        if value < least:
            raise ValueError(wish)
        return value

    return Key(read=read, write=lambda value: value if value in words else written(value))


MAX_CHANNEL = 1 << 20
POSITIONS = ("high", "mid", "low")


def position() -> Key:
    """A channel by its index, or a place in the spectrum: high, mid or low frequencies."""

    def read(text: str) -> str | int:
        if text in POSITIONS:
            return text
        if not (text.isascii() and _INTEGER.fullmatch(text)) or int(text) > MAX_CHANNEL:
            raise ValueError("high, mid, low or the index of a channel")
        return int(text)

    return Key(read=read)


def distance() -> dict[str, Key]:
    """How far the channels of a group lie apart: in channels, or in log."""
    return {"gap": whole(1, MAX_CHANNEL), "dlog": number(above=0.0)}


def require_gap(gap: int | None, dlog: float | None) -> None:
    """Raises ValueError unless exactly one of both says how far the channels lie apart."""
    if (gap is None) == (dlog is None):
        how = "gap is missing" if gap is None else "gap and dlog are both given, expected one"
        raise ValueError(how)


def channel() -> Key:
    """A channel by its index."""
    return whole(0, MAX_CHANNEL)


def file() -> Key:
    """A path, taken as it stands."""

    def read(text: str) -> str:
        if not text.isprintable():
            raise ValueError("a path of printable characters")
        return text

    return Key(read=read, path=True)
