"""What is measured, on what, and what came out. Plain values only: no torch in here.

One *run* is a model, a text and settings; its *cells* are (variant, context length) pairs, each
scored window by window on the same windows as the unchanged base.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ropeaudit.records import field, record

SCORINGS = ("full", "second-half", "strided")
"""``full``: all L-1 targets of a window; ``second-half``: targets L/2+1 .. L-1 (llama.cpp's
perplexity tool); ``strided``: windows of L advanced by a stride, only new tokens scored (the recipe
of the transformers documentation, weighted by tokens)."""

DTYPES = ("float32", "bfloat16", "float16")


@record(kw_only=True)
class Settings:
    """How cells are measured; every field that decides a window's score is part of a cell's key.

    ``contexts``: window lengths L in tokens. ``windows``: windows a cell scores (None: all that the
    text holds). ``offset``: tokens skipped at the start of the text. ``stride``: only for strided
    scoring (default L/2). ``bos``: whether each window's first token is replaced by the model's BOS
    (llama.cpp does so where the model asks for it). ``precision``: relative half width of the
    interval at which a cell may stop (0.005 = 0.5 %), None to score every window. ``threshold``: an
    inflation, such as 1.05; a cell also stops when its interval excludes it. ``seed`` orders the
    windows. ``dtype`` None is float32 on CPU and the checkpoint's own on a GPU.
    """

    contexts: tuple[int, ...] = (2048,)
    windows: int | None = None
    offset: int = 0
    scoring: str = "full"
    stride: int | None = None
    bos: bool = False
    precision: float | None = None
    threshold: float | None = None
    seed: int = 0
    dtype: str | None = None
    device: str | None = None


@record(kw_only=True)
class Corpus:
    """A text: ``sha256`` of its UTF-8 bytes; ``source`` names file, data set and revision."""

    name: str
    text: str = field(compare=False)
    sha256: str
    source: str


@record(kw_only=True)
class Window:
    """Tokens ``start .. start + length - 1`` of the text; targets ``first .. length - 1`` count.

    A target t (1 <= t < length) is the window's token t, predicted from those before it.
    """

    index: int
    start: int
    length: int
    first: int = 1


@record(kw_only=True)
class WindowScore:
    """Log-loss of one window in nats: ``nll`` over ``tokens`` targets.

    ``buckets`` are (tokens, nll) for targets in the position buckets of :func:`bucket_edges`.
    """

    index: int
    tokens: int
    nll: float
    buckets: tuple[tuple[int, float], ...] = ()


@record(kw_only=True)
class Cell:
    """One variant at one length. ``recipe`` is None for the base.

    ``inflation`` is the ratio of perplexities to the base on the same windows, with its 95 %
    interval (None where fewer than two windows leave none). ``max_abs_dlog`` and
    ``max_phase_drift`` say how far the table was moved (at this context). ``stopped``: whether
    ``precision`` ended the cell before the text did.
    """

    recipe: str | None
    schedule_id: str
    context: int
    scores: tuple[WindowScore, ...]
    inflation: float = 1.0
    inflation_ci95: tuple[float, float] | None = (1.0, 1.0)
    max_abs_dlog: float = 0.0
    max_phase_drift: float = 0.0
    seconds: float = 0.0
    peak_bytes: int = 0
    stopped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(s.tokens for s in self.scores)

    @property
    def nll_sum(self) -> float:
        return math.fsum(s.nll for s in self.scores)


@record(kw_only=True)
class Failure:
    """A cell that could not be measured, and why; ``kind`` is the error's machine-readable name."""

    recipe: str | None
    context: int
    kind: str
    message: str


@record(kw_only=True)
class Result:
    """A whole run, as reports show it.

    ``words`` and ``bytes`` of the scored text let perplexities be given per word and per byte: they
    are of the ``tokens`` of text that the windows of all lengths score together.
    ``environment``: versions, device, dtype, threads. ``failures``: cells that are missing because
    of an error. ``interrupted``: whether the run was ended from outside; cells may then be missing,
    or hold fewer windows than asked for.
    """

    model: str
    corpus: Corpus
    settings: Settings
    cells: tuple[Cell, ...]
    environment: Mapping[str, Any]
    tokens: int = 0
    words: int = 0
    bytes: int = 0
    notes: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    interrupted: bool = False


def bucket_edges(length: int) -> tuple[int, ...]:
    """Starts of the position buckets of a window: 0, 16, 64, 256, ... below ``length``."""
    edges, edge = [0], 16
    while edge < length:
        edges.append(edge)
        edge *= 4
    return tuple(edges)
