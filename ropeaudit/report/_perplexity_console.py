"""Measurements as a page for people: a matrix of variants by lengths, then what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ropeaudit._version import __version__
from ropeaudit.perplexity.records import Cell, Result
from ropeaudit.report import _perplexity_cells as of
from ropeaudit.report._numbers import plural, radians, short
from ropeaudit.report._perplexity_fits import told as fits_told
from ropeaudit.report._terminal import Ink, View, ascii_only, pad, safe, width_of

Row = tuple[tuple[str, str | None], ...]
"""Cells of a table: text and style."""

_MIB = 1 << 20


def render(results: Sequence[Result], view: View) -> str:
    """One run after another."""
    ink = Ink(view)
    for number, result in enumerate(results):
        if number:
            ink.line()
        _run(ink, result)
    return ink.text()


def _run(ink: Ink, result: Result) -> None:
    grid = of.grid(result)
    _head(ink, result)
    for contexts in _blocks(ink, grid):
        ink.line()
        table(ink, _titles(contexts), [_row(result, grid, r, contexts) for r in grid.recipes])
    if any(c.recipe is not None for c in result.cells):
        ink.line()
        ink.paragraph(
            "perplexity of the base, per token; for the others the inflation, which is the ratio "
            "to the base on the same windows, with a 95 % interval; * where that excludes 1",
            indent=2,
            style="dim",
        )
    if ink.view.verbose:
        for context in grid.contexts:
            _measures(ink, grid, context)
            _positions(ink, grid, context)
    for title, said in fits_told(of.fits(result), full=ink.view.verbose):
        ink.line()
        ink.line((f"  {title}", "bold"))
        for sentence in said:
            ink.paragraph(safe(sentence), indent=4)
    _after(ink, result)


def _head(ink: Ink, result: Result) -> None:
    corpus = result.corpus
    amounts = ", ".join(
        (
            plural(result.tokens, "token"),
            plural(result.words, "word"),
            plural(result.bytes, "byte"),
        )
    )
    ink.line((safe(result.model), "bold"), (f"  {of.place(result.environment)}", "dim"))
    ink.line(("  text      ", "dim"), safe(corpus.name), (f"  {amounts}", "dim"))
    ink.line(("  windows   ", "dim"), of.policy(result))


def _blocks(ink: Ink, grid: of.Grid) -> Iterator[tuple[int, ...]]:
    """Columns of the matrix, as many side by side as the page is wide."""
    names = max(width_of(safe(of.name_of(r))) for r in grid.recipes)
    cells = max((width_of(_figure(c)) for c in grid.cells.values()), default=8)
    count = max(1, (ink.view.width - 4 - names) // (cells + 2))
    for at in range(0, len(grid.contexts), count):
        yield grid.contexts[at : at + count]


def _titles(contexts: Sequence[int]) -> tuple[str, ...]:
    return ("variant", *(f"{c:,} tokens" for c in contexts))


def _row(result: Result, grid: of.Grid, recipe: str | None, contexts: Sequence[int]) -> Row:
    parts: list[tuple[str, str | None]] = [(safe(of.name_of(recipe)), "bold")]
    for context in contexts:
        cell = grid.cells.get((recipe, context))
        if cell is not None:
            style = "red" if of.above_one(cell) else "green" if of.below_one(cell) else None
            parts.append((_figure(cell), style))
        elif any((f.recipe, f.context) == (recipe, context) for f in result.failures):
            parts.append(("failed", "red"))
        else:
            parts.append(("-", "dim"))
    return tuple(parts)


def _figure(cell: Cell) -> str:
    if cell.recipe is None:
        return of.figures(of.perplexity(cell))
    interval = "one window" if cell.inflation_ci95 is None else of.interval(cell)
    return f"{of.ratio(cell.inflation)} ({interval}){of.mark(cell)}"


def _measures(ink: Ink, grid: of.Grid, context: int) -> None:
    """How far each table was moved, and what measuring it took."""
    rows: list[Row] = []
    for recipe in grid.recipes:
        cell = grid.cells.get((recipe, context))
        if cell is None:
            continue
        speed = cell.tokens / cell.seconds if cell.seconds else math.nan
        texts = (
            "-" if recipe is None else f"{cell.max_abs_dlog:.4g}",
            "-" if recipe is None else f"{radians(cell.max_phase_drift)} rad",
            f"{len(cell.scores):,}" + (" (enough)" if cell.stopped else ""),
            of.figures(of.perplexity(cell)),
            f"{cell.seconds:.3g} s",
            "-" if math.isnan(speed) else short(speed),
            f"{cell.peak_bytes / _MIB:,.0f} MiB" if cell.peak_bytes else "-",
        )
        rows.append(((safe(of.name_of(recipe)), "bold"), *((t, None) for t in texts)))
    if rows:
        ink.line()
        ink.line((f"  at {context:,} tokens", "bold"))
        titles = ("displacement", "phase drift", "windows", "perplexity", "time", "tokens/s")
        table(ink, ("variant", *titles, "memory"), rows)


def _positions(ink: Ink, grid: of.Grid, context: int) -> None:
    """Loss by position in the window: the base's own, and what each variant adds."""
    base = grid.base(context)
    own = () if base is None else of.buckets(base.scores, context)
    if base is None or not own:
        return
    rows: list[Row] = [((of.BASE, "bold"), *((f"{b.mean:.4f}", None) for b in own))]
    for recipe in grid.recipes[1:]:
        cell = grid.cells.get((recipe, context))
        if cell is not None:
            more = {bucket.first: value for bucket, value in of.added(base, cell)}
            texts = (f"{more[b.first]:+.4f}" if b.first in more else "-" for b in own)
            rows.append(((safe(recipe), "bold"), *((t, None) for t in texts)))
    ink.line()
    title = "  log-loss by position in the window, nats per token; variants: over the base's"
    ink.line((title, "dim"))
    table(ink, ("variant", *(f"{b.first:,}–{b.last:,}" for b in own)), rows)


def table(ink: Ink, titles: Sequence[str], rows: Sequence[Row]) -> None:
    """Left-aligned columns under dim titles."""
    if not ink.view.unicode:
        titles = [ascii_only(t) for t in titles]
        rows = [tuple((ascii_only(t), s) for t, s in row) for row in rows]
    texts = [titles, *([t for t, _ in row] for row in rows)]
    widths = [max(map(width_of, column)) for column in zip(*texts, strict=True)]
    head = "  ".join(pad(t, w) for t, w in zip(titles, widths, strict=True))
    ink.line((f"  {head}", "dim"))
    for row in rows:
        ink.line("  ", *((pad(t, w) + "  ", s) for (t, s), w in zip(row, widths, strict=True)))


def _after(ink: Ink, result: Result) -> None:
    """Failures, notes of cells and of the run, and the count."""
    ink.line()
    for failure in result.failures:
        where = f"{of.name_of(failure.recipe)} at {failure.context:,}"
        ink.paragraph(f"failed: {safe(where)}: {safe(failure.message)}", indent=2, style="red")
    said = [*result.notes]
    for cell in result.cells:
        who = f"{of.name_of(cell.recipe)} at {cell.context:,}"
        said += [f"{who}: {n}" for n in cell.notes]
    for note in dict.fromkeys(said):
        ink.paragraph(f"note: {safe(note)}", indent=2, style="dim")
    counts = [plural(len(result.cells), "cell")]
    counts += [f"{len(result.failures)} failed"] if result.failures else []
    counts += ["interrupted"] if result.interrupted else []
    seconds = math.fsum(c.seconds for c in result.cells)
    ink.line((f"  {', '.join(counts)} · {seconds:.3g} s · ropeaudit {__version__}", "dim"))
