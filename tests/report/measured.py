"""Made-up runs of a perplexity measurement that every format is tested with."""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.perplexity.records import (
    Cell,
    Corpus,
    Failure,
    Result,
    Settings,
    WindowScore,
    bucket_edges,
)
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.records import replace

ENVIRONMENT = {
    "ropeaudit": "0.2.0",
    "torch": "2.13.0+cpu",
    "device": "cpu",
    "device_name": "cpu x86_64",
    "dtype": "float32",
    "threads": 2,
}
CORPUS = Corpus(
    name="pydoc_topics",
    text="",
    sha256="0b" * 32,
    source="pydoc_data.topics of CPython 3.11.7",
)
GAP = 0.2878
"""Log distance of neighbouring channels: base 10000, 64 dimensions."""


def scores(context: int, added: float, count: int = 12) -> tuple[WindowScore, ...]:
    """Windows whose loss per token wanders, with ``added`` nats (a little uneven) on top."""
    edges = (*bucket_edges(context), context)
    found = []
    for index in range(count):
        hard = 2.5 + 0.3 * math.sin(1.7 * index)
        more = added * (1 + 0.1 * math.cos(2.3 * index))
        buckets = []
        for n in range(len(edges) - 1):
            tokens = edges[n + 1] - max(1, edges[n])
            buckets.append((tokens, tokens * (hard + 0.5 / (n + 1) + more * n / 2)))
        nll = math.fsum(x for _, x in buckets)
        found.append(WindowScore(index=index, tokens=context - 1, nll=nll, buckets=tuple(buckets)))
    return tuple(found)


def cell(recipe: str, context: int, added: float, **more: Any) -> Cell:
    own = scores(context, added)
    estimate = inflation(scores(context, 0.0), own)
    fields: dict[str, Any] = {
        "schedule_id": f"{round(1e6 * added):064d}",
        "inflation": estimate.ratio,
        "inflation_ci95": estimate.ci95,
        "max_phase_drift": math.pi,
        "seconds": 2.5,
        "peak_bytes": 3 << 28,
    } | more
    return Cell(recipe=recipe, context=context, scores=own, **fields)


def base(context: int) -> Cell:
    return Cell(
        recipe=None,
        schedule_id="0" * 64,
        context=context,
        scores=scores(context, 0.0),
        seconds=2.25,
        peak_bytes=3 << 28,
    )


def result(**changes: Any) -> Result:
    """Two lengths, quantisers, merges for a power law, controls, a cell that failed."""
    cells = []
    for context in (256, 1024):
        scale = math.log2(context) / 8
        cells += [
            base(context),
            cell("int8:sym", context, 0.2 * scale, max_abs_dlog=math.inf),
            cell("int8:sym+jitter:eps=1e-07", context, 0.2001 * scale, max_abs_dlog=7.366),
            cell("log8", context, 0.0002, max_abs_dlog=0.0169, max_phase_drift=2.293),
            *(
                cell(
                    f"cluster:at=0,codim=2,gap={gap},to=gm",
                    context,
                    0.4 * gap * GAP * scale,
                    max_abs_dlog=gap * GAP / 2,
                )
                for gap in (1, 3, 5)
            ),
            cell("apart:at=0,gap=3", context, 0.7 * scale, max_abs_dlog=3 * GAP / 2),
        ]
    cells[-1] = replace(cells[-1], stopped=True, notes=("stopped early: by a method",))
    made = Result(
        model="models/small",
        corpus=CORPUS,
        settings=Settings(contexts=(256, 1024), windows=12),
        cells=tuple(cells),
        environment=ENVIRONMENT,
        tokens=12276,
        words=2201,
        bytes=49104,
        notes=("the text holds 12 windows of 1024 tokens, not 20",),
        failures=(
            Failure(recipe="base:1", context=256, kind="usage", message="the base is 1; give more"),
        ),
    )
    return replace(made, **changes)
