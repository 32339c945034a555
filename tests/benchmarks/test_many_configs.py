"""Two thousand configs in one call: at least 500 per second on two cores."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ZOO = Path(__file__).parents[2] / "fixtures/zoo"
COUNT = 2000


@pytest.mark.bench
def test_two_thousand_configs(tmp_path: Path) -> None:
    configs = sorted(ZOO.glob("*/config.json"))
    for i in range(COUNT):
        folder = tmp_path / "many" / f"{i:04}"
        folder.mkdir(parents=True)
        shutil.copy(configs[i % len(configs)], folder / "config.json")
    command = [sys.executable, "-m", "ropeaudit", "audit", str(tmp_path / "many"), "-f", "json"]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    report = json.loads(done.stdout)
    assert len(report["subjects"]) == COUNT
    rate = COUNT / seconds
    print(f"\n{COUNT} configs in {seconds:.2f} s: {rate:.0f} per second")
    assert rate >= 500
