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


@pytest.mark.parametrize("name", ["bloom", "mpt", "falcon"])
def test_the_logits_are_those_of_transformers(name: str) -> None:
    """Weights of a real attention without projections to speak of: its biases alone."""
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor as bloom
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor as falcon
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor as mpt

    heads, count, mask = 12, 9, torch.ones((1, 9), dtype=torch.long)
    config = {"bloom": layouts.bloom, "mpt": layouts.mpt, "falcon": layouts.falcon}[name]
    encoding = one(config(heads=heads, width=heads * 64))
    if name == "mpt":
        engine = mpt(heads, count).double()
    else:
        build = bloom if name == "bloom" else falcon
        engine = build(mask, heads, torch.float32).double() / (8.0 if name == "falcon" else 1.0)
    at = np.arange(float(count))[:, None]
    own = alibi.bias(encoding, at, at)[0] * _alibi.softmax_scale(encoding)
    # Softmax does not see what all keys of one query share.
    last, theirs = own[:, -1], engine[:, 0].numpy()
    tolerance = 2.0**-8 if name == "falcon" else 1e-5
    assert theirs - theirs[:, -1:] == pytest.approx(last - last[:, -1:], rel=1e-5, abs=tolerance)


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
