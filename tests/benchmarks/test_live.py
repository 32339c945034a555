"""The cost of ``assert_safe`` at the start of training or serving: an 80-layer model, milliseconds.

The model has a rotary module in every layer (old style, the worst case) with the widths of a 70B
model's heads; its weights are tiny, because no weight is looked at.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

import ropeaudit

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LAYERS = 80
TARGET_MS = 10.0
GENEROUS_MS = 60.0
"""For shared machines: six times the target, and still far below anything a start-up notices."""


@pytest.fixture(scope="module")
def model() -> Any:
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = transformers.LlamaConfig(
        hidden_size=64,
        head_dim=128,
        num_attention_heads=1,
        num_key_value_heads=1,
        intermediate_size=8,
        num_hidden_layers=LAYERS,
        vocab_size=64,
        max_position_embeddings=131072,
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 500000.0,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
    )
    built = transformers.LlamaForCausalLM(config)
    for layer in built.model.layers:
        layer.self_attn.rotary_emb = LlamaRotaryEmbedding(config)
    return built


def milliseconds(call: Callable[[], object], runs: int) -> list[float]:
    call()
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        call()
        found.append((time.perf_counter() - start) * 1e3)
    return found


def test_start_up_check_stays_in_milliseconds(model: Any) -> None:
    report = ropeaudit.assert_safe(model)
    (stored,) = report.subject.stored()
    assert stored.layers == tuple(range(LAYERS)), "every layer was looked at, and judged once"
    assert min(milliseconds(lambda: ropeaudit.assert_safe(model), 10)) < GENEROUS_MS


def test_one_wrong_layer_is_found_as_fast(model: Any) -> None:
    buffer = model.model.layers[61].self_attn.rotary_emb.inv_freq
    kept = buffer.clone()

    def refused() -> None:
        with pytest.raises(ropeaudit.UnsafeScheduleError):
            ropeaudit.assert_safe(model)

    try:
        buffer[7] = float("nan")
        assert min(milliseconds(refused, 5)) < 2 * GENEROUS_MS
    finally:
        buffer.copy_(kept)


@pytest.mark.bench
def test_against_building_one_rotary_module(model: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Peer: what a hand-written check does at least, building the expected table once."""
    kind = type(model.model.rotary_emb)
    ours = milliseconds(lambda: ropeaudit.assert_safe(model), 50)
    peer = milliseconds(lambda: kind(model.config), 50)
    walk = milliseconds(lambda: list(model.named_buffers()), 50)
    with capsys.disabled():
        print(
            f"\nassert_safe, {LAYERS} layers: {statistics.median(ours):.2f} ms "
            f"(best {min(ours):.2f}); torch's named_buffers() alone {statistics.median(walk):.2f}, "
            f"building one rotary module {statistics.median(peer):.2f}"
        )
    assert min(ours) < TARGET_MS
