"""Scores against a plain loop with all logits, buckets, batches, lack of memory, and NaN."""

from __future__ import annotations

import math
import subprocess
import sys
import textwrap
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perplexity import _head, evaluate, loading
from ropeaudit.perplexity.records import Window, WindowScore, bucket_edges
from ropeaudit.records import replace
from tests.perplexity import tiny

torch = tiny.torch


def score(model: Any, ids: list[int], windows: Any, **options: Any) -> list[WindowScore]:
    return list(evaluate.score(loading.of_model(model), ids, windows, **options))


@pytest.mark.parametrize("kind", tiny.KINDS)
def test_equals_the_plain_loop(kind: str) -> None:
    model = tiny.KINDS[kind]()
    ids = tiny.text(200)
    for window, got in zip(tiny.windows(60), score(model, ids, tiny.windows(60)), strict=True):
        wanted = tiny.plain(model, ids, window)
        assert got.tokens == len(wanted) == 59
        assert got.nll == pytest.approx(math.fsum(wanted), rel=1e-5)
        assert got.nll / got.tokens > 1.0  # wide weights: nothing is near the uniform guess


@pytest.mark.parametrize("kind", ["gemma2", "gemma3", "cohere", "granite", "llama", "tied"])
def test_the_head_is_the_models_own(kind: str) -> None:
    """Soft caps and scales change the logits of these models and are kept; bitwise on the CPU."""
    options = {"final_logit_softcapping": 2.0} if kind == "gemma3" else {}
    model = tiny.KINDS[kind](**options)
    ids = torch.tensor([tiny.text(24)])
    with torch.inference_mode():
        whole = model(input_ids=ids).logits[0]
        output = _head.hidden(model, ids)
        with _head.head_of(model, output) as logits:
            parts = torch.cat(
                [logits(output.last_hidden_state[0, n : n + 6]) for n in (0, 6, 12, 18)]
            )
        bare = model.get_output_embeddings()(output.last_hidden_state[0])
    torch.testing.assert_close(parts, whole, rtol=1e-6, atol=1e-6)
    scaled = kind in ("gemma2", "gemma3", "cohere", "granite")
    assert torch.allclose(bare, whole, rtol=1e-3, atol=1e-3) is not scaled
    assert "forward" not in _head.body(model).__dict__


def test_a_head_that_raises_leaves_the_body_as_it_was() -> None:
    model = tiny.llama()
    ids = torch.tensor([tiny.text(8)])
    with pytest.raises(KeyboardInterrupt), _head.head_of(model, _head.hidden(model, ids)):
        raise KeyboardInterrupt
    assert model(input_ids=ids).logits.shape == (1, 8, tiny.VOCABULARY)


def test_chunks_of_rows_change_nothing_but_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    model, ids = tiny.llama(), tiny.text(130)
    whole = score(model, ids, tiny.windows(64))
    monkeypatch.setattr(evaluate, "CHUNK_BYTES", {"float32": 4 * tiny.VOCABULARY * 5})
    monkeypatch.setattr(evaluate, "MIN_ROWS", 1)
    seen = []
    monkeypatch.setattr(
        evaluate, "_loss_of", lambda logits, states, targets, made=evaluate._loss_of: (
            seen.append(len(targets)) or made(logits, states, targets)
        ),
    )  # fmt: skip
    parts = score(model, ids, tiny.windows(64))
    assert seen == ([5] * 12 + [3]) * 2
    for a, b in zip(whole, parts, strict=True):
        assert a.nll == pytest.approx(b.nll, rel=1e-6)


@pytest.mark.parametrize("kind", ["llama", "gemma3", "phi3"])
def test_batch_changes_nothing_but_rounding(kind: str) -> None:
    model, ids = tiny.KINDS[kind](), tiny.text(300)
    windows = [*tiny.windows(48, 4), Window(index=9, start=3, length=20), *tiny.windows(70, 2)]
    by_batch = [score(model, ids, windows, batch=n) for n in (1, 3, 16, None)]
    assert [s.index for s in by_batch[0]] == [0, 1, 2, 3, 9, 0, 1]
    for other in by_batch[1:]:
        for a, b in zip(by_batch[0], other, strict=True):
            assert (a.index, a.tokens) == (b.index, b.tokens)
            assert a.nll == pytest.approx(b.nll, rel=2e-6)


def test_same_inputs_same_numbers() -> None:
    loaded, ids = loading.of_model(tiny.dynamic(), contexts=(100,)), tiny.text(300)
    long, short = tiny.windows(100), tiny.windows(40)
    first = list(evaluate.score(loaded, ids, short))
    assert list(evaluate.score(loaded, ids, long)) != first
    # Dynamic scaling would go on with the long table.
    assert list(evaluate.score(loaded, ids, short)) == first


def test_buckets_hold_every_target_once() -> None:
    model, ids = tiny.llama(), tiny.text(200)
    for first in (1, 50, 16, 17):
        window = Window(index=4, start=7, length=100, first=first)
        (got,) = score(model, ids, [window])
        wanted = tiny.plain(model, ids, window)
        edges = [*bucket_edges(100), 100]
        assert edges == [0, 16, 64, 100]
        for k, (tokens, nll) in enumerate(got.buckets):
            inside = [t for t in range(first, 100) if edges[k] <= t < edges[k + 1]]
            assert tokens == len(inside)
            assert nll == pytest.approx(math.fsum(wanted[t - first] for t in inside), rel=1e-5)
        assert sum(n for n, _ in got.buckets) == got.tokens == 100 - first
        assert math.fsum(x for _, x in got.buckets) == pytest.approx(got.nll, rel=1e-12)


def test_bos_takes_the_place_of_the_first_token() -> None:
    model, ids = tiny.llama(), tiny.text(120)
    (window,) = tiny.windows(60, 1)
    (got,) = score(model, ids, [window], bos=True)
    assert got.nll == pytest.approx(math.fsum(tiny.plain(model, ids, window, bos=1)), rel=1e-6)
    (without,) = score(model, ids, [window])
    assert without.nll != pytest.approx(got.nll, rel=1e-4)


def test_inference_mode_ends_with_each_step() -> None:
    loaded = loading.of_model(tiny.llama())
    steps = evaluate.score(loaded, tiny.text(200), tiny.windows(50, 3), batch=1)
    next(steps)
    assert not torch.is_inference_mode_enabled()
    assert torch.ones(1, requires_grad=True).mul(2).requires_grad


def test_out_of_memory_halves_batch_and_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The allocation that fails is real: a pebibyte that no machine has."""
    model, ids = tiny.llama(), tiny.text(500)
    wanted = score(model, ids, tiny.windows(50, 8), batch=1)
    plain_hidden, plain_loss = _head.hidden, evaluate._loss_of
    sizes: list[tuple[str, int]] = []

    def hidden(model: Any, tokens: Any) -> Any:
        sizes.append(("batch", tokens.shape[0]))
        if tokens.shape[0] > 3:
            torch.empty(1 << 50, dtype=torch.uint8)
        return plain_hidden(model, tokens)

    def loss_of(logits: Any, states: Any, targets: Any) -> Any:
        sizes.append(("rows", len(targets)))
        if len(targets) > 13:
            return lambda: torch.empty(1 << 50, dtype=torch.uint8)
        return plain_loss(logits, states, targets)

    monkeypatch.setattr(_head, "hidden", hidden)
    monkeypatch.setattr(evaluate, "_loss_of", loss_of)
    loaded = loading.of_model(model)
    sizes.clear()
    got = list(evaluate.score(loaded, ids, tiny.windows(50, 8), batch=8))
    assert [n for what, n in sizes if what == "batch"] == [8, 4, 2, 2, 2, 2]
    assert [n for what, n in sizes if what == "rows"][:7] == [49, 24, 12, 12, 12, 12, 1]
    for a, b in zip(wanted, got, strict=True):
        assert (a.index, a.tokens) == (b.index, b.tokens)
        assert a.nll == pytest.approx(b.nll, rel=2e-6)


def test_one_window_beyond_memory_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = loading.of_model(tiny.llama())
    monkeypatch.setattr(_head, "hidden", lambda *_: torch.empty(1 << 50, dtype=torch.uint8))
    with pytest.raises(UsageError, match="one window of 50 tokens does not fit into memory"):
        list(evaluate.score(loaded, tiny.text(100), tiny.windows(50)))


def test_other_runtime_errors_are_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = loading.of_model(tiny.llama())

    def broken(*_: Any) -> Any:
        raise RuntimeError("shapes do not agree")

    monkeypatch.setattr(_head, "hidden", broken)
    with pytest.raises(RuntimeError, match="shapes do not agree"):
        list(evaluate.score(loaded, tiny.text(100), tiny.windows(50)))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is kept by Linux")
def test_goes_on_under_a_limit_of_memory() -> None:
    """A process that may not have what the first batch needs comes to the same numbers."""
    program = textwrap.dedent("""
        import resource, sys
        import torch
        from ropeaudit.perplexity import evaluate, loading
        from tests.perplexity import tiny
        torch.set_num_threads(1)
        loaded = loading.of_model(tiny.llama(max_position_embeddings=2048, intermediate_size=4096))
        ids = tiny.text(16 * 1024)
        windows = tiny.windows(1024, 16)
        free = list(evaluate.score(loaded, ids, windows, batch=1))
        pages = int(open("/proc/self/statm").read().split()[0])
        limit = pages * resource.getpagesize() + (160 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        tried = []
        plain = evaluate._head.hidden
        evaluate._head.hidden = lambda m, t: (tried.append(t.shape[0]), plain(m, t))[1]
        tight = list(evaluate.score(loaded, ids, windows, batch=16))
        assert tried[0] == 16 and tried[1] == 8, tried
        assert all(abs(a.nll - b.nll) < 1e-5 * a.nll for a, b in zip(free, tight, strict=True))
        print("batches", tried)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("batches [16, 8")


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("model.layers.1.mlp.up_proj.weight", r"layer 1 \(layers.1.mlp.up_proj\)"),
        ("model.layers.2.self_attn.q_proj.weight", r"layer 2 \(layers.2.self_attn.q_proj\)"),
        ("model.embed_tokens.weight", r"in embed_tokens, before the first layer"),
        ("lm_head.weight", "in the head, after the last layer"),
    ],
)
def test_nan_names_the_layer_where_it_begins(part: str, said: str) -> None:
    model = tiny.llama()
    with torch.no_grad():
        model.get_parameter(part)[5] = math.nan
    ids = [5, *tiny.text(99)]
    with pytest.raises(UsageError, match=f"window 0 is no finite number.*{said}"):
        score(model, ids, tiny.windows(50))


def test_nan_in_one_window_only() -> None:
    model = tiny.llama()
    with torch.no_grad():
        model.model.embed_tokens.weight[95] = math.nan
    ids = [t % 90 for t in tiny.text(150)]
    ids[120] = 95
    steps = evaluate.score(loading.of_model(model), ids, tiny.windows(50, 3), batch=1)
    assert [next(steps).index, next(steps).index] == [0, 1]
    with pytest.raises(UsageError, match="window 2 "):
        next(steps)


def test_bad_requests() -> None:
    loaded, ids = loading.of_model(tiny.llama()), tiny.text(100)
    cases = [
        (ids, tiny.windows(60), {}, "window 1 ends at token 120, and the text has 100 tokens"),
        ([*ids[:50], 96], tiny.windows(50, 1), {}, "token id 96, and the model knows ids 0 to 95"),
        ([-1, *ids], tiny.windows(50, 1), {}, "token id -1"),
        (ids, [Window(index=0, start=0, length=1)], {}, "has no target"),
        (ids, tiny.windows(50, 1, first=50), {}, "no target from token 50 on"),
        (ids, tiny.windows(50), {"batch": 0}, "batch is 0"),
    ]
    for given, windows, options, said in cases:
        with pytest.raises(UsageError, match=said):
            list(evaluate.score(loaded, given, windows, **options))
    with pytest.raises(UsageError, match="holds angles for 256 positions only"):
        score(tiny.gptj(), tiny.text(300), tiny.windows(300, 1))
    with pytest.raises(UsageError, match="has no BOS token"):
        list(evaluate.score(replace(loaded, bos_token_id=None), ids, tiny.windows(50), bos=True))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_near_single(dtype: str) -> None:
    ids = tiny.text(200)
    single = score(tiny.llama(), ids, tiny.windows(100))
    model = tiny.llama().to(getattr(torch, dtype))
    loaded = loading.of_model(model)
    assert loaded.dtype == dtype
    for a, b in zip(single, evaluate.score(loaded, ids, tiny.windows(100)), strict=True):
        assert a.nll == pytest.approx(b.nll, rel=2e-2)
        assert a.nll != b.nll


def test_peak_is_of_this_process() -> None:
    loaded = loading.of_model(tiny.llama())
    before = evaluate.peak_bytes(loaded)
    block = torch.ones(1 << 26)  # 256 MB
    assert evaluate.peak_bytes(loaded) > before or before > block.numel() * 4
    assert evaluate.peak_bytes(loaded) > block.numel() * 4
