"""What every page of a measurement shows: the grid of cells, figures, losses by position, fits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import RopeAuditError
from ropeaudit.perplexity.records import Cell, Result, WindowScore, bucket_edges
from ropeaudit.records import record
from ropeaudit.report._numbers import plural
from ropeaudit.report._plain import number_word

if TYPE_CHECKING:
    from ropeaudit.perplexity.statistics.fits import Control, Position, PowerLaw

BASE = "base"
"""How the unchanged model is called on pages."""


@record(kw_only=True)
class Grid:
    """Cells by recipe (None: the base, always first) and context; both in the order asked for."""

    contexts: tuple[int, ...]
    recipes: tuple[str | None, ...]
    cells: Mapping[tuple[str | None, int], Cell]

    def base(self, context: int) -> Cell | None:
        return self.cells.get((None, context))


def grid(result: Result) -> Grid:
    """The cells of a run as a matrix; a cell that failed has its row and column all the same."""
    places = [(c.recipe, c.context) for c in result.cells]
    places += [(f.recipe, f.context) for f in result.failures]
    contexts = dict.fromkeys((*result.settings.contexts, *(c for _, c in places)))
    recipes = dict.fromkeys((None, *(r for r, _ in places)))
    return Grid(
        contexts=tuple(contexts),
        recipes=tuple(recipes),
        cells={(c.recipe, c.context): c for c in result.cells},
    )


def name_of(recipe: str | None) -> str:
    return BASE if recipe is None else recipe


def perplexity(cell: Cell) -> float:
    """exp of the mean log-loss; infinite where that is beyond a float, nan without a target."""
    return exp(cell.nll_sum / cell.tokens) if cell.tokens else math.nan


def exp(value: float) -> float:
    return math.exp(value) if value < 709 else math.inf


def above_one(cell: Cell) -> bool:
    """Whether the whole interval lies above 1: worse than the base beyond chance."""
    return cell.inflation_ci95 is not None and cell.inflation_ci95[0] > 1


def below_one(cell: Cell) -> bool:
    """Whether the whole interval lies below 1."""
    return cell.inflation_ci95 is not None and cell.inflation_ci95[1] < 1


def mark(cell: Cell) -> str:
    """``*`` where the interval excludes 1."""
    return "*" if above_one(cell) or below_one(cell) else ""


def figures(value: float) -> str:
    """A perplexity to five figures."""
    if not math.isfinite(value):
        return number_word(value)
    if not 0 < value < 1e5:
        return f"{value:.5g}"
    return f"{value:.{max(0, 4 - math.floor(math.log10(value)))}f}"


def ratio(value: float, like: float | None = None) -> str:
    """An inflation: four decimals near 1, fewer farther off; as many as ``like`` would get."""
    if not math.isfinite(value):
        return number_word(value)
    size = abs(value if like is None else like)
    if size >= 1e4 or abs(value) >= 1e5:
        return f"{value:.3g}"
    decimals = 4 if size < 1.1 else 3 if size < 10 else 2 if size < 100 else 1
    return f"{value:.{decimals}f}"


def interval(cell: Cell) -> str:
    """``1.234 to 1.345``; a dash where one window leaves no interval."""
    if cell.inflation_ci95 is None:
        return "-"
    low, high = cell.inflation_ci95
    return f"{ratio(low, cell.inflation)} to {ratio(high, cell.inflation)}"


@record()
class Bucket:
    """Targets at positions ``first .. last`` of their windows, with their log-loss in nats."""

    first: int
    last: int
    tokens: int
    nll: float

    @property
    def mean(self) -> float:
        return self.nll / self.tokens


def buckets(scores: Sequence[WindowScore], context: int) -> tuple[Bucket, ...]:
    """Log-loss by position, summed over windows; positions without a target are left out."""
    edges = (*bucket_edges(context), context)
    found = []
    for n, (first, after) in enumerate(pairwise(edges)):
        here = [s.buckets[n] for s in scores if n < len(s.buckets)]
        tokens = sum(t for t, _ in here)
        if tokens:
            found.append(Bucket(first, after - 1, tokens, math.fsum(x for _, x in here)))
    return tuple(found)


def added(base: Cell, cell: Cell) -> tuple[tuple[Bucket, float], ...]:
    """For each bucket of ``cell``: log-loss per token over the base's on the same windows."""
    indices = {s.index for s in cell.scores}
    same = {
        b.first: b for b in buckets([s for s in base.scores if s.index in indices], base.context)
    }
    own = buckets(cell.scores, cell.context)
    return tuple((b, b.mean - same[b.first].mean) for b in own if b.first in same)


@record(kw_only=True)
class Fits:
    """What the cells of a run say together; empty where nothing can be compared."""

    power_law: tuple[PowerLaw, ...] = ()
    position: tuple[Position, ...] = ()
    controls: tuple[Control, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.power_law or self.position or self.controls)


def fits(result: Result) -> Fits:
    """The fits that the cells allow; none where their scores cannot be compared."""
    from ropeaudit.perplexity.statistics import fits as fit

    try:
        return Fits(
            power_law=fit.power_law(result.cells),
            position=fit.position(result.cells),
            controls=fit.controls(result.cells),
        )
    except RopeAuditError:
        return Fits()


def place(environment: Mapping[str, Any]) -> str:
    """``float32 on cpu x86_64, 2 threads``; what is not known is left out."""
    device = environment.get("device_name") or environment.get("device")
    words = [str(environment.get("dtype") or ""), f"on {device}" if device else ""]
    said = " ".join(w for w in words if w)
    threads = environment.get("threads")
    on_cpu = str(environment.get("device", "")).startswith("cpu")
    return f"{said}, {plural(threads, 'thread')}" if threads and on_cpu else said


def policy(result: Result) -> str:
    """How windows were scored, in words."""
    settings = result.settings
    stride = f" with stride {settings.stride:,}" if settings.stride else ""
    bos = "BOS in place of each window's first token" if settings.bos else "no BOS"
    offset = f", from token {settings.offset:,}" if settings.offset else ""
    return f"{settings.scoring} scoring{stride}, {bos}{offset}"
