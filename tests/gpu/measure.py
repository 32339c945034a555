"""Speed, memory and agreement of scoring on one device, as a page of Markdown.

A model with random weights of Mistral-7B's shape on a GPU, a small one on the CPU. Run by
``measure.sh``; alone: ``python -m tests.gpu.measure --device cpu``.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
import sys
import time
from collections.abc import Sequence
from typing import Any

import torch
import transformers

from ropeaudit.perplexity import evaluate, loading, patch
from ropeaudit.perplexity.loading import Loaded
from ropeaudit.perplexity.records import Window
from ropeaudit.perturb.variant import make

AGREEMENT = 1e-3
"""Relative difference in log-loss that the GPU may have from the CPU in float32."""

MISTRAL_7B = {
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 32768,
    "max_position_embeddings": 32768,
    "sliding_window": None,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
}
SMALL = MISTRAL_7B | {
    "hidden_size": 256,
    "intermediate_size": 896,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 4096,
}
PLANS: dict[str, dict[str, Any]] = {
    "cuda": {"shape": MISTRAL_7B, "lengths": (2048, 4096, 8192, 16384), "tokens": 65536,
             "compared": 512, "square": 8192},
    "cpu": {"shape": SMALL, "lengths": (256, 1024), "tokens": 2048, "compared": 128,
            "square": 1024},
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the page; 1 where the device does not agree with the CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", choices=sorted(PLANS), default="cpu")
    device = parser.parse_args(arguments).device
    plan = PLANS[device]
    print(f"# Measured on {_name(device)}\n\n{datetime.date.today().isoformat()}; {_versions()}.")
    model = _model(plan["shape"], device)
    loaded = loading.of_model(model)
    rate = _matmul_rate(device, plan["square"])
    print(f"\nMatrix product of {plan['square']}² in bfloat16: {rate / 1e12:.3g} TFLOP/s.")
    _speed(loaded, plan, rate)
    _swap(loaded)
    return _agreement(loaded, plan)


def _model(shape: dict[str, Any], device: str) -> Any:
    torch.manual_seed(0)
    config = transformers.MistralConfig(**shape)
    with torch.device(device):
        model = transformers.AutoModelForCausalLM.from_config(
            config, dtype=torch.bfloat16, attn_implementation="sdpa"
        )
    return model.eval()


def _ids(loaded: Loaded, count: int) -> list[int]:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, loaded.vocabulary, (count,), generator=generator).tolist()


def _windows(length: int, tokens: int) -> list[Window]:
    count = max(1, tokens // length)
    return [Window(index=n, start=n * length, length=length) for n in range(count)]


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def _matmul_rate(device: str, size: int) -> float:
    """Operations a second of a square product in bfloat16, the best of ten."""
    a = torch.randn(size, size, device=device, dtype=torch.bfloat16)
    best = math.inf
    with torch.inference_mode():
        for _ in range(10):
            _wait(device)
            begun = time.perf_counter()
            a @ a
            _wait(device)
            best = min(best, time.perf_counter() - begun)
    return 2.0 * size**3 / best


def _operations(loaded: Loaded, length: int) -> float:
    """Of one token in a window: two for each weight, and the causal half of attention."""
    config = loaded.model.config
    table = loaded.model.get_input_embeddings().weight.numel()
    weights = sum(p.numel() for p in loaded.model.parameters()) - table
    heads = config.num_attention_heads * (config.hidden_size // config.num_attention_heads)
    return 2.0 * weights + 2.0 * config.num_hidden_layers * heads * length


def _speed(loaded: Loaded, plan: dict[str, Any], rate: float) -> None:
    count = sum(p.numel() for p in loaded.model.parameters())
    print(f"\n## Scoring in bfloat16, {count / 1e9:.3g} billion random weights\n")
    print("| L | windows | seconds | tokens/s | share of the matrix rate | peak GiB |")
    print("|---:|---:|---:|---:|---:|---:|")
    ids = _ids(loaded, plan["tokens"])
    for length in plan["lengths"]:
        windows = _windows(length, plan["tokens"])
        list(evaluate.score(loaded, ids, windows[: max(1, len(windows) // 4)]))  # warm
        evaluate.reset_peak(loaded)
        _wait(loaded.device)
        begun = time.perf_counter()
        list(evaluate.score(loaded, ids, windows))
        _wait(loaded.device)
        took = time.perf_counter() - begun
        speed = len(windows) * length / took
        share = speed * _operations(loaded, length) / rate
        peak = evaluate.peak_bytes(loaded) / 2**30
        print(
            f"| {length} | {len(windows)} | {took:.2f} | {speed:.0f} | {share:.0%} | {peak:.2f} |"
        )
        sys.stdout.flush()


def _swap(loaded: Loaded) -> None:
    begun = time.perf_counter()
    with patch.swapped(loaded, make(loaded.schedules, "int8:sym")):
        inside = time.perf_counter() - begun
    print(f"\nSwapping a table, with its probes: {inside:.2f} s in, ", end="")
    print(f"{time.perf_counter() - begun - inside:.2f} s out.")


def _agreement(loaded: Loaded, plan: dict[str, Any]) -> int:
    """The same window on this device in two dtypes and on the CPU in float32."""
    length = plan["compared"]
    ids, windows = _ids(loaded, length), _windows(length, length)
    found = {f"{loaded.device} bfloat16": _loss(loaded, ids, windows)}
    wide = loading.of_model(loaded.model.float())
    found[f"{wide.device} float32"] = _loss(wide, ids, windows)
    with patch.swapped(wide, make(wide.schedules, "int8:sym")):
        found[f"{wide.device} float32, int8:sym"] = _loss(wide, ids, windows)
    reference = loading.of_model(wide.model.to("cpu"))
    wanted = {"float32": _loss(reference, ids, windows)}
    with patch.swapped(reference, make(reference.schedules, "int8:sym")):
        wanted["int8:sym"] = _loss(reference, ids, windows)
    print(f"\n## Agreement with the CPU in float32, one window of {length} tokens\n")
    print("| | log-loss | relative difference |")
    print("|---|---:|---:|")
    worst = 0.0
    for name, loss in found.items():
        base = wanted["int8:sym" if name.endswith("int8:sym") else "float32"]
        off = abs(loss - base) / base
        worst = max(worst, off)
        print(f"| {name} | {loss:.6f} | {off:.1e} |")
    for name, loss in wanted.items():
        print(f"| cpu {name} | {loss:.6f} | |")
    verdict = "within" if worst <= AGREEMENT else "NOT within"
    print(f"\nAll are {verdict} {AGREEMENT:g}.")
    return 0 if worst <= AGREEMENT else 1


def _loss(loaded: Loaded, ids: list[int], windows: list[Window]) -> float:
    scores = list(evaluate.score(loaded, ids, windows))
    return math.fsum(s.nll for s in scores) / sum(s.tokens for s in scores)


def _name(device: str) -> str:
    if device == "cuda":
        return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"
    return f"{platform.machine()} with {torch.get_num_threads()} threads, a small shape"


def _versions() -> str:
    return f"torch {torch.__version__}, transformers {transformers.__version__}"


if __name__ == "__main__":
    sys.exit(main())
