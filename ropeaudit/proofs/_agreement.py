"""Whether a certificate states what a target gives: schedule by schedule, as certificates spell it.

A verified certificate is true of the schedules in it. That they are those of a model is told here:
a certificate of another schedule, or of the same one with its channels grouped otherwise or its
form left out, is true as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.schedule.float32 import ulp_distance

Entry = Mapping[str, Any]
LIBRARIES = 1
"""Float32 steps by which tables may differ that two machines built: their ``pow`` does."""


def disagreements(held: Mapping[str, Entry], own: Mapping[str, Entry]) -> Iterator[str]:
    """Sentences on how the schedules of a certificate (``held``) differ from those of a target.

    Both by name. The tolerance is the certificate's to choose.
    """
    for name in [*held, *(n for n in own if n not in held)]:
        shown = quoted(name)
        if name not in own:
            yield f"it has a schedule {shown}, which the target does not give"
        elif name not in held:
            yield f"it lacks the schedule {shown}, which the target gives"
        else:
            said = _differs(held[name], own[name])
            if said is not None:
                yield f"its schedule {shown} is another one: {said}"


def _differs(held: Entry, own: Entry) -> str | None:
    """The first difference, in words."""
    if held["dtype"] != own["dtype"]:
        return f"held in {held['dtype']}, and the target's in {own['dtype']}"
    said = _forms(held["form"], own["form"]) or _tables(held, own)
    if said is not None:
        return said
    for key, what in (("groups", "coordinates"), ("static", "channels that stand still")):
        if held[key] != own[key]:
            return f"its {what} ({key}) are not the target's"
    return None


def _forms(held: Entry | None, own: Entry | None) -> str | None:
    if held is None or own is None:
        if held is own:
            return None
        has, lacks = ("the target's", "it") if held is None else ("it", "the target's")
        return f"{has} has a closed form and {lacks} has none"
    if held["law"] != own["law"]:
        return f"its law is {held['law']}, and the target's {own['law']}"
    for key, value in held["parameters"].items():
        theirs = own["parameters"].get(key)
        if value != theirs:
            return f"its {key} is {quoted(str(value))}, and the target's {quoted(str(theirs))}"
    if held["terms"] != own["terms"]:
        return "its terms are not the target's"
    if _places(held) != _places(own):
        return "it has its parameters from other places than the target"
    return None


def _places(form: Entry) -> dict[str, dict[str, Any]]:
    """Places by parameter; the file's own name is no matter, and its digest is compared."""
    return {
        name: {k: v for k, v in source.items() if k != "file"}
        for name, source in form["sources"].items()
    }


def _tables(held: Entry, own: Entry) -> str | None:
    if len(held["table"]) != len(own["table"]):
        return f"it has {len(held['table'])} channels, and the target's {len(own['table'])}"
    stored = held["name"].endswith("stored")
    for k, (value, theirs) in enumerate(zip(held["table"], own["table"], strict=True)):
        if value != theirs and (stored or not _near(value, theirs)):
            return f"channel {k} holds {_decimal(value)}, and the target's {_decimal(theirs)}"
    return None


def _near(a: str, b: str) -> bool:
    apart = ulp_distance(_float(a), _float(b))
    return apart is not None and apart <= LIBRARIES


def _float(text: str) -> float:
    return float(text) if text in ("nan", "inf", "-inf") else float(Fraction(text))


def _decimal(text: str) -> str:
    return f"{_float(text):.9g}"
