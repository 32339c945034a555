"""Tables that TGI and CTranslate2 made of random configs, as rows of a fixture."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropeaudit.readers.engines.interface import Built, Engine
from tests.converted import crc
from tests.engine_vectors import outcome, request
from tests.oracles.engines.converted_configs import drawn

FIXTURE = Path(__file__).parents[1] / "fixtures" / "readers" / "attributes.json"
COUNT, SEED = 640, 11
LOG = 2e-5

Row = dict[str, list[Any]] | None
"""By schedule: channels, attention and four values; None where the engine stops."""


def short(table: Sequence[float], attention: float = 1.0) -> list[Any]:
    n = len(table)
    values = [float(f"{table[k]:.7g}") for k in (1, n // 3, 2 * n // 3, n - 1)]
    return [n, round(attention, 5), values]


def write(release: str, rows: Sequence[tuple[str, dict[str, Any], Row]]) -> None:
    """Replaces the rows of ``release``, one a line."""
    old = json.loads(FIXTURE.read_text(encoding="utf-8")) if FIXTURE.exists() else {}
    old[release] = [[name, crc(config), found] for name, config, found in rows]
    parts = []
    for name in sorted(old):
        body = ",\n".join(json.dumps(r, separators=(",", ":")) for r in old[name])
        parts.append(f'"{name}": [\n{body}\n]')
    FIXTURE.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")


def disagreements(engine: Engine, release: str) -> tuple[list[str], int]:
    """Rows that the reader gets wrong, and the number of rows with a table."""
    stored = json.loads(FIXTURE.read_text(encoding="utf-8"))[release]
    configs = {crc(c): c for _, c in drawn(COUNT, SEED)}
    wrong, tables = [], 0
    for name, mark, measured in stored:
        assert mark in configs, "the draw has changed; run the oracle again with --write"
        tables += measured is not None
        wrong += [f"{name}: {p}" for p in problems(engine, release, configs[mark], measured)]
    return wrong, tables


def problems(engine: Engine, release: str, config: dict[str, Any], measured: Row) -> Iterator[str]:
    chosen = next(r for r in engine.RELEASES if r.name == release)
    asked = request({"config": config, "file": "config.json"})
    status, built, reason = outcome(engine, asked, chosen)
    if status == "not_covered":
        return
    if measured is None or built is None:
        if not (measured is None and built is None):
            yield f"{status} {reason}, measured {measured}"
        return
    yield from _differences(built, measured)


def _differences(built: Built, measured: Mapping[str, list[Any]]) -> Iterator[str]:
    said = {s.name: short(s.inv_freq, s.attention_scaling) for s in built.schedules}
    if set(said) != set(measured):
        yield f"schedules {sorted(said)}, measured {sorted(measured)}"
        return
    for name, (count, attention, values) in measured.items():
        n, gain, ours = said[name]
        if n != count or abs(gain - attention) > 1e-4:
            yield f"{name}: {n} channels and {gain}, measured {count} and {attention}"
        elif any(abs(math.log(a / b)) > LOG for a, b in zip(ours, values, strict=True)):
            yield f"{name}: {ours}, measured {values}"
