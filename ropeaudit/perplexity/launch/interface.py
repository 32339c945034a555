"""What a launcher is given and what it gives back: plain values that can travel."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.perplexity.records import Corpus, Settings, Window, WindowScore
from ropeaudit.perturb.variant import Variant
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule


@record(kw_only=True)
class Order:
    """What a launcher has to load. ``model``: a reference, or a ``loading.Loaded`` in memory."""

    model: Any
    corpus: str | Corpus
    settings: Settings
    offline: bool = False
    batch: int | None = None


@record(kw_only=True)
class Prepared:
    """Model and text as they were found, without the weights.

    ``windows``: those of each context length, in the text's order. ``tokens``, ``words`` and
    ``bytes`` are of what the windows of all lengths score together.
    """

    model: str
    digest: str
    schedules: tuple[Schedule, ...]
    corpus: Corpus
    ids: tuple[int, ...]
    windows: Mapping[int, tuple[Window, ...]]
    environment: Mapping[str, Any]
    tokens: int = 0
    words: int = 0
    bytes: int = 0
    notes: tuple[str, ...] = ()


@record(kw_only=True)
class Stop:
    """When a cell is decided, for a launcher that cannot be told so in a task's middle.

    The arguments of ``Sequential``, the (difference, targets) that it has ``seen``, and the base's
    scores of the windows to come.
    """

    precision: float | None
    threshold: float | None
    population: int
    seen: tuple[tuple[float, int], ...]
    base: Mapping[int, WindowScore]


@record(kw_only=True)
class Task:
    """Blocks of windows to score under one variant; ``number`` tells it from other tasks."""

    number: int
    variant: Variant | None
    blocks: tuple[tuple[Window, ...], ...]
    stop: Stop | None = None


@record(kw_only=True)
class Part:
    """Scores of one block of a task. ``where`` names the process and device that made them."""

    task: int
    scores: tuple[WindowScore, ...]
    seconds: float
    peak_bytes: int
    where: Mapping[str, Any] = field(default_factory=dict)


@record(kw_only=True)
class Ended:
    """A task has no more parts; ``kind`` and ``message`` of the error that ended it, if one did."""

    task: int
    kind: str | None = None
    message: str = ""


class Launcher(Protocol):
    """Measures the tasks of one run after another, from ``prepare`` to ``close``; for one thread.

    ``capacity``: tasks that are taken at once. ``streams``: whether parts come as they are made, so
    that ``stop`` saves anything; the tasks of others carry their own :class:`Stop`.
    """

    capacity: int
    streams: bool

    def prepare(self, order: Order) -> Prepared:
        """Load model and text; raises as ``loading.load`` and ``corpora.load`` do."""

    def submit(self, task: Task) -> None:
        """Take a task; at most ``capacity`` of them before their ends."""

    def next(self) -> Part | Ended:
        """Wait for the next part or end of any task; all parts of a task come before its end."""

    def stop(self, task: int) -> None:
        """Give up a task; its end may or may not come from ``next`` any more."""

    def close(self) -> None:
        """End the run and give up what is in flight; may be called twice, and prepared again."""


def names() -> tuple[str, ...]:
    """Launchers found in the folder."""
    package = import_module("ropeaudit.perplexity.launch")
    found = (info.name for info in pkgutil.iter_modules(package.__path__))
    return tuple(sorted(n for n in found if n[0] != "_" and n != "interface"))


def launcher(name: str, *, address: str | None = None) -> Launcher:
    """A launcher by its name; ``address`` is where its cluster is, for those that have one.

    Raises UsageError for an unknown name, and what the launcher raises where it cannot start.
    """
    if name not in names():
        near = suggestion(name, names()) or f"; known: {', '.join(names())}"
        raise UsageError(f"no launcher {quoted(name)}{near}")
    module = import_module(f"ropeaudit.perplexity.launch.{name}")
    found: Launcher = module.start(address)
    return found
