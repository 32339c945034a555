"""Measurements of perplexity, one run or several, in every format they come in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.records import Cell, Result
from ropeaudit.records import record_fields
from ropeaudit.report._perplexity_cells import Fits, buckets, fits, perplexity
from ropeaudit.report._plain import plain
from ropeaudit.report._terminal import View
from ropeaudit.report.json_v1 import FORMAT, TOOL, page

FORMATS = ("console", "json", FORMAT, "csv", "markdown")
SCHEMA = "ropeaudit/perplexity/1"


def check_format(name: str) -> None:
    """Raises UsageError unless measurements can be written in this format."""
    if name not in FORMATS:
        raise UsageError(
            f"format {name} is for findings; measurements come as console, json, csv or markdown"
        )


def render(name: str, results: Sequence[Result], view: View) -> str:
    """The runs in a format; only the console uses the view."""
    if name == "console":
        from ropeaudit.report._perplexity_console import render as console

        return console(results, view)
    if name in ("csv", "markdown"):
        from ropeaudit.report import _perplexity_tables as tables

        return tables.csv(results) if name == "csv" else tables.markdown(results)
    return _json(results)


def _json(results: Sequence[Result]) -> str:
    """One run has its keys at the top; several stand in the list ``runs``."""
    top: dict[str, Any] = {"schema": SCHEMA, "tool": TOOL}
    if len(results) == 1:
        return page({**top, **document(results[0])})
    return page({**top, "runs": [document(r) for r in results]})


def document(result: Result) -> dict[str, Any]:
    """The keys of one run."""
    corpus, settings = result.corpus, result.settings
    return {
        "model": result.model,
        "corpus": {
            "name": corpus.name,
            "sha256": corpus.sha256,
            "source": corpus.source,
            "offset": settings.offset,
            "tokens": result.tokens,
            "words": result.words,
            "bytes": result.bytes,
        },
        "settings": _record(settings),
        "cells": [_cell(c) for c in result.cells],
        "failures": [_record(f) for f in result.failures],
        "fits": _fits(fits(result)),
        "environment": plain(result.environment),
        "notes": list(result.notes),
        "interrupted": result.interrupted,
    }


def _cell(cell: Cell) -> dict[str, Any]:
    return {
        "recipe": cell.recipe,
        "schedule_id": cell.schedule_id,
        "context": cell.context,
        "windows": len(cell.scores),
        "tokens": cell.tokens,
        "nll_sum": cell.nll_sum,
        "ppl": plain(perplexity(cell)),
        "inflation": plain(cell.inflation),
        "inflation_ci95": plain(cell.inflation_ci95),
        "max_abs_dlog": plain(cell.max_abs_dlog),
        "max_phase_drift": plain(cell.max_phase_drift),
        "seconds": cell.seconds,
        "peak_bytes": cell.peak_bytes,
        "stopped": cell.stopped,
        "positions": [
            {"first": b.first, "last": b.last, "tokens": b.tokens, "nll_sum": b.nll}
            for b in buckets(cell.scores, cell.context)
        ],
        "notes": list(cell.notes),
    }


def _fits(found: Fits) -> dict[str, Any]:
    return {
        "power_law": [_record(f) for f in found.power_law],
        "position": [_record(f) for f in found.position],
        "controls": [_record(f) for f in found.controls],
    }


def _record(value: Any) -> dict[str, Any]:
    return {name: plain(getattr(value, name)) for name in record_fields(type(value))}
