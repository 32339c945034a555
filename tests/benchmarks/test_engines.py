"""Readings of all engines: 25 ms beyond an audit of one config, 6 s for a thousand on two cores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropeaudit.audit import audit_subject, bind
from ropeaudit.packs import load_pack
from ropeaudit.readers.engines.known import names
from ropeaudit.resolve import resolve

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
RUNS = 12
COUNT = 1000

FIRST = """
import sys, time
from ropeaudit.audit import Options, audit_targets
config, without = sys.argv[1:]
audit_targets([config], Options(packs=(without,)))
start = time.process_time()
audit_targets([config], Options(packs=(without,)))
between = time.process_time()
audit_targets([config], Options(readers=("all",)))
print(time.process_time() - between - (between - start))
"""
"""An audit without a look at engines, then one for all of them, imports included."""
WITHOUT = """
name: without
version: 1
extends: [core]
override:
  reader-disagreement: {enabled: false}
  one-schema: {enabled: false}
  conflicting-spellings: {enabled: false}
  unread-spelling: {enabled: false}
"""


@pytest.mark.bench
@pytest.mark.parametrize(
    "name",
    ["meta-llama__Meta-Llama-3.1-70B", "google__gemma-3-27b-it", "Qwen__Qwen2.5-7B-Instruct"],
)
def test_one_config(name: str, tmp_path: Path) -> None:
    config = str(ZOO / name / "config.json")
    pack = tmp_path / "without.yaml"
    pack.write_text(WITHOUT)
    command = [sys.executable, "-c", FIRST, config, str(pack)]
    # The first run compiles, as an installation does; the quickest of the others counts.
    here = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    here["PYTHONPYCACHEPREFIX"] = str(tmp_path / "compiled")
    seconds = [
        float(subprocess.run(command, capture_output=True, text=True, check=True, env=here).stdout)
        for _ in range(RUNS)
    ]
    best = 1000 * min(seconds[1:])
    print(f"\n{config}: {len(names())} readers {best:.1f} ms beyond audit")
    assert best <= 25


@pytest.mark.bench
def test_a_thousand_configs() -> None:
    configs = sorted(ZOO.glob("*/config.json"))
    rules = bind([load_pack("core")])
    start = time.process_time()
    for i in range(COUNT):
        subject = resolve(str(configs[i % len(configs)]))
        judged = audit_subject(subject, rules, readers=("all",)).subject
        assert len(judged.views) == len(names())
    # On two cores half of the processor time; other work on the machine does not count.
    seconds = (time.process_time() - start) / 2
    print(f"\n{COUNT} configs x {len(names())} readers: {seconds:.2f} s on two cores")
    assert seconds <= 6
