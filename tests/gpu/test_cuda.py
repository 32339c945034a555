"""Everything runs unchanged on a CUDA device: same numbers, same refusals, real lack of memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ropeaudit.perplexity import _head, evaluate, loading, patch
from ropeaudit.perturb.variant import make
from tests.perplexity import tiny

torch = tiny.torch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


@pytest.mark.parametrize("kind", tiny.KINDS)
@pytest.mark.parametrize("recipe", ["identity", "int8:sym", "base:500@layers=1"])
def test_agrees_with_the_cpu(kind: str, recipe: str) -> None:
    ids, windows = tiny.text(300), tiny.windows(100, 3)

    def scores(device: str) -> list[float]:
        loaded = loading.of_model(tiny.KINDS[kind]().to(device), contexts=(100,))
        assert loaded.device.startswith(device)
        with patch.swapped(loaded, make(loaded.schedules, recipe)):
            first = [s.nll for s in evaluate.score(loaded, ids, windows)]
            assert [s.nll for s in evaluate.score(loaded, ids, windows)] == first
        return first

    assert scores("cuda") == pytest.approx(scores("cpu"), rel=1e-3)


@pytest.mark.parametrize("device", ["cuda", "cuda:0", "auto", None])
def test_loads_onto_the_device(tmp_path: Path, device: str | None) -> None:
    tiny.llama().to(torch.bfloat16).save_pretrained(tmp_path)
    loaded = loading.load(str(tmp_path), device=device)
    assert loaded.device.startswith("cuda")
    assert loaded.dtype == "bfloat16"  # the checkpoint's own
    with patch.swapped(loaded, make(loaded.schedules, "int8:sym@layers=0")):
        assert len(list(evaluate.score(loaded, tiny.text(100), tiny.windows(50)))) == 2


def test_shrinks_where_the_gpu_runs_out_of_memory() -> None:
    loaded = loading.of_model(tiny.llama(intermediate_size=8192).cuda())
    ids, windows = tiny.text(64 * 1024), tiny.windows(1024, 64)
    wanted = list(evaluate.score(loaded, ids, windows, batch=1))
    total = torch.cuda.get_device_properties(0).total_memory
    room = torch.cuda.memory_allocated() + (1 << 30)
    torch.cuda.empty_cache()
    tried: list[int] = []
    plain = _head.hidden

    def hidden(model: Any, tokens: Any) -> Any:
        tried.append(tokens.shape[0])
        return plain(model, tokens)

    try:
        torch.cuda.set_per_process_memory_fraction(room / total)
        _head.hidden = hidden
        got = list(evaluate.score(loaded, ids, windows, batch=64))
    finally:
        _head.hidden = plain
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert tried[:2] == [64, 32]
    assert [s.nll for s in got] == pytest.approx([s.nll for s in wanted], rel=1e-4)


def test_peak_is_of_the_gpu() -> None:
    loaded = loading.of_model(tiny.llama().cuda())
    evaluate.reset_peak(loaded)
    before = evaluate.peak_bytes(loaded)
    block = torch.ones(1 << 24, device="cuda")
    assert evaluate.peak_bytes(loaded) >= before + block.numel() * 4
