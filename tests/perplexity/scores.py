"""Scores and cells for tests of the statistics: synthetic ones, and those that were measured."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ropeaudit.perplexity.records import Cell, WindowScore

_MEASURED = Path(__file__).parents[2] / "fixtures" / "perplexity" / "differences.json"


def scores(nlls: Sequence[float], tokens: int | Sequence[int] = 100) -> tuple[WindowScore, ...]:
    """Window i with log-loss ``nlls[i]``, over as many targets each or over ``tokens[i]``."""
    counts = [tokens] * len(nlls) if isinstance(tokens, int) else tokens
    return tuple(
        WindowScore(index=i, tokens=n, nll=x)
        for i, (x, n) in enumerate(zip(nlls, counts, strict=True))
    )


def cell(recipe: str | None, nlls: Sequence[float], *, tokens: int = 100, **kw: Any) -> Cell:
    """A cell at context 512; ``kw`` sets any other field."""
    fields: dict[str, Any] = {"schedule_id": "text", "context": 512} | kw
    return Cell(recipe=recipe, scores=scores(nlls, tokens), **fields)


@lru_cache(maxsize=1)
def measured() -> dict[str, tuple[WindowScore, ...]]:
    """Recipe -> scores of SmolLM2-135M, "base" included; how they were made stands in the file."""
    data = json.loads(_MEASURED.read_text("utf-8"))
    tokens = data["targets_per_window"]
    return {recipe: scores(nlls, tokens) for recipe, nlls in data["nll"].items()}


def measured_differences(recipe: str) -> list[float]:
    """Per window and target: log-loss of the recipe minus the base, in nats."""
    table = measured()
    return [(v.nll - b.nll) / b.tokens for b, v in zip(table["base"], table[recipe], strict=True)]


def log_ratio(base: Sequence[float], variant: Sequence[float], tokens: Sequence[int]) -> float:
    """By the definition: ln of perplexity over perplexity."""
    total = sum(tokens)
    return math.fsum(variant) / total - math.fsum(base) / total
