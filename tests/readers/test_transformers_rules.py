"""The standardisation rules, one by one, and what is said about each oddity."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.facts import Oddity, Origin
from ropeaudit.schedule.core import Context
from tests.transformers_readings import LLAMA3, YARN, only, read, seen


def test_old_and_new_schema_give_the_same_table() -> None:
    old = only(read(rope_theta=5e5, rope_scaling=LLAMA3))
    new = only(read(rope_parameters={**LLAMA3, "rope_theta": 5e5}))
    assert old.inv_freq == new.inv_freq
    assert (old.rope_type, old.rope_theta, old.head_dim) == ("llama3", 5e5, 128)


def test_rope_scaling_replaces_rope_parameters_wholesale() -> None:
    found = read(rope_scaling=LLAMA3, rope_parameters={**YARN, "rope_theta": 1e6})
    schedule = only(found)
    assert (schedule.rope_type, schedule.rope_theta) == ("llama3", 10000.0)
    (conflict,) = seen(found, Oddity.SCHEMA_CONFLICT)
    assert "factor" in conflict.evidence["differ"]
    assert conflict.location is not None
    assert conflict.location.pointer == "/rope_parameters"


@pytest.mark.parametrize("empty", [None, {}])
def test_an_empty_rope_scaling_does_not_replace(empty: Any) -> None:
    schedule = only(read(rope_scaling=empty, rope_parameters={**YARN, "rope_theta": 1e6}))
    assert (schedule.rope_type, schedule.rope_theta) == ("yarn", 1e6)


def test_the_dict_beats_the_top_level() -> None:
    found = read(rope_theta=1e4, rope_parameters={"rope_type": "default", "rope_theta": 5e5})
    assert only(found).rope_theta == 5e5
    (conflict,) = seen(found, Oddity.SCHEMA_CONFLICT)
    assert (conflict.evidence["used"], conflict.evidence["other"]) == (5e5, 1e4)


def test_equal_values_on_both_levels_are_no_conflict() -> None:
    found = read(rope_theta=5e5, rope_parameters={"rope_type": "default", "rope_theta": 500000})
    assert found.observations == ()


def test_rope_type_beats_type() -> None:
    found = read(rope_theta=1e4, rope_scaling={"type": "linear", **YARN})
    assert only(found).rope_type == "yarn"
    (conflict,) = seen(found, Oddity.TYPE_CONFLICT)
    assert (conflict.evidence["type"], conflict.evidence["rope_type"]) == ("linear", "yarn")


def test_mrope_beside_default_is_no_conflict() -> None:
    rope = {"type": "mrope", "rope_type": "default", "mrope_section": [16, 24, 24]}
    found = read(model_type="qwen2_vl_text", rope_theta=1e6, rope_scaling=rope)
    assert only(found).rope_type == "default"
    assert found.observations == ()


def test_a_factor_without_a_type_is_dead() -> None:
    found = read(rope_theta=1e4, rope_scaling={"factor": 4.0})
    assert only(found).rope_type == "default"
    (missing,) = seen(found, Oddity.TYPE_MISSING)
    assert missing.location is not None
    assert missing.location.pointer == "/rope_scaling/factor"


def test_an_unknown_type_gives_no_schedule() -> None:
    found = read(rope_theta=1e4, rope_scaling={"rope_type": "ntk", "factor": 4.0})
    assert found.schedules == ()
    assert len(seen(found, Oddity.TYPE_UNKNOWN)) == 1
    assert [n.kind for n in found.notes] == ["insufficient"]


def test_the_original_length_falls_back_to_the_declared_one() -> None:
    rope = {"rope_type": "yarn", "factor": 4.0}
    found = read(rope_theta=1e6, max_position_embeddings=131072, rope_scaling=rope)
    schedule = only(found)
    assert schedule.parameters["original_max_position_embeddings"] == 131072
    assert schedule.context == Context(131072, 131072, assumed=True)
    assert len(seen(found, Oddity.ORIGINAL_DEFAULTED)) == 1


def test_the_original_length_on_top_wins() -> None:
    found = read(rope_theta=1e6, original_max_position_embeddings=4096, rope_scaling=YARN)
    assert only(found).parameters["original_max_position_embeddings"] == 4096
    (conflict,) = seen(found, Oddity.SCHEMA_CONFLICT)
    assert conflict.evidence["field"] == "original_max_position_embeddings"


def test_a_silent_base_is_said() -> None:
    found = read(rope_scaling=YARN)
    (defaulted,) = seen(found, Oddity.BASE_DEFAULTED)
    assert defaulted.evidence == {"rope_theta": 10000.0, "scaled": True, "model_type": "llama"}
    fact = only(found).fact("rope_theta")
    assert fact is not None
    assert fact.origin is Origin.DEFAULT
    assert fact.location is None


def test_misspelt_and_ignored_keys() -> None:
    rope = {**YARN, "orignal_max_position_embeddings": 8192, "low_freq_factor": 1.0, "rope_thta": 1}
    del rope["original_max_position_embeddings"]
    found = read(rope_theta=1e6, rope_scaling=rope)
    misspelt = {o.evidence["key"]: o.evidence["meant"] for o in seen(found, Oddity.KEY_MISSPELT)}
    assert misspelt == {
        "orignal_max_position_embeddings": "original_max_position_embeddings",
        "rope_thta": "rope_theta",
    }
    assert [o.evidence["key"] for o in seen(found, Oddity.KEY_IGNORED)] == ["low_freq_factor"]


def test_top_level_keys_of_other_models_are_ignored_and_said() -> None:
    found = read(rope_theta=1e4, rotary_pct=0.25, rope_local_base_freq=1e4)
    assert {o.evidence["key"] for o in seen(found, Oddity.KEY_IGNORED)} == {
        "rotary_pct",
        "rope_local_base_freq",
    }
    assert (
        seen(read(model_type="cohere2", rope_theta=5e4, rotary_pct=1.0), Oddity.KEY_IGNORED) == []
    )


def test_no_rope_layers_on_a_model_that_rotates_all() -> None:
    found = read(rope_theta=1e4, no_rope_layers=[1, 1, 1, 0])
    assert len(seen(found, Oddity.PER_LAYER_IGNORED)) == 1
    assert only(found).layers == tuple(range(32))


def test_partial_factor_is_read_where_the_code_reads_it() -> None:
    assert only(read(rope_theta=1e4, partial_rotary_factor=0.5)).rotary_dim == 128
    assert (
        only(read(model_type="phi", hidden_size=2560, partial_rotary_factor=0.4)).rotary_dim == 32
    )
    scaled = read(rope_theta=1e4, partial_rotary_factor=0.5, rope_scaling=YARN)
    assert only(scaled).rotary_dim == 64


@pytest.mark.parametrize(
    ("data", "theta", "rotary"),
    [
        ({"model_type": "gpt_neox", "rotary_emb_base": 20000, "rotary_pct": 0.5}, 20000, 48),
        ({"model_type": "gpt_neox", "rope_theta": 20000}, 10000, 24),
        ({"model_type": "minimax_m2", "rotary_dim": 64, "head_dim": 128}, 5e6, 64),
        ({"model_type": "glm4"}, 10000, 64),
        ({"model_type": "bamba", "partial_rotary_factor": 0.25}, 10000, 64),
        ({"model_type": "deepseek_v3", "qk_rope_head_dim": 32}, 10000, 32),
        ({"model_type": "deepseek_v3", "head_dim": 96}, 10000, 96),
        ({"model_type": "glm_moe_dsa", "head_dim": 96}, 10000, 64),
        ({"model_type": "cohere2", "head_dim": 96}, 10000, 96),
    ],
)
def test_legacy_spellings_and_widths(data: dict[str, Any], theta: float, rotary: int) -> None:
    schedule = only(read(**data))
    assert (schedule.rope_theta, schedule.rotary_dim) == (theta, rotary)


def test_keys_that_only_other_engines_read_are_no_slip() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    elsewhere = {"short_mscale": 1.0, "long_mscale": 1.0, "attention_factor": 1.0}
    longrope = {"rope_type": "longrope", "original_max_position_embeddings": 4096, **lists}
    assert not seen(read(rope_scaling={**longrope, **elsewhere}), Oddity.KEY_IGNORED)
    yarn = {**YARN, "short_mscale": 1.0}
    assert len(seen(read(rope_scaling=yarn), Oddity.KEY_IGNORED)) == 1


def test_a_rope_scaling_that_nothing_looks_at_is_told() -> None:
    found = read(model_type="cohere2_moe", rope_theta=5e5, rope_scaling=YARN)
    assert (only(found).rope_type, only(found).attention_scaling) == ("default", 1.0)
    (unread,) = seen(found, Oddity.NOT_APPLIED)
    assert (unread.evidence["rope_type"], unread.evidence["factor"]) == ("yarn", YARN["factor"])
    plain = read(model_type="cohere2_moe", rope_theta=5e5, rope_scaling={"rope_type": "default"})
    assert not seen(plain, Oddity.NOT_APPLIED)
    new = read(model_type="cohere2_moe", rope_parameters={**YARN, "rope_theta": 5e5})
    assert only(new).rope_type == "yarn"


def test_a_class_fills_its_fraction_in_only_where_no_dict_is_stated() -> None:
    bare = only(read(model_type="moonshine_streaming", rope_theta=5e5))
    assert (bare.rope_theta, bare.rotary_dim) == (10000.0, int(0.8 * 40))
    stated = {"rope_type": "default", "rope_theta": 5e5}
    whole = only(read(model_type="moonshine_streaming", rope_parameters=stated))
    assert (whole.rope_theta, whole.rotary_dim) == (5e5, 40)
