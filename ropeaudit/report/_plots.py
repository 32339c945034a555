"""Pictures of measurements: heat map, power law, loss by position, displacement against inflation.

matplotlib (extra ``plot``) is asked for figures of our own; nothing of its global state is used.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import MissingDependency, UsageError, quoted_path
from ropeaudit.perplexity.records import Cell, Result
from ropeaudit.report import _perplexity_cells as of
from ropeaudit.report._terminal import safe

if TYPE_CHECKING:
    from ropeaudit.perplexity.statistics.fits import PowerLaw

SUFFIXES = ("png", "svg")
_BRIGHT = 0.6
"""Share of the colour scale beyond which a number is written in white."""
_LEAST = 0.01
"""Log inflation that the colours reach at least: less is no effect worth a strong colour."""
STYLE: Any = {"svg.hashsalt": "ropeaudit", "svg.fonttype": "none", "font.size": 9.0}
"""Settings of matplotlib that make the same picture twice."""
_MARKERS = "os^vDP*X"


def require(folder: str) -> None:
    """Raises MissingDependency without matplotlib, UsageError for a folder that cannot be."""
    if find_spec("matplotlib") is None:
        raise MissingDependency("pictures need matplotlib; pip install 'ropeaudit[plot]'")
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise UsageError(f"--plot {quoted_path(folder)} is a file; give a folder")
    if not path.exists() and not path.absolute().parent.is_dir():
        raise UsageError(f"--plot {quoted_path(folder)} lies in a folder that does not exist")


def write(results: Sequence[Result], folder: str) -> tuple[str, ...]:
    """Draw what the runs have something for, each as PNG and SVG; the paths that were written.

    Several runs are told apart by a number in front of the name. Raises UsageError where a file
    cannot be written.
    """
    import matplotlib as mpl

    written: list[str] = []
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")  # a name in a script without a font
        for number, result in enumerate(results, 1):
            front = f"{number}-" if len(results) > 1 else ""
            for name, draw in PICTURES.items():
                figure = draw(result)
                if figure is not None:
                    written += save(figure, Path(folder), f"{front}{name}")
    return tuple(written)


def save(figure: Any, folder: Path, name: str) -> list[str]:
    """Write ``figure`` in every format, whole files or none; the paths. Raises UsageError."""
    written = []
    for suffix in SUFFIXES:
        path = folder / f"{name}.{suffix}"
        beside = folder / f".{name}.{os.getpid()}.{suffix}"
        dated = {"Date": None} if suffix == "svg" else {}
        try:
            folder.mkdir(exist_ok=True)
            try:
                figure.savefig(beside, dpi=144, metadata=dated)
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"cannot write {quoted_path(path)}: {error.strerror}") from None
        written.append(str(path))
    return written


def blank(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """A new figure in inches and its axes, a list of them where there are several columns."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes[0] if columns == 1 else axes


def _title(thing: Any, result: Result, said: str) -> None:
    """Foreign text is never parsed as a formula, and a long path keeps its end."""
    name = safe(result.model)
    name = name if len(name) <= 48 else f"…{name[-47:]}"
    text = f"{said}\n{name} · {safe(result.corpus.name)}"
    set_title = getattr(thing, "suptitle", None) or thing.set_title
    set_title(text, fontsize=10, parse_math=False)


def _variants(result: Result) -> list[Cell]:
    return [c for c in result.cells if c.recipe is not None]


def heat_map(result: Result) -> Any | None:
    """Log inflation of every variant at every length."""
    from matplotlib.colors import TwoSlopeNorm

    grid = of.grid(result)
    recipes = [r for r in grid.recipes if r is not None]
    cells = [[grid.cells.get((r, c)) for c in grid.contexts] for r in recipes]
    values = [[math.nan if c is None else _log(c) for c in row] for row in cells]
    known = [abs(v) for row in values for v in row if math.isfinite(v)]
    if not known:
        return None
    top = max(*known, _LEAST)
    longest = max(map(len, recipes))
    figure, ax = blank(2.6 + 0.075 * longest + 1.1 * len(grid.contexts), 1.6 + 0.3 * len(recipes))
    shown = [[min(top, max(-top, v)) for v in row] for row in values]
    scale = TwoSlopeNorm(0.0, -top, top)
    image = ax.imshow(shown, cmap="RdBu_r", norm=scale, aspect="auto")
    ax.set_xticks(range(len(grid.contexts)), [f"{c:,}" for c in grid.contexts])
    ax.set_yticks(range(len(recipes)), recipes, parse_math=False)
    ax.set_xlabel("context in tokens")
    for y, row in enumerate(cells):
        for x, cell in enumerate(row):
            if cell is not None:
                dark = abs(shown[y][x]) > _BRIGHT * top
                said = f"{of.ratio(cell.inflation)}{of.mark(cell)}"
                ink = "white" if dark else "black"
                ax.text(x, y, said, ha="center", va="center", color=ink, fontsize=8)
    figure.colorbar(image, ax=ax, label="ln inflation")
    _title(ax, result, "Inflation of perplexity (* 95 % interval excludes 1)")
    return figure


def _log(cell: Cell) -> float:
    return math.log(cell.inflation) if cell.inflation > 0 else math.nan


def power_law(result: Result) -> Any | None:
    """Log inflation against log distance of pairs that were merged, with the fitted line."""
    fits = of.fits(result).power_law
    if not fits:
        return None
    figure, ax = blank(6.4, 4.4)
    for number, fit in enumerate(fits):
        _law(ax, fit, f"C{number % 10}")
    ax.set_xlabel("log distance of the merged pair, nats")
    ax.set_ylabel("ln inflation")
    legend(ax)
    _title(ax, result, "Power law at codimension 2")
    return figure


def _law(ax: Any, fit: PowerLaw, color: str) -> None:
    xs = [x for x, _ in fit.points]
    said = f"{fit.family} at {fit.context:,}: slope {fit.slope:.3g}, r {fit.r:.3g}"
    ax.plot(xs, [y for _, y in fit.points], "o", color=color, label=said)
    ends = [min(xs), max(xs)]
    ax.plot(ends, [fit.intercept + fit.slope * x for x in ends], "-", color=color, linewidth=1)


def positions(result: Result) -> Any | None:
    """What each variant adds to the log-loss, by position in the longest window measured."""
    grid = of.grid(result)
    for context in sorted(grid.contexts, reverse=True):
        base = grid.base(context)
        cells = [c for c in _variants(result) if c.context == context]
        if base is not None and base.scores and cells:
            return _positions(result, base, cells)
    return None


def _positions(result: Result, base: Cell, cells: Sequence[Cell]) -> Any | None:
    lines = [(c, of.added(base, c)) for c in cells]
    if not any(points for _, points in lines):
        return None
    figure, ax = blank(7.2, 4.4)
    for number, (cell, points) in enumerate(lines):
        marker = _MARKERS[number // 10 % len(_MARKERS)]
        ys = [y for _, y in points]
        ax.plot(range(len(ys)), ys, marker=marker, markersize=4, linewidth=1.2, label=cell.recipe)
    ax.axhline(0, color="black", linewidth=0.8)
    longest = max((points for _, points in lines), key=len)
    ax.set_xticks(range(len(longest)), [f"{b.first:,}–{b.last:,}" for b, _ in longest])
    ax.set_xlabel("position in the window")
    ax.set_ylabel("log-loss over the base's, nats per token")
    legend(ax)
    _title(ax, result, f"Loss by position, windows of {base.context:,} tokens")
    return figure


def displacement(result: Result) -> Any | None:
    """Inflation against how far the table was moved: in log and, zeroed channels too, in phase."""
    cells = _variants(result)
    if not cells:
        return None
    figure, (left, right) = blank(9.6, 4.4, columns=2)
    for number, context in enumerate(of.grid(result).contexts):
        here = [c for c in cells if c.context == context]
        color = f"C{number % 10}"
        finite = [c for c in here if 0 < c.max_abs_dlog < math.inf]
        _scatter(left, [(c.max_abs_dlog, c) for c in finite], color, f"{context:,} tokens")
        _scatter(right, [(c.max_phase_drift, c) for c in here], color, f"{context:,} tokens")
    from matplotlib.ticker import NullFormatter

    if left.lines:
        left.set_xscale("log")
        left.xaxis.set_minor_formatter(NullFormatter())
    left.set_xlabel("largest displacement |Δ ln θ|")
    right.set_xlabel("largest phase drift in the window, rad")
    for ax in (left, right):
        ax.axhline(0, color="black", linewidth=0.8)
        ax.set_ylabel("ln inflation")
    legend(right)
    _title(figure, result, "Displacement against inflation")
    return figure


def _scatter(ax: Any, points: Sequence[tuple[float, Cell]], color: str, label: str) -> None:
    """Points with their intervals; infinite inflation has no place on the axis."""
    shown = [(x, _log(c), c.inflation_ci95) for x, c in points if math.isfinite(_log(c))]
    if not shown:
        return
    ends = [
        (0.0, 0.0) if ci95 is None else (y - _ln(ci95[0], y), _ln(ci95[1], y) - y)
        for _, y, ci95 in shown
    ]
    below, above = ([max(0.0, e[side]) for e in ends] for side in (0, 1))
    ax.errorbar(
        [x for x, _, _ in shown], [y for _, y, _ in shown], yerr=[below, above],
        fmt="o", color=color, markersize=4, capsize=2, label=label,
    )  # fmt: skip


def _ln(value: float, otherwise: float) -> float:
    return math.log(value) if 0 < value < math.inf else otherwise


def legend(ax: Any, **where: Any) -> None:
    """A legend where there is something to tell apart; its words are never parsed as formulas."""
    _, labels = ax.get_legend_handles_labels()
    if labels:
        box = ax.legend(fontsize=7, frameon=False, ncols=1 + len(labels) // 12, **where)
        for text in box.get_texts():
            text.set_parse_math(False)


PICTURES: dict[str, Callable[[Result], Any | None]] = {
    "heat-map": heat_map,
    "power-law": power_law,
    "loss-by-position": positions,
    "displacement": displacement,
}
"""File name without its ending, and what draws it; None where a run holds nothing for it."""
