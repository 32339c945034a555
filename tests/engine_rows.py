"""What engines made of random configs (fixtures/readers/random_*.json), against their readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.readers.engines.interface import Built, Engine, Refuses, Request
from tests.oracles.engines.random_rows import crc, problems

FOLDER = Path(__file__).parents[1] / "fixtures" / "readers"
Draw = Callable[[int, int, str], Iterator[tuple[str, dict[str, Any]]]]


def raw_request(config: dict[str, Any], lengths: tuple[int, ...] = ()) -> Request:
    """A config as an engine gets it that asks nothing of the reference."""
    document = parse(json.dumps(config), "config.json")
    return Request(document=document, reference=None, lengths=lengths)


def build(engine: Engine, release: str, config: dict[str, Any]) -> Built:
    """What the release builds; raises as its reader does."""
    one = next(r for r in engine.RELEASES if r.name == release)
    return engine.build(raw_request(config), one)


def refusal(engine: Engine, release: str, config: dict[str, Any]) -> str:
    """The reason of a refusal; fails where something is built."""
    try:
        built = build(engine, release, config)
    except (Refuses, InvalidValue) as error:
        return str(error)
    raise AssertionError(f"built {[s.name for s in built.schedules]}")


def disagreements(engine: Engine, release: str, draw: Draw) -> tuple[list[str], int]:
    """Rows that the reader gets wrong, and the number of rows with a table."""
    stored = json.loads((FOLDER / f"random_{release}.json").read_text(encoding="utf-8"))
    drawn = {crc(c): c for _, c in draw(stored["count"], stored["seed"], release)}
    wrong, tables = [], 0
    for name, mark, measured in stored["rows"]:
        assert mark in drawn, f"{name}: the draw has changed; run the oracle again with --golden"
        try:
            built: Built | None = build(engine, release, drawn[mark])
        except (Refuses, InvalidValue) as error:
            built, reason = None, str(error)
        if (built is None) != (measured is None):
            wrong.append(f"{name}: {'built' if built else reason}, measured {measured}")
        elif built is not None:
            tables += 1
            wrong += [f"{name}: {p}" for p in problems(_in_use(built), measured)]
    return wrong, tables


def _in_use(built: Built) -> list[Any]:
    """Tables at the declared length, and of longrope the list that the engine takes."""
    first = next((s.variant for s in built.schedules if s.variant in ("long", "short")), None)
    return [s for s in built.schedules if not s.is_grown and s.variant in (None, first, _at(s))]


def _at(schedule: Any) -> str | None:
    return schedule.variant if (schedule.variant or "").startswith("@") else None
