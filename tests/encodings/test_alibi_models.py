"""Which configs and GGUF files state ALiBi, and how each model applies it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.document import Document
from ropeaudit.encodings import _alibi, alibi
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue
from ropeaudit.resolve import resolve
from tests.encodings import layouts_alibi as layouts
from tests.encodings.layouts_jordan import config as jordan_config
from tests.encodings.vectors import VECTORS
from tests.gguf_files import write as write_gguf

VECTOR = VECTORS["alibi"]


def stated(config: dict[str, Any]) -> tuple[Encoding, ...]:
    return tuple(alibi.recognise(Sources(document=Document("config.json", config))))


def one(config: dict[str, Any]) -> Encoding:
    (found,) = stated(config)
    return found


def in_gguf(metadata: dict[str, Any]) -> tuple[Encoding, ...]:
    return tuple(alibi.recognise(Sources(metadata=metadata, file="model.gguf")))


def test_bloom_says_nothing_and_has_it() -> None:
    encoding = one(layouts.bloom(seq_length=2048, torch_dtype="bfloat16"))
    assert (encoding.kind, encoding.heads, encoding.head_dim) == ("alibi", 16, 64)
    assert encoding.dtype == "bfloat16"
    assert (encoding.positions.trained, encoding.positions.extent) == ((2048,), (2047.0,))
    assert encoding.assumed == frozenset()
    spectrum = alibi.spectrum(encoding)
    assert spectrum.sector == ("bias",)
    assert (spectrum.order, spectrum.w.shape) == (2, (1, 16, 1, 1))
    assert spectrum.eta[0, :, 0] == pytest.approx(VECTOR["slopes_16"])
    assert not spectrum.w.any()
    assert not spectrum.gamma.any()
    assert [f.field for f in encoding.provenance] == [
        "model_type", "n_head", "hidden_size", "dtype", "seq_length",
    ]  # fmt: skip


def test_bloom_by_its_defaults() -> None:
    encoding = one({"model_type": "bloom"})
    assert (encoding.heads, encoding.head_dim) == (8, 8)
    assert encoding.assumed == {"n_head", "hidden_size", "dtype"}


def test_mpt() -> None:
    encoding = one(layouts.mpt())
    assert (encoding.heads, encoding.dtype, encoding.notes) == (32, "float32", ())
    assert encoding.parameters["slopes"][0] == pytest.approx(_alibi.slopes(32))
    assert stated(layouts.mpt(alibi=False)) == ()
    steep = one(layouts.mpt(alibi_bias_max=16, softmax_scale=0.1))
    assert steep.parameters["slopes"][0] == pytest.approx(_alibi.slopes(32, 16.0))
    assert steep.notes[0].kind == "alibi_bias_max_ignored"
    assert _alibi.softmax_scale(steep) == 0.1


def test_falcon_adds_before_it_scales() -> None:
    encoding = one(layouts.falcon(heads=12, width=12 * 64))
    expected = _alibi.rounded(np.array(VECTOR["slopes_12"]), "bfloat16") / 8.0
    assert encoding.parameters["slopes"][0] == pytest.approx(expected, rel=1e-15)
    assert encoding.settings["added"] == "before scaling"
    assert encoding.dtype == "bfloat16"
    assert stated(layouts.falcon() | {"alibi": False}) == ()
    old = layouts.falcon() | {"model_type": "RefinedWeb", "n_head": 32}
    del old["num_attention_heads"]
    assert one(old).heads == 32


def live(name: str, heads: int, width: int) -> Any:
    """A one-layer model of transformers whose scores are its bias alone: all weights are 0.

    Eager attention, because only that tells its weights.
    """
    import torch
    import transformers as t

    shared = {"vocab_size": 12, "bos_token_id": 1, "eos_token_id": 2}
    config, model = {
        "bloom": (
            t.BloomConfig(n_head=heads, hidden_size=width, n_layer=1, **shared),
            t.BloomModel,
        ),
        "mpt": (t.MptConfig(n_heads=heads, d_model=width, n_layers=1, **shared), t.MptModel),
        "falcon": (
            t.FalconConfig(
                num_attention_heads=heads, hidden_size=width, num_hidden_layers=1, alibi=True,
                **shared,
            ),
            t.FalconModel,
        ),
    }[name]  # fmt: skip
    config._attn_implementation = "eager"
    made = model(config).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.zero_()
    return made


def weights(encoding: Encoding, times: float = 1.0) -> Any:
    """Attention weights (1, heads, 9, 9) of the bias alone, by the torch module."""
    import torch

    from ropeaudit.encodings.torch.alibi import Module

    still = torch.zeros((1, encoding.heads, 9, encoding.head_dim), dtype=torch.float64)
    at = torch.arange(9.0)[:, None]
    logits = times * Module(encoding)(still, still, at, at) * _alibi.softmax_scale(encoding)
    later = torch.ones((9, 9), dtype=torch.bool).triu(1)
    return logits.masked_fill(later, -torch.inf).softmax(-1)


@pytest.mark.parametrize("heads", [4, 12])
@pytest.mark.parametrize("name", ["bloom", "mpt"])
def test_attention_is_that_of_transformers(name: str, heads: int) -> None:
    import torch

    model = live(name, heads, heads * 24)
    (encoding,) = resolve(model).encodings
    assert (encoding.heads, encoding.head_dim) == (heads, 24)
    with torch.no_grad():
        engine = model(torch.arange(9)[None], output_attentions=True).attentions[0].double()
    assert (engine - weights(encoding)).abs().max() < 1e-6
    assert (engine[0, 0] - engine[0, -1]).abs().max() > 1e-2  # heads do differ


def test_transformers_builds_mpt_with_eight_whatever_the_config_says() -> None:
    import torch

    model = live("mpt", 4, 96)
    model.config.attn_config.alibi_bias_max = 16
    (encoding,) = resolve(model).encodings
    assert encoding.settings["bias_max"] == 16.0
    assert [n.kind for n in encoding.notes] == ["alibi_bias_max_ignored"]
    with torch.no_grad():
        engine = model(torch.arange(9)[None], output_attentions=True).attentions[0].double()
    eight = one(layouts.mpt(4, 96))
    assert (engine - weights(eight)).abs().max() < 1e-6
    assert (engine - weights(encoding)).abs().max() > 1e-2


@pytest.mark.parametrize("heads", [4, 12])
def test_falcon_gets_its_bias_once_with_sdpa_and_twice_with_eager(heads: int) -> None:
    import torch

    model = live("falcon", heads, heads * 24)
    (encoding,) = resolve(model).encodings
    masks: list[Any] = []
    model.h[0].self_attention.register_forward_pre_hook(
        lambda _module, _args, given: masks.append(given["attention_mask"]), with_kwargs=True
    )
    with torch.no_grad():
        eager = model(torch.arange(9)[None], output_attentions=True).attentions[0].double()
    # The mask is what sdpa adds; the eager code adds the bias to the scores as well.
    assert (masks[0].double().softmax(-1) - weights(encoding)).abs().max() < 2e-3
    assert (eager - weights(encoding, 2.0)).abs().max() < 2e-3
    assert [n.kind for n in encoding.notes] == ["alibi_applied_twice"]


def test_baichuan_by_its_width() -> None:
    encoding = one(layouts.baichuan())
    assert (encoding.heads, encoding.head_dim, encoding.positions.trained) == (40, 128, (4096,))
    assert encoding.parameters["slopes"][0] == pytest.approx(_alibi.slopes(40))
    assert stated(layouts.baichuan(hidden_size=4096)) == ()


def test_jordan_rope_without_jordan() -> None:
    encoding = one(jordan_config("alibi", heads=8))
    assert (encoding.settings["model"], encoding.heads) == ("jordan_rope", 8)
    assert encoding.positions.trained == (1024,)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (layouts.bloom(heads=0), "n_head is 0, expected a whole number from 1 to 65536"),
        (layouts.bloom(heads=16, width=8), "16 heads share 8 channels, less than one each"),
        (layouts.mpt(alibi_bias_max="8"), "attn_config.alibi_bias_max is the string \"8\""),
        (layouts.mpt(alibi_bias_max=-1), "attn_config.alibi_bias_max is -1, expected a number"),
        ({"model_type": "mpt", "attn_config": []}, "attn_config is [], expected an object"),
        ({"position_method": "alibi"}, "states ALiBi and no n_heads, so its slopes cannot be"),
        (layouts.baichuan(num_attention_heads="40"), "expected a whole number"),
    ],
)  # fmt: skip
def test_bad_configs(config: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidValue, match=re.escape(said)):
        stated(config)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"model_type": "llama"},
        {"model_type": ["bloom"]},
        {"alibi": True},
        {"model_type": "opt"},
    ],
)
def test_nothing_is_said_of_others(config: dict[str, Any]) -> None:
    assert stated(config) == ()


# GGUF


def test_metadata() -> None:
    (bloom,) = in_gguf(layouts.metadata("bloom", 16, 1024))
    assert bloom.parameters["slopes"][0] == pytest.approx(VECTOR["slopes_16"])
    assert bloom.positions.trained == (2048,)
    assert str(bloom.provenance[0].location) == "model.gguf bloom.attention.head_count"
    (mpt,) = in_gguf(layouts.metadata("mpt", 32, attention__max_alibi_bias=16.0))
    assert mpt.parameters["slopes"][0] == pytest.approx(_alibi.slopes(32, 16.0))
    (baichuan,) = in_gguf(layouts.metadata("baichuan", 40, 5120, block_count=40))
    assert baichuan.heads == 40


@pytest.mark.parametrize(
    "metadata",
    [
        layouts.metadata("mpt"),
        layouts.metadata("mpt", attention__max_alibi_bias=0.0),
        layouts.metadata("baichuan", block_count=32),
        layouts.metadata("llama"),
        layouts.metadata("bloom", heads=[16, 16]),  # type: ignore[arg-type]
        {"general.architecture": "bloom"},
        {},
    ],
)
def test_metadata_that_does_not_suffice(metadata: dict[str, Any]) -> None:
    assert in_gguf(metadata) == ()


# The whole way


@pytest.mark.parametrize(
    ("config", "note"),
    [
        (layouts.bloom(), True),
        (layouts.mpt(), True),
        (layouts.falcon(), True),
        (layouts.baichuan(), True),
    ],
)
def test_a_config_resolves_to_an_encoding(
    tmp_path: Path, config: dict[str, Any], note: bool
) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    subject = resolve(str(path))
    assert subject.error is None
    assert [e.kind for e in subject.encodings] == ["alibi"]
    assert subject.schedules == ()
    assert any(n.kind == "no_rotary" for n in subject.notes) is note  # it still does not rotate


def test_a_gguf_file_resolves_to_an_encoding(tmp_path: Path) -> None:
    keys = {
        "attention.head_count": 32, "embedding_length": 4096, "context_length": 2048,
        "block_count": 32, "attention.max_alibi_bias": 8.0,
    }  # fmt: skip
    path = write_gguf(tmp_path / "mpt.gguf", "mpt", keys)
    subject = resolve(str(path))
    (encoding,) = subject.encodings
    assert encoding.parameters["slopes"][0] == pytest.approx(_alibi.slopes(32))
    assert [n.kind for n in subject.notes] == ["no_rotary"]
    plain = write_gguf(tmp_path / "off.gguf", "mpt", keys | {"attention.max_alibi_bias": 0.0})
    assert resolve(str(plain)).encodings == ()
