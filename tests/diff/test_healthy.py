"""Right conversions stay unsaid: real files, and files that llama.cpp's converter wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.diff.compare import compare
from ropeaudit.diff.likeness import Likeness
from ropeaudit.resolve import build
from tests import models
from tests.gguf_readings import llama3_factors, reading

FIXTURES = Path(__file__).parents[2] / "fixtures"
MEASURED = {c["id"]: c for c in json.loads((FIXTURES / "gguf/measured.json").read_text())["cases"]}
SOURCES: list[dict[str, Any]] = json.loads((FIXTURES / "gguf/sources.json").read_text())["cases"]


def converted(case: dict[str, Any]) -> Any:
    tensors = dict(case["tensors"])
    law = tensors.get("rope_freqs.weight")
    if law is not None:
        dim, base = case["keys"]["rope.dimension_count"], case["keys"]["rope.freq_base"]
        names = ("factor", "low_freq_factor", "high_freq_factor")
        numbers = [law[k] for k in (*names, "original_max_position_embeddings")]
        tensors["rope_freqs.weight"] = llama3_factors(dim, base, *numbers)
    return build(reading(case["architecture"], case["keys"], tensors))


@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s["id"])
def test_what_the_converter_wrote(source: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / source["file"]
    path.write_text(json.dumps(source["config"]))
    found = compare(ropeaudit.read(path), converted(MEASURED[source["id"]]))
    kinds = {lost.name for pair in found.pairs for lost in pair.lost}
    assert kinds == set(source["lost"])
    assert found.undecided == ()
    assert not any(u.matters for u in found.unpaired)
    assert found.verdict is (Likeness.DIFFERENT if kinds else Likeness.EQUIVALENT)


SMOL = FIXTURES / "zoo/HuggingFaceTB__SmolLM2-135M/config.json"
GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 640,
    "num_attention_heads": 4,
    "head_dim": 256,
    "num_hidden_layers": 18,
    "max_position_embeddings": 32768,
    "sliding_window": 512,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
}


@pytest.mark.slow
def test_smollm2_and_its_gguf() -> None:
    found = ropeaudit.diff(SMOL, models.smollm2())
    assert [p.likeness for p in found.pairs] == [Likeness.EQUIVALENT]
    assert found.exit_code == 0
    # The rows of query and key are reordered by the converter: no change of layout.
    assert (found.pairs[0].a.pairing, found.pairs[0].b.pairing) == ("half", "interleaved")


@pytest.mark.slow
def test_gemma3_and_its_gguf(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(GEMMA))
    found = ropeaudit.diff(config, models.gemma3())
    assert {p.a.name: p.likeness for p in found.pairs} == {
        "text/full_attention": Likeness.EQUIVALENT,
        "text/sliding_attention": Likeness.EQUIVALENT,
    }
    assert {p.b.name: p.context for p in found.pairs} == {
        "text/full_attention": 32768,
        "text/sliding_attention": 512,
    }


@pytest.mark.slow
def test_live_models_are_what_their_config_says(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.live_models import LLAMA3, gemma3, llama, phi3, prompt

    for make in (
        lambda: llama(rope_parameters=LLAMA3, max_position_embeddings=131072),
        gemma3,
        lambda: prompt(phi3(), 100),
    ):
        model = make()
        config = tmp_path / "config.json"
        config.write_text(json.dumps(model.config.to_dict() | {"dtype": None}, default=str))
        for a, b in ((config, model), (model, config), (model, model)):
            found = ropeaudit.diff(a, b)
            assert found.exit_code == 0, [x.text for p in found.pairs for x in p.lost]


def test_original_checkpoint_and_its_conversion(tmp_path: Path) -> None:
    """Meta's layout is interleaved; the conversion to half reorders the weights."""
    params, config = tmp_path / "params.json", tmp_path / "config.json"
    params.write_text(
        json.dumps({"dim": 4096, "n_layers": 32, "n_heads": 32, "rope_theta": 500000.0})
    )
    config.write_text(
        json.dumps(
            {
                "model_type": "llama",
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "num_hidden_layers": 32,
                "rope_theta": 500000.0,
                "max_position_embeddings": 8192,
            }
        )
    )
    found = ropeaudit.diff(params, config)
    assert {p.a.pairing for p in found.pairs} == {"interleaved"}
    assert found.verdict is Likeness.SAME


@pytest.mark.slow
def test_configs_that_transformers_writes_anew(tmp_path: Path) -> None:
    """Old keys become new ones, defaults are written out: the schedule stays."""
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    kept = 0
    for path in sorted(FIXTURES.glob("zoo/*/config.json")):
        data = json.loads(path.read_text())
        kind = data.get("model_type")
        # The class of dbrx drops the nested base.
        if kind not in transformers.CONFIG_MAPPING or kind == "dbrx":
            continue
        try:
            written = (
                transformers.CONFIG_MAPPING[kind].from_dict(data).to_json_string(use_diff=False)
            )
        except Exception:  # the class refuses the file
            continue
        copy = tmp_path / "config.json"
        copy.write_text(written)
        found = ropeaudit.diff(path, copy)
        if not (found.a.schedules or found.a.encodings) or found.undecided:
            assert found.verdict is Likeness.UNKNOWN, path
            continue
        assert found.verdict is Likeness.SAME, path
        kept += 1
    assert kept > 110
