"""Numbers and places as people read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ropeaudit.facts import Location
from ropeaudit.report._plain import number_word
from ropeaudit.report._terminal import safe
from ropeaudit.schedule.geometry import spans


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
    return ", ".join(spans(numbers, "–"))


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


_EXACT = frozenset({"base", "expected", "factor", "first", "found", "rope_theta", "values"})
"""Evidence that is compared with a file; of the rest a page needs four digits."""
_PLACES = frozenset({"fastest", "paths", "unit", "worst"})
"""Evidence that is a place, such as layer, head and unit, or a path, and no list of indices."""
_OF_HEADS = frozenset({"clusters", "heads", "still"})
"""Lists of what stands in a layer and a head; None is one set that serves all of them."""
_RADIANS = frozenset({"max_phase_drift", "phase", "phase_error"})


def evidence(found: Mapping[str, Any], *, full: bool) -> str:
    """Evidence as one line of ``name value`` pairs; long lists are cut unless ``full``.

    What says nothing (no value, no, an empty list) is left out unless ``full``.
    """
    told = dict(found)
    if not full:
        if told.get("clusters") == [] and told.get("max_cluster") == 1:
            del told["max_cluster"]
        told = {k: v for k, v in told.items() if not _empty(v)}
    return " · ".join(f"{safe(k)} {_of_key(k, v, full)}" for k, v in told.items())


def _empty(value: Any) -> bool:
    if value is None or value is False:
        return True
    return isinstance(value, Sequence | Mapping) and len(value) == 0


def _of_key(key: str, value: Any, full: bool) -> str:
    """A value with its unit; counts by length as ``18 at 32768``, other groups without braces."""
    if isinstance(value, Mapping) and value:
        if all(str(k).isdecimal() for k in value):
            return ", ".join(f"{_of_key(key, v, full)} at {safe(k)}" for k, v in value.items())
        return ", ".join(f"{safe(k)} {_of_key(k, v, full)}" for k, v in value.items())
    if key in _RADIANS and isinstance(value, float):
        return f"{radians(value, 7 if full else 4)} rad"
    if key in _PLACES:
        return _in_order(value, full)
    if key in _OF_HEADS:
        value = _with_all(value)
    if key in _EXACT and not full:
        return _short_value(value, full, 7)
    return _short_value(value, full)


def _in_order(value: Any, full: bool) -> str:
    """Numbers one by one; what serves all layers or heads has no number."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(_in_order(v, full) for v in value)}]"
    return _short_value(_with_all(value), full)


def _with_all(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_with_all(v) for v in value]
    return "all" if value is None else value


def radians(value: float, digits: int = 4) -> str:
    """An angle; half a turn by its name, because no rounding of pi is one."""
    if abs(abs(value) - math.pi) < 1e-6:
        return "-π" if value < 0 else "π"
    return _short_float(value, digits)


def _short_float(value: float, digits: int) -> str:
    if not math.isfinite(value):
        return number_word(value)
    if value.is_integer() and abs(value) < 1e7:
        return str(int(value))
    return f"{value:.{digits}g}"


def _short_value(value: Any, full: bool, digits: int = 4) -> str:
    if isinstance(value, float):
        return _short_float(value, 7 if full else digits)
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        inner = ", ".join(f"{safe(k)} {_of_key(k, v, full)}" for k, v in value.items())
        return "{" + inner + "}"
    if isinstance(value, list | tuple | set | frozenset):
        return _short_list(list(value), full, digits)
    return safe(value) if full else cut(safe(value), 120)


def _short_list(items: list[Any], full: bool, digits: int) -> str:
    if not items:
        return "[]"
    if len(items) > 2 and _are_indices(items):
        text = ranges(items)
        if text.count(",") + 1 < len(items):
            return f"[{text}]" if full else f"[{cut(text, 60)}]"
    limit = len(items) if full else 3 if isinstance(items[0], Mapping) else 6
    shown = ", ".join(_short_value(v, full, digits) for v in items[:limit])
    more = f", … {len(items)} in all" if len(items) > limit else ""
    return f"[{shown}{more}]"


def _are_indices(items: Sequence[Any]) -> bool:
    """Whether they rise, as indices do; the sizes of a grid do not."""
    whole = all(isinstance(v, int) and not isinstance(v, bool) for v in items)
    return whole and all(a < b for a, b in pairwise(items))


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
