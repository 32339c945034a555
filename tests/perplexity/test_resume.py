"""What an interrupt, a kill, an error and a full disk cost: nothing that was measured."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.launch.interface import Ended, Part
from ropeaudit.perplexity.loading import Loaded, of_model
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.run import Request, run
from ropeaudit.perplexity.store import Store
from tests.perplexity import folder, tiny
from tests.perplexity.runs import FROM_NOWHERE, RECIPES, TEXT, Counting, model, request, timeless


@pytest.fixture(scope="module")
def loaded() -> Loaded:
    return model()


def test_what_a_store_holds_is_not_measured_again(loaded: Loaded, tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl") as store:
        first = run(request(loaded), store=store)
    with Store(tmp_path / "s.jsonl") as store:
        launcher = Counting()
        assert run(request(loaded), store=store, launcher=launcher) == first
        assert launcher.windows == 0
        more = run(request(loaded, "int8:sym"), store=store, launcher=(launcher := Counting()))
        assert launcher.variants == ["int8:sym"]
        assert more.cells[0] == first.cells[0]
        run(request(loaded, seed=1), store=store, launcher=(launcher := Counting()))
        assert launcher.windows == 3 * len(first.cells[0].scores)


@pytest.mark.parametrize("settings", [{}, {"precision": 0.03}], ids=["whole", "precision"])
def test_an_interrupted_run_ends_with_the_numbers_of_a_whole_one(
    loaded: Loaded, tmp_path: Path, settings: dict[str, float]
) -> None:
    whole = run(request(loaded, **settings))
    with Store(tmp_path / "s.jsonl") as store:
        for at in (8, 9, 3, 20):
            partial = run(
                request(loaded, **settings), store=store, launcher=Counting(interrupt_at=at)
            )
            assert partial.interrupted
            assert any("interrupted" in n for n in partial.notes)
        resumed = run(request(loaded, **settings), store=store)
    assert timeless(resumed) == timeless(whole)
    assert not resumed.interrupted


def test_windows_of_a_block_that_was_begun_are_kept(
    loaded: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block of long windows takes minutes: scores are handed on before it ends."""
    whole = run(request(loaded))
    windows = len(whole.cells[0].scores)
    monkeypatch.setattr("ropeaudit.perplexity.launch.local.EVERY", 0.0)
    with Store(tmp_path / "s.jsonl") as store:
        partial = run(request(loaded), store=store, launcher=Counting(interrupt_at=windows + 11))
        assert [len(c.scores) for c in partial.cells] == [windows, 11]
        assert set(partial.cells[1].scores) < set(whole.cells[1].scores)
        assert len(store.known(_key(store, "int4:sym")).scores) == 11
        assert timeless(run(request(loaded), store=store)) == timeless(whole)


def _key(store: Store, recipe: str) -> str:
    """Of the cell whose parts are last in a store that has no finished one of it."""
    lines = [json.loads(line) for line in store.path.read_text().splitlines()]
    assert all(line["about"]["recipe"] != recipe for line in lines if line["kind"] == "cell")
    return str(lines[-1]["key"])


def test_an_interrupt_keeps_the_windows_that_were_measured(loaded: Loaded) -> None:
    whole = run(request(loaded))
    windows = len(whole.cells[0].scores)
    partial = run(request(loaded), launcher=Counting(interrupt_at=windows + 9))
    base, int4 = partial.cells
    assert len(base.scores) == windows
    assert 9 <= len(int4.scores) < windows
    assert set(int4.scores) < set(whole.cells[1].scores)
    assert "interrupted after" in int4.notes[-1]
    nothing = run(request(loaded), launcher=Counting(interrupt_at=0))
    assert nothing.interrupted
    assert not nothing.cells


_CHILD = """
import sys, time
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.run import Request, run
from ropeaudit.perplexity.store import Store
from tests.perplexity.folder import corpus

def told(done, total, left):
    print(done, flush=True)
    time.sleep(60 if done > 0.8 * total else 0.02)  # a slow reader must not miss the middle

run(
    Request(
        model=sys.argv[1],
        corpus=corpus(1400),
        settings=Settings(contexts=(32,)),
        recipes=("int4:sym", "noise:eps=0.01,seed=0"),
    ),
    store=Store(sys.argv[2]),
    progress=told,
)
"""


@pytest.mark.slow
def test_a_run_that_is_killed_continues_with_the_same_numbers(tmp_path: Path) -> None:
    path = folder.saved(tmp_path / "model")
    asked = Request(model=path, corpus=TEXT, settings=Settings(contexts=(32,)), recipes=RECIPES)
    whole = run(asked)
    total = sum(len(c.scores) for c in whole.cells) * 32
    child = subprocess.Popen(
        [sys.executable, "-c", _CHILD, path, str(tmp_path / "s.jsonl")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) > total / 2:
            break
    child.send_signal(signal.SIGKILL)
    child.stdout.close()
    child.wait()
    with Store(tmp_path / "s.jsonl") as store:
        launcher = Counting()
        resumed = run(asked, store=store, launcher=launcher)
        assert 0 < launcher.windows * 32 < total / 2
    assert timeless(resumed) == timeless(whole)


def test_a_cell_that_fails_costs_no_other(loaded: Loaded, tmp_path: Path) -> None:
    whole = run(request(loaded))
    with Store(tmp_path / "s.jsonl") as store:
        result = run(request(loaded, "int4:sym", FROM_NOWHERE, RECIPES[1]), store=store)
    assert timeless(result).cells == timeless(whole).cells
    (failure,) = result.failures
    assert (failure.recipe, failure.context, failure.kind) == (FROM_NOWHERE, 32, "usage")
    assert "nan" in failure.message.lower() or "finite" in failure.message


class Breaking(Counting):
    """Fails in its ``at``-th task, after one part of it."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at

    def next(self) -> Part | Ended:
        if len(self.variants) < self.at or self._task is None:
            return super().next()
        if self.variants[self.at - 1 :] == ["said"]:
            self.variants.append("broken")
            number = self._task.number
            self.close()
            return Ended(task=number, kind="usage", message="the lights went out")
        self.variants[self.at - 1 :] = ["said"]
        return super().next()


def test_what_was_decided_before_the_base_failed_counts(loaded: Loaded) -> None:
    asked = request(loaded, "noise:eps=0.0001,seed=0", "int4:sym", threshold=1.05)
    whole = run(asked)
    assert [len(c.scores) for c in whole.cells[:2]] == [len(whole.cells[2].scores), 8]
    # Tasks: base, noise, int4, and then more of the base.
    result = run(asked, launcher=Breaking(4))
    assert [c.recipe for c in result.cells] == [None, "noise:eps=0.0001,seed=0"]
    assert result.cells[1].inflation == whole.cells[1].inflation
    assert [f.recipe for f in result.failures] == [None, "int4:sym"]
    assert result.failures[1].message.startswith("the base could not be measured at this length")


def test_where_every_cell_fails_the_error_is_raised(loaded: Loaded) -> None:
    broken = of_model(tiny.llama(), folder.tokenizer(), digest="n")
    broken.model.model.layers[1].mlp.down_proj.weight.data[0, 0] = math.nan
    with pytest.raises(UsageError, match="layer 1"):
        run(request(broken))


def test_a_full_disk_costs_no_result(loaded: Loaded, tmp_path: Path) -> None:
    import resource

    whole = run(request(loaded))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(tmp_path / "s.jsonl") as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limit[1]))
        try:
            result = run(request(loaded), store=store)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert timeless(result) == timeless(whole)
    assert "cannot write to the store" in result.notes[0]
    assert "in this report only" in result.notes[1]


def test_two_runs_may_share_a_store(loaded: Loaded, tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl") as one, Store(tmp_path / "s.jsonl") as two:
        first = run(request(loaded), store=one)
        assert run(request(loaded), store=two, launcher=(launcher := Counting())) == first
        assert launcher.windows == 0
