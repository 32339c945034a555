"""Overrides for both sides, or for one: ``rope_theta=1e6``, ``b:rope_theta=1e6``."""

from __future__ import annotations

from collections.abc import Iterable

from ropeaudit.errors import UsageError, quoted

SIDES = ("a", "b")


def sided(
    texts: Iterable[str], option: str = "--override"
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The texts for A and for B, in their order; raises UsageError for another prefix."""
    found: dict[str, list[str]] = {side: [] for side in SIDES}
    for text in texts:
        head, colon, rest = text.partition(":")
        side = head.strip().lower()
        if not colon or "=" in head or text.lstrip().startswith("{"):
            for each in SIDES:
                found[each].append(text)
        elif side in found:
            found[side].append(rest)
        else:
            raise UsageError(
                f"{option} {quoted(text)} names the side {quoted(head)}; write a: or b: in front "
                "of KEY=VALUE for one side, or nothing for both"
            )
    return tuple(found["a"]), tuple(found["b"])
