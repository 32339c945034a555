"""The measured configs: what is proposed keeps the reference and loses nobody, and each family
reaches every engine that was measured to agree on the advised spelling."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.normalise.judged import agreeing, proposal, require_sound, vectors

CASES = [n for n, c in vectors().items() if c["file"] != "params.json"]
REFERENCE = {"transformers-5.24", "transformers-5.20"}
SERVED = REFERENCE | {"transformers-4.57", "vllm-0.33", "sglang-0.5.23"}
GGUF = {"llama.cpp+tf5", "llama.cpp+tf4.57"}
MLX = {"mlx-lm-0.32", "mlx-lm-0.28"}
LLAMA3 = SERVED | GGUF | MLX | {
    "transformers-4.46", "exllamav3-1.6", "exllamav2-0.3", "tgi-2026.01",
}  # fmt: skip
RIGHT = {
    "plain": LLAMA3 | {"ctranslate2+tf5.20", "ctranslate2+tf4.57", "deepspeed-0.19"},
    "llama3": LLAMA3,
    "linear": (LLAMA3 - {"tgi-2026.01"}) | {"ctranslate2+tf5.20", "ctranslate2+tf4.57"},
    "yarn": SERVED | GGUF | MLX | {"exllamav3-1.6"},
    "gemma3": SERVED | GGUF | {"mlx-lm-0.32", "exllamav3-1.6", "exllamav2-0.3"},
    "deepseek": SERVED | GGUF | MLX | {"exllamav3-1.6", "tgi-2026.01"},
    "gpt_oss": SERVED | {"exllamav3-1.6"},
    "phi3": SERVED | GGUF | {"transformers-4.46", "exllamav3-1.6", "tgi-2026.01"},
    "modernbert": REFERENCE | {"transformers-4.57", "vllm-0.33"} | GGUF,
    "neox": REFERENCE
    | {"transformers-4.57", "transformers-4.46", "vllm-0.33", "llama.cpp+tf4.57"}
    | {"ctranslate2+tf4.57"},
}
"""The engines that were measured to build the advised spelling of a family rightly (the rec_ rows
of the matrix), among those that cover it."""
UNMEASURED = {
    "neox": {"mlx-lm-0.32", "mlx-lm-0.28"},
}
"""Engines that agree here as well, from their code; the measurement could not run them."""
FAMILY = {
    "plain_old": "plain", "plain_new": "plain", "plain_none": "plain", "both_agree": "plain",
    "both_conflict_theta": "plain", "llama_partial": "plain",
    "llama3_old": "llama3", "llama3_both": "llama3", "llama3_no_orig": "llama3",
    "params_null_scaling_set": "llama3", "mixed_theta_top_params": "llama3",
    "rec_llama3": "llama3", "linear_old": "linear", "linear_new": "linear",
    "yarn_new": "yarn", "rec_yarn": "yarn",
    "gemma3_old": "gemma3", "gemma3_new": "gemma3", "rec_gemma3": "gemma3",
    "deepseek_v3_old": "deepseek", "rec_deepseek": "deepseek",
    "gpt_oss_new": "gpt_oss", "rec_gpt_oss": "gpt_oss",
    "phi3_su_old": "phi3", "phi3_longrope_old": "phi3", "phi3_longrope_new": "phi3",
    "modernbert_old": "modernbert", "modernbert_new": "modernbert",
    "rec_modernbert": "modernbert", "neox_new": "neox",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_promises_hold(name: str, tmp_path: Path) -> None:
    found = proposal(tmp_path, vectors()[name]["config"])
    require_sound(found)
    again = proposal(tmp_path, found.after)
    assert again.status == "normal"
    assert again.after == found.after
    if name in FAMILY:
        family = FAMILY[name]
        assert agreeing(found) - UNMEASURED.get(family, set()) == RIGHT[family]


def new_only(config: dict[str, Any]) -> dict[str, Any]:
    """A config with both schemas as transformers 5 saves it: rope_parameters alone."""
    old = {"rope_scaling", "rope_theta", "rotary_emb_base", "rotary_pct"}
    return {k: v for k, v in config.items() if k not in old}


def old_only(config: dict[str, Any]) -> dict[str, Any]:
    """The same as older versions saved it, with ``type`` for ``rope_type``."""
    kept = {k: v for k, v in config.items() if k != "rope_parameters"}
    scaling = {k: v for k, v in config["rope_scaling"].items() if k != "rope_theta"}
    kind = scaling.pop("rope_type")
    return kept | {"rope_scaling": {"type": kind} | scaling}


def stale(config: dict[str, Any]) -> dict[str, Any]:
    """The same with the new schema left null."""
    return config | {"rope_parameters": None}


@pytest.mark.parametrize("how", [new_only, old_only, stale])
@pytest.mark.parametrize("case", ["rec_llama3", "rec_yarn", "rec_deepseek", "rec_gpt_oss"])
def test_every_spelling_of_a_family_ends_in_the_same_engines(
    case: str, how: Any, tmp_path: Path
) -> None:
    found = proposal(tmp_path, how(vectors()[case]["config"]))
    require_sound(found)
    assert agreeing(found) == RIGHT[FAMILY[case]]
    text = json.loads(found.after)
    assert text["rope_scaling"] == text["rope_parameters"]
    assert text["rope_theta"] == text["rope_parameters"]["rope_theta"]
    assert "type" not in text["rope_scaling"]


@pytest.mark.parametrize("how", [new_only, stale])
def test_gemma3_from_either_schema(how: Any, tmp_path: Path) -> None:
    config = vectors()["rec_gemma3"]["config"]
    found = proposal(tmp_path, how(config))
    require_sound(found)
    if how is stale:
        assert agreeing(found) == RIGHT["gemma3"]
    written = json.loads(found.after)
    assert set(written["rope_parameters"]) == {"full_attention", "sliding_attention"}
    assert written["layer_types"] == config["layer_types"]
    assert written["sliding_window_pattern"] == 6


def test_neox_from_the_old_keys(tmp_path: Path) -> None:
    config = new_only(vectors()["neox_new"]["config"])
    del config["rope_parameters"]
    found = proposal(tmp_path, config | {"rotary_pct": 0.25, "rotary_emb_base": 10000})
    require_sound(found)
    assert agreeing(found) - UNMEASURED["neox"] == RIGHT["neox"]
    assert json.loads(found.after)["rotary_emb_base"] == 10000


def test_phi3_is_spelled_as_older_readers_ask(tmp_path: Path) -> None:
    """Type and the two lists alone in the old dict; the original length on top and in the new."""
    written = json.loads(proposal(tmp_path, vectors()["phi3_longrope_new"]["config"]).after)
    assert list(written["rope_scaling"]) == ["type", "short_factor", "long_factor"]
    assert written["rope_parameters"]["rope_type"] == "longrope"
    assert "type" not in written["rope_parameters"]
    assert written["original_max_position_embeddings"] == 4096
    assert written["rope_parameters"]["original_max_position_embeddings"] == 4096


def test_mrope_keeps_the_name_that_engines_look_for(tmp_path: Path) -> None:
    written = json.loads(proposal(tmp_path, vectors()["qwen2vl_old"]["config"]).after)
    assert written["rope_scaling"]["type"] == "mrope"
    assert written["rope_parameters"]["rope_type"] == "default"
    assert written["rope_parameters"]["mrope_section"] == [16, 24, 24]


def test_what_the_author_has_to_decide_is_said_and_not_written(tmp_path: Path) -> None:
    found = proposal(tmp_path, vectors()["yarn_card"]["config"])
    assert json.loads(found.after)["max_position_embeddings"] == 40960
    assert "4 x 32768 = 131072" in found.advice[0]
    assert not proposal(tmp_path, vectors()["yarn_new"]["config"]).advice


def test_what_is_given_up_is_said(tmp_path: Path) -> None:
    lost = proposal(tmp_path, vectors()["gemma3_flat"]["config"])
    assert any("declared flat" in text for text in lost.cautions)
    refused = proposal(tmp_path, vectors()["phi3_su_old"]["config"])
    assert refused.cautions[0].startswith("before the change: transformers 5.24 does not load")
    conflict = proposal(tmp_path, vectors()["both_conflict_theta"]["config"])
    assert any("500000" in text for text in conflict.cautions)
    assert not proposal(tmp_path, vectors()["llama3_old"]["config"]).cautions


@pytest.mark.parametrize(
    ("name", "engine", "word"),
    [
        ("llama3_old", "ctranslate2+tf4.57", "llama3 scaling by 8 lost"),
        (
            "dynamic_old",
            "vllm-0.33",
            "another table at 8192 positions; it does not read /rope_scaling/factor",
        ),
        ("gpt_oss_new", "llama.cpp+tf5", "truncate true instead of false"),
        ("linear_old", "tgi-2026.01", "linear scaling by 4 lost"),
        ("llama_longrope_af", "vllm-0.33", "attention scaling"),
        ("yarn_no_orig", "mlx-lm-0.32", "it would be right with"),
    ],
)
def test_why_no_spelling_helps(name: str, engine: str, word: str, tmp_path: Path) -> None:
    found = proposal(tmp_path, vectors()[name]["config"])
    why = next(e.why for e in found.engines if e.name == engine)
    assert why is not None
    assert word in why


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("rec_")])
def test_the_advised_spelling_is_normal(name: str, tmp_path: Path) -> None:
    assert proposal(tmp_path, vectors()[name]["config"]).status == "normal"
