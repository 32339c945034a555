"""Log-loss of windows of tokens under a model, in little memory.

Hidden states are computed for a few windows, logits for a few rows of them: a matrix of length x
vocabulary never exists. Where memory runs out, both shrink and the run goes on.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.perplexity import _head, _memory, _slots
from ropeaudit.perplexity.records import Window, WindowScore, bucket_edges
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded

CPU_TOKENS = 2048
GPU_TOKENS = 16384
"""Tokens that go through the body at once, where a window is shorter than that."""
CHUNK_BYTES = {"float32": 64 << 20, "bfloat16": 12 << 20, "float16": 12 << 20}
GPU_CHUNK_BYTES = 512 << 20
"""Size of the logits, in the model's dtype, that exist at one time. In half precision a processor
is quicker with what its cache holds; in single precision the product takes the time."""
MIN_ROWS = 128
"""Rows that repay one pass over the weights of the head, however large the vocabulary is."""


@record(frozen=False, kw_only=True)
class _Sizes:
    """What is tried at once; shrinks where memory does not suffice, and stays so."""

    batch: int
    rows: int


def score(
    loaded: Loaded,
    ids: Sequence[int],
    windows: Sequence[Window],
    *,
    bos: bool = False,
    batch: int | None = None,
) -> Iterator[WindowScore]:
    """Score ``windows`` of the text ``ids`` in their order, with the tables now in the model.

    ``bos``: each window's first token is replaced by the model's BOS. ``batch``: windows that go
    through the model at once, None by the device; it changes no number beyond rounding. Log-loss is
    in nats, in float32 for each target and summed in float64. Raises UsageError for windows beyond
    the text, ids beyond the vocabulary, a model without BOS where one is asked for, NaN logits
    (with the layer where they began) and one window that does not fit into memory.
    """
    _require(loaded, ids, windows, bos)
    if batch is not None and batch < 1:
        raise UsageError(f"the batch is {quoted(batch)}, expected at least 1 window")
    return _scores(loaded, ids, windows, bos, batch)


def _scores(
    loaded: Loaded, ids: Sequence[int], windows: Sequence[Window], bos: bool, batch: int | None
) -> Iterator[WindowScore]:
    sizes = _Sizes(batch=batch or 0, rows=_rows(loaded))
    at = 0
    while at < len(windows):
        length = windows[at].length
        want = sizes.batch or max(1, _tokens(loaded) // length)
        many = windows[at : at + want]
        same = next((n for n, w in enumerate(many) if w.length != length), len(many))
        done = _batch(loaded, ids, many[:same], bos, sizes)
        yield from done
        at += len(done)


def _batch(
    loaded: Loaded, ids: Sequence[int], windows: Sequence[Window], bos: bool, sizes: _Sizes
) -> list[WindowScore]:
    """Scores of the first windows, as many as fit into memory together."""
    import torch

    while True:
        rows = [list(ids[w.start : w.start + w.length]) for w in windows]
        if bos and loaded.bos_token_id is not None:
            for row in rows:
                row[0] = loaded.bos_token_id
        tokens = torch.tensor(rows, dtype=torch.long, device=loaded.device)

        def states(tokens: Any = tokens) -> Any:
            with _slots.alone(loaded.slots):
                return _head.hidden(loaded.model, tokens)

        output = _memory.attempt(states)
        if output is None:
            if len(windows) == 1:
                raise UsageError(
                    f"one window of {windows[0].length} tokens does not fit into memory; take a "
                    "shorter context, --dtype bfloat16 or --device auto"
                )
            windows = windows[: len(windows) // 2]
            sizes.batch = len(windows)
            continue
        losses = _losses(loaded, output, tokens, [w.first for w in windows], sizes)
        found = [_scored(w, x) for w, x in zip(windows, losses, strict=True)]
        wrong = next((n for n, s in enumerate(found) if not math.isfinite(s.nll)), None)
        if wrong is not None:
            from ropeaudit.perplexity import _nan

            raise _nan.explained(loaded, tokens[wrong : wrong + 1], windows[wrong].index)
        return found


def _losses(
    loaded: Loaded, output: Any, tokens: Any, firsts: Sequence[int], sizes: _Sizes
) -> list[Any]:
    """For each window the log-loss of its targets ``first .. length - 1``, float64 on the CPU."""
    import torch

    states = output.last_hidden_state
    found = []
    with _head.head_of(loaded.model, output) as logits:
        for n, first in enumerate(firsts):
            inputs, targets = states[n, first - 1 : -1], tokens[n, first:]
            parts, at = [], 0
            while at < len(targets):
                stop = at + sizes.rows
                part = _memory.attempt(_loss_of(logits, inputs[at:stop], targets[at:stop]))
                if part is None:
                    if sizes.rows == 1:
                        raise UsageError(
                            "the logits of one token do not fit into memory; close other programs"
                        )
                    sizes.rows = max(1, min(sizes.rows, len(targets)) // 2)
                    continue
                parts.append(part)
                at = stop
            found.append(torch.cat(parts).double().cpu())
    return found


def _loss_of(logits: Callable[[Any], Any], states: Any, targets: Any) -> Callable[[], Any]:
    from torch.nn.functional import cross_entropy

    def loss() -> Any:
        found = logits(states).float()  # also of half-precision logits: the sum needs the digits
        return cross_entropy(found, targets.to(found.device), reduction="none")

    return loss


def _scored(window: Window, losses: Any) -> WindowScore:
    """Sums of one window; bucket k holds targets from edge k up to the next edge."""
    values = losses.tolist()
    edges = [*bucket_edges(window.length), window.length]
    buckets = []
    for low, high in pairwise(edges):
        part = values[max(low - window.first, 0) : max(high - window.first, 0)]
        buckets.append((len(part), math.fsum(part)))
    return WindowScore(
        index=window.index, tokens=len(values), nll=math.fsum(values), buckets=tuple(buckets)
    )


def _tokens(loaded: Loaded) -> int:
    return CPU_TOKENS if loaded.device == "cpu" else GPU_TOKENS


def _rows(loaded: Loaded) -> int:
    width = 4 if loaded.dtype == "float32" else 2
    room = CHUNK_BYTES.get(loaded.dtype, 0) if loaded.device == "cpu" else GPU_CHUNK_BYTES
    return max(MIN_ROWS, room // (width * loaded.vocabulary))


def _require(loaded: Loaded, ids: Sequence[int], windows: Sequence[Window], bos: bool) -> None:
    if bos and loaded.bos_token_id is None:
        raise UsageError(
            f"{quoted(loaded.reference)} has no BOS token to put before each window; leave BOS out"
        )
    for window in windows:
        if window.start < 0 or window.start + window.length > len(ids):
            raise UsageError(
                f"window {window.index} ends at token {window.start + window.length}, and the text "
                f"has {len(ids)} tokens; take a shorter context or a longer text"
            )
        held = min((s.positions for s in loaded.slots if s.positions), default=window.length)
        if window.length > held:
            raise UsageError(
                f"window {window.index} has {window.length} tokens, and the model holds angles for "
                f"{held} positions only; take a shorter context"
            )
        if not 1 <= window.first < window.length:
            raise UsageError(
                f"window {window.index} of {window.length} tokens has no target from token "
                f"{window.first} on; take a longer context"
            )
    low, high = min(ids, default=0), max(ids, default=0)
    if low < 0 or high >= loaded.vocabulary:
        raise UsageError(
            f"the text holds the token id {low if low < 0 else high}, and the model knows ids 0 to "
            f"{loaded.vocabulary - 1}; the tokenizer does not belong to this model"
        )


def peak_bytes(loaded: Loaded) -> int:
    """The most memory that was in use at once, in bytes: of the GPU, else of this process.

    Of a process it counts from its start on, of GPUs from the last ``reset_peak``.
    """
    return _memory.peak(loaded.device)


def reset_peak(loaded: Loaded) -> None:
    """Count GPU memory anew; a process's own peak cannot be reset."""
    _memory.reset_peak(loaded.device)
