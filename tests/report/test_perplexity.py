"""Pages, JSON, CSV and Markdown of measurements: what was promised, widths, hostile names."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.records import Cell, Failure, Result, Settings
from ropeaudit.records import replace
from ropeaudit.report import _perplexity_cells as of
from ropeaudit.report._perplexity import check_format, render
from ropeaudit.report._terminal import View, width_of
from tests.report import canned, measured
from tests.report.golden import same_as_golden
from tests.report.test_schemas import _closed

SCHEMA = Path(__file__).parents[2] / "docs" / "schemas" / "perplexity-1.json"


def validator() -> Any:
    schema = json.loads(SCHEMA.read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(_closed(schema))


def page(name: str, view: View | None = None, *, more: tuple[Result, ...] = (), **kw: Any) -> str:
    return render(name, [measured.result(**kw), *more], view or View())


def rounded(text: str) -> str:
    """Long decimals to ten digits: exp and log differ in the last one between platforms."""
    return re.sub(r"-?\d+\.\d{6,}(e-?\d+)?", lambda m: f"{round(float(m[0]), 9) + 0.0:.10g}", text)


def test_golden_pages() -> None:
    same_as_golden("perplexity-plain.txt", page("console"))
    same_as_golden("perplexity-verbose.txt", page("console", View(width=120, verbose=True)))
    same_as_golden("perplexity-color.txt", page("console", View(color=True)))
    same_as_golden("perplexity-ascii.txt", page("console", View(width=60, unicode=False)))
    same_as_golden("perplexity-json.txt", rounded(page("json")))
    same_as_golden("perplexity-csv.txt", rounded(page("csv")))
    same_as_golden("perplexity-markdown.txt", page("markdown"))


def test_json_follows_its_schema() -> None:
    check = validator()
    alone = replace(measured.base(256), scores=measured.scores(256, 0.0)[:1])
    single = replace(measured.cell("log8", 256, 0.1), scores=alone.scores, inflation_ci95=None)
    for text in (
        page("json"),
        page("json", failures=(), interrupted=True, cells=()),
        page("json", cells=(alone, single), settings=Settings(precision=0.005, stride=None)),
        page("json-v1", more=(measured.result(model="other"),)),
    ):
        assert "NaN" not in text
        assert "Infinity" not in text
        check.validate(json.loads(text))
    document = json.loads(page("json"))
    document["cells"][0]["ppl"] = "12.94"
    with pytest.raises(ValidationError):
        check.validate(document)


def test_json_holds_what_the_contract_names() -> None:
    found = json.loads(page("json"))
    assert found["schema"] == "ropeaudit/perplexity/1"
    assert found["corpus"]["offset"] == 0
    first, second = found["cells"][:2]
    assert (first["recipe"], first["inflation"], first["inflation_ci95"]) == (None, 1.0, [1, 1])
    assert second["max_abs_dlog"] == "inf"
    assert second["ppl"] == pytest.approx(math.exp(second["nll_sum"] / second["tokens"]))
    assert math.fsum(p["nll_sum"] for p in second["positions"]) == pytest.approx(second["nll_sum"])
    assert sum(p["tokens"] for p in second["positions"]) == second["tokens"]
    assert [p["first"] for p in second["positions"]] == [0, 16, 64]
    assert {f["context"] for f in found["fits"]["power_law"]} == {256, 1024}
    assert {c["kind"] for c in found["fits"]["controls"]} == {"jitter", "apart, matched in log"}


def test_several_runs_stand_in_a_list() -> None:
    found = json.loads(page("json", more=(measured.result(model="other"),)))
    assert set(found) == {"schema", "tool", "runs"}
    assert [r["model"] for r in found["runs"]] == ["models/small", "other"]
    assert page("console", more=(measured.result(model="other"),)).count("text      ") == 2
    assert page("markdown", more=(measured.result(model="other"),)).count("## Perplexity") == 2


def test_csv_reads_back_to_the_bit() -> None:
    rows = list(csv.DictReader(io.StringIO(page("csv"))))
    cells = measured.result().cells
    assert len(rows) == len(cells)
    for row, cell in zip(rows, cells, strict=True):
        assert row["recipe"] == (cell.recipe or "")
        assert float(row["nll_sum"]) == cell.nll_sum
        assert float(row["inflation"]) == cell.inflation
        assert float(row["max_abs_dlog"]) == cell.max_abs_dlog
        assert row["stopped"] == str(cell.stopped).lower()
    lone = replace(measured.cell("log8", 256, 0.1), inflation_ci95=None)
    (row,) = csv.DictReader(io.StringIO(page("csv", cells=(lone,))))
    assert row["inflation_low"] == row["inflation_high"] == ""


@pytest.mark.parametrize("width", [40, 72, 120])
def test_pages_in_every_view(width: int) -> None:
    for verbose in (False, True):
        for view in (
            View(width=width, verbose=verbose),
            View(width=width, color=True, verbose=verbose),
            View(width=width, unicode=False, verbose=verbose),
        ):
            text = page("console", view)
            assert view.color or "\x1b" not in text
            assert view.unicode or text.isascii()
            assert "\n\n\n" not in text
            assert all(line == line.rstrip() for line in text.splitlines())


def test_columns_go_under_one_another_where_the_page_is_narrow() -> None:
    wide, narrow = (page("console", View(width=w)) for w in (100, 72))
    assert wide.count("variant  ") == 1
    assert narrow.count("variant  ") == 2
    assert max(map(width_of, narrow.splitlines())) <= 72


def test_what_is_missing_is_said() -> None:
    text = page("console")
    assert "failed: base:1 at 256: the base is 1; give more" in text
    (row,) = (line for line in text.splitlines() if line.strip().startswith("base:1"))
    assert row.split() == ["base:1", "failed", "-"]
    assert "interrupted" in page("console", interrupted=True).splitlines()[-1]
    assert "| `base:1` | failed | - |" in page("markdown")
    assert "stopped early: by a method" in text


def test_marks_follow_the_interval() -> None:
    def row(recipe: str) -> str:
        lines = page("console").splitlines()
        return next(line for line in lines if line.strip().startswith(f"{recipe} "))

    assert row("int8:sym").count("*") == 2
    lone = replace(measured.cell("log8", 256, 0.1), inflation_ci95=None)
    assert of.mark(lone) == ""
    assert "one window" in page("console", cells=(measured.base(256), lone))
    assert of.mark(replace(lone, inflation_ci95=(0.9, 0.99))) == "*"
    assert of.mark(replace(lone, inflation_ci95=(1.0, 1.1))) == ""


def test_hostile_names_stay_text() -> None:
    failure = Failure(recipe=None, context=512, kind="usage", message=canned.HOSTILE)
    corpus = replace(measured.CORPUS, name=canned.HOSTILE)
    for name in ("console", "json", "csv", "markdown"):
        text = page(
            name, model=canned.HOSTILE, corpus=corpus, failures=(failure,), notes=(canned.HOSTILE,)
        )
        assert "\x1b" not in text
        assert name == "json" or "\u202e" not in text
    assert "\u202e" not in page("json").encode().decode("ascii", "ignore")


@given(st.floats(min_value=1e-4, max_value=1e12))
def test_figures_keep_what_they_say(value: float) -> None:
    assert float(of.figures(value)) == pytest.approx(value, rel=6e-5)
    assert float(of.ratio(value)) == pytest.approx(value, rel=6e-3, abs=6e-5)


@given(st.lists(st.integers(min_value=0, max_value=11), unique=True, min_size=1))
def test_loss_by_position_compares_the_same_windows(kept: list[int]) -> None:
    """A cell that stopped early is held against the base's loss on its own windows."""
    whole = measured.base(256)
    some = tuple(s for s in measured.scores(256, 0.3) if s.index in kept)
    stopped = Cell(recipe="log8", schedule_id="x", context=256, scores=some)
    for bucket, value in of.added(whole, stopped):
        n = (0, 16, 64).index(bucket.first)
        mean = math.fsum(0.3 * (1 + 0.1 * math.cos(2.3 * i)) for i in kept) / len(kept)
        assert value == pytest.approx(mean * n / 2, abs=1e-9)


def test_a_perplexity_beyond_a_float_is_inf() -> None:
    huge = replace(measured.base(256).scores[0], nll=1e9)
    cell = replace(measured.cell("log8", 256, 0.1), scores=(huge,), inflation=math.inf)
    cell = replace(cell, inflation_ci95=(1.0, math.inf))
    for name in ("console", "csv", "markdown"):
        assert "inf" in page(name, cells=(measured.base(256), cell))
    assert json.loads(page("json", cells=(cell,)))["cells"][0]["ppl"] == "inf"


def test_scores_that_cannot_be_compared_leave_no_fit() -> None:
    odd = replace(measured.base(256), scores=measured.scores(128, 0.0))
    found = of.fits(measured.result(cells=(odd, *measured.result().cells[1:4])))
    assert not found
    assert of.fits(measured.result())


def test_other_formats_are_refused() -> None:
    for name in ("console", "json", "json-v1", "csv", "markdown"):
        check_format(name)
    with pytest.raises(UsageError, match="measurements come as console, json, csv or markdown"):
        check_format("github")
