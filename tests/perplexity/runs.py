"""Requests on a tiny random model, and a launcher that counts what it is given."""

from __future__ import annotations

from typing import Any

from ropeaudit.perplexity.launch.interface import Ended, Part, Task
from ropeaudit.perplexity.launch.local import Local
from ropeaudit.perplexity.loading import Loaded, of_model
from ropeaudit.perplexity.records import Result, Settings
from ropeaudit.perplexity.run import Request
from ropeaudit.records import replace
from tests.perplexity import folder, tiny

RECIPES = ("int4:sym", "noise:eps=0.01,seed=0")
TEXT = folder.corpus(1400)
FROM_NOWHERE = "cluster:at=0,codim=2,gap=1,to=1e38"  # angles beyond float32: NaN


def model() -> Loaded:
    """A Llama with a tokenizer, in memory."""
    return of_model(tiny.llama(), folder.tokenizer(), digest="d", contexts=(16, 32))


def request(loaded: Loaded, *recipes: str, **settings: Any) -> Request:
    given = {"contexts": (32,)} | settings
    return Request(
        model=loaded, corpus=TEXT, settings=Settings(**given), recipes=recipes or RECIPES
    )


def timeless(result: Result) -> Result:
    """Everything but what a clock or the memory said, and the threads: Ray gives a worker one."""
    cells = tuple(replace(c, seconds=0.0, peak_bytes=0) for c in result.cells)
    environment = {k: v for k, v in result.environment.items() if k != "threads"}
    return replace(result, cells=cells, environment=environment, notes=())


class Counting(Local):
    """Counts windows and tasks, and is interrupted where it is told to."""

    def __init__(self, *, interrupt_at: int | None = None) -> None:
        super().__init__()
        self.windows = 0
        self.interrupt_at = interrupt_at
        self.variants: list[str | None] = []

    def submit(self, task: Task) -> None:
        self.variants.append(None if task.variant is None else task.variant.recipe.text)
        super().submit(task)

    def next(self) -> Part | Ended:
        if self.interrupt_at is not None and self.windows >= self.interrupt_at:
            raise KeyboardInterrupt
        found = super().next()
        if isinstance(found, Part):
            self.windows += len(found.scores)
        return found
