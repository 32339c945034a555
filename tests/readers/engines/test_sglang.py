"""SGLang 0.5.23: what is its own, beyond the measured cases."""

from __future__ import annotations

import math

import pytest

from ropeaudit.readers.engines import sglang
from ropeaudit.readers.engines.interface import NotCovered, Refuses
from ropeaudit.schedule.families.dynamic import grown_base
from tests.readers.engines.served import LONGROPE, YARN, build, config, kinds, only, oracle


def test_dynamic_is_one_table_grown_from_the_first_token() -> None:
    found = build(sglang, config(rope_scaling={"rope_type": "dynamic", "factor": 4.0}))
    base = grown_base(500000.0, 128, 4.0, 8192, 32768)
    assert only(found).inv_freq[1] == pytest.approx(base ** (-2 / 128), rel=1e-6)
    assert (only(found).rope_theta, only(found).variant) == (500000.0, None)
    assert only(found).unscaled == only(build(sglang, config())).inv_freq
    assert "dynamic_is_fixed" in kinds(found)


def test_yarn_reads_another_name_of_the_attention_factor() -> None:
    plain = 0.1 * math.log(4) + 1
    theirs = build(sglang, config(rope_scaling={**YARN, "attention_factor": 1.0}))
    assert only(theirs).attention_scaling == pytest.approx(plain)
    assert theirs.ignored == ("/rope_scaling/attention_factor",)
    ours = only(build(sglang, config(rope_scaling={**YARN, "attn_factor": 2.0})))
    assert ours.attention_scaling == pytest.approx(2 * plain)


def test_longrope_lists_by_the_length_of_a_batch() -> None:
    both = build(sglang, config(rope_scaling=LONGROPE))
    assert [s.variant for s in both.schedules] == ["short", "long"]
    long = build(sglang, config(rope_scaling=LONGROPE), (4096,))
    assert [s.variant for s in long.schedules] == ["long"]
    assert "list_by_batch" in kinds(long)


def test_fraction_in_the_dict_alone_is_not_read_for_llama() -> None:
    inner = {"rope_type": "default", "rope_theta": 500000.0, "partial_rotary_factor": 0.5}
    inside = only(build(sglang, config(rope_theta=None, rope_parameters=inner)))
    outside = only(build(sglang, config(partial_rotary_factor=0.5)))
    assert (inside.rotary_dim, outside.rotary_dim) == (128, 64)


@pytest.mark.parametrize(
    ("model_type", "name"),
    [("mixtral", "MixtralForCausalLM"), ("starcoder2", "Starcoder2ForCausalLM")],
)
def test_files_that_pass_no_scaling(model_type: str, name: str) -> None:
    values = config(model_type=model_type, architectures=[name], rope_theta=10000.75)
    found = build(sglang, {**values, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})
    assert only(found).rope_type == "default"
    assert only(found).rope_theta == 10000.0  # cut to an integer
    assert only(found).inv_freq[0] == 1.0
    assert found.ignored == ("/rope_scaling/rope_type", "/rope_scaling/factor")


def test_head_width_by_division_whatever_the_file_says() -> None:
    values = config(model_type="olmo2", architectures=["Olmo2ForCausalLM"], head_dim=64)
    assert only(build(sglang, values)).head_dim == 128


def test_llama4_leaves_out_every_fourth_layer_and_reads_no_list() -> None:
    values = config(
        model_type="llama4_text", architectures=["Llama4ForCausalLM"], head_dim=128,
        no_rope_layers=[0, 1, 1, 1], intermediate_size=64, num_local_experts=2,
    )  # fmt: skip
    found = only(build(sglang, values))
    assert found.layers == (0, 1, 2)
    assert found.pairing == "interleaved"


@pytest.mark.parametrize(
    ("changes", "layers"),
    [
        ({"sliding_window_pattern": "LLLG", "sliding_window": 64}, (0, 1, 2)),
        ({"sliding_window": None}, (0, 1, 2, 3)),
        ({"sliding_window_pattern": 4, "sliding_window": 64}, None),
        ({"sliding_window": 64}, None),
    ],
)
def test_exaone4_takes_the_length_of_its_pattern(
    changes: dict[str, object], layers: tuple[int, ...] | None
) -> None:
    values = config(model_type="exaone4", architectures=["Exaone4ForCausalLM"])
    values.update(changes)
    values["layer_types"] = ["sliding_attention"] * 3 + ["full_attention"]
    if layers is None:
        with pytest.raises(Refuses, match="which is a number"):
            build(sglang, values)
        return
    found = only(build(sglang, values))
    assert found.layers == layers
    assert found.rope_theta == 1_000_000.0  # the file's 500000 is not asked for


def test_gemma3_reads_a_nested_truncate_and_warns_of_one_cpu_path() -> None:
    values = config(model_type="gemma3_text", architectures=["Gemma3ForCausalLM"], head_dim=128)
    del values["rope_theta"]
    tables = []
    for more in ({}, {"truncate": False}):
        nested = {
            "full_attention": {**YARN, "rope_theta": 1e6, **more},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        }
        layers = ["sliding_attention", "full_attention"] * 2
        found = build(sglang, {**values, "rope_parameters": nested, "layer_types": layers})
        assert "cpu_plain" in kinds(found)
        tables += [s.inv_freq for s in found.schedules if s.layer_type == "full_attention"]
    assert tables[0] != tables[1]


def test_deepseek_pairing_follows_rope_interleave() -> None:
    values = {
        **config(model_type="deepseek_v3", architectures=["DeepseekV3ForCausalLM"]),
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64, "kv_lora_rank": 32,
        "rope_interleave": False,
    }  # fmt: skip
    assert only(build(sglang, values)).pairing == "half"


def test_refusals_and_what_is_not_covered() -> None:
    with pytest.raises(Refuses, match="decimal point"):
        build(sglang, config(rope_scaling={"rope_type": "linear", "factor": 2}))
    with pytest.raises(NotCovered, match="NobodyForCausalLM"):
        build(sglang, config(architectures=["NobodyForCausalLM"]))
    with pytest.raises(NotCovered, match="no architecture"):
        build(sglang, config(architectures=None))
    with pytest.raises(NotCovered, match="params.json"):
        build(sglang, {"dim": 256, "n_heads": 2, "n_layers": 2}, file="params.json")
    values = config(model_type="cohere", architectures=["CohereForCausalLM"])
    with pytest.raises(Refuses, match="half pairing"):
        build(sglang, {**values, "rope_scaling": LONGROPE})


@pytest.mark.oracle
@pytest.mark.slow
def test_agrees_with_sglang_itself() -> None:
    said = oracle("sglang_models.py", "sglang-0.5.23")
    assert "differ" not in said
