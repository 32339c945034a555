"""A cold ``ropeaudit audit config.json`` against other processes.

One that only imports numpy, and the transformers route to the same table. Ratios of one run:
processes alternate, and the fastest of each counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.configs import LLAMA3

pytestmark = pytest.mark.bench

ROUNDS = 15
TRANSFORMERS = """
import sys
from transformers import AutoConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
print(LlamaRotaryEmbedding(AutoConfig.from_pretrained(sys.argv[1])).inv_freq)
"""


def _seconds(*arguments: str) -> float:
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *arguments], capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode()
    return time.perf_counter() - start


def _config(folder: Path) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(LLAMA3))
    return str(path)


def test_against_importing_numpy(tmp_path: Path) -> None:
    config = _config(tmp_path)
    ours, numpy = [], []
    for _ in range(ROUNDS):
        numpy.append(_seconds("-c", "import numpy"))
        ours.append(_seconds("-m", "ropeaudit", "audit", config))
    ratio = min(ours) / min(numpy)
    print(f"audit {min(ours) * 1e3:.0f} ms, numpy {min(numpy) * 1e3:.0f} ms, ratio {ratio:.2f}")
    assert ratio <= 2.5


def test_against_transformers(tmp_path: Path) -> None:
    config = _config(tmp_path)
    ours = min(_seconds("-m", "ropeaudit", "audit", config) for _ in range(5))
    peer = min(_seconds("-c", TRANSFORMERS, str(tmp_path)) for _ in range(3))
    print(f"audit {ours * 1e3:.0f} ms, transformers {peer * 1e3:.0f} ms, {peer / ours:.1f}x")
    assert peer / ours >= 18
