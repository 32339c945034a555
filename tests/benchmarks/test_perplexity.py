"""Perplexity of SmolLM2-135M beside its peers: speed, memory, and tokens until a verdict.

Speeds are of one process, the contestants taking turns window by window, each window at its best of
several rounds: ratios hold on a machine that others use too. lm-evaluation-harness is looked for in
the Python that ``ROPEAUDIT_LM_EVAL`` names, else in this one.
"""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks import perplexity_peers as peers
from tests.models import smollm2

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = [pytest.mark.bench, pytest.mark.timeout(7200)]

LENGTH = 2048
TOKENS = 8192
ROUNDS = 2
LM_EVAL = os.environ.get("ROPEAUDIT_LM_EVAL") or sys.executable  # before tests clear the variables


def _knows_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 matrices itself."""
    try:
        flags = Path("/proc/cpuinfo").read_text()
    except OSError:
        return False
    return any(name in flags for name in ("avx512_bf16", "amx_bf16", " bf16"))


def _operations(model: Any, length: int) -> float:
    """For one token: every weight of a matrix once, and the positions before it on average."""
    config = model.config
    weights = sum(
        p.numel() for n, p in model.named_parameters() if p.ndim == 2 and "embed" not in n
    )
    head = config.vocab_size * config.hidden_size
    attention = 2 * length / 2 * config.hidden_size * config.num_hidden_layers * 2
    return float(2 * (weights + head) + attention)


def _matmul_rate(dtype: Any) -> float:
    """Operations a second of one large product, the best of several."""
    a, b = torch.randn(2, 2048, 2048).to(dtype)
    best = 0.0
    for _ in range(6):
        started = time.perf_counter()
        a @ b
        best = max(best, 2 * 2048**3 / (time.perf_counter() - started))
    return best


def test_speed_against_the_peers(capsys: pytest.CaptureFixture[str]) -> None:
    from ropeaudit.perplexity.loading import load, of_model

    loaded = load(str(smollm2()), device="cpu", dtype="float32")
    assert loaded.encode is not None
    ids = loaded.encode(peers.text())
    narrow = copy.deepcopy(loaded.model).to(torch.bfloat16)
    contestants = {
        "transformers fp32": peers.transformers_loop(loaded.model),
        "ropeaudit fp32": peers.ropeaudit(loaded),
        "transformers bf16": peers.transformers_loop(copy.deepcopy(narrow)),
        "ropeaudit bf16": peers.ropeaudit(of_model(narrow, loaded.tokenizer)),
    }
    starts = range(peers.OFFSET, peers.OFFSET + TOKENS, LENGTH)
    best = {(name, start): float("inf") for name in contestants for start in starts}
    busy = dict(best)
    losses: dict[str, float] = dict.fromkeys(contestants, 0.0)
    rates = dict.fromkeys((torch.float32, torch.bfloat16), 0.0)
    for turn in range(ROUNDS):
        for start in starts:
            for name, score in contestants.items():
                began, used = time.perf_counter(), time.process_time()
                loss, _ = score(ids[start : start + LENGTH])
                best[name, start] = min(best[name, start], time.perf_counter() - began)
                busy[name, start] = min(busy[name, start], time.process_time() - used)
                losses[name] += loss if not turn else 0.0
            rates = {dtype: max(rate, _matmul_rate(dtype)) for dtype, rate in rates.items()}
    speed = {n: TOKENS / sum(best[n, s] for s in starts) for n in contestants}
    with capsys.disabled():
        print(f"\nL={LENGTH}, {TOKENS} tokens, {os.cpu_count()} processors, tokens/s:")
        for name, found in speed.items():
            rate = rates[torch.bfloat16 if "bf16" in name else torch.float32]
            floor = rate / _operations(loaded.model, LENGTH)
            used = TOKENS / sum(busy[name, s] for s in starts)
            print(
                f"  {name:18} {found:6.0f}  {floor / found:.2f}x the time of the floor "
                f"{floor:.0f}; {used:.0f} for each second of a processor"
            )
    assert losses["ropeaudit fp32"] == pytest.approx(losses["transformers fp32"], rel=1e-5)
    assert speed["ropeaudit fp32"] >= 0.95 * speed["transformers fp32"]
    assert speed["ropeaudit bf16"] >= 0.95 * speed["transformers bf16"]
    if _knows_bfloat16():
        assert speed["ropeaudit bf16"] >= 1.3 * speed["transformers fp32"]


def _alone(python: str, name: str, length: int) -> dict[str, float]:
    """A contestant in a process of its own, with the resident memory it needed at most."""
    done = subprocess.run(
        [python, peers.__file__, name, str(smollm2()), str(length), str(TOKENS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr[-2000:]
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_memory_against_lm_evaluation_harness(capsys: pytest.CaptureFixture[str]) -> None:
    asked = [LM_EVAL, "-c", "import lm_eval.models.huggingface"]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("lm-evaluation-harness is not installed; name a Python with ROPEAUDIT_LM_EVAL")
    found = {
        "lm_eval": _alone(LM_EVAL, "lm_eval", TOKENS),
        "ropeaudit": _alone(sys.executable, "ropeaudit", TOKENS),
    }
    with capsys.disabled():
        for name, row in found.items():
            speed = row["tokens"] / row["seconds"]
            print(
                f"\nL={TOKENS} {name}: peak {row['peak'] / 2**20:,.0f} MiB, {speed:.0f} tokens/s, "
                f"perplexity {row['perplexity']:.4f}"
            )
    # It predicts the first token too, from a token that the text does not hold.
    assert found["ropeaudit"]["perplexity"] == pytest.approx(
        found["lm_eval"]["perplexity"], rel=0.01
    )
    assert found["ropeaudit"]["peak"] <= 0.35 * found["lm_eval"]["peak"]


def test_tokens_until_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """The preset ``quick``: inflation above or below 1.05, or known to half a percent."""
    from ropeaudit.perplexity import sweep
    from ropeaudit.perplexity.run import run

    (request,) = sweep.requests(sweep.preset("quick"), models=[str(smollm2())])
    result = run(request)
    assert not result.failures
    shares = {c.recipe or "base": c.tokens / result.tokens for c in result.cells}
    with capsys.disabled():
        for cell in result.cells:
            low, high = cell.inflation_ci95 or (0.0, 0.0)
            print(
                f"\n{cell.recipe or 'base'}: {cell.inflation:.4f} ({low:.4f} to {high:.4f}), "
                f"{len(cell.scores)} windows, {shares[cell.recipe or 'base']:.1%} of the text"
            )
    assert sum(shares.values()) / len(shares) <= 0.2
