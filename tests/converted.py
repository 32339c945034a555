"""Schedules of files that llama.cpp's converter made of random configs, as rows of a fixture."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ropeaudit.readers.engines import llama_cpp
from ropeaudit.schedule.core import Schedule
from tests.engine_vectors import outcome, request
from tests.oracles.engines.random_rows import crc

FIXTURE = Path(__file__).parents[1] / "fixtures" / "readers" / "converted.json"
RELEASES = ("llama.cpp+tf5", "llama.cpp+tf4.57")
LOG = 2e-5

__all__ = ["FIXTURE", "RELEASES", "Row", "crc", "disagreement", "row"]

Row = list[list[Any]] | None
"""One list a schedule; None where the converter stops."""


def row(schedules: Iterable[Schedule] | None) -> Row:
    """Name, layers, channels, attention, logits and four values of each schedule."""
    if schedules is None:
        return None
    return [_short(s) for s in schedules]


def _short(s: Schedule) -> list[Any]:
    n = len(s.inv_freq)
    layers = None if s.layers is None else list(s.layers)
    values = [float(f"{s.inv_freq[k]:.7g}") for k in (1, n // 3, 2 * n // 3, n - 1)]
    factors = [round(s.attention_scaling, 5), round(s.softmax_scale, 5)]
    return [s.name, layers, n, *factors, values]


def disagreement(release: str, config: dict[str, Any], measured: Row) -> str:
    """How the module's reading of ``config`` is not what was measured, empty where it is."""
    asked = request({"config": config, "file": "config.json"})
    chosen = next(r for r in llama_cpp.RELEASES if r.name == release)
    status, built, reason = outcome(llama_cpp, asked, chosen)
    if measured == [] and built is None:
        return ""  # the file is written, and the library cannot build a table from it
    if measured is None or built is None:
        same = measured is None and status == "refuses"
        return "" if same else f"{status} ({reason}), measured {measured}"
    said = row(built.schedules) or []
    if len(said) != len(measured):
        return f"{[s[0] for s in said]}, measured {[m[0] for m in measured]}"
    found = (_differs(a, b) for a, b in zip(said, measured, strict=True))
    return next((text for text in found if text), "")


def _differs(said: list[Any], measured: list[Any]) -> str:
    pairs = zip(said[5], measured[5], strict=True)
    # Channels that the file divides by 1e30 do not turn.
    near = all(max(a, b) < 1e-20 or (a > 0 < b and abs(math.log(a / b)) < LOG) for a, b in pairs)
    factors = all(abs(a - b) < 1e-4 for a, b in zip(said[3:5], measured[3:5], strict=True))
    same = said[:3] == measured[:3] and near and factors
    return "" if same else f"{said}, measured {measured}"
