"""Runs on tiny random models: what is measured, when a cell may stop, what is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import SourceError, UsageError
from ropeaudit.perplexity.evaluate import score
from ropeaudit.perplexity.launch.local import Local
from ropeaudit.perplexity.loading import Loaded, of_model
from ropeaudit.perplexity.patch import swapped
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.run import Request, run
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perplexity.statistics.sequence import Sequential
from ropeaudit.perplexity.windows import cut
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from tests.perplexity import folder, tiny
from tests.perplexity.runs import RECIPES, TEXT, Counting, model, request, timeless


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return model()


@pytest.fixture(scope="module")
def dynamic() -> Loaded:
    return of_model(tiny.dynamic(), folder.tokenizer(), digest="y", contexts=(64, 96, 128))


def test_cells_are_what_scoring_window_by_window_gives(loaded: Loaded) -> None:
    result = run(request(loaded, contexts=(16, 32)))
    assert [(c.recipe, c.context) for c in result.cells] == [
        (recipe, length) for length in (16, 32) for recipe in (None, *RECIPES)
    ]
    assert loaded.encode is not None
    ids = loaded.encode(TEXT.text)
    for cell in result.cells:
        windows = cut(len(ids), length=cell.context)
        variant = None if cell.recipe is None else make(loaded.schedules, cell.recipe)
        with swapped(loaded, variant):
            alone = [s for w in windows for s in score(loaded, ids, [w])]
        assert [s.index for s in cell.scores] == list(range(len(windows)))
        for mine, other in zip(cell.scores, alone, strict=True):
            assert mine.tokens == other.tokens
            assert mine.nll == pytest.approx(other.nll, rel=1e-5)
    base, int4, _ = result.cells[3:]
    estimate = inflation(base.scores, int4.scores)
    assert (base.inflation, base.inflation_ci95) == (1.0, (1.0, 1.0))
    assert (int4.inflation, int4.inflation_ci95) == (estimate.ratio, estimate.ci95)
    assert abs(int4.inflation - 1) > 0.01


def test_words_and_bytes_are_of_the_tokens_that_count(loaded: Loaded) -> None:
    result = run(request(loaded))
    assert result.tokens == result.cells[0].tokens
    assert result.bytes == result.tokens  # a letter a token
    assert 0 < result.words < result.tokens / 10
    assert run(request(loaded, windows=3, offset=7)).tokens == 3 * 31
    assert "holds 43 windows of 32 tokens, not 99" in run(request(loaded, windows=99)).notes[0]


def test_displacement_is_that_of_the_length(loaded: Loaded) -> None:
    result = run(request(loaded, "cluster:at=0,codim=2,gap=1,to=first", contexts=(16, 32)))
    a, b = loaded.schedules[0].inv_freq[:2]
    for cell in (result.cells[1], result.cells[3]):
        assert cell.max_abs_dlog == pytest.approx(math.log(a / b))
        assert cell.max_phase_drift == math.pi
    quiet = run(request(loaded, "noise:eps=1e-5,seed=1", contexts=(16, 32)))
    assert quiet.cells[3].max_phase_drift == pytest.approx(2 * quiet.cells[1].max_phase_drift)


def test_tables_for_other_lengths_leave_a_cell_alone(dynamic: Loaded, tmp_path: Path) -> None:
    both = run(request(dynamic, "log8", contexts=(64, 128)))
    one = run(request(dynamic, "log8", contexts=(128,)))
    assert timeless(one).cells == timeless(both).cells[2:]
    fewer = of_model(tiny.dynamic(), folder.tokenizer(), digest="y", contexts=(128,))
    assert timeless(run(request(fewer, "log8", contexts=(128,)))).cells == timeless(one).cells


def test_the_base_is_first_and_measured_once(loaded: Loaded) -> None:
    launcher = Counting()
    result = run(request(loaded, *RECIPES, "identity"), launcher=launcher)
    assert launcher.variants == [None, *RECIPES]
    assert launcher.windows == 3 * len(result.cells[0].scores)
    same = result.cells[-1]
    assert (same.recipe, same.inflation, same.scores) == ("identity", 1.0, result.cells[0].scores)


def test_a_cell_stops_as_soon_as_its_interval_is_narrow_enough(loaded: Loaded) -> None:
    launcher = Counting()
    result = run(request(loaded, precision=0.03), launcher=launcher)
    whole = run(request(loaded))
    assert loaded.encode is not None
    for cell, full in zip(result.cells[1:], whole.cells[1:], strict=True):
        assert cell.stopped == (len(cell.scores) < len(full.scores))
        if not cell.stopped:
            assert cell.inflation_ci95 == full.inflation_ci95
            continue
        low, high = cell.inflation_ci95 or (0, 0)
        assert (high - low) / 2 <= 0.03 * cell.inflation
        assert low <= full.inflation <= high
        base = {s.index: s for s in result.cells[0].scores}
        test = Sequential(0.03, population=len(full.scores))
        for s in cell.scores:
            test.add(s.nll - base[s.index].nll, s.tokens)
        assert test.interval() == pytest.approx((low, high), rel=1e-9)
        assert "anytime-valid" in cell.notes[-1]
    assert any(c.stopped for c in result.cells)
    assert launcher.windows < 3 * len(whole.cells[0].scores)


def test_a_threshold_alone_ends_a_cell(loaded: Loaded) -> None:
    result = run(request(loaded, "noise:eps=1e-4,seed=0", threshold=1.5))
    base, cell = result.cells
    assert cell.stopped
    assert len(cell.scores) == len(base.scores) == 8
    assert cell.inflation_ci95 is not None
    assert cell.inflation_ci95[1] < 1.5


def test_progress_reaches_its_end(loaded: Loaded) -> None:
    said: list[tuple[int, int, float | None]] = []
    result = run(request(loaded), progress=lambda *a: said.append(a))
    total = sum(len(c.scores) for c in result.cells) * 32
    assert said[0] == (0, total, None)
    assert said[-1] == (total, total, 0.0)
    assert [s[0] for s in said] == sorted({s[0] for s in said})
    assert all(s[2] is not None and s[2] >= 0 for s in said[1:])


def test_a_launcher_keeps_its_model_for_the_next_run(loaded: Loaded, tmp_path: Path) -> None:
    path = folder.saved(tmp_path / "model")
    asked = Request(model=path, corpus=TEXT, settings=Settings(contexts=(32,)))
    launcher = Local()
    first = run(asked, launcher=launcher)
    kept = launcher._loaded
    (tmp_path / "model").rename(tmp_path / "gone")
    longer = replace(asked, corpus=folder.corpus(2000))
    assert len(run(longer, launcher=launcher).cells[0].scores) > len(first.cells[0].scores)
    assert launcher._loaded is kept
    for contexts in (
        (16,),
        (32,),
    ):  # the model that was kept has made room for one that is not there
        with pytest.raises(SourceError, match="there is no"):
            run(replace(asked, settings=Settings(contexts=contexts)), launcher=launcher)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"contexts": ()}, "no context length"),
        ({"contexts": (1,)}, "the context length is 1, expected 2"),
        ({"contexts": (32, 32)}, "stands twice"),
        ({"windows": 0}, "windows is 0"),
        ({"offset": -1}, "offset is -1"),
        ({"scoring": "halves"}, "unknown scoring halves"),
        ({"scoring": "strid"}, "did you mean strided"),
        ({"stride": 4}, "strided scoring only"),
        ({"scoring": "strided", "stride": 64}, "stride is 64, expected 1 to 32"),
        ({"dtype": "bfloat"}, "did you mean bfloat16"),
        ({"precision": 1.5}, "precision is 1.5"),
        ({"threshold": 0.0}, "threshold is 0"),
        ({"offset": 1390}, "too few for one window of 32"),
    ],
)
def test_settings_that_cannot_be_are_said(
    loaded: Loaded, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        run(request(loaded, **settings))


def test_what_cannot_be_measured_is_said_before_anything_is(loaded: Loaded) -> None:
    with pytest.raises(UsageError, match="int8:sim"):
        run(request(loaded, "int8:sim"))
    with pytest.raises(UsageError, match="channel"):
        run(request(loaded, "swap:at=40,gap=1"), launcher=(launcher := Counting()))
    assert launcher.windows == 0
    with pytest.raises(UsageError, match="has no tokenizer"):
        run(request(replace(loaded, encode=None)))
    with pytest.raises(UsageError, match="the tokenizer does not belong to this model"):
        run(request(replace(loaded, vocabulary=50)))
    with pytest.raises(UsageError, match="no launcher locl; did you mean local"):
        run(request(loaded), launcher="locl")


@pytest.fixture(autouse=True)
def _unharmed(loaded: Loaded) -> Iterator[None]:
    """Whatever a run did, the model is what it was."""
    before = [s.module.inv_freq.clone() for s in loaded.slots]
    yield
    for slot, table in zip(loaded.slots, before, strict=True):
        assert (slot.module.inv_freq == table).all()
