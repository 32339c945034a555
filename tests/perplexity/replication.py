"""What was measured for docs/replication.md.

    python -m tests.perplexity.replication PLAN STORE   measure a plan, such as smollm2-512

A plan ``NAME.yaml`` and its figures ``NAME.json`` lie side by side. Measuring goes through
:func:`ropeaudit.perplexity.run.run` and resumes from the store.
"""

from __future__ import annotations

import json
import math
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from ropeaudit.perplexity.records import Cell, Result, WindowScore, bucket_edges
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perturb.variant import make
from ropeaudit.schedule.geometry import dlog, phase_drift
from tests.perplexity.scores import measured
from tests.schedules import plain

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "replication"

TABLES = {
    "smollm2": [plain(1e5, 64)],
    "gemma3": [
        plain(1e4, 256, layer_type="sliding_attention"),
        plain(1e6, 256, layer_type="full_attention"),
    ],
}
"""The tables of both models, to count equal frequencies in."""

_KEPT = ("ropeaudit", "torch", "transformers", "python", "dtype", "device", "threads")


def saved(result: Result, model_sha256: str) -> dict[str, Any]:
    """A run as it is kept: log-loss of every window, sums by position."""
    return {
        "about": {
            "model": Path(result.model).name,
            "model_sha256": model_sha256,
            "text": result.corpus.source,
            "text_sha256": result.corpus.sha256,
            "offset": result.settings.offset,
            "scoring": result.settings.scoring,
            "bos": result.settings.bos,
            **{k: result.environment[k] for k in _KEPT if k in result.environment},
        },
        "cells": [_saved(cell) for cell in result.cells],
    }


def _saved(cell: Cell) -> dict[str, Any]:
    columns = zip(*(s.buckets for s in cell.scores), strict=True)
    return {
        "recipe": cell.recipe,
        "context": cell.context,
        "windows": [s.index for s in cell.scores],
        "targets": cell.scores[0].tokens,
        "max_abs_dlog": cell.max_abs_dlog if math.isfinite(cell.max_abs_dlog) else None,
        "max_phase_drift": round(cell.max_phase_drift, 9),
        "nll": [round(s.nll, 6) for s in cell.scores],
        "buckets": [
            [sum(n for n, _ in column), round(math.fsum(x for _, x in column), 4)]
            for column in columns
        ],
    }


@lru_cache(maxsize=8)
def cells(name: str) -> tuple[Cell, ...]:
    """The measured cells of a plan, as reports and fits take them; without buckets.

    Those of 512 tokens are joined by four variants that were measured earlier on the same windows.
    """
    data = _data(name)
    base = next(_scores(row) for row in data["cells"] if row["recipe"] is None)
    found = [_cell(row["recipe"], row, base, _scores(row)) for row in data["cells"]]
    if name == "smollm2-512":
        known = {c.recipe for c in found}
        for recipe, scores in measured().items():
            spelled = recipe.replace("at=0", "at=high")
            if recipe != "base" and spelled not in known:
                row = {"context": 512, **_moved(spelled, 512)}
                found.append(_cell(spelled, row, base, scores[: len(base)]))
    return tuple(found)


def _data(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return found


def _scores(row: dict[str, Any]) -> tuple[WindowScore, ...]:
    return tuple(
        WindowScore(index=i, tokens=row["targets"], nll=x)
        for i, x in zip(row["windows"], row["nll"], strict=True)
    )


def _cell(
    recipe: str | None,
    row: dict[str, Any],
    base: tuple[WindowScore, ...],
    scores: tuple[WindowScore, ...],
) -> Cell:
    estimate = inflation(base, scores)
    moved = row["max_abs_dlog"]
    return Cell(
        recipe=recipe,
        schedule_id="",
        context=row["context"],
        scores=scores,
        inflation=estimate.ratio,
        inflation_ci95=estimate.ci95,
        max_abs_dlog=math.inf if moved is None else moved,
        max_phase_drift=row["max_phase_drift"],
    )


def _moved(recipe: str, length: int) -> dict[str, float]:
    """Largest displacement in log and in phase, of SmolLM2's table."""
    variant = make(TABLES["smollm2"], recipe)
    pairs = [
        pair
        for base, made in variant.changed()
        for pair in zip(base.inv_freq, made.inv_freq, strict=True)
    ]
    return {
        "max_abs_dlog": max(abs(dlog(a, b)) for a, b in pairs),
        "max_phase_drift": max(phase_drift(a, b, length) for a, b in pairs),
    }


def by_position(name: str, recipe: str | None) -> list[tuple[int, float]]:
    """(first position of a bucket, log-loss per target) of one cell."""
    row = next(c for c in _data(name)["cells"] if c["recipe"] == recipe)
    pairs = zip(bucket_edges(row["context"]), row["buckets"], strict=True)
    return [(edge, nll / count) for edge, (count, nll) in pairs]


def perplexity(cell: Cell) -> float:
    return math.exp(cell.nll_sum / cell.tokens)


def measure(plan: str, store: str) -> None:
    """Measure a plan on the model that its name begins with, and keep the figures beside it."""
    import torch

    from ropeaudit.perplexity import sweep
    from ropeaudit.perplexity.loading import load
    from ropeaudit.perplexity.run import Request, run
    from ropeaudit.perplexity.store import Store
    from tests import models

    torch.set_num_threads(2)
    wanted = sweep.load(str(FOLDER / f"{plan}.yaml"))
    path = models.smollm2() if plan.startswith("smollm2") else models.gemma3()
    loaded = load(str(path), device="cpu", dtype=wanted.settings.dtype)
    with Store(store) as kept:
        request = Request(model=loaded, settings=wanted.settings, recipes=wanted.recipes)
        result = run(request, store=kept, progress=_told)
    print(*result.notes, *result.failures, sep="\n", file=sys.stderr)
    data = saved(result, loaded.digest)
    # Cells that an interrupt cut short have fewer windows than the others.
    most = max(len(c["windows"]) for c in data["cells"])
    data["cells"] = [c for c in data["cells"] if len(c["windows"]) == most]
    (FOLDER / f"{plan}.json").write_text(_json(data), "utf-8")


def _told(done: int, total: int, left: float | None) -> None:
    print(f"{done:,} of {total:,} tokens, {left or 0:.0f} s left", file=sys.stderr, flush=True)


def _json(data: dict[str, Any]) -> str:
    """One line for each cell, so that a change shows which."""
    rows = ",\n  ".join(json.dumps(c) for c in data["cells"])
    return f'{{\n "about": {json.dumps(data["about"])},\n "cells": [\n  {rows}\n ]\n}}\n'


if __name__ == "__main__":
    measure(*sys.argv[1:])
