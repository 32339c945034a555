"""Settings that no run could be made with are said before a model is loaded."""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.perplexity.records import DTYPES, SCORINGS, Settings

_LONGEST = 1 << 24


def require(settings: Settings) -> None:
    """Raises UsageError, one sentence, for the first setting that cannot be."""
    contexts = settings.contexts
    if not contexts:
        raise UsageError("no context length is given; name one, such as 2048")
    for length in contexts:
        if not 2 <= length <= _LONGEST:
            raise UsageError(
                f"the context length is {length}, expected 2 to {_LONGEST:,} tokens; correct it"
            )
    if len(set(contexts)) < len(contexts):
        raise UsageError("a context length stands twice; keep one")
    if settings.windows is not None and settings.windows < 1:
        raise UsageError(f"windows is {settings.windows}, expected at least 1; correct it")
    if settings.offset < 0:
        raise UsageError(f"offset is {settings.offset}, expected 0 or more tokens; correct it")
    _require_word("scoring", settings.scoring, SCORINGS)
    if settings.dtype is not None:
        _require_word("dtype", settings.dtype, DTYPES)
    if settings.stride is not None:
        if settings.scoring != "strided":
            raise UsageError("stride is for strided scoring only; leave it out")
        if not 1 <= settings.stride <= min(contexts):
            raise UsageError(
                f"stride is {settings.stride}, expected 1 to {min(contexts)} tokens, the shortest "
                "context; correct it"
            )
    _require_stops(settings)


def choosing(settings: Settings) -> dict[str, Any]:
    """Those that decide, with the length, which windows and targets are scored, in which order."""
    names = ("windows", "offset", "scoring", "stride", "bos", "seed")
    return {name: getattr(settings, name) for name in names}


def _require_word(name: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        near = suggestion(value, known) or f"; known: {', '.join(known)}"
        raise UsageError(f"unknown {name} {quoted(value)}{near}")


def _require_stops(settings: Settings) -> None:
    precision, threshold = settings.precision, settings.threshold
    if precision is not None and not 0 < precision < 1:
        raise UsageError(
            f"precision is {precision:g}, expected more than 0 and less than 1 (0.005 is 0.5 %)"
        )
    if threshold is not None and not 0 < threshold < math.inf:
        raise UsageError(f"threshold is {threshold:g}, expected a ratio such as 1.05; correct it")
