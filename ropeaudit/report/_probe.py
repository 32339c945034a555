"""A kernel probe in every format: a page, ``ropeaudit/probe/1``, CSV and Markdown."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from csv import writer
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.probe import _published as published
from ropeaudit.probe._digits import Agreement, Comparison
from ropeaudit.probe._solve import FLOAT32_RUNS
from ropeaudit.probe.kernel import Cell, Fit, Result
from ropeaudit.report._numbers import exact, plural, short
from ropeaudit.report._plain import number_word, plain
from ropeaudit.report._terminal import Ink, View, pad, safe, width_of
from ropeaudit.report.json_v1 import FORMAT, TOOL, page
from ropeaudit.report.markdown import code, text

FORMATS = ("console", "json", FORMAT, "csv", "markdown")
SCHEMA = "ropeaudit/probe/1"
PRECISIONS = ("float64", "float32")
COLUMNS = (
    "basis", "target", "length", "reference", "normal", *(f"float32_{n}" for n in FLOAT32_RUNS),
    "bound", "condition", "published", "agreement", "digits", "agreeing",
)  # fmt: skip
"""Columns are added at the end only."""


def check_format(name: str) -> None:
    """Raises UsageError unless a probe can be written in this format."""
    if name not in FORMATS:
        raise UsageError(
            f"format {name} is for findings; a probe comes as console, json, csv or markdown"
        )


def render(name: str, result: Result, view: View, *, precision: str = "float64") -> str:
    """The probe in a format; ``precision`` says which errors the tables for people show."""
    if name == "console":
        return _console(result, view, precision)
    if name == "csv":
        return _csv(result)
    return _markdown(result, precision) if name == "markdown" else _json(result)


def _json(result: Result) -> str:
    settings = result.settings
    return page(
        {
            "schema": SCHEMA,
            "tool": TOOL,
            "probe": "kernel",
            "settings": {
                "length": settings.length,
                "lengths": list(settings.lengths),
                "theta": settings.theta,
                "head_dim": settings.head_dim,
                "frequencies": settings.frequencies,
                "gamma": settings.gamma,
                "ridge": settings.ridge,
                "target_index": settings.target_index,
                "omega": settings.omega,
            },
            "targets": [{"name": n, "expression": e.text} for n, e in result.targets],
            "bases": [
                {
                    "name": f.basis.name,
                    "definition": f.basis.definition,
                    "gamma": f.basis.gamma,
                    "features": f.features,
                    "condition": plain(f.condition),
                }
                for f in result.fits
            ],
            "cells": [_cell(c) for c in result.cells],
            "published": _source(result),
            "notes": list(result.notes),
        }
    )


def _source(result: Result) -> dict[str, Any] | None:
    if not result.is_published:
        return None
    return {
        "source": published.SOURCE,
        "length": published.LENGTH,
        "decimals": published.DECIMALS,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    found = cell.comparison
    return {
        "basis": cell.basis,
        "target": cell.target,
        "length": cell.length,
        "reference": plain(cell.reference),
        "normal": plain(cell.normal),
        "float32": plain(dict(zip(FLOAT32_RUNS, cell.float32, strict=True))),
        "bound": plain(cell.bound),
        "published": None
        if found is None
        else {
            "value": found.published,
            "agreement": found.status.value,
            "digits": found.digits,
            "agreeing": found.agreeing,
        },
    }


def _csv(result: Result) -> str:
    out = io.StringIO()
    rows = writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    conditions = {f.basis.name: f.condition for f in result.fits}
    for cell in result.cells:
        found = cell.comparison
        numbers = (cell.reference, cell.normal, *cell.float32, cell.bound, conditions[cell.basis])
        told = (
            ("",) * 4
            if found is None
            else (found.published, found.status.value, found.digits, found.agreeing)
        )
        rows.writerow(
            (cell.basis, safe(cell.target), cell.length, *map(_number, numbers), *map(str, told))
        )
    return out.getvalue()


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else number_word(value)


def _shown(cell: Cell, precision: str) -> str:
    value = cell.reference if precision == "float64" else cell.float32[0]
    return f"{value:#.4g}".removesuffix(".") if math.isfinite(value) else number_word(value)


def _told(found: Comparison | None) -> tuple[str, str]:
    """The published figure, and what to think of it."""
    if found is None:
        return "-", ""
    figure = f"{found.published:.{published.DECIMALS}f}"
    if found.status is Agreement.AGREES:
        return figure, "agrees"
    if found.status is Agreement.UNDECIDED:
        return figure, "float64 does not decide"
    same = f"{found.agreeing or 'none'} of {plural(found.digits, 'digit')} holds"
    if found.agreeing > 1:
        same = same.removesuffix("s")
    noise = found.status is Agreement.FLOAT32_NOISE
    return figure, f"{same}, the rest is float32 noise" if noise else f"{same}; unexplained"


def _rows(result: Result, target: str, precision: str) -> Iterator[list[str]]:
    """The table of one target: the header, then a row for each basis."""
    lengths = result.settings.lengths
    told = any(c.comparison for c in result.cells if c.target == target)
    yield ["basis", *(f"{n:,}" for n in lengths), *(("published", "") if told else ())]
    for fit in result.fits:
        cells = [result.cell(fit.basis.name, target, n) for n in lengths]
        row = [fit.basis.name, *(_shown(c, precision) for c in cells)]
        if told:
            row += _told(next((c.comparison for c in cells if c.comparison), None))
        yield row


def _setting(result: Result) -> str:
    s = result.settings
    return (
        f"fit on {s.length:,} lags; {s.frequencies} of the frequencies "
        f"{exact(s.theta)}^(-2k/{s.head_dim}); gamma {s.gamma:g}; ridge {s.ridge:g}; "
        f"omega {s.omega:.10g} (k = {s.target_index})"
    )


def _meaning(precision: str) -> str:
    how = "float64, QR" if precision == "float64" else "float32, normal equations"
    return f"mean squared error ({how}) over the lags 0 to T-1, for each T"


_WHY = (
    "A published digit is called float32 noise where two ways of solving in float64 agree on "
    "another one and the condition of the normal matrix lets float32 move the error that far."
)


def _console(result: Result, view: View, precision: str) -> str:
    ink = Ink(view)
    ink.line(("kernel probe", "bold"))
    ink.paragraph(_setting(result), indent=2, style="dim")
    for name, expression in result.targets:
        ink.line()
        said = "" if name == expression.text else f"  {safe(expression.text)}"
        ink.line((f"  {safe(name)}", "bold"), (said, "dim"))
        _table(ink, list(_rows(result, name, precision)))
    ink.line()
    ink.paragraph(_meaning(precision), indent=2, style="dim")
    if result.is_published:
        ink.paragraph(f"published: {published.SOURCE}, T = {published.LENGTH}. {_WHY}", indent=2)
    ink.line()
    ink.line(("  condition of the normal matrix", "bold"))
    _table(ink, list(_conditions(result.fits, verbose=view.verbose)))
    if view.verbose:
        _runs(ink, result)
    for note in result.notes:
        ink.paragraph(f"note: {safe(note)}", indent=2, style="yellow")
    return ink.text()


def _conditions(fits: Sequence[Fit], *, verbose: bool) -> Iterator[list[str]]:
    yield ["basis", "features", "condition", *(("definition",) if verbose else ())]
    for f in fits:
        row = [f.basis.name, str(f.features), short(f.condition)]
        yield row + ([f.basis.definition] if verbose else [])


def _runs(ink: Ink, result: Result) -> None:
    """Every float32 run beside the reference, at the longest length."""
    ink.line()
    ink.line((f"  float32 runs, T = {result.settings.lengths[-1]:,}", "bold"))
    rows = [["basis", "target", "float64", *FLOAT32_RUNS]]
    rows += [
        [c.basis, safe(c.target), f"{c.reference:.6g}", *(f"{v:.6g}" for v in c.float32)]
        for c in result.cells
        if c.length == result.settings.lengths[-1]
    ]
    _table(ink, rows)


def _table(ink: Ink, rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        line = "  ".join(pad(c, w) for c, w in zip(row, widths, strict=True))
        ink.line((f"    {line}", "dim" if number == 0 else None))


def _markdown(result: Result, precision: str) -> str:
    lines = ["## Kernel probe", "", f"Setting: {text(_setting(result))}.", ""]
    for name, expression in result.targets:
        lines += [f"### {text(name)}", "", f"Target {code(expression.text)}.", ""]
        head, *rows = _rows(result, name, precision)
        lines.append(f"| {' | '.join(head)} |")
        lines.append(f"|---|{'---:|' * len(result.settings.lengths)}" + "---|" * (
            len(head) - 1 - len(result.settings.lengths)
        ))  # fmt: skip
        lines += [f"| {code(row[0])} | {' | '.join(map(text, row[1:]))} |" for row in rows]
        lines.append("")
    lines += [f"Figures: {_meaning(precision)}.", ""]
    if result.is_published:
        lines += [f"Published: {text(published.SOURCE)}, T = {published.LENGTH}. {_WHY}", ""]
    head, *rows = _conditions(result.fits, verbose=True)
    lines += [f"| {' | '.join(head)} |", "|---|---:|---:|---|"]
    lines += [f"| {code(r[0])} | {r[1]} | {r[2]} | {code(r[3])} |" for r in rows]
    lines += ["", *(f"- {text(n)}" for n in result.notes)]
    return "\n".join(lines).rstrip("\n") + "\n"
