"""A local Ray cluster of two workers gives what one process gives, also when one is killed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import MissingDependency, UsageError
from ropeaudit.perplexity.launch.interface import Ended, Order, Part, launcher, names
from ropeaudit.perplexity.launch.local import Local
from ropeaudit.perplexity.launch.ray import _Expected, _require
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.run import Request, run
from ropeaudit.perplexity.store import Store
from ropeaudit.records import replace
from tests.perplexity import folder
from tests.perplexity.runs import FROM_NOWHERE, timeless

RECIPES = ("int8:sym", "int4:sym", "log4", "noise:eps=0.01,seed=0", "noise:eps=0.01,seed=1")


def test_launchers_are_found_by_their_files() -> None:
    assert names() == ("local", "ray")
    assert isinstance(launcher("local"), Local)
    with pytest.raises(UsageError, match="leave --address out"):
        launcher("local", address="auto")
    with pytest.raises(UsageError, match="no launcher rya; did you mean ray"):
        launcher("rya")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingDependency, match=r"ropeaudit\[ray\]"):
        launcher("ray")


def test_a_worker_with_another_model_or_version_is_said() -> None:
    versions = {"ropeaudit": "1", "torch": "2", "transformers": "5"}
    expected = _Expected(digest="a", versions=versions)
    _require(expected, "a", versions)
    with pytest.raises(UsageError, match="another model under the same path"):
        _require(expected, "b", versions)
    with pytest.raises(UsageError, match=r"has torch 3, and the first one 2"):
        _require(expected, "a", versions | {"torch": "3"})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_said() -> None:
    ray = pytest.importorskip("ray")
    assert not ray.is_initialized()
    with pytest.raises(UsageError, match="no Ray cluster at auto answers"):
        launcher("ray", address="auto")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head without processors, and two nodes that each can run one cell."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    # Workers find the tests' helpers, and wait for processors no longer than needed.
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[2])
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    made.workers = [made.add_node(num_cpus=1) for _ in range(2)]
    ray.init(address=made.address, log_to_driver=False, logging_level="error")
    yield made
    ray.shutdown()
    made.shutdown()
    del os.environ["PYTHONPATH"]


def _request(path: Path, **settings: Any) -> Request:
    return Request(
        model=folder.saved(path / "model"),
        corpus=folder.corpus(6000),
        settings=Settings(**{"contexts": (16, 32)} | settings),
        recipes=RECIPES,
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_precision_on_a_cluster_stops_where_one_process_stops(cluster: Any, tmp_path: Path) -> None:
    asked = _request(tmp_path, precision=0.03, contexts=(32,))
    alone = run(asked)
    done: list[int] = []
    together = run(asked, launcher="ray", progress=lambda *a: done.append(a[0]))
    assert timeless(together).cells[1:] == timeless(alone).cells[1:]
    assert done[-1] == 32 * sum(len(c.scores) for c in together.cells)  # and no window more
    assert any(c.stopped for c in together.cells)
    # Its cells decide by themselves, so they are given the base of the whole text.
    assert set(alone.cells[0].scores) <= set(together.cells[0].scores)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_errors_of_a_cell_and_of_the_model_come_back(cluster: Any, tmp_path: Path) -> None:
    asked = replace(_request(tmp_path, contexts=(32,)), recipes=(FROM_NOWHERE, "int8:sym"))
    found = run(asked, launcher="ray")
    assert [f.recipe for f in found.failures] == [FROM_NOWHERE]
    assert found.failures == run(asked).failures
    assert timeless(found).cells == timeless(run(asked)).cells
    with pytest.raises(UsageError, match="the context length is 1"):
        run(replace(asked, settings=Settings(contexts=(1,))), launcher="ray")
    with pytest.raises(UsageError, match="cannot travel"):
        run(replace(asked, model=object()), launcher="ray")
    with pytest.raises(UsageError, match="cluster has no GPU"):
        run(_request(tmp_path, device="cuda"), launcher="ray")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_killed_workers_cost_no_cell(cluster: Any, tmp_path: Path) -> None:
    asked = _request(tmp_path)
    alone = run(asked)
    ray = launcher("ray")
    processes: list[int] = []
    take = ray.next

    def next_and_kill() -> Part | Ended:
        found = take()
        if isinstance(found, Part) and found.where["process"] not in processes:
            processes.append(found.where["process"])
            if len(processes) == 1:  # it works on its next cell by now
                os.kill(processes[0], signal.SIGKILL)
        if isinstance(found, Ended) and found.task == 5:
            cluster.remove_node(cluster.workers[1], allow_graceful=False)
        return found

    ray.next = next_and_kill  # type: ignore[method-assign]
    with Store(tmp_path / "s.jsonl") as store:
        together = run(asked, launcher=ray, store=store)
    assert timeless(together) == timeless(alone)
    assert not together.failures
    assert len(processes) >= 2
    with Store(tmp_path / "s.jsonl") as store:
        again = run(asked, store=store)
        assert again.cells == together.cells


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cell_asks_for_a_gpu_where_there_are_any(cluster: Any) -> None:
    ray = launcher("ray")
    order = Order(model="m", corpus="c", settings=Settings())
    assert ray._request(order) == {"num_cpus": 1}  # type: ignore[attr-defined]
    node = cluster.add_node(num_cpus=1, num_gpus=4)
    try:
        ask = {
            device: ray._request(replace(order, settings=Settings(device=device)))  # type: ignore[attr-defined]
            for device in (None, "cuda", "cuda:1", "auto", "cpu")
        }
    finally:
        cluster.remove_node(node)
    one = {"num_gpus": 1}
    assert ask == {
        None: one, "cuda": one, "cuda:1": one, "auto": {"num_gpus": 4}, "cpu": {"num_cpus": 1}
    }  # fmt: skip
