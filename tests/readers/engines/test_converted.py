"""llama.cpp's reader: what the converter writes under either transformers, and what is run."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.readers.engines import llama_cpp
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses
from tests.converted import FIXTURE, RELEASES, crc, disagreement
from tests.engine_vectors import request
from tests.oracles.engines.converted_configs import drawn

NEW, OLD = RELEASES
LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 512,
    "num_attention_heads": 4, "num_hidden_layers": 2, "max_position_embeddings": 8192,
    "rope_theta": 500000.0,
}  # fmt: skip
PHI3: dict[str, Any] = {
    **LLAMA, "model_type": "phi3", "architectures": ["Phi3ForCausalLM"], "num_key_value_heads": 4,
    "original_max_position_embeddings": 4096, "max_position_embeddings": 131072,
    "rope_scaling": {
        "type": "longrope", "short_factor": [1.0] * 64, "long_factor": [float(2 + i // 8)
        for i in range(64)],
    },
}  # fmt: skip
LLAMA3 = {
    "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
    "original_max_position_embeddings": 1024,
}  # fmt: skip


def build(
    config: dict[str, Any], release: str = NEW, lengths: tuple[int, ...] = (), file: str = ""
) -> Built:
    chosen = next(r for r in llama_cpp.RELEASES if r.name == release)
    case = {"config": config, "file": file or "config.json"}
    return llama_cpp.build(request(case, lengths), chosen)


@pytest.mark.parametrize("release", RELEASES)
def test_agrees_with_files_that_the_converter_made_of_random_configs(release: str) -> None:
    stored = json.loads(FIXTURE.read_text(encoding="utf-8"))
    configs = {crc(c): c for _, c in drawn(stored["count"], stored["seed"])}
    wrong, tables = [], 0
    for name, mark, measured in stored[release]:
        assert mark in configs, "the draw has changed; run the oracle again with --write"
        tables += bool(measured)
        said = disagreement(release, configs[mark], measured)
        wrong += [f"{name}: {said}"] if said else []
    assert wrong == []
    assert tables >= 180


def test_the_installed_transformers_decides_which_schema_is_read() -> None:
    config = {**LLAMA, "rope_scaling": LLAMA3, "rope_parameters": None}
    assert build(config, NEW).schedules[0].rope_type == "llama3"
    assert build(config, OLD).schedules[0].rope_type == "default"
    assert build(config, OLD).ignored == ("/rope_scaling",)


def test_a_config_that_transformers_refuses_is_read_as_json() -> None:
    short = {k: v for k, v in LLAMA3.items() if k != "original_max_position_embeddings"}
    found = build({**LLAMA, "rope_scaling": short}, OLD)
    assert [n.kind for n in found.notes] == ["raw_config"]
    # The converter's own default for the original length.
    assert found.schedules[0].inv_freq == (
        build({**LLAMA, "rope_scaling": {**short, "original_max_position_embeddings": 8192}}, OLD)
        .schedules[0]
        .inv_freq
    )


@pytest.mark.parametrize(
    ("lengths", "wanted"),
    [((), ["short", "long"]), ((4096,), ["short"]), ((4097,), ["long"]),
     ((1024, 8192), ["short", "long"])],
)  # fmt: skip
def test_n_ctx_chooses_the_factor_list(lengths: tuple[int, ...], wanted: list[str]) -> None:
    assert [s.variant for s in build(PHI3, NEW, lengths).schedules] == wanted


def test_longrope_of_other_families_leaves_only_its_name() -> None:
    config = {**PHI3, "model_type": "llama", "architectures": ["LlamaForCausalLM"]}
    config["rope_scaling"] = {**PHI3["rope_scaling"], "rope_type": "longrope", "factor": 32.0}
    found = build(config)
    (schedule,) = found.schedules
    assert schedule.inv_freq == schedule.unscaled
    assert found.ignored == ("/rope_scaling",)


def test_attention_factor_and_truncate_do_not_reach_the_engine() -> None:
    yarn = {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048,
        "attention_factor": 1.0, "truncate": False,
    }  # fmt: skip
    found = build({**LLAMA, "rope_scaling": yarn})
    assert math.isclose(found.schedules[0].attention_scaling, 0.1 * math.log(4) + 1, abs_tol=1e-6)
    assert set(found.ignored) == {"/rope_scaling/attention_factor", "/rope_scaling/truncate"}


def test_pairs_are_told_by_the_rows_of_the_original_weights() -> None:
    assert build(LLAMA).schedules[0].pairing == "half"
    cohere = {**LLAMA, "model_type": "cohere", "architectures": ["CohereForCausalLM"]}
    assert build(cohere).schedules[0].pairing == "interleaved"


def test_families_without_a_base_key_run_on_ten_thousand() -> None:
    neox = {
        **LLAMA, "model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"],
        "rotary_emb_base": 50000, "rotary_pct": 0.25,
    }  # fmt: skip
    found = build(neox, OLD)
    assert found.schedules[0].rope_theta == 10000
    assert "/rotary_emb_base" in found.ignored
    with pytest.raises(Refuses, match="rotary_pct"):
        build(neox, NEW)


def test_a_params_json_is_converted_as_mistral_writes_it() -> None:
    params = {
        "dim": 512, "n_layers": 2, "n_heads": 4, "head_dim": 128, "rope_theta": 1e6,
        "max_position_embeddings": 262144,
        "yarn": {"original_max_position_embeddings": 16384, "factor": 16.0, "apply_scale": False,
                 "beta": 32.0, "alpha": 1.0},
    }  # fmt: skip
    (schedule,) = build(params, file="params.json").schedules
    assert schedule.rope_type == "yarn"
    assert schedule.parameters["factor"] == 16
    with pytest.raises(NotCovered, match="experts"):
        build({**params, "moe": {"num_experts": 8}}, file="params.json")
    with pytest.raises(Refuses, match="alpha"):
        build({**params, "yarn": {"apply_scale": True, "factor": 2.0, "beta": 1}}, NEW, (),
              "params.json")  # fmt: skip


@pytest.mark.parametrize(
    ("change", "error", "word"),
    [
        ({"architectures": None}, Refuses, "architectures"),
        ({"architectures": ["UnheardOfForCausalLM"]}, Refuses, "UnheardOf"),
        ({"architectures": ["DeciLMForCausalLM"]}, NotCovered, "DeciLM"),
        ({"rope_parameters": [1]}, Refuses, "rope parameters"),
        ({"num_hidden_layers": "two"}, Refuses, "layers"),
    ],
)
def test_says_why_nothing_is_converted(
    change: dict[str, Any], error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        build({**LLAMA, "model_type": "some_remote_type", **change})


@given(
    base=st.sampled_from([1e4, 5e5, 1e6, 123456.0]),
    heads=st.sampled_from([2, 4, 8]),
    head=st.sampled_from([None, 32, 64]),
    schema=st.sampled_from(["old", "new", "both"]),
)
def test_plain_models_come_out_alike_in_every_spelling(
    base: float, heads: int, head: int | None, schema: str
) -> None:
    config = {**LLAMA, "num_attention_heads": heads, "rope_theta": base}
    if head is not None:
        config["head_dim"] = head
    if schema != "old":
        config["rope_parameters"] = {"rope_type": "default", "rope_theta": base}
    if schema == "new":
        del config["rope_theta"]
    kept = copy.deepcopy(config)
    found = [build(config, release) for release in RELEASES]
    assert found[0].schedules[0].inv_freq == found[1].schedules[0].inv_freq
    assert found[0].schedules[0].rope_theta == base
    assert found[0].schedules[0].rotary_dim == (head or 512 // heads)
    assert [f.ignored for f in found] == [(), ()]
    assert config == kept
