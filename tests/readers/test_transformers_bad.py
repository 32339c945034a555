"""Values from which no table can be built: one sentence, the key and its pointer."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.schedule import model_types

LINEAR = {"rope_type": "linear", "factor": 2.0}


def read(data: dict[str, Any]) -> Any:
    reading = Reading(target="t", format="hf-config", document=Document("config.json", data))
    return reader.read(reading, ())


BAD: list[tuple[dict[str, Any], str]] = [
    ({"rope_theta": 0}, "/rope_theta"),
    ({"rope_theta": -1e4}, "/rope_theta"),
    ({"rope_theta": "10000"}, "/rope_theta"),
    ({"rope_theta": True}, "/rope_theta"),
    ({"rope_theta": None}, "/rope_theta"),
    ({"rope_theta": float("nan")}, "/rope_theta"),
    ({"rope_theta": float("inf")}, "/rope_theta"),
    ({"rope_theta": 10**400}, "/rope_theta"),
    ({"rope_theta": 1e-300}, "/rope_theta"),
    ({"rope_parameters": {"rope_theta": [1e4]}}, "/rope_parameters/rope_theta"),
    ({"rope_scaling": [LINEAR]}, "/rope_scaling"),
    ({"rope_scaling": "linear"}, "/rope_scaling"),
    ({"rope_parameters": []}, "/rope_parameters"),
    ({"rope_scaling": {"rope_type": "linear"}}, "/rope_scaling/factor"),
    ({"rope_scaling": {**LINEAR, "factor": "2"}}, "/rope_scaling/factor"),
    ({"rope_scaling": {**LINEAR, "factor": 0}}, "/rope_scaling/factor"),
    ({"rope_scaling": {**LINEAR, "factor": float("nan")}}, "/rope_scaling/factor"),
    ({"head_dim": 65}, "/head_dim"),
    ({"head_dim": 10**9}, "/head_dim"),
    ({"head_dim": -64}, "/head_dim"),
    ({"head_dim": 64.5}, "/head_dim"),
    ({"head_dim": 0.0}, "/head_dim"),
    ({"num_attention_heads": 10**9}, "/num_attention_heads"),
    ({"num_attention_heads": 0}, "/num_attention_heads"),
    ({"num_attention_heads": 5000}, "/num_attention_heads"),
    ({"hidden_size": 10**12}, "/hidden_size"),
    ({"num_hidden_layers": 10**9}, "/num_hidden_layers"),
    ({"num_hidden_layers": "32"}, "/num_hidden_layers"),
    ({"max_position_embeddings": -1}, "/max_position_embeddings"),
    ({"max_position_embeddings": 10**30}, "/max_position_embeddings"),
    (
        {"rope_scaling": {**LINEAR, "partial_rotary_factor": 0}},
        "/rope_scaling/partial_rotary_factor",
    ),
    (
        {"rope_scaling": {**LINEAR, "partial_rotary_factor": 2}},
        "/rope_scaling/partial_rotary_factor",
    ),
]


@pytest.mark.parametrize(("data", "where"), BAD, ids=[f"{w}-{i}" for i, (_, w) in enumerate(BAD)])
def test_no_table_can_be_built(data: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        read({"model_type": "llama", "rope_theta": 1e4} | data)
    assert caught.value.where == where
    assert len(str(caught.value)) < 300
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        ({"model_type": ["llama"]}, "/model_type"),
        ({"model_type": "llava", "text_config": [1]}, "/text_config"),
        ({"model_type": "qwen3_next", "full_attention_interval": 0}, "/full_attention_interval"),
        ({"model_type": "gemma3_text", "layer_types": "full"}, "/layer_types"),
        ({"model_type": "smollm3", "no_rope_layers": 4}, "/no_rope_layers"),
        ({"model_type": "gemma3_text", "num_hidden_layers": 10**9}, "/num_hidden_layers"),
        ({"model_type": "gemma4_text", "rope_scaling": None}, "/rope_scaling"),
        (
            {"model_type": "qwen2_vl", "text_config": {"rope_scaling": 3}},
            "/text_config/rope_scaling",
        ),
        (
            {"model_type": "laguna", "rope_parameters": {"rope_type": "default", "rope_theta": 1}},
            "/rope_parameters",
        ),
    ],
)
def test_wrong_shapes_are_named(data: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        read(data)
    assert caught.value.where == where


def test_absurd_counts_cost_nothing() -> None:
    start = time.process_time()
    for data, _ in BAD:
        with pytest.raises(InvalidValue):
            read({"model_type": "llama", "rope_theta": 1e4} | data)
    assert time.process_time() - start < 1.0


values = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(10**12), 10**12),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(["yarn", "longrope", "linear", "llama3", "dynamic", "default", "su"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(
            st.sampled_from(
                [
                    *(
                        "rope_type",
                        "type",
                        "factor",
                        "rope_theta",
                        "original_max_position_embeddings",
                    ),
                    *("short_factor", "long_factor", "full_attention", "sliding_attention"),
                    *("mrope_section", "partial_rotary_factor", "beta_fast", "mscale_all_dim"),
                    *("alpha", "low_freq_factor", "high_freq_factor", "attention_factor", "mscale"),
                ]
            ),
            inner,
            max_size=6,
        ),
    ),
    max_leaves=12,
)
KEYS = """
    rope_theta rope_scaling rope_parameters head_dim hidden_size num_attention_heads
    layer_types num_hidden_layers max_position_embeddings partial_rotary_factor
    sliding_window rotary_dim no_rope_layers text_config vision_config qk_rope_head_dim
    per_layer_config layer_rope_theta original_max_position_embeddings compress_ratios
    partial_rotary_factors rotary_pct rope_local_base_freq sliding_window_pattern
    use_sliding_window max_window_layers
""".split()  # noqa: SIM905


@given(
    st.sampled_from([*model_types.names(), "nobody"]),
    st.dictionaries(st.sampled_from(KEYS), values, max_size=6),
)
def test_any_value_anywhere_gives_schedules_or_one_clear_error(
    model_type: str, data: dict[str, Any]
) -> None:
    try:
        found = read({"model_type": model_type, **data})
    except InvalidValue as error:
        assert "\n" not in str(error)
    else:
        assert found.schedules or found.notes
        assert len({s.name for s in found.schedules}) == len(found.schedules)
