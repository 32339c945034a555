"""Numbers and places as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropeaudit.facts import Location
from ropeaudit.report._plain import number_word
from ropeaudit.report._terminal import safe


def short(value: float) -> str:
    """Three significant digits with k, M, G beyond a thousand: 8.19k, 2.56M, 6.28."""
    if not math.isfinite(value):
        return number_word(value)
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if size <= abs(value) < 1e15:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def exact(value: float | None) -> str:
    """A base or factor in full, without a needless ``.0``."""
    if value is None:
        return "-"
    if isinstance(value, float) and math.isfinite(value) and abs(value) < 1e15:
        return str(int(value)) if value.is_integer() else repr(value)
    return f"{value:.6g}" if isinstance(value, float) else safe(value)


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def ranges(numbers: Iterable[int]) -> str:
    """``0–3, 5, 7–31`` for sorted or unsorted integers."""
    parts: list[list[int]] = []
    for n in sorted(set(numbers)):
        if parts and n == parts[-1][1] + 1:
            parts[-1][1] = n
        else:
            parts.append([n, n])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def layers(numbers: Sequence[int] | None, limit: int = 4) -> str:
    """Layer indices, as steps where they are regular; counted where they are not."""
    if numbers is None:
        return "all"
    if not numbers:
        return "none"
    text = ranges(numbers)
    if text.count(",") < limit:
        return text
    return f"{len(numbers)} of {min(numbers)}–{max(numbers)}"


def place(location: Location) -> str:
    """``config.json:12 /rope_scaling/factor``, escaped."""
    return safe(str(location))


def evidence(found: Mapping[str, Any], *, full: bool) -> str:
    """Evidence as one line of ``name value`` pairs; long lists are cut unless ``full``."""
    told = {k: v for k, v in found.items() if full or v is not None}
    return " · ".join(f"{safe(k)} {_short_value(v, full)}" for k, v in told.items())


def _short_value(value: Any, full: bool) -> str:
    if isinstance(value, float):
        return f"{value:.7g}" if math.isfinite(value) else number_word(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{safe(k)} {_short_value(v, full)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return _short_list(list(value), full)
    return safe(value) if full else cut(safe(value), 120)


def _short_list(items: list[Any], full: bool) -> str:
    if len(items) > 2 and all(isinstance(v, int) and not isinstance(v, bool) for v in items):
        text = ranges(items)
        if text.count(",") + 1 < len(items):
            return f"[{text}]" if full else f"[{cut(text, 60)}]"
    limit = len(items) if full else 6
    shown = ", ".join(_short_value(v, full) for v in items[:limit])
    more = f", … {len(items)} in all" if len(items) > limit else ""
    return f"[{shown}{more}]"


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
