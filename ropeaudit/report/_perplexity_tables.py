"""Measurements as CSV, a row for each cell, and as Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from csv import writer

from ropeaudit._version import __version__
from ropeaudit.perplexity.records import Cell, Result
from ropeaudit.report import _perplexity_cells as of
from ropeaudit.report._numbers import plural
from ropeaudit.report._perplexity_fits import told as fits_told
from ropeaudit.report._plain import number_word
from ropeaudit.report._terminal import safe
from ropeaudit.report.markdown import code, text

COLUMNS = (
    "model", "corpus", "scoring", "dtype", "device", "recipe", "context", "windows", "tokens",
    "nll_sum", "ppl", "inflation", "inflation_low", "inflation_high", "max_abs_dlog",
    "max_phase_drift", "seconds", "peak_bytes", "stopped",
)  # fmt: skip
"""Columns are added at the end only. An empty ``recipe`` is the base."""


def csv(results: Sequence[Result]) -> str:
    """A header and a row for each cell that was measured; lines end with ``\\n``."""
    out = io.StringIO()
    rows = writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for result in results:
        rows.writerows(_csv_row(result, cell) for cell in result.cells)
    return out.getvalue()


def _csv_row(result: Result, cell: Cell) -> list[str]:
    low, high = cell.inflation_ci95 or (None, None)
    found = result.environment
    return [
        safe(result.model),
        safe(result.corpus.name),
        result.settings.scoring,
        safe(found.get("dtype", "")),
        safe(found.get("device_name", "")),
        safe(cell.recipe or ""),
        str(cell.context),
        str(len(cell.scores)),
        str(cell.tokens),
        *map(_number, (cell.nll_sum, of.perplexity(cell), cell.inflation, low, high)),
        *map(_number, (cell.max_abs_dlog, cell.max_phase_drift, cell.seconds)),
        str(cell.peak_bytes),
        "true" if cell.stopped else "false",
    ]


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return repr(float(value)) if abs(value) < float("inf") else number_word(value)


def markdown(results: Sequence[Result]) -> str:
    """A heading, a matrix of variants by lengths and the fits for each run."""
    lines: list[str] = []
    for result in results:
        lines += [*_run(result), ""]
    return "\n".join([*lines, f"ropeaudit {__version__}"]) + "\n"


def _run(result: Result) -> Iterator[str]:
    grid = of.grid(result)
    yield f"## Perplexity of {code(result.model)}"
    yield ""
    yield (
        f"Text {text(result.corpus.name)}: {plural(result.tokens, 'token')}, "
        f"{plural(result.words, 'word')}, {plural(result.bytes, 'byte')}; "
        f"{text(of.policy(result))}; {text(of.place(result.environment))}."
    )
    yield ""
    yield f"| variant | {' | '.join(f'{c:,} tokens' for c in grid.contexts)} |"
    yield f"|---|{'---:|' * len(grid.contexts)}"
    for recipe in grid.recipes:
        name = of.BASE if recipe is None else code(recipe).replace("|", "\\|")
        cells = (_figure(result, grid, recipe, context) for context in grid.contexts)
        yield f"| {name} | {' | '.join(cells)} |"
    yield ""
    yield (
        "The base has its perplexity per token; the others their inflation, the ratio to the base "
        "on the same windows, with a 95 % interval. Bold: the interval lies above 1."
    )
    for title, said in fits_told(of.fits(result), full=True):
        yield from ("", f"### {title.capitalize()}", "", *(f"- {text(s)}" for s in said))
    notes = [
        f"- **failed**: {text(of.name_of(f.recipe))} at {f.context:,}: {text(f.message)}"
        for f in result.failures
    ]
    notes += [f"- **note**: {text(n)}" for n in result.notes]
    if notes:
        yield from ("", *notes)


def _figure(result: Result, grid: of.Grid, recipe: str | None, context: int) -> str:
    cell = grid.cells.get((recipe, context))
    if cell is None:
        failed = any((f.recipe, f.context) == (recipe, context) for f in result.failures)
        return "failed" if failed else "-"
    if recipe is None:
        return of.figures(of.perplexity(cell))
    said = of.ratio(cell.inflation)
    said = f"**{said}**" if of.above_one(cell) else said
    return said if cell.inflation_ci95 is None else f"{said} ({of.interval(cell)})"
