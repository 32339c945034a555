"""What the public functions are called with, made uniform; wrong arguments are UsageErrors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.facts import MAX_LENGTH
from ropeaudit.findings import Severity

NOTHING: Mapping[str, str] = {}
SIDES = ("a", "b")


def target_of(target: Any) -> Any:
    return os.fspath(target) if isinstance(target, str | os.PathLike) else target


def names(rules: str | Iterable[str]) -> tuple[str, ...]:
    found = several(rules, str, "rules", "names or paths of packs")
    if not found:
        raise UsageError("rules is empty: nothing would be judged; name a pack, such as core")
    return found


def lengths(contexts: int | Iterable[int]) -> tuple[int, ...]:
    found: tuple[int, ...] = several(contexts, int, "contexts", "lengths in positions")
    wrong = [n for n in found if isinstance(n, bool) or not 1 <= n <= MAX_LENGTH]
    if wrong:
        raise UsageError(
            f"contexts are lengths from 1 to {MAX_LENGTH} positions, not {quoted(wrong[0])}"
        )
    return found


def engines(readers: str | Iterable[str]) -> tuple[str, ...]:
    return several(readers, str, "readers", "names of engines, such as vllm, or all")


def texts(overrides: str | Iterable[str]) -> tuple[str, ...]:
    return several(overrides, str, "overrides", "texts such as rope_theta=1e6")


def stated(encoding: Mapping[str, str]) -> dict[str, str]:
    texts = (*encoding, *encoding.values()) if isinstance(encoding, Mapping) else None
    several(texts, str, "encoding", 'texts by name, such as {"grid": "14x14"}')
    return dict(encoding)


def sided(encoding: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """What is stated for each side of a comparison: ``a:grid`` for one, ``grid`` for both."""
    both, own = stated(encoding), {side: dict[str, str]() for side in SIDES}
    for key, value in both.items():
        side, colon, name = key.partition(":")
        if not colon:
            for each in own.values():
                each.setdefault(key, value)
        elif side in own:
            own[side][name] = value
        else:
            raise UsageError(
                f"encoding names the side {quoted(side)} in {quoted(key)}; write a: or b: in front "
                "for one side, or nothing for both"
            )
    return own["a"], own["b"]


def several(given: Any, kind: type, name: str, expected: str) -> tuple[Any, ...]:
    """One value of ``kind`` or any number of them; raises UsageError for anything else."""
    found = (given,) if isinstance(given, kind) else given
    if not isinstance(found, Iterable):
        raise UsageError(f"{name} is {quoted(given)}, expected {expected}")
    found = tuple(found)
    wrong = [v for v in found if not isinstance(v, kind)]
    if wrong:
        raise UsageError(f"{name} are {expected}, not {quoted(wrong[0])}")
    return found


def severity(level: str | Severity) -> Severity:
    if isinstance(level, Severity):
        return level
    try:
        return Severity.parse(level)
    except (KeyError, AttributeError):
        raise UsageError(f"fail_on is {quoted(level)}, expected error, warning or info") from None
