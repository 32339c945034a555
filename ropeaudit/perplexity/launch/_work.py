"""The work itself, in the process that holds the model."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from ropeaudit.errors import RopeAuditError
from ropeaudit.perplexity import environment
from ropeaudit.perplexity.launch import _text
from ropeaudit.perplexity.launch.interface import Ended, Order, Part, Prepared, Stop, Task
from ropeaudit.perplexity.records import Window, WindowScore
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded


def model(order: Order) -> Loaded:
    """The model of an order: loaded now, or the one in memory."""
    from ropeaudit.perplexity import loading

    if isinstance(order.model, loading.Loaded):
        return order.model
    settings = order.settings
    return loading.load(
        order.model,
        device=settings.device,
        dtype=settings.dtype,
        offline=order.offline,
        contexts=settings.contexts,
    )


def parts(
    loaded: Loaded,
    ids: Sequence[int],
    task: Task,
    *,
    bos: bool,
    batch: int | None,
    every: float = math.inf,
) -> Generator[Part, None, None]:
    """Score a task's blocks; the model is restored when the iterator ends.

    A part ends with its block, and within one after ``every`` seconds. What is scored together does
    not depend on that, so neither do the numbers.
    """
    from ropeaudit.perplexity.evaluate import peak_bytes, reset_peak, score
    from ropeaudit.perplexity.patch import swapped

    where = {
        "host": platform.node(),
        "process": os.getpid(),
        "device": environment.device_name(loaded.device),
    }
    started = time.perf_counter()
    reset_peak(loaded)
    with swapped(loaded, task.variant):
        for block in task.blocks:
            text, windows = _cut(ids, block)
            found: list[WindowScore] = []
            left = len(windows)
            for one in score(loaded, text, windows, bos=bos, batch=batch):
                found.append(one)
                left -= 1
                now = time.perf_counter()
                if left and now - started < every:
                    continue
                yield Part(
                    task=task.number,
                    scores=tuple(found),
                    seconds=now - started,
                    peak_bytes=peak_bytes(loaded),
                    where=where,
                )
                started, found = now, []


def until(found: Iterator[Part], stop: Stop | None) -> Iterator[Part]:
    """Parts, one for each block, up to the one that decides the cell."""
    if stop is None:
        yield from found
        return
    from ropeaudit.perplexity.statistics.sequence import Sequential

    test = Sequential(stop.precision, stop.threshold, population=stop.population)
    for difference, targets in stop.seen:
        test.add(difference, targets)
    for part in found:
        yield part
        for score in part.scores:
            test.add(score.nll - stop.base[score.index].nll, score.tokens)
        if test.done:
            return


def _cut(ids: Sequence[int], block: Sequence[Window]) -> tuple[list[int], list[Window]]:
    """The tokens of a block's windows one after another, and the windows in them.

    A text may be millions of tokens long, and whoever scores a block looks through all it is given.
    """
    text: list[int] = []
    windows = []
    for window in block:
        windows.append(replace(window, start=len(text)))
        text += ids[window.start : window.start + window.length]
    return text, windows


def failed(task: int, error: Exception) -> Ended:
    """The end of a task by an error, foreseen or not: other cells are not to be lost with it."""
    if isinstance(error, RopeAuditError):
        return Ended(task=task, kind=error.kind, message=str(error))
    said = " ".join(str(error).split())
    return Ended(task=task, kind="unexpected", message=f"{type(error).__name__}: {said[:500]}")


def prepared(order: Order, loaded: Loaded) -> Prepared:
    """Text and windows for a model that is loaded."""
    found = _text.read(order, loaded)
    return Prepared(
        model=loaded.reference,
        digest=loaded.digest,
        schedules=loaded.schedules,
        corpus=found.corpus,
        ids=found.ids,
        windows=found.windows,
        tokens=found.tokens,
        words=found.words,
        bytes=found.bytes,
        environment=environment.of(loaded),
        notes=(*(n.message for n in loaded.notes), *found.notes),
    )
