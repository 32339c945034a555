"""GGUF variants: divisors and keys change, tensors do not."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from ropeaudit.api import audit
from ropeaudit.export.gguf_file import CREATES_FREQS
from ropeaudit.export.writing import write
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from tests.export.gguf_models import KEYS, LLAMA3, SCALING, exported, fields, model, raw
from tests.export.variants import same_shape

gguf = pytest.importorskip("gguf")


@pytest.mark.parametrize("recipe", ["int8:sym", "int4:affine", "noise:eps=0.1,seed=1", "log4"])
@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_the_file_gives_the_wanted_table(tmp_path: Path, recipe: str, kind: str) -> None:
    source = model(tmp_path, kind=kind)
    before = source.read_bytes()
    made, written, reader = exported(source, recipe)
    assert source.read_bytes() == before
    (wanted,), (claimed,) = made.schedules, written.schedules
    (own,) = resolve(str(tmp_path / "out.gguf")).schedules
    assert own.inv_freq == claimed.inv_freq
    same_shape(wanted, own.inv_freq)
    still = 0.0 in own.inv_freq
    assert (recipe == "int8:sym") == still
    assert still == any("are 0" in n for n in written.notes)
    assert raw(reader) == raw(gguf.GGUFReader(source))
    first = (tmp_path / "out.gguf").read_bytes()
    subject = resolve(str(source))
    again = replace(made, schedules=written.schedules)
    second = write(again, f"gguf={tmp_path / 'out.gguf'}", source=subject, force=True)
    assert (tmp_path / "out.gguf").read_bytes() == first
    assert second.max_ulp == 0


def test_only_scaling_keys_and_the_recipe_differ(tmp_path: Path) -> None:
    source = model(tmp_path, keys=SCALING | {"rope.scale_linear": 2.0})
    made, written, reader = exported(source, "noise:eps=0.1,seed=1")
    old, new = fields(gguf.GGUFReader(source)), fields(reader)
    gone = {"llama.rope.scaling.factor", "llama.rope.scale_linear"}
    assert set(old) - set(new) == gone
    assert set(new) - set(old) == {"llama.rope.scaling.attn_factor", "ropeaudit.recipe"}
    changed = {k for k in set(old) & set(new) if old[k] != new[k]}
    assert changed == {"llama.rope.scaling.type"}
    assert new["llama.rope.scaling.type"][1] == "none"
    assert new["ropeaudit.recipe"][1] == made.recipe.text
    (own,) = resolve(str(tmp_path / "out.gguf")).schedules
    assert own.attention_scaling == pytest.approx(0.1 * math.log(4) + 1, rel=1e-6)
    assert own.context.trained == 2048
    assert own.rope_theta == 100000.0
    assert written.max_ulp <= 2


def test_llama3_divisors_are_replaced_where_they_stand(tmp_path: Path) -> None:
    source = model(tmp_path, tensors={"rope_freqs.weight": LLAMA3})
    made, _, reader = exported(source, "zero:from=30,to=31")
    assert made.base[0].inv_freq[-1] == pytest.approx(1e5 ** (-31 / 32) / 8)
    names = [t.name for t in reader.tensors]
    assert names == [t.name for t in gguf.GGUFReader(source).tensors]
    (divisors,) = [t for t in reader.tensors if t.name == "rope_freqs.weight"]
    assert divisors.tensor_type == gguf.GGMLQuantizationType.F32
    assert divisors.data[30:].tolist() == [float(np.float32(3.4e38))] * 2
    assert np.isfinite(divisors.data).all()
    np.testing.assert_allclose(divisors.data[:30], LLAMA3[:30], rtol=1e-6)


def test_a_scaling_recipe_brings_its_own_attention(tmp_path: Path) -> None:
    made, _, reader = exported(model(tmp_path), "yarn:factor=4,original=1024")
    (own,) = resolve(str(tmp_path / "out.gguf")).schedules
    assert own.attention_scaling == pytest.approx(made.schedules[0].attention_scaling, rel=1e-6)
    assert fields(reader)["llama.rope.scaling.attn_factor"][1] > 1.1


@pytest.mark.parametrize("recipe", ["int8:sym", "zero:from=30,to=31"])
def test_zeros_read_back_as_zeros(tmp_path: Path, recipe: str) -> None:
    """As divisors they are 3.4e38. None is by design, as those of Gemma 4 are."""
    made, _, _ = exported(model(tmp_path), recipe)
    (own,) = resolve(str(tmp_path / "out.gguf")).schedules
    zeros = [k for k, v in enumerate(made.schedules[0].inv_freq) if v == 0]
    assert zeros == [k for k, v in enumerate(own.inv_freq) if v == 0]
    assert not own.static_channels
    (report,) = audit(tmp_path / "out.gguf").subjects
    found = {f.rule: f.evidence for f in report.findings}
    assert "RA105" not in found, "no denormal values"
    assert found["RA104"]["channels"] == zeros
    assert found["RA101"]["max_cluster"] == len(zeros)


def test_identity_is_the_same_file(tmp_path: Path) -> None:
    source = model(tmp_path, keys=SCALING)
    _, written, _ = exported(source, "identity")
    assert (tmp_path / "out.gguf").read_bytes() == source.read_bytes()
    assert written.max_ulp == 0


def test_clusters_without_a_common_value_get_base_one(tmp_path: Path) -> None:
    _, written, reader = exported(model(tmp_path), "int8:affine")
    assert fields(reader)["llama.rope.freq_base"][1] == 1.0
    assert any("rope.freq_base is 1" in n for n in written.notes)
    assert written.schedules[0].rope_theta == 100000.0


def test_big_endian_files_stay_so(tmp_path: Path) -> None:
    source = model(tmp_path, big_endian=True)
    made, _, reader = exported(source, "noise:eps=0.1,seed=1")
    assert reader.endianess == gguf.GGUFEndian.BIG
    assert raw(reader) == raw(gguf.GGUFReader(source))
    (own,) = resolve(str(tmp_path / "out.gguf")).schedules
    np.testing.assert_allclose(own.inv_freq, made.schedules[0].inv_freq, rtol=3e-7)


def test_alignment_is_kept(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    writer.add_custom_alignment(128)
    for key in ("context_length", "embedding_length", "block_count", "attention.head_count"):
        writer.add_uint32(f"llama.{key}", KEYS[key])
    writer.add_uint32("llama.rope.dimension_count", 64)
    writer.add_float32("llama.rope.freq_base", 1e5)
    writer.add_tensor("a.weight", np.arange(5, dtype=np.float32))
    writer.add_tensor("b.weight", np.arange(7, dtype=np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    source = tmp_path / "model.gguf"
    _, _, reader = exported(source, "noise:eps=0.1,seed=1")
    assert reader.alignment == 128
    assert all(t.data_offset % 128 == 0 for t in reader.tensors)
    assert raw(reader) == raw(gguf.GGUFReader(source))


def test_the_list_of_architectures_comes_from_the_reader() -> None:
    assert {"llama", "llama4", "exaone4", "apertus", "gemma4"} <= CREATES_FREQS
    for name in ("qwen2", "gemma3", "phi3", "gptneox", "deepseek2", "falcon-h1", "cogvlm"):
        assert name in ARCHITECTURES
        assert name not in CREATES_FREQS


def test_gemma4_can_change_its_full_layers(tmp_path: Path) -> None:
    keys = {
        "attention.sliding_window": 64,
        "attention.sliding_window_pattern": 2,
        "rope.dimension_count_swa": 64,
    }
    source = model(
        tmp_path, "gemma4", keys=keys, tensors={"rope_freqs.weight": [1.0] * 16 + [1e30] * 16}
    )
    made, written, _ = exported(source, "noise:eps=0.1,seed=1@full_attention")
    by_type = {s.layer_type: s.inv_freq for s in written.schedules}
    sliding = next(s for s in made.base if s.layer_type == "sliding_attention")
    assert by_type["sliding_attention"] == sliding.inv_freq
    full = next(s for s in made.base if s.layer_type == "full_attention")
    assert by_type["full_attention"] != full.inv_freq
