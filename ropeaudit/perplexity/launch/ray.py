"""``--launcher ray``: cells are tasks of a Ray cluster, spread over its processors and GPUs.

A task asks for one GPU where the cluster has any (all of a machine's for ``--device auto``), else
for one processor. Ray gives the tasks of a process or machine that dies to another one; an error of
the machine (of CUDA, say) is tried again too, an error of the cell is not. Results come back to the
process that asked, which alone writes the store. Every machine needs ropeaudit with the same
versions of torch and transformers, and the model under the same path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import MissingDependency, RopeAuditError, UsageError, quoted
from ropeaudit.perplexity import environment
from ropeaudit.perplexity.launch import _work
from ropeaudit.perplexity.launch.interface import Ended, Order, Part, Prepared, Task
from ropeaudit.records import record, replace

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded

RETRIES = 3
"""How often a task is started again after its process, its machine or CUDA has failed."""


@record(kw_only=True)
class _Expected:
    """What a worker must find, so that all cells are of one model and one set of versions."""

    digest: str
    versions: Mapping[str, str]


class Ray:
    """Sends tasks to a cluster; a task's parts arrive together when it has ended."""

    capacity = 1024
    streams = False

    def __init__(self, address: str | None) -> None:
        self._ray = _imported()
        self._address = address
        self._own = not self._ray.is_initialized()
        self._connect()
        self._order: Order | None = None
        self._shared: tuple[Any, ...] = ()
        self._remote: Any = None
        self._flying: dict[Any, int] = {}
        self._arrived: list[Part | Ended] = []

    def _connect(self) -> None:
        if not self._ray.is_initialized():
            _connect(self._ray, self._address)

    def prepare(self, order: Order) -> Prepared:
        self._connect()
        if not isinstance(order.model, str):
            raise UsageError(
                "a model in memory cannot travel to a cluster; save it and give its folder"
            )
        path = Path(order.model)
        if path.exists():
            order = replace(order, model=str(path.resolve()))
        options = {**self._request(order), "max_retries": RETRIES, "scheduling_strategy": "SPREAD"}
        try:
            found = self._ray.get(self._ray.remote(_prepare).options(**options).remote(order))
        except Exception as error:
            said = _work.failed(0, getattr(error, "cause", None) or error).message
            raise UsageError(
                f"the cluster cannot load the model: {quoted(said, 300)}; every machine of it "
                "needs ropeaudit[ppl,ray]"
            ) from None
        if isinstance(found, RopeAuditError):
            raise found
        prepared: Prepared = found
        versions = {name: prepared.environment[name] for name in environment.DECIDING}
        expected = _Expected(digest=prepared.digest, versions=versions)
        self._order = order
        self._shared = (order, expected, self._ray.put(prepared.ids))
        self._remote = self._ray.remote(_cell).options(**options, retry_exceptions=True)
        return prepared

    def _request(self, order: Order) -> dict[str, float]:
        device = order.settings.device
        gpus = [n["Resources"].get("GPU", 0) for n in self._ray.nodes() if n["Alive"]]
        most = max(gpus, default=0)
        if not most or (device is not None and device.partition(":")[0] not in ("cuda", "auto")):
            if device is not None and device.startswith("cuda"):
                raise UsageError("the Ray cluster has no GPU; use --device cpu")
            return {"num_cpus": 1}
        return {"num_gpus": most if device == "auto" else 1}

    def submit(self, task: Task) -> None:
        order, expected, ids = self._shared
        self._flying[self._remote.remote(order, expected, ids, task)] = task.number

    def next(self) -> Part | Ended:
        while not self._arrived:
            done, _ = self._ray.wait(list(self._flying), num_returns=1)
            number = self._flying.pop(done[0])
            try:
                self._arrived += self._ray.get(done[0])
            except Exception as error:
                cause = getattr(error, "cause", None)
                self._arrived.append(_work.failed(number, cause or error))
        return self._arrived.pop(0)

    def stop(self, task: int) -> None:
        """Nothing to do: the only parts of a task are there when it has ended."""

    def close(self) -> None:
        for reference in self._flying:
            self._ray.cancel(reference, force=True)
        self._flying.clear()
        self._arrived.clear()
        if self._own and self._ray.is_initialized():
            self._ray.shutdown()


def start(address: str | None) -> Ray:
    """The launcher, connected: to ``address`` (``auto`` finds a cluster that runs on this machine),
    or to a cluster of this machine's own processors that ends with the run.

    Raises MissingDependency without ray and UsageError where no cluster answers.
    """
    return Ray(address)


def _imported() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingDependency(
            "the launcher ray needs ray; pip install 'ropeaudit[ray]'"
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    try:
        ray.init(address=address, log_to_driver=False, logging_level="error")
    except (ConnectionError, ValueError, RuntimeError, TimeoutError) as error:
        where = "" if address is None else f" at {quoted(address)}"
        said = quoted(str(error).strip().partition("\n")[0], 200)
        raise UsageError(
            f"no Ray cluster{where} answers: {said}; start one with ray start --head, or leave "
            "--address out"
        ) from None


@lru_cache(maxsize=1)
def _model(
    reference: str, device: str | None, dtype: str | None, offline: bool, contexts: Sequence[int]
) -> Loaded:
    """One model stays loaded in a worker process, for all its tasks.

    Ray ends processes that had a GPU after each task, so that its memory is free for the next.
    """
    from ropeaudit.perplexity import loading

    return loading.load(reference, device=device, dtype=dtype, offline=offline, contexts=contexts)


def _loaded(order: Order) -> Loaded:
    settings = order.settings
    # Ray shows a task its own GPUs only, so the number in cuda:1 means nothing there.
    device = "cuda" if (settings.device or "").startswith("cuda") else settings.device
    return _model(order.model, device, settings.dtype, order.offline, settings.contexts)


def _prepare(order: Order) -> Prepared | RopeAuditError:
    """Runs in a worker; an error of the user's is a value, so that Ray does not try again."""
    try:
        return _work.prepared(order, _loaded(order))
    except RopeAuditError as error:
        return error


def _cell(
    order: Order, expected: _Expected, ids: tuple[int, ...], task: Task
) -> list[Part | Ended]:
    """Runs in a worker: all parts of a task, and its end."""
    found: list[Part | Ended] = []
    try:
        loaded = _loaded(order)
        _require(expected, loaded.digest, environment.versions())
        made = _work.parts(loaded, ids, task, bos=order.settings.bos, batch=order.batch)
        with closing(made):
            found += _work.until(made, task.stop)
    except RopeAuditError as error:
        found.append(_work.failed(task.number, error))
    except Exception:
        _model.cache_clear()
        raise
    else:
        found.append(Ended(task=task.number))
    return found


def _require(expected: _Expected, digest: str, versions: Mapping[str, str]) -> None:
    import platform

    where = f"the machine {quoted(platform.node())}"
    if digest != expected.digest:
        raise UsageError(
            f"{where} has another model under the same path than the first one had; copy the "
            "model anew"
        )
    for name, version in expected.versions.items():
        if versions[name] != version:
            raise UsageError(
                f"{where} has {name} {versions[name]}, and the first one {version}; install the "
                "same version"
            )
