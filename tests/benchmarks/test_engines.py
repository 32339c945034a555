"""Readings of all engines: 25 ms beyond an audit of one config, 6 s for a thousand on two cores."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropeaudit.readers.engines.known import names
from ropeaudit.resolve import resolve

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
RUNS = 7
COUNT = 1000

FIRST = """
import sys, time
from ropeaudit.cli.app import run
run(["audit", sys.argv[1], "-q", "--exit-zero", "-o", "json=" + sys.argv[2]])
from ropeaudit.resolve import resolve
start = time.process_time()
resolve(sys.argv[1])
between = time.process_time()
resolve(sys.argv[1], readers=("all",))
print(time.process_time() - between - (between - start))
"""
"""An audit in a fresh process, then the engines on the same config, imports included."""


@pytest.mark.bench
@pytest.mark.parametrize(
    "name",
    ["meta-llama__Meta-Llama-3.1-70B", "google__gemma-3-27b-it", "Qwen__Qwen2.5-7B-Instruct"],
)
def test_one_config(name: str, tmp_path: Path) -> None:
    config = str(ZOO / name / "config.json")
    command = [sys.executable, "-c", FIRST, config, str(tmp_path / "report.json")]
    # The first run compiles; the quickest of the others is what the machine can do.
    seconds = [
        float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(RUNS)
    ]
    best = 1000 * min(seconds[1:])
    print(f"\n{config}: {len(names())} readers {best:.1f} ms beyond audit")
    assert best <= 25


@pytest.mark.bench
def test_a_thousand_configs() -> None:
    configs = sorted(ZOO.glob("*/config.json"))
    start = time.process_time()
    for i in range(COUNT):
        assert len(resolve(str(configs[i % len(configs)]), readers=("all",)).views) == len(names())
    # On two cores half of the processor time; other work on the machine does not count.
    seconds = (time.process_time() - start) / 2
    print(f"\n{COUNT} configs x {len(names())} readers: {seconds:.2f} s on two cores")
    assert seconds <= 6
