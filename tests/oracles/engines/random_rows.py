"""What engines made of random configs, as rows that fit into a fixture, and the comparison."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

Layers = list[dict[str, Any] | None]
LOG = 2e-5


def crc(config: dict[str, Any]) -> int:
    """A mark of the config: the draw that a row was measured on, or another one."""
    return zlib.crc32(json.dumps(config, sort_keys=True).encode())


def row(name: str, config: dict[str, Any], layers: Layers | None) -> list[Any]:
    """[name, mark, tables]; tables are null where the engine refused."""
    return [name, crc(config), None if layers is None else list(_tables(layers))]


def write(path: Path, release: str, seed: int, count: int, rows: list[Any]) -> None:
    """One line a row, so that a change of one shows as one."""
    head = json.dumps({"release": release, "seed": seed, "count": count})
    body = ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows)
    path.write_text(f'{head[:-1]}, "rows": [\n{body}\n]}}\n', encoding="utf-8")


def _tables(layers: Layers) -> Iterator[list[Any]]:
    """Layers that turn alike, with six values of their table and what scales it."""
    held: dict[str, list[int]] = {}
    for index, table in enumerate(layers):
        if table is not None:
            held.setdefault(json.dumps(_short(table)), []).append(index)
    for text, indices in held.items():
        yield [indices, *json.loads(text)]


def _short(table: dict[str, Any]) -> list[Any]:
    freqs = table["inv_freq"]
    marks = sorted({0, 1, len(freqs) // 4, len(freqs) // 2, 3 * len(freqs) // 4, len(freqs) - 1})
    return [
        len(freqs),
        table["pairing"],
        round(table["attention_scaling"], 6),
        round(table.get("softmax_scale", 1.0), 6),
        [[k, float(f"{freqs[k]:.7g}")] for k in marks if k < len(freqs)],
    ]


def problems(schedules: Sequence[Any], tables: list[Any]) -> Iterator[str]:
    """Every way in which ``schedules`` are not what a row says."""
    turning = {i for indices, *_ in tables for i in indices}
    served = {i for s in schedules for i in s.layers or ()}
    if all(s.layers is not None for s in schedules) and served != turning:
        yield f"layers {sorted(served)}, measured {sorted(turning)}"
    for indices, count, pairing, attention, softmax, freqs in tables:
        for s in _serving(schedules, indices):
            if len(s.inv_freq) != count or (count > 1 and s.pairing != pairing):
                yield f"{s.name}: {len(s.inv_freq)} {s.pairing}, measured {count} {pairing}"
                continue
            if abs(s.attention_scaling - attention) > 1e-4 or abs(s.softmax_scale - softmax) > 1e-4:
                yield f"{s.name}: {s.attention_scaling}, measured {attention} and {softmax}"
            yield from (
                f"{s.name}: channel {k} {s.inv_freq[k]}, measured {value}"
                for k, value in freqs
                if not _near(s.inv_freq[k], value)
            )


def _serving(schedules: Sequence[Any], indices: Iterable[int]) -> list[Any]:
    wanted = set(indices)
    return [s for s in schedules if s.layers is None or wanted & set(s.layers)]


def _near(a: float, b: float) -> bool:
    """Equal in log; an angle of half a turn or more cannot be told from its remainder."""
    return a == b or a >= math.pi or (a > 0 and b > 0 and abs(math.log(a / b)) < LOG)
