"""Making observations, shared by the two modules that look for oddities."""

from __future__ import annotations

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Observation, Oddity
from ropeaudit.readers.transformers._node import Node

SAME_TYPE = {"mrope": "default", "su": "longrope", "xdrope": "dynamic"}
"""Old spellings of a type; beside the new one they are no conflict."""


def odd(
    node: Node,
    kind: Oddity,
    message: str,
    pointer: str | None,
    schedule: str | None = None,
    **evidence: Json,
) -> Observation:
    return Observation(
        kind=kind,
        message=message,
        location=None if pointer is None else node.place(pointer),
        schedule=schedule,
        evidence=evidence,
    )


def small(value: Json) -> Json:
    return value if isinstance(value, int | float | str | bool) else quoted(value)
