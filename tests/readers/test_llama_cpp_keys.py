"""Keys of GGUF files: unread, odd, of the wrong kind, or anything at all."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Location, Oddity, Origin, Reading
from ropeaudit.readers import llama_cpp
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from tests.gguf_readings import SHAPE, SWA, WINDOW, build, kinds, notes, reading, seen


def test_old_key_for_linear_scaling() -> None:
    (schedule,) = build("llama", SHAPE | {"rope.scale_linear": 4.0}).schedules
    assert (schedule.rope_type, schedule.inv_freq[0]) == ("linear", 0.25)
    fact = schedule.fact("factor")
    assert fact is not None
    assert fact.location is not None
    assert fact.location.key == "llama.rope.scale_linear"


def test_keys_that_nobody_reads() -> None:
    yarn = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    yarn |= {"rope.scaling.original_context_length": 2048}
    neutral = {"rope.scaling.yarn_beta_fast": 32.0, "rope.scaling.yarn_ext_factor": 1.0}
    assert not build("qwen3", SHAPE | yarn | neutral).observations
    resolution = build("qwen3", SHAPE | yarn | {"rope.scaling.yarn_beta_fast": 4.0})
    (found,) = seen(resolution, Oddity.KEY_IGNORED)
    assert found.evidence == {"key": "rope.scaling.yarn_beta_fast", "value": 4.0}
    assert resolution.schedules[0].parameters["beta_fast"] == 32.0
    read = build("mistral3", SHAPE | yarn | {"rope.scaling.yarn_beta_fast": 4.0})
    assert read.schedules[0].parameters["beta_fast"] == 4.0
    misspelt = build("llama", SHAPE | {"rope.freqs_base": 5e5, "rope.scaling.factors": 2.0})
    assert [o.evidence["meant"] for o in seen(misspelt, Oddity.KEY_MISSPELT)] == [
        "freq_base",
        "factor",
    ]
    other = build("gemma3", SHAPE | {"rope.local.freq_base": 1e4})
    assert kinds(other) == [Oddity.KEY_IGNORED]


def test_scaling_without_effect() -> None:
    off = build("llama", SHAPE | {"rope.scaling.type": "none", "rope.scaling.factor": 4.0})
    assert kinds(off) == [Oddity.NOT_APPLIED]
    assert off.schedules[0].rope_type == "default"
    bare = build("llama", SHAPE | {"rope.scaling.type": "yarn"})
    assert kinds(bare) == [Oddity.NOT_APPLIED]


def test_yarn_without_original_length() -> None:
    keys = SHAPE | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    resolution = build("llama", keys)
    assert kinds(resolution) == [Oddity.ORIGINAL_DEFAULTED]
    (schedule,) = resolution.schedules
    assert schedule.context.assumed
    assert schedule.parameters["original_max_position_embeddings"] == 8192


def test_betas_the_wrong_way_round() -> None:
    keys = SHAPE | {
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 4.0,
        "rope.scaling.original_context_length": 2048,
        "rope.scaling.yarn_beta_fast": 1.0,
        "rope.scaling.yarn_beta_slow": 32.0,
    }
    assert kinds(build("mistral3", keys)) == [Oddity.BETA_ORDER]


@pytest.mark.parametrize("beta", [0.0, -1.0, 1e-320])
@pytest.mark.parametrize("which", ["fast", "slow"])
def test_betas_that_place_no_ramp(beta: float, which: str) -> None:
    keys = SHAPE | {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    with pytest.raises(InvalidValue, match="ramp cannot be placed"):
        build("mistral3", keys | {f"rope.scaling.yarn_beta_{which}": beta})


def test_unknown_scaling_type() -> None:
    resolution = build("llama", SHAPE | {"rope.scaling.type": "su"})
    assert kinds(resolution) == [Oddity.TYPE_UNKNOWN]
    assert not resolution.schedules
    assert "insufficient" in notes(resolution)


def test_unknown_architecture_is_read_by_the_common_rules() -> None:
    lists = {"rope_freqs.weight": [2.0] * 64}
    resolution = build("novel\x1b", SHAPE, lists)
    assert kinds(resolution) == [Oddity.GENERIC_READING]
    assert resolution.observations[0].message.isprintable()
    (schedule,) = resolution.schedules
    assert (schedule.pairing, schedule.inv_freq[0]) == ("half", 0.5)
    pattern = SHAPE | WINDOW | SWA | {"attention.sliding_window_pattern": [1, 0] * 4}
    assert {s.name: s.rope_theta for s in build("novel", pattern).schedules} == {
        "text/sliding_attention": 500.0,
        "text/full_attention": 10000.0,
    }


@pytest.mark.parametrize("kind", ["adapter", "mmproj"])
def test_files_that_hold_no_model(kind: str) -> None:
    source = Reading(target="x", format="gguf", metadata={"general.type": kind})
    assert f"of type {kind}" in notes(llama_cpp.read(source, ()))["insufficient"]
    bare = Reading(target="x", format="gguf", metadata={})
    assert "no general.architecture" in notes(llama_cpp.read(bare, ()))["insufficient"]
    adapter = build("llama", {})
    assert not adapter.schedules
    assert "neither a rotary width" in notes(adapter)["insufficient"]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rope.freq_base", "10000"),
        ("rope.freq_base", True),
        ("rope.freq_base", [1.0]),
        ("rope.freq_base", math.nan),
        ("rope.freq_base", math.inf),
        ("rope.freq_base", 0.0),
        ("rope.freq_base", -1.0),
        ("rope.freq_base", 1e-300),
        ("rope.freq_base", 1e300),
        ("rope.freq_base", None),
        ("rope.dimension_count", 127),
        ("rope.dimension_count", 130),
        ("rope.dimension_count", 64.0),
        ("rope.dimension_count", -2),
        ("rope.dimension_count", 10**9),
        ("attention.key_length", 10**9),
        ("block_count", 10**9),
        ("block_count", 0),
        ("block_count", "8"),
        ("context_length", "long"),
        ("context_length", -1),
        ("attention.head_count", "eight"),
        ("attention.head_count", ["a"]),
        ("rope.scaling.type", 3),
        ("rope.scaling.factor", "4"),
        ("rope.scaling.factor", -4.0),
        ("rope.scaling.attn_factor", math.nan),
        ("rope.scaling.original_context_length", 4096.5),
        ("attention.sliding_window", "wide"),
    ],
)
def test_values_of_the_wrong_kind(key: str, value: Any) -> None:
    with pytest.raises(InvalidValue) as caught:
        build("gemma3", SHAPE | {key: value})
    message = str(caught.value)
    assert message.isprintable()
    assert key.split(".")[-1] in message.replace("rotary width", "dimension_count key_length") or (
        key == "rope.freq_base" and "base" in message
    )


def test_a_factor_on_the_logits_that_overflows_is_refused() -> None:
    with pytest.raises(InvalidValue, match="no finite factor on the logits"):
        build("deepseek2", SHAPE | {"rope.dimension_count": 64, "rope.scaling.attn_factor": 1e308})


def test_deepseek_attention_follows_the_log_multiplier() -> None:
    keys = SHAPE | {
        "rope.dimension_count": 64,
        "rope.scaling.type": "yarn",
        "rope.scaling.factor": 40.0,
        "rope.scaling.original_context_length": 4096,
    }
    bare = build("deepseek2", keys).schedules[0]
    gain = 1 + 0.1 * math.log(40)
    assert bare.attention_scaling == pytest.approx(gain)
    assert bare.softmax_scale == pytest.approx(gain**2)
    for log, unit in ((0.1, 1.0), (0.0707, 0.707)):
        whole = build("deepseek2", keys | {"rope.scaling.yarn_log_multiplier": log}).schedules[0]
        assert whole.attention_scaling == pytest.approx(1.0)
        assert whole.softmax_scale == pytest.approx((1 + 0.1 * unit * math.log(40)) ** 2)
    with pytest.raises(InvalidValue, match="no finite attention factor"):
        build("deepseek2", keys | {"rope.scaling.factor": math.exp(-10)})


def test_overridden_keys_say_so() -> None:
    source = reading("llama", SHAPE, overridden=frozenset({"llama.rope.freq_base"}))
    (schedule,) = llama_cpp.read(source, ()).schedules
    assert [f.origin for f in schedule.provenance if f.field == "rope_theta"] == [Origin.OVERRIDE]


def test_provenance_names_file_and_key() -> None:
    (schedule,) = build("llama", SHAPE).schedules
    by_field = {f.field: f for f in schedule.provenance}
    assert by_field["rope_theta"].location == Location(file="m.gguf", key="llama.rope.freq_base")
    assert by_field["head_dim"].origin is Origin.DERIVED
    assert by_field["max_position_embeddings"].value == 8192


NUMBERS = st.one_of(
    st.sampled_from([0, 1, 2, 8, 64, 2**31 - 1, 2**63, 0.0, 1.0, -1.0, 1e-320, 1e300, 0.1]),
    st.floats(),
    st.integers(-5, 70_000),
)
VALUES = st.one_of(
    NUMBERS,
    st.booleans(),
    st.none(),
    st.sampled_from(["yarn", "linear", "none", "longrope", "x\n"]),
    st.lists(NUMBERS, max_size=9),
    st.lists(st.integers(0, 40), min_size=4, max_size=8),
)
NAMES = [
    "context_length",
    "embedding_length",
    "block_count",
    "nextn_predict_layers",
    "leading_dense_block_count",
    "full_attention_interval",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.key_length_swa",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "attention.recurrent_layers",
    "attention.rope_pattern",
    "attention.compress_ratios",
    "attention.compress_rope_freq_base",
    "rope.freq_base",
    "rope.freq_base_swa",
    "rope.dimension_count",
    "rope.dimension_count_swa",
    "rope.dimension_sections",
    "rope.scale_linear",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.scaling.alpha",
    "rope.scaling.attn_factor",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "rope.scaling.yarn_ext_factor",
    "rope.scaling.yarn_attn_factor",
    "rope.scaling.yarn_log_multiplier",
]


@settings(max_examples=1500, derandomize=True, deadline=None)
@given(
    architecture=st.sampled_from([*sorted(ARCHITECTURES), "novel"]),
    changes=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=8),
    yarn=st.booleans(),
    factors=st.none() | st.lists(st.floats(width=32), min_size=1, max_size=70),
)
def test_any_keys_give_schedules_or_one_sentence(
    architecture: str, changes: dict[str, Any], yarn: bool, factors: list[float] | None
) -> None:
    scaling = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0} if yarn else {}
    tensors = {} if factors is None else {"rope_freqs.weight": factors}
    try:
        resolution = build(architecture, SHAPE | scaling | changes, tensors)
    except InvalidValue as error:
        assert str(error).isprintable()
        assert len(str(error)) < 400
        return
    names = [s.name for s in resolution.schedules]
    assert len(set(names)) == len(names)
    for schedule in resolution.schedules:
        assert len(schedule.inv_freq) == schedule.rotary_dim // 2
        assert math.isfinite(schedule.attention_scaling)
        assert math.isfinite(schedule.softmax_scale)
    for text in (*resolution.notes, *resolution.observations):
        assert text.message.isprintable()
