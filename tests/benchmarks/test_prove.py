"""All claims about one table, warm, against importing sympy and against sympy's own comparison.

Ratios of one run; the fastest of several counts. Nothing may be kept between rounds, so the caches
of the exact arithmetic are emptied.
"""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from ropeaudit.proofs import _claims, distinct, stated
from ropeaudit.proofs.interface import Status
from ropeaudit.resolve import build
from ropeaudit.schedule.subject import Subject
from ropeaudit.sources.opening import open_target

pytestmark = pytest.mark.bench

BASES = ("1e6", "8e6", "1.5e5", "10000.5", "2147483647", "1000000007", "72195.86008650938")
ROUNDS = 5
NUMBERS = (
    "ropeaudit.exact",
    "ropeaudit.schedule.fit",
    "ropeaudit.proofs._s",
    "ropeaudit.proofs._f",
)


def _subject(base: str, dim: int) -> Subject:
    fields = {
        "model_type": "llama", "hidden_size": 8 * dim, "num_attention_heads": 8, "head_dim": dim,
        "num_hidden_layers": 2, "max_position_embeddings": 4096,
    }  # fmt: skip
    text = f'{json.dumps(fields)[:-1]}, "rope_theta": {base}}}'
    return build(open_target("-", stdin=text.encode()))


def _fastest(work: Callable[[], object]) -> float:
    found = []
    for _ in range(ROUNDS):
        _forget()
        gc.collect()
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def _forget() -> None:
    """Empties every cache of numbers; which claims there are may stay known."""
    for name, module in list(sys.modules.items()):
        if name.startswith(NUMBERS):
            for cached in vars(module).values():
                if hasattr(cached, "cache_clear"):
                    cached.cache_clear()


def _importing_sympy() -> float:
    code = "import time; t = time.perf_counter(); import sympy; print(time.perf_counter() - t)"
    runs = (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    )
    return min(float(done.stdout) for done in runs)


@pytest.mark.parametrize(("dim", "most"), [(128, 0.150), (512, 1.0)])
def test_all_claims(dim: int, most: float) -> None:
    peer = _importing_sympy()
    for base in BASES:
        subject = _subject(base, dim)

        def work(subject: Subject = subject) -> None:
            (exhibit,) = stated.exhibits(subject, 8)
            made = list(_claims.claims(exhibit, _claims.selected()))
            assert made[0].status is Status.PROVED

        spent = _fastest(work)
        print(
            f"base {base}, {dim} dims: {spent * 1e3:.1f} ms, importing sympy {peer * 1e3:.0f} ms, "
            f"ratio {spent / peer:.2f}"
        )
        assert spent < most * peer / 0.285  # sympy's import took 285 ms where the limit was set


def test_distinctness_against_sympys_comparison() -> None:
    """2,016 pairs of 64 channels: at most a hundredth of what ``<`` costs in sympy."""
    import sympy

    subject = _subject("1e6", 128)

    def ours() -> None:
        (exhibit,) = stated.exhibits(subject, 8)
        assert distinct.prove(exhibit).status is Status.PROVED

    values = [sympy.Integer(10) ** sympy.Rational(-6 * k, 64) for k in range(64)]
    start = time.perf_counter()
    assert all(bool(values[j] < values[i]) for i in range(64) for j in range(i + 1, 64))
    peer = time.perf_counter() - start
    spent = _fastest(ours)
    print(f"distinct {spent * 1e3:.2f} ms, sympy {peer * 1e3:.0f} ms, {peer / spent:.0f}x")
    assert peer / spent >= 100


def test_a_whole_process_against_importing_sympy() -> None:
    code = "from ropeaudit.cli.app import run; raise SystemExit(run(['prove', '-']))"
    text = (
        '{"model_type": "llama", "hidden_size": 512, "num_attention_heads": 4, "rope_theta": 1e6}'
    )
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", code], input=text.encode(), capture_output=True
        )
        runs.append(time.perf_counter() - start)
        assert done.returncode == 0, done.stderr.decode()
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", "import sympy"], check=True)
    peer = time.perf_counter() - start
    print(f"prove {min(runs) * 1e3:.0f} ms, a process that imports sympy {peer * 1e3:.0f} ms")
    assert min(runs) < 2 * peer
