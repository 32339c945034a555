"""Models from folders, GGUF files and hub ids; what is said of those that cannot be loaded."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import RopeAuditError, UsageError
from ropeaudit.perplexity import evaluate, loading, patch
from ropeaudit.perturb.variant import make
from tests import models
from tests.perplexity import tiny

torch = tiny.torch
transformers = tiny.transformers


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tiny.llama().save_pretrained(tmp_path)
    return tmp_path


def words(folder: Path) -> None:
    """A tokenizer of whole words, with a BOS that texts begin with."""
    tokenizers = pytest.importorskip("tokenizers")
    known = ["<unk>", "<s>", "</s>", *(f"w{n}" for n in range(3, tiny.VOCABULARY))]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: n for n, w in enumerate(known)}, unk_token="<unk>")
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 1)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token="<s>", eos_token="</s>", unk_token="<unk>",
        model_max_length=16,
    )  # fmt: skip
    fast.save_pretrained(folder)


def edit(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def refused(reference: object, **options: Any) -> str:
    with pytest.raises(RopeAuditError) as caught:
        loading.load(str(reference), device="cpu", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_folder(folder: Path) -> None:
    words(folder)
    loaded = loading.load(str(folder), device="cpu")
    assert (loaded.device, loaded.dtype, loaded.vocabulary) == ("cpu", "float32", tiny.VOCABULARY)
    assert loaded.bos_token_id == 1
    assert loaded.reference == str(folder)
    assert [(s.name, s.layers, s.rope_theta) for s in loaded.schedules] == [
        ("text", (0, 1, 2), 10000.0)
    ]
    assert loaded.encode is not None
    assert loaded.encode("w9 w4 w3 " * 40) == [9, 4, 3] * 40  # no BOS, no warning of the length
    assert not loaded.model.training
    model = tiny.llama()
    ids = tiny.text(100)
    (got,) = evaluate.score(loaded, ids, tiny.windows(100, 1))
    assert got.nll == pytest.approx(
        math.fsum(tiny.plain(model, ids, tiny.windows(100, 1)[0])), rel=1e-5
    )


def test_a_part_stands_for_its_folder(folder: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        assert loading.load(str(folder / name), device="cpu").vocabulary == tiny.VOCABULARY


@pytest.mark.parametrize("kind", ["llama", "qwen2", "gemma3", "gpt_neox"])
def test_no_tokenizer_is_a_note(kind: str, tmp_path: Path) -> None:
    """For some types transformers makes one of special tokens alone, and says nothing."""
    tiny.KINDS[kind]().save_pretrained(tmp_path)
    loaded = loading.load(str(tmp_path), device="cpu")
    assert loaded.tokenizer is None
    assert loaded.encode is None
    assert [n.kind for n in loaded.notes] == ["no_tokenizer"]
    assert loaded.bos_token_id == 1  # the config knows it


def test_digest_is_of_the_contents(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    first = loading.load(str(folder), device="cpu").digest
    other = tmp_path_factory.mktemp("other")
    for path in folder.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    for name in ("README.md", "cells.jsonl", "heat-map.png"):
        (other / name).write_text("says nothing that counts")
    assert loading.load(str(other), device="cpu").digest == first
    edit(other, rms_norm_eps=1e-3)
    assert loading.load(str(other), device="cpu").digest != first


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_dtype(folder: Path, dtype: str) -> None:
    loaded = loading.load(str(folder), device="cpu", dtype=dtype)
    assert loaded.dtype == dtype
    assert {str(p.dtype) for p in loaded.model.parameters()} == {f"torch.{dtype}"}
    assert all(s.module._buffers[s.buffer].dtype == torch.float32 for s in loaded.slots)


def test_float32_on_the_cpu_whatever_the_checkpoint_is_in(tmp_path: Path) -> None:
    tiny.llama().to(torch.bfloat16).save_pretrained(tmp_path)
    assert loading.load(str(tmp_path), device="cpu").dtype == "float32"


def test_attention_of_its_own_is_a_note(tmp_path: Path) -> None:
    """Gemma 2 caps its attention scores, which SDPA cannot."""
    tiny.gemma2().save_pretrained(tmp_path)
    loaded = loading.load(str(tmp_path), device="cpu")
    assert "eager" in [n.kind for n in loaded.notes]
    ids = tiny.text(60)
    (got,) = evaluate.score(loaded, ids, tiny.windows(60, 1))
    wanted = tiny.plain(tiny.gemma2(), ids, tiny.windows(60, 1)[0])
    assert got.nll == pytest.approx(math.fsum(wanted), rel=1e-5)


def test_a_stored_table_that_is_not_the_configs_is_measured() -> None:
    """The live buffer counts: it is what the model turns with."""
    model = tiny.llama()
    with torch.no_grad():
        model.model.rotary_emb.inv_freq.mul_(1.5)
    loaded = loading.of_model(model)
    assert [n.kind for n in loaded.notes] == ["live_differs"]
    assert loaded.schedules[0].inv_freq[0] == 1.5
    ids = tiny.text(50)
    base = list(evaluate.score(loaded, ids, tiny.windows(50, 1)))
    with patch.swapped(loaded, make(loaded.schedules, "identity")):
        assert list(evaluate.score(loaded, ids, tiny.windows(50, 1))) == base


def test_a_narrow_table_that_no_config_explains_is_a_note() -> None:
    model = tiny.llama()
    with torch.no_grad():
        model.model.rotary_emb.inv_freq.mul_(1.5)
    loaded = loading.of_model(model.to(torch.bfloat16))
    assert {n.kind for n in loaded.notes} == {"narrow_table", "live_differs"}


def test_layers_are_found_by_running() -> None:
    """NoPE layers are handed angles that they do not use: the config narrows what is seen."""
    config = transformers.SmolLM3Config(
        **tiny.GROUPED | {"num_hidden_layers": 4, "no_rope_layers": [1, 0, 1, 1]}
    )
    loaded = loading.of_model(transformers.SmolLM3ForCausalLM(config).eval())
    assert [s.layers for s in loaded.schedules] == [(0, 2, 3)]
    assert [s.layers for s in loading.of_model(tiny.gemma3()).schedules] == [(1,), (0, 2)]


def test_not_there(tmp_path: Path) -> None:
    assert "there is no" in refused(tmp_path / "missing" / "model.gguf")
    assert "not on this machine and --offline" in refused("hf:nobody/nothing", offline=True)
    assert "or hf:org/name" in refused("nobody/nothing")  # a path with a typo reaches no network
    assert "cannot be fetched" in refused("hf:no one/at all", offline=True)


def test_broken_files(folder: Path, tmp_path: Path) -> None:
    weights = folder / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    assert "its header describes" in refused(folder)
    weights.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 5\n")
    assert "LFS" in refused(folder)
    weights.unlink()
    assert "holds no weights" in refused(folder)
    (folder / "other.safetensors").write_bytes(whole)
    assert "cannot load" in refused(folder)
    (folder / "config.json").write_text("{")
    assert "JSON" in refused(folder)
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF\3\0\0\0" + bytes(9))
    assert "broken.gguf" in refused(broken) or "GGUF" in refused(broken)
    text = tmp_path / "notes.txt"
    text.write_text("no model at all")
    assert "is no GGUF file" in refused(text)


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = folder / "model.safetensors"
    kept = load_file(weights)
    kept.pop("model.layers.1.mlp.up_proj.weight")
    save_file(kept, weights, metadata={"format": "pt"})
    assert "1 is missing, model.layers.1.mlp.up_proj.weight first" in refused(folder)


def test_weights_of_another_shape(folder: Path) -> None:
    edit(folder, intermediate_size=64)
    assert "9 are of another shape, model.layers.0.mlp.down_proj.weight first" in refused(folder)


def test_models_that_cannot_be_measured(folder: Path, tmp_path: Path) -> None:
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=32)
    other = tmp_path / "gpt2"
    transformers.GPT2LMHeadModel(config).save_pretrained(other)
    assert "no rotary position embedding" in refused(other)
    edit(folder, model_type="unheard_of", auto_map={"AutoConfig": "configuration.Config"})
    assert "needs code from its own repository" in refused(folder)
    with pytest.raises(UsageError, match="no rotary table in a buffer"):
        loading.of_model(transformers.GPT2LMHeadModel(config))


def test_remote_code_without_a_class_is_refused(folder: Path) -> None:
    edit(folder, model_type="unheard_of")
    assert "cannot load" in refused(folder)


def test_a_body_without_a_head() -> None:
    with pytest.raises(UsageError, match="no head on top of a body"):
        loading.of_model(tiny.llama().model)


def test_devices_and_dtypes(folder: Path) -> None:
    def said(**options: Any) -> str:
        with pytest.raises(UsageError) as caught:
            loading.load(str(folder), **options)
        return str(caught.value)

    assert "did you mean bfloat16?" in said(device="cpu", dtype="bfloat")
    assert "unknown device" in said(device="gpu")
    assert "no place for a model" in said(device="meta")
    if not torch.cuda.is_available():
        assert "torch sees 0 CUDA devices; use --device cpu" in said(device="cuda")
    assert "not there" in said(device="cuda:99")
    if not torch.backends.mps.is_available():
        assert "mps is not there" in said(device="mps")


def test_auto_is_the_cpu_where_there_is_nothing_else(folder: Path) -> None:
    loaded = loading.load(str(folder), device="auto")
    assert loaded.device.startswith("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize(
    ("absent", "named"),
    [
        ({"accelerate"}, "accelerate"),
        ({"torch", "accelerate"}, "torch and accelerate"),
        ({"torch", "transformers", "accelerate"}, "torch, transformers and accelerate"),
    ],
)
def test_without_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, absent: set[str], named: str
) -> None:
    import importlib.util

    plain = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda n: None if n in absent else plain(n))
    assert f"needs {named}; pip install 'ropeaudit[ppl]'" in refused(folder)


def test_hub_id_in_the_cache(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hub id is looked for in the cache of huggingface_hub, at the revision that is named."""
    import huggingface_hub.constants

    cache = tmp_path_factory.mktemp("hub")
    commit = "0123456789abcdef0123456789abcdef01234567"
    home = cache / "models--acme--tiny"
    (home / "snapshots").mkdir(parents=True)
    (home / "refs").mkdir()
    (home / "refs" / "main").write_text(commit)
    folder.rename(home / "snapshots" / commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(cache))
    for name in ("hf:acme/tiny", f"hf:acme/tiny@{commit}"):
        assert loading.load(name, device="cpu", offline=True).vocabulary == tiny.VOCABULARY
    assert "not on this machine" in refused("hf:acme/tiny@other", offline=True)


def test_nothing_is_written_to_stderr(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loading.load(str(folder), device="cpu")
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "bases"),
    [
        (models.smollm2, {"text": 1e5}),
        (models.gemma3, {"text/full_attention": 1e6, "text/sliding_attention": 1e4}),
    ],
)
def test_gguf(file: Any, bases: dict[str, float], capfd: pytest.CaptureFixture[str]) -> None:
    loaded = loading.load(str(file()), device="cpu")
    assert {s.name: s.rope_theta for s in loaded.schedules} == bases
    assert capfd.readouterr().err == ""
    assert loaded.encode is not None
    ids = loaded.encode("The quick brown fox jumps over the lazy dog. " * 4)
    scores = list(evaluate.score(loaded, ids, tiny.windows(40, 1)))
    assert 0.1 < scores[0].nll / scores[0].tokens < 4.0
    with patch.swapped(loaded, make(loaded.schedules, "int4:sym")):
        other = list(evaluate.score(loaded, ids, tiny.windows(40, 1)))
    assert abs(other[0].nll - scores[0].nll) > 0.5
    assert list(evaluate.score(loaded, ids, tiny.windows(40, 1))) == scores
