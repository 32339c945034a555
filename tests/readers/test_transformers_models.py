"""Rules of single families: schedules by layer type, widths, pairing, axes, parts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ropeaudit.document import parse
from ropeaudit.facts import Oddity, Origin, Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.core import Schedule
from tests.transformers_readings import LLAMA3, YARN, named, only, read, seen


def test_gemma3_has_two_schedules_and_old_keys_for_both() -> None:
    found = read(
        model_type="gemma3_text",
        num_hidden_layers=7,
        rope_theta=2e6,
        rope_local_base_freq=2e4,
        rope_scaling={"rope_type": "linear", "factor": 8.0},
        sliding_window=512,
        sliding_window_pattern=3,
    )
    full, sliding = (found.schedules[i] for i in (0, 1))
    assert (full.name, full.rope_theta, full.rope_type) == ("text/full_attention", 2e6, "linear")
    assert full.layers == (2, 5)
    assert full.inv_freq[0] == 0.125
    assert full.unscaled is not None
    assert full.unscaled[0] == 1.0
    assert (sliding.name, sliding.rope_theta) == ("text/sliding_attention", 2e4)
    assert (sliding.layers, sliding.context.window) == ((0, 1, 3, 4, 6), 512)
    assert found.observations == ()


def test_a_flat_dict_on_a_two_schedule_model_is_not_applied() -> None:
    rope = {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}
    found = read(model_type="gemma3_text", rope_parameters=rope)
    assert {s.rope_type for s in found.schedules} == {"default"}
    (lost,) = seen(found, Oddity.NOT_APPLIED)
    assert lost.location is not None
    assert lost.location.pointer == "/rope_parameters/factor"


def test_nested_dicts_on_a_one_schedule_model_are_not_applied() -> None:
    nested = {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6}}
    found = read(rope_parameters=nested)
    assert only(found).rope_type == "default"
    assert len(seen(found, Oddity.NOT_APPLIED)) == 1


def test_nested_truncate_is_looked_up_outside() -> None:
    def table(inside: dict[str, Any], outside: dict[str, Any]) -> tuple[Resolution, Schedule]:
        full = {**YARN, "rope_theta": 1e6, "original_max_position_embeddings": 4096, **inside}
        sliding = {"rope_type": "default", "rope_theta": 1e4}
        nested = {"full_attention": full, "sliding_attention": sliding, **outside}
        found = read(model_type="gemma3_text", rope_parameters=nested)
        return found, named(found)["text/full_attention"]

    plain, ignored = table({}, {})[1], table({"truncate": False}, {})
    assert ignored[1].inv_freq == plain.inv_freq
    assert len(seen(ignored[0], Oddity.NOT_APPLIED)) == 1
    outside = table({}, {"truncate": False})
    assert outside[1].inv_freq != plain.inv_freq
    assert seen(outside[0], Oddity.NOT_APPLIED) == []


def test_longrope_shows_both_lists_and_dynamic_the_lengths() -> None:
    rope = {"rope_type": "longrope", "short_factor": [1.0] * 48, "long_factor": [4.0] * 48}
    data = {"model_type": "phi3", "rope_theta": 1e4, "max_position_embeddings": 131072}
    found = named(read(**data, original_max_position_embeddings=4096, rope_scaling=rope))
    assert set(found) == {"text/short", "text/long"}
    assert found["text/long"].inv_freq[0] == 0.25
    expected = math.sqrt(1 + math.log(32) / math.log(4096))
    assert found["text/short"].attention_scaling == pytest.approx(expected)
    scaling = {"rope_type": "dynamic", "factor": 2.0}
    usual = read(rope_theta=1e4, max_position_embeddings=4096, rope_scaling=scaling)
    assert set(named(usual)) == {"text/@4096", "text/@8192"}
    asked = read((5000,), rope_theta=1e4, max_position_embeddings=4096, rope_scaling=scaling)
    assert set(named(asked)) == {"text/@5000"}


def test_a_factor_list_of_the_wrong_length() -> None:
    rope = {"rope_type": "longrope", "short_factor": [1.0] * 40, "long_factor": [4.0] * 48}
    found = read(model_type="phi3", rope_theta=1e4, rope_scaling=rope)
    assert found.schedules == ()
    (wrong,) = seen(found, Oddity.LENGTH_MISMATCH)
    assert wrong.evidence == {"field": "short_factor", "expected": 48, "found": 40}


def test_sections_that_do_not_add_up() -> None:
    rope = {"rope_type": "default", "rope_theta": 1e6, "mrope_section": [16, 24, 20]}
    found = read(model_type="qwen2_vl_text", rope_parameters=rope)
    (wrong,) = seen(found, Oddity.LENGTH_MISMATCH)
    assert (wrong.evidence["expected"], wrong.evidence["found"]) == (64, 60)
    assert only(found).axes is None


@pytest.mark.parametrize(
    "rope",
    [
        {**YARN, "beta_fast": 1.0, "beta_slow": 32.0},
        {**LLAMA3, "low_freq_factor": 4.0, "high_freq_factor": 4.0},
        {**LLAMA3, "low_freq_factor": 4.0, "high_freq_factor": 1.0},
    ],
)
def test_bounds_in_the_wrong_order(rope: dict[str, Any]) -> None:
    assert len(seen(read(rope_theta=1e6, rope_scaling=rope), Oddity.BETA_ORDER)) == 1
    assert seen(read(rope_theta=1e6, rope_scaling=YARN), Oddity.BETA_ORDER) == []


def test_deepseek_multiplies_the_logits() -> None:
    rope = {**YARN, "factor": 40, "mscale": 1.0, "mscale_all_dim": 1.0}
    schedule = only(read(model_type="deepseek_v3", rope_theta=1e4, rope_scaling=rope))
    assert schedule.attention_scaling == 1.0
    assert schedule.softmax_scale == pytest.approx((0.1 * math.log(40) + 1) ** 2)
    assert only(read(rope_theta=1e4, rope_scaling=rope)).softmax_scale == 1.0


@pytest.mark.parametrize(
    ("data", "pairing"),
    [
        ({"model_type": "llama"}, "half"),
        ({"model_type": "cohere"}, "interleaved"),
        ({"model_type": "glm4"}, "interleaved"),
        ({"model_type": "deepseek_v2"}, "interleaved"),
        ({"model_type": "deepseek_v3"}, "interleaved"),
        ({"model_type": "deepseek_v3", "rope_interleave": False}, "half"),
        ({"model_type": "llama4_text"}, "interleaved"),
        ({"model_type": "gpt_oss"}, "half"),
        ({"model_type": "ernie4_5"}, "interleaved"),
        ({"model_type": "gpt_neox"}, "half"),
    ],
)
def test_pairing_follows_the_code(data: dict[str, Any], pairing: str) -> None:
    assert {s.pairing for s in read(**data).schedules} == {pairing}


@pytest.mark.parametrize(
    ("data", "layers"),
    [
        ({"model_type": "smollm3", "num_hidden_layers": 8}, (0, 1, 2, 4, 5, 6)),
        (
            {"model_type": "smollm3", "num_hidden_layers": 4, "no_rope_layers": [0, 1, 1, 1]},
            (1, 2, 3),
        ),
        ({"model_type": "llama4_text", "num_hidden_layers": 4, "no_rope_layers": []}, (0, 1, 2)),
        ({"model_type": "cohere2", "num_hidden_layers": 4}, (0, 1, 2)),
        ({"model_type": "afmoe", "num_hidden_layers": 8}, (0, 1, 2, 4, 5, 6)),
        ({"model_type": "exaone4", "num_hidden_layers": 4, "sliding_window": 4096}, (0, 1, 2)),
        ({"model_type": "exaone4", "num_hidden_layers": 3, "sliding_window": None}, (0, 1, 2)),
        ({"model_type": "qwen3_next", "num_hidden_layers": 8}, (3, 7)),
        ({"model_type": "lfm2", "num_hidden_layers": 3, "full_attn_idxs": [2]}, (2,)),
    ],
)
def test_layers_that_turn(data: dict[str, Any], layers: tuple[int, ...]) -> None:
    assert only(read(**data)).layers == layers


def test_axes_of_the_three_kinds() -> None:
    text = only(read(model_type="qwen2_vl_text"))
    assert text.axes is not None
    assert [(a.axis, a.channels) for a in text.axes] == [
        ("t", (0, 15)),
        ("h", (16, 39)),
        ("w", (40, 63)),
    ]
    dealt = only(read(model_type="qwen3_vl_text", head_dim=128))
    assert dealt.axes is not None
    assert {a.axis for a in dealt.axes if 1 in range(a.channels[0], a.channels[1] + 1)} == {"h"}
    assert sum(last - first + 1 for first, last in (a.channels for a in dealt.axes)) == 64
    tower = only(read(model_type="qwen2_vl_vision"))
    assert tower.axes is not None
    assert [a.channels for a in tower.axes] == [(0, 19), (0, 19)]
    assert (tower.component, tower.rope_type, tower.rotary_dim) == ("vision", "axial", 80)
    assert tower.groups() == (tuple(range(20)),)


def test_composites_and_flat_text_fields() -> None:
    text = {"model_type": "qwen2_5_vl_text", "hidden_size": 2048, "num_attention_heads": 16}
    split = named(read(model_type="qwen2_5_vl", text_config=text))
    flat = named(read(model_type="qwen2_5_vl", hidden_size=2048, num_attention_heads=16))
    assert set(split) == set(flat) == {"text", "vision"}
    assert split["text"].inv_freq == flat["text"].inv_freq
    fact = split["text"].fact("hidden_size")
    assert fact is not None
    assert fact.location is not None
    assert fact.location.pointer == "/text_config/hidden_size"


def test_published_dots3_note_files_are_flat() -> None:
    fields = {"rope_theta": 123456.0, "swa_rope_theta": 2345.0, "num_hidden_layers": 8}
    flat = named(read(model_type="dots3_note", **fields))
    split = named(read(model_type="dots3_note", text_config=fields))
    bases = {s.rope_theta for name, s in flat.items() if name.startswith("text")}
    assert bases == {123456.0, 2345.0}
    assert {n: s.inv_freq for n, s in flat.items()} == {n: s.inv_freq for n, s in split.items()}


@pytest.mark.parametrize("model_type", ["glm4v", "mistral3", "qwen3_vl"])
def test_text_fields_on_top_that_no_part_reads_are_said(model_type: str) -> None:
    written = {"rope_theta": 777.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    found = read(model_type=model_type, **written)
    ignored = seen(found, Oddity.KEY_IGNORED)
    assert {o.evidence["key"] for o in ignored} == set(written)
    assert all("text_config" in o.message for o in ignored)
    assert named(found)["text"].rope_theta != 777.0
    assert seen(read(model_type=model_type, text_config=written), Oddity.KEY_IGNORED) == []
    assert seen(read(model_type=model_type, rope_scaling=None), Oddity.KEY_IGNORED) == []


def test_any_text_model_may_stand_in_an_open_part() -> None:
    text = {"model_type": "mistral", "hidden_size": 1024, "num_attention_heads": 8}
    found = named(read(model_type="llava", text_config=text))
    assert found["text"].head_dim == 128


def test_models_without_rotary_encoding() -> None:
    for model_type in ("bert", "gpt2", "mpt", "nemotron_h", "t5"):
        found = read(model_type=model_type, hidden_size=768, num_attention_heads=12)
        assert found.schedules == ()
        assert [n.kind for n in found.notes] == ["no_rotary"], model_type
    assert [n.kind for n in read(model_type="falcon", alibi=True).notes] == ["no_rotary"]


def test_unknown_model_types_are_read_by_the_common_rules() -> None:
    found = read(model_type="nobody", hidden_size=512, num_attention_heads=8, rope_theta=1e4)
    assert only(found).head_dim == 64
    assert len(seen(found, Oddity.GENERIC_READING)) == 1
    assert [n.kind for n in read(model_type="nobody", hidden_size=512).notes] == ["insufficient"]


def test_provenance_names_the_place_of_every_number() -> None:
    scaling = '{"type": "linear", "factor": 2}'
    text = f'{{"model_type": "llama", "rope_theta": 5e5, "rope_scaling": {scaling}}}'
    document = parse(text, "config.json").with_overrides({"/head_dim": 64})
    reading = Reading(target="t", format="hf-config", document=document)
    (schedule,) = reader.read(reading, ()).schedules
    facts = {f.field: f for f in schedule.provenance}
    pointers = {k: f.location.pointer for k, f in facts.items() if f.location is not None}
    assert pointers["rope_theta"] == "/rope_theta"
    assert pointers["factor"] == "/rope_scaling/factor"
    assert pointers["rope_type"] == "/rope_scaling/type"
    assert facts["head_dim"].origin is Origin.OVERRIDE
    assert facts["max_position_embeddings"].origin is Origin.DEFAULT
    derived = only(read(rope_theta=1e4)).fact("head_dim")
    assert derived is not None
    assert derived.origin is Origin.DERIVED
