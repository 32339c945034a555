"""What reading a GGUF file costs: against a bare header walk, and cold against ``GGUFReader``.

Ratios of one run on one machine; a bound is what the slowest CI machine must keep.
"""

from __future__ import annotations

import mmap
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ropeaudit.readers import llama_cpp
from ropeaudit.sources import gguf
from tests import models

SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
OURS = """
import sys
from pathlib import Path
from ropeaudit.readers import llama_cpp
from ropeaudit.sources import gguf
found = llama_cpp.read(gguf.read(Path(sys.argv[1]), target="m"), ())
assert found.schedules
"""
PEER = """
import sys
from gguf import GGUFReader
assert GGUFReader(sys.argv[1]).fields
"""


def bare_walk(path: Path) -> int:
    """The least that finds the end of a header: no names, no values, no checks."""
    u64, u32 = struct.Struct("<Q").unpack_from, struct.Struct("<I").unpack_from
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as buf:
        tensors, keys, pos = u64(buf, 8)[0], u64(buf, 16)[0], 24
        for _ in range(keys):
            pos += 8 + u64(buf, pos)[0]
            kind, pos = u32(buf, pos)[0], pos + 4
            count = 1
            if kind == 9:
                kind, count, pos = u32(buf, pos)[0], u64(buf, pos + 4)[0], pos + 12
            if kind == 8:
                for _ in range(count):
                    pos += 8 + u64(buf, pos)[0]
            else:
                pos += count * SIZES[kind]
        for _ in range(tensors):
            pos += 8 + u64(buf, pos)[0]
            pos += 16 + 8 * u32(buf, pos)[0]
    return pos


def best(action: Callable[[], object], times: int = 7) -> float:
    """Shortest of several runs, in seconds: what the work needs, without the machine's noise."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        action()
        found.append(time.perf_counter() - started)
    return min(found)


def cold(code: str, path: Path, times: int) -> float:
    """Median of fresh processes, in seconds."""
    found = []
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, str(path)], check=True)
        found.append(time.perf_counter() - started)
    return statistics.median(found)


@pytest.mark.bench
@pytest.mark.parametrize("model", [models.smollm2, models.gemma3])
def test_reading_against_a_bare_walk(model: Callable[[], Path]) -> None:
    path = model()
    assert bare_walk(path) == gguf.read(path, target="m").files[0].bytes_read
    floor = best(lambda: bare_walk(path))
    reading = best(lambda: gguf.read(path, target="m"))
    whole = best(lambda: llama_cpp.read(gguf.read(path, target="m"), ()))
    print(
        f"\n{path.name}: bare walk {floor * 1e3:.1f} ms, reading {reading * 1e3:.1f} ms "
        f"({reading / floor:.2f}x), with schedules {whole * 1e3:.1f} ms ({whole / floor:.2f}x)"
    )
    assert reading <= 3 * floor


@pytest.mark.bench
def test_cold_reading_against_the_gguf_package() -> None:
    path = models.gemma3()
    ours, peer = cold(OURS, path, 5), cold(PEER, path, 1)
    print(f"\n{path.name}, cold: {ours * 1e3:.0f} ms, GGUFReader {peer * 1e3:.0f} ms")
    print(f"{peer / ours:.0f} times faster")
    assert peer >= 30 * ours
