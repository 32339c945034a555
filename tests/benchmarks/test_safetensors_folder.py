"""A terabyte of weights: what is read, and how long it takes against plainly reading the headers.

The folder is made of sparse files, so it takes a terabyte of nothing. Both sides run in fresh
processes, alternately; the ratio of the medians is printed.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ropeaudit.sources.opening import open_target

SHARDS = 200
TENSORS = 400
"""In each shard; 80,000 in all."""
EXPERT = (2, 3_276_800)
"""Shape of a bfloat16 tensor of 13 MB: 80,000 of them are a terabyte."""
RUNS = 7

PLAIN = """
import json, os, sys
folder = sys.argv[1]
for name in sorted(os.listdir(folder)):
    if name.endswith(".safetensors"):
        with open(os.path.join(folder, name), "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            json.loads(file.read(length))
"""

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def terabyte(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("terabyte")
    weight_map = {}
    step = 2 * EXPERT[0] * EXPERT[1]
    for shard in range(SHARDS):
        name = f"model-{shard + 1:05}-of-{SHARDS:05}.safetensors"
        header = {}
        for at in range(TENSORS):
            layer, expert = divmod(shard * TENSORS + at, 1000)
            tensor = f"model.layers.{layer}.mlp.experts.{expert}.gate_proj.weight"
            span = [at * step, (at + 1) * step]
            header[tensor] = {"dtype": "BF16", "shape": list(EXPERT), "data_offsets": span}
            weight_map[tensor] = name
        raw = json.dumps(header, separators=(",", ":")).encode()
        with (folder / name).open("wb") as file:
            file.write(len(raw).to_bytes(8, "little") + raw)
            file.truncate(8 + len(raw) + TENSORS * step)
    index = {"metadata": {"total_size": SHARDS * TENSORS * step}, "weight_map": weight_map}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
    config = {
        "model_type": "llama",
        "hidden_size": 8192,
        "num_attention_heads": 64,
        "num_hidden_layers": 80,
        "max_position_embeddings": 8192,
        "rope_theta": 500000.0,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_bytes_read(terabyte: Path) -> None:
    reading = open_target(str(terabyte))
    size = sum(p.stat().st_size for p in terabyte.iterdir())
    touched = sum(f.bytes_read or 0 for f in reading.files)
    print(f"\n{size / 1e12:.2f} TB, {touched / 1e6:.1f} MB read in {len(reading.files)} files")
    assert size > 1e12
    assert len(reading.files) == SHARDS + 2
    assert touched < 30e6


def test_reading_against_plain_json(terabyte: Path) -> None:
    def plain() -> None:
        for path in sorted(terabyte.glob("*.safetensors")):
            with path.open("rb") as file:
                json.loads(file.read(int.from_bytes(file.read(8), "little")))

    ratio = _ratio("open_target", plain, lambda: open_target(str(terabyte)))
    assert ratio <= 4


def test_cold_audit_against_plain_json(terabyte: Path) -> None:
    def run(*command: str) -> None:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    ratio = _ratio(
        "audit, cold",
        lambda: run(sys.executable, "-c", PLAIN, str(terabyte)),
        lambda: run(sys.executable, "-m", "ropeaudit", "audit", str(terabyte)),
    )
    assert ratio <= 4


def _ratio(what: str, plain: object, ours: object) -> float:
    times: dict[object, list[float]] = {plain: [], ours: []}
    for _ in range(RUNS):
        for side, taken in times.items():
            start = time.perf_counter()
            side()  # type: ignore[operator]
            taken.append(time.perf_counter() - start)
    floor, found = (statistics.median(times[side]) for side in (plain, ours))
    print(f"\n{what}: {found * 1e3:.0f} ms, plain json {floor * 1e3:.0f} ms, {found / floor:.2f}x")
    return found / floor
