"""What no GGUF file can say, or nobody could read, is refused and leaves nothing behind."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from ropeaudit.resolve import resolve
from tests import gguf_files
from tests.export.configs import LLAMA
from tests.export.gguf_models import KEYS, model
from tests.export.variants import folder, variant

gguf = pytest.importorskip("gguf")


def test_a_file_that_the_package_cannot_read(tmp_path: Path) -> None:
    """A tensor of a type that was taken back: it is stepped over here, the other one stops."""
    pairs = [gguf_files.pair("general.architecture", 8, "llama")]
    pairs += [
        gguf_files.pair(f"llama.{k}", 4, KEYS[k])
        for k in ("context_length", "embedding_length", "block_count", "attention.head_count")
    ]
    odd = [gguf_files.tensor("a.weight", (32,), 36)]
    (tmp_path / "model.gguf").write_bytes(gguf_files.raw(pairs, odd, b"\0" * 64))
    subject, made = variant(tmp_path / "model.gguf", "int8:sym")
    with pytest.raises(UsageError, match="the gguf package cannot read"):
        write(made, f"gguf={tmp_path / 'out.gguf'}", source=subject)
    assert [p.name for p in tmp_path.iterdir()] == ["model.gguf"]


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    subject, made = variant(model(tmp_path), "int8:sym")
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(
        UsageError, match=r"needs the gguf package; pip install 'ropeaudit\[gguf\]'"
    ):
        write(made, f"gguf={tmp_path / 'out.gguf'}", source=subject)
    assert [p.name for p in tmp_path.iterdir()] == ["model.gguf"]


@pytest.mark.parametrize(
    ("arch", "options", "said"),
    [
        ("qwen2", {}, "'?qwen2'? creates no rope_freqs tensor and would refuse"),
        ("novel", {}, "creates no rope_freqs tensor"),
        (
            "llama",
            {
                "keys": {
                    "rope.scaling.type": "longrope",
                    "rope.scaling.original_context_length": 2048,
                },
                "tensors": {
                    "rope_factors_short.weight": [1.0] * 32,
                    "rope_factors_long.weight": [2.0] * 32,
                },
            },
            "one list of divisors for all layers and lengths",
        ),
        (
            "gemma4",
            {
                "keys": {
                    "attention.sliding_window": 64,
                    "attention.sliding_window_pattern": 2,
                    "rope.dimension_count_swa": 64,
                },
                "tensors": {"rope_freqs.weight": [1.0] * 32},
            },
            "one list of divisors|leaves alone, would change|comes out as",
        ),
    ],
)
def test_what_llama_cpp_would_not_read_is_refused(
    tmp_path: Path, arch: str, options: dict[str, Any], said: str
) -> None:
    source = model(tmp_path, arch, **options)
    subject, made = variant(source, "int8:sym")
    with pytest.raises(UsageError, match=said) as caught:
        write(made, f"gguf={tmp_path / 'out.gguf'}", source=subject)
    assert "--to FILE.safetensors" in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["model.gguf"]


def test_sources_that_are_no_gguf_file(tmp_path: Path) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), "int8:sym")
    with pytest.raises(UsageError, match="needs a GGUF file"):
        write(made, f"gguf={tmp_path / 'out.gguf'}", source=subject)


def test_gguf_is_no_model_folder(tmp_path: Path) -> None:
    subject, made = variant(model(tmp_path), "int8:sym")
    with pytest.raises(UsageError, match="needs a model folder"):
        write(made, f"hf={tmp_path / 'out'}", source=subject)


def test_shards_are_to_be_joined(tmp_path: Path) -> None:
    for n in (1, 2):
        keys = KEYS if n == 1 else {}
        path = gguf_files.write(
            tmp_path / f"m-0000{n}-of-00002.gguf", "llama", keys, {f"t{n}.weight": [1.0]}
        )
        data = path.read_bytes()
        assert data[:4] == b"GGUF"
        pairs = [gguf_files.pair("split.count", 2, 2), gguf_files.pair("split.no", 2, n - 1)]
        count = int.from_bytes(data[16:24], "little") + len(pairs)
        path.write_bytes(data[:16] + count.to_bytes(8, "little") + b"".join(pairs) + data[24:])
    subject = resolve(str(tmp_path / "m-00001-of-00002.gguf"))
    if subject.error is not None:  # data offsets moved; the header is all that matters here
        pytest.fail(subject.error.message)
    from ropeaudit.perturb.variant import make

    with pytest.raises(UsageError, match="is split into 2 files; join them"):
        write(make(subject.schedules, "int8:sym"), f"gguf={tmp_path / 'o.gguf'}", source=subject)
