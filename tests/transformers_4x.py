"""What ``ropeaudit`` says that transformers 4.x builds, against measured tables."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.readers.engines import _tf_types, transformers
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.schedule.core import Schedule

LOG, FACTOR = 2e-5, 1e-4
PROBED = frozenset({"codegen", "gptj"})
"""Types whose tables are no buffers; they were read, not run."""


def covered(release: str) -> list[str]:
    """Model types that the rules of ``release`` cover and that can be built on their own."""
    types = _tf_types._data()[release]["types"]
    return sorted(t for t in types if t in _tf_types.known(release) and t not in PROBED)


def disagreement(release: str, config: dict[str, Any], rows: Any) -> str | None:
    """Where the reading and the measurement differ, as a sentence; None where they agree.

    ``rows``: modules with fingerprints of their tables by state, None for a refusal.
    """
    known = next(r for r in transformers.RELEASES if r.name == f"transformers-{release}")
    asked = Request(document=parse(json.dumps(config), "config.json"), reference=None)
    try:
        built = transformers.build(asked, known)
    except (Refuses, InvalidValue) as error:
        return None if rows is None else f"refused here ({error}), built there"
    except NotCovered as error:
        return f"not covered: {error}"
    if rows is None:
        return "built here, refused there"
    for schedule in built.schedules:
        state = _state(schedule, config["max_position_embeddings"])
        there = [row.get(state, row["first"]) for row in rows]
        if not any(_near(schedule, row) for row in there):
            here = (len(schedule.inv_freq), schedule.inv_freq[1], schedule.attention_scaling)
            return f"{schedule.name} is {here} here, {there} there"
    return None


def _state(schedule: Schedule, declared: int) -> str:
    variant = schedule.variant
    if variant in ("short", "long"):
        return variant
    return "@2" if variant == f"@{2 * declared}" else "long" if variant else "first"


def _near(schedule: Schedule, row: Sequence[float]) -> bool:
    count, *values, attention = row
    table = schedule.inv_freq
    if len(table) != count or abs(schedule.attention_scaling - attention) > FACTOR:
        return False
    mine = (table[1], table[len(table) // 2], table[-1])
    pairs = zip(mine, values, strict=True)
    return all(a == b or (a * b > 0 and abs(math.log(a / b)) <= LOG) for a, b in pairs)
