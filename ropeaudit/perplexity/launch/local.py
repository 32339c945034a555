"""``--launcher local``: one cell after another, in this process."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.launch import _work
from ropeaudit.perplexity.launch.interface import Ended, Order, Part, Prepared, Task

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded


EVERY = 5.0
"""Seconds after which scores are handed on within a block: what an interrupt costs at most, beside
the windows that are in the model at once."""


class Local:
    """Holds the model, also for the next run with it; parts come one by one, as ``next`` asks."""

    capacity = 1
    streams = True

    def __init__(self) -> None:
        self._loaded: Loaded | None = None
        self._order: Order | None = None
        self._ids: tuple[int, ...] = ()
        self._task: Task | None = None
        self._parts: Generator[Part, None, None] | None = None

    def prepare(self, order: Order) -> Prepared:
        if self._order is None or _asked(self._order) != _asked(order):
            self._order = self._loaded = None  # before the next one takes its place in memory
            self._loaded = _work.model(order)
        assert self._loaded is not None
        self._order = order
        found = _work.prepared(order, self._loaded)
        self._ids = found.ids
        return found

    def submit(self, task: Task) -> None:
        assert self._order is not None
        assert self._loaded is not None
        assert self._task is None
        self._task = task
        self._parts = _work.parts(
            self._loaded,
            self._ids,
            task,
            bos=self._order.settings.bos,
            batch=self._order.batch,
            every=EVERY,
        )

    def next(self) -> Part | Ended:
        assert self._parts is not None
        assert self._task is not None
        number = self._task.number
        try:
            return next(self._parts)
        except StopIteration:
            ended = Ended(task=number)
        except Exception as error:
            ended = _work.failed(number, error)
        self._task = self._parts = None
        return ended

    def stop(self, task: int) -> None:
        if self._task is not None and self._task.number == task:
            self.close()

    def close(self) -> None:
        parts, self._parts, self._task = self._parts, None, None
        if parts is not None:
            parts.close()  # puts the model's tables back


def _asked(order: Order) -> tuple[Any, ...]:
    """What decides which model is loaded, and how."""
    settings = order.settings
    known = order.model if isinstance(order.model, str) else id(order.model)
    return known, settings.device, settings.dtype, settings.contexts, order.offline


def start(address: str | None) -> Local:
    """The launcher; raises UsageError for an address, which it has no use for."""
    if address is not None:
        raise UsageError("the launcher local has no cluster; leave --address out, or use ray")
    return Local()
