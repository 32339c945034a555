"""vLLM 0.33: what is its own, beyond the measured cases."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.readers.engines import sglang, vllm
from ropeaudit.readers.engines.interface import NotCovered, Refuses
from tests.readers.engines.served import LONGROPE, YARN, build, config, kinds, only, oracle


def test_both_schemas_build_the_same_table() -> None:
    old = build(vllm, config(rope_scaling=YARN))
    new = build(vllm, config(rope_theta=None, rope_parameters={**YARN, "rope_theta": 500000.0}))
    assert only(old).inv_freq == only(new).inv_freq
    assert only(old).attention_scaling == pytest.approx(0.1 * math.log(4) + 1)


@pytest.mark.parametrize("schema", ["old", "new"])
def test_the_rotated_fraction_counts_for_llama_too(schema: str) -> None:
    values = config(partial_rotary_factor=0.5)
    if schema == "new":
        inner = {"rope_type": "default", "rope_theta": 500000.0, "partial_rotary_factor": 0.5}
        values = config(rope_theta=None, rope_parameters=inner)
    found = only(build(vllm, values))
    assert (found.rotary_dim, len(found.inv_freq)) == (64, 32)
    assert found.inv_freq[1] == pytest.approx(500000.0 ** (-2 / 64), rel=1e-6)


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5])
def test_a_fraction_outside_of_its_range_stops_it(fraction: float) -> None:
    with pytest.raises((Refuses, NotCovered)):
        build(vllm, config(partial_rotary_factor=fraction))


def test_a_linear_factor_without_a_decimal_point_stops_it() -> None:
    with pytest.raises(Refuses, match="decimal point, got 4"):
        build(vllm, config(rope_scaling={"rope_type": "linear", "factor": 4}))
    found = only(build(vllm, config(rope_scaling={"rope_type": "linear", "factor": 4.0})))
    assert found.inv_freq[0] == 0.25


def test_types_that_contradict_stop_it() -> None:
    scaling = {"type": "linear", "rope_type": "dynamic", "factor": 4.0}
    with pytest.raises(Refuses, match="linear and rope_type dynamic contradict"):
        build(vllm, config(rope_scaling=scaling))


def test_dynamic_scaling_does_nothing() -> None:
    found = build(vllm, config(rope_scaling={"rope_type": "dynamic", "factor": 8.0}))
    assert only(found).inv_freq == only(build(vllm, config())).inv_freq
    assert only(found).rope_type == "dynamic"
    assert only(found).variant is None
    assert found.ignored == ("/rope_scaling/factor",)
    assert "dynamic_is_plain" in kinds(found)


@pytest.mark.parametrize(
    ("lengths", "variants"),
    [
        ((), ["short", "long"]),
        ((2048,), ["short"]),
        ((2049,), ["long"]),
        ((8192, 1024), ["short", "long"]),
    ],
)
def test_one_longrope_list_by_the_length_it_is_started_with(
    lengths: tuple[int, ...], variants: list[str]
) -> None:
    found = build(vllm, config(rope_scaling=LONGROPE), lengths)
    assert [s.variant for s in found.schedules] == variants
    said = next(n.message for n in found.notes if n.kind == "list_by_max_model_len")
    assert ("not given" in said) == (not lengths)
    assert "so the long list" in said  # no original length on the top level


def test_longrope_reads_neither_factor_nor_attention_factor() -> None:
    scaling = {**LONGROPE, "factor": 64.0, "attention_factor": 1.0}
    found = build(vllm, config(rope_scaling=scaling))
    expected = math.sqrt(1 + math.log(8192 / 2048) / math.log(2048))
    assert all(s.attention_scaling == pytest.approx(expected) for s in found.schedules)
    assert found.ignored == ("/rope_scaling/attention_factor", "/rope_scaling/factor")
    own = build(vllm, config(rope_scaling={**LONGROPE, "long_mscale": 1.5}))
    assert [s.attention_scaling for s in own.schedules] == [pytest.approx(expected), 1.5]


def test_deepseek_turns_every_scaled_type_into_its_own_yarn() -> None:
    values = {
        **config(model_type="deepseek_v3", architectures=["DeepseekV3ForCausalLM"]),
        "qk_rope_head_dim": 64, "qk_nope_head_dim": 64, "v_head_dim": 64, "kv_lora_rank": 32,
    }  # fmt: skip
    scaling = {**YARN, "mscale": 1.0, "mscale_all_dim": 0.5}
    found = only(build(vllm, {**values, "rope_scaling": scaling}))
    m, m_all = 0.1 * math.log(4) + 1, 0.05 * math.log(4) + 1
    assert found.attention_scaling == pytest.approx(m / m_all)
    assert found.softmax_scale == pytest.approx(m_all**2)
    assert (found.rotary_dim, found.pairing) == (64, "interleaved")
    plain = only(build(vllm, {**values, "rope_scaling": {**scaling, "attention_factor": 1.0}}))
    assert plain.softmax_scale == 1.0


def test_nested_truncate_is_read() -> None:
    values = config(model_type="gemma3_text", architectures=["Gemma3ForCausalLM"], head_dim=128)
    del values["rope_theta"]
    local = {"rope_type": "default", "rope_theta": 10000.0}

    def table(**more: object) -> tuple[float, ...]:
        full = {**YARN, "rope_theta": 1e6, **more}
        nested = {"full_attention": full, "sliding_attention": local}
        built = build(
            vllm,
            {
                **values,
                "rope_parameters": nested,
                "layer_types": ["sliding_attention", "full_attention"] * 2,
            },
        )
        return next(s.inv_freq for s in built.schedules if s.layer_type == "full_attention")

    assert table() != table(truncate=False)


def test_families_without_a_module_run_as_transformers() -> None:
    values = config(model_type="gpt_neox", architectures=["GPTNeoXForCausalLM"], rotary_pct=0.25)
    found = build(vllm, values)
    assert only(found).rotary_dim == 32
    assert "backend" in kinds(found)
    assert "cache_dtype" not in kinds(found)


def test_mixtral_loads_what_stops_only_transformers_model() -> None:
    values = config(model_type="mixtral", architectures=["MixtralForCausalLM"])
    assert only(build(vllm, {**values, "rope_scaling": YARN})).rope_type == "yarn"
    with pytest.raises(Refuses):
        build(vllm, {**values, "rope_scaling": LONGROPE})


@pytest.mark.parametrize(
    ("architectures", "error"),
    [
        (["NobodyKnowsForCausalLM"], NotCovered),
        ([], None),
        (["CodeGenForCausalLM"], Refuses),
        (["LlamaForSequenceClassification"], None),
        ("LlamaModel", None),
    ],
)
def test_the_class_decides(architectures: object, error: type[Exception] | None) -> None:
    values = config(architectures=architectures)
    if error is None:
        assert only(build(vllm, values)).rotary_dim == 128
    else:
        with pytest.raises(error):
            build(vllm, values)


def test_params_json() -> None:
    values = {
        "dim": 256, "n_layers": 2, "n_heads": 2, "head_dim": 128, "rope_theta": 1e6,
        "vocab_size": 8, "norm_eps": 1e-5, "n_kv_heads": 1, "hidden_dim": 64,
    }  # fmt: skip
    found = build(vllm, values, file="params.json")
    assert only(found).inv_freq[-1] == pytest.approx(1e6 ** (-126 / 128), rel=1e-6)
    with pytest.raises(NotCovered, match="moe"):
        build(vllm, {**values, "moe": {"num_experts": 8}}, file="params.json")


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, -1, 2**70, 1e400, "yarn", "longrope", [], [1], {}, {"a": 1}, "4096", 0.5]),
)
PLACES = st.sampled_from(
    [
        "rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "head_dim",
        "hidden_size", "num_attention_heads", "max_position_embeddings", "architectures",
        "rope_scaling/rope_type", "rope_scaling/factor", "rope_scaling/beta_fast",
        "rope_scaling/original_max_position_embeddings", "rope_scaling/mscale_all_dim",
        "rope_scaling/short_factor", "rope_scaling/mrope_section", "rope_scaling/alpha",
    ]
)  # fmt: skip


@settings(max_examples=150)
@given(
    engine=st.sampled_from([vllm, sglang]),
    scaling=st.sampled_from([YARN, LONGROPE, {"rope_type": "linear", "factor": 2.0}]),
    changes=st.lists(st.tuples(PLACES, JUNK), min_size=1, max_size=3),
)
def test_odd_values_end_in_a_refusal_or_a_table(
    engine: object, scaling: dict[str, object], changes: list[tuple[str, object]]
) -> None:
    values = config(rope_scaling=dict(scaling))
    for place, junk in changes:
        outer, _, inner = place.partition("/")
        if not inner:
            values[outer] = junk
        elif isinstance(values.get(outer), dict):
            values[outer][inner] = junk
    try:
        found = build(engine, values)
    except (Refuses, NotCovered, InvalidValue) as error:
        assert str(error)
        return
    for schedule in found.schedules:
        assert all(v >= 0 for v in schedule.inv_freq)


def test_what_changes_nothing_is_not_called_ignored() -> None:
    scaling = {**LONGROPE, "factor": 4.0}
    assert build(vllm, config(rope_scaling=scaling)).ignored == ()


@settings(max_examples=60)
@given(
    factor=st.floats(1.0, 64.0),
    original=st.sampled_from([512, 2048, 8192]),
    head=st.sampled_from([32, 64, 128]),
    theta=st.floats(1e3, 1e7),
)
def test_slow_channels_are_divided_by_the_yarn_factor(
    factor: float, original: int, head: int, theta: float
) -> None:
    scaling = {**YARN, "factor": factor, "original_max_position_embeddings": original}
    values = config(rope_scaling=scaling, rope_theta=theta, head_dim=head)
    found = only(build(vllm, values))
    assert found.unscaled is not None
    assert found.inv_freq[0] == pytest.approx(found.unscaled[0], rel=1e-6)
    assert found.reader == "vllm-0.33"
    for kept, scaled in zip(found.unscaled, found.inv_freq, strict=True):
        assert kept / factor * (1 - 1e-6) <= scaled <= kept * (1 + 1e-6)


@pytest.mark.oracle
@pytest.mark.slow
def test_agrees_with_vllm_itself() -> None:
    said = oracle("vllm_models.py", "vllm-0.33")
    assert "differ" not in said
