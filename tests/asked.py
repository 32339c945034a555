"""What each engine built of the same random configs (fixtures/readers/asked_*.json)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.oracles.engines.any_configs import drawn
from tests.oracles.engines.random_rows import crc
from tests.oracles.engines.tables import marked

FOLDER = Path(__file__).parents[1] / "fixtures" / "readers"
COUNT, SEED = 110, 2026
Config = dict[str, Any]


def path_of(release: str) -> Path:
    return FOLDER / f"asked_{release}.json"


def row(config: Config, said: dict[str, Any]) -> list[Any]:
    """[mark, answer]: tables with a few channels each, without the words of a refusal."""
    if "tables" in said:
        return [crc(config), {**said, "tables": marked(said["tables"])}]
    return [crc(config), {key: "" for key in said if key in ("refused", "skipped")}]


def text_of(release: str, rows: list[Any]) -> str:
    """One line a row, so that a change of one shows as one."""
    head = json.dumps({"release": release, "count": COUNT, "seed": SEED})
    body = ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows)
    return f'{head[:-1]}, "rows": [\n{body}\n]}}\n'


def stored(release: str) -> Iterator[tuple[str, Config, dict[str, Any]]]:
    """(name, config, answer) of every row."""
    rows = json.loads(path_of(release).read_text(encoding="utf-8"))
    configs = list(drawn(rows["count"], rows["seed"]))
    for (name, config), (mark, answer) in zip(configs, rows["rows"], strict=True):
        assert mark == crc(config), "the draw has changed; run tests/oracles/readers.py again"
        yield name, config, answer
