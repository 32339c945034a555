"""Stored tables become schedules: values untouched, layers merged, names unique."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.facts import Location, Reading, StoredTable
from ropeaudit.readers import stored
from ropeaudit.schedule.core import Schedule


def table(
    name: str,
    values: tuple[float, ...] = (1.0, 0.5, 0.25),
    *,
    dtype: str = "float32",
    role: str = "inv_freq",
    layer: int | None = None,
    shape: tuple[int, ...] | None = None,
) -> StoredTable:
    where = Location(file="model.safetensors", tensor=name)
    return StoredTable(
        name=name,
        values=values,
        dtype=dtype,
        shape=shape or (len(values),),
        location=where,
        role=role,
        layer=layer,
    )


def schedules(*tables: StoredTable, format: str = "safetensors") -> tuple[Schedule, ...]:
    return stored.read(Reading(target="m", format=format, tables=tables), ()).schedules


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        ("model.rotary_emb.inv_freq", "text/stored"),
        ("rotary_emb.inv_freq", "text/stored"),
        ("rope.freqs", "text/stored"),
        ("transformer.rotary_pos_emb.inv_freq", "text/stored"),
        ("model.visual.rotary_pos_emb.inv_freq", "vision/stored"),
        ("vision_tower.patch_positional_embedding.inv_freq", "vision/stored"),
        ("vision_model.rotary_emb.inv_freq", "vision/stored"),
        ("thinker.visual.rotary_pos_emb.inv_freq", "vision/stored"),
        ("thinker.model.rotary_emb.inv_freq", "text/stored"),
        ("audio_tower.rotary.inv_freq", "audio/stored"),
        ("talker.model.rotary_emb.inv_freq", "talker/stored"),
        (
            "model.rotary_emb.sliding_attention_inv_freq",
            "text/sliding_attention/stored",
        ),
        ("model.rotary_emb.full_attention_inv_freq", "text/full_attention/stored"),
        (
            "model.rotary_embs.full_attention.inv_freq",
            "text/full_attention/stored",
        ),
        ("model.rotary_emb_local.inv_freq", "text/sliding_attention/stored"),
        ("encoder.rotary_inv_freq", "text/stored"),
        ("evaluator.visitor.inv_freq", "text/stored"),
    ],
)
def test_the_tensor_name_gives_component_and_layer_type(tensor: str, name: str) -> None:
    (found,) = schedules(table(tensor))
    assert found.name == name


def test_values_dtype_and_place_are_kept() -> None:
    values = (1.0, 0.1000000014901161, 1e-8)
    (found,) = schedules(table("model.rotary_emb.inv_freq", values, dtype="float32"))
    assert found.inv_freq == values
    assert (found.dtype, found.rotary_dim, found.rope_type) == ("float32", 6, "stored")
    assert found.rope_theta is None
    assert found.head_dim is None
    fact = found.fact("inv_freq")
    assert fact is not None
    assert fact.location == Location(file="model.safetensors", tensor="model.rotary_emb.inv_freq")


def test_equal_tables_of_many_layers_are_one_schedule() -> None:
    name = "model.layers.{}.self_attn.rotary_emb.inv_freq"
    (found,) = schedules(*(table(name.format(i), layer=i) for i in range(32)))
    assert found.name == "text/stored"
    assert found.layers == tuple(range(32))
    assert len(found.provenance) == 32


def test_the_odd_layers_are_kept_apart_under_their_own_names() -> None:
    name = "model.layers.{}.self_attn.rotary_emb.inv_freq"
    odd = {9: (1.0, 0.4, 0.2), 20: (1.0, 0.3, 0.1), 21: (1.0, 0.3, 0.1)}
    tables = [table(name.format(i), odd.get(i, (1.0, 0.5, 0.25)), layer=i) for i in range(24)]
    found = {s.name: s for s in schedules(*tables)}
    assert set(found) == {"text/stored", "text/layer_9/stored", "text/layers_20-21/stored"}
    assert found["text/layer_9/stored"].layers == (9,)
    assert found["text/layers_20-21/stored"].layers == (20, 21)
    assert found["text/stored"].layers == tuple(i for i in range(24) if i not in odd)


def test_equal_numbers_in_another_dtype_are_another_table() -> None:
    found = schedules(
        table("model.layers.0.a.inv_freq", layer=0),
        table("model.layers.1.a.inv_freq", layer=1, dtype="bfloat16"),
    )
    assert sorted(s.dtype for s in found) == ["bfloat16", "float32"]


def test_uninitialised_layers_merge_although_nan_is_not_nan() -> None:
    nan = (float("nan"), 1.0)
    (found,) = schedules(
        table("model.layers.0.a.inv_freq", nan, layer=0),
        table("model.layers.1.a.inv_freq", (float("nan"), 1.0), layer=1),
    )
    assert found.layers == (0, 1)
    assert math.isnan(found.inv_freq[0])


def test_the_engines_own_copy_is_no_second_schedule_unless_it_differs() -> None:
    live = table("model.rotary_emb.inv_freq")
    (found,) = schedules(live, table("model.rotary_emb.original_inv_freq"))
    assert found.name == "text/stored"
    names = [
        s.name for s in schedules(live, table("model.rotary_emb.original_inv_freq", (1.0, 9.0)))
    ]
    assert names == ["text/stored", "text/original/stored"]
    prefixed = [
        table("m.full_attention_inv_freq"),
        table("m.full_attention_original_inv_freq", (2.0,)),
    ]
    assert [s.name for s in schedules(*prefixed)] == [
        "text/full_attention/stored",
        "text/full_attention_original/stored",
    ]


def test_two_modules_with_different_tables_and_no_layer_get_different_names() -> None:
    found = schedules(table("a.rotary.inv_freq"), table("b.rotary.inv_freq", (1.0, 0.1)))
    assert [s.name for s in found] == ["text/stored", "text/b.rotary.inv_freq/stored"]


def test_a_cache_counts_as_a_table_of_angles() -> None:
    (found,) = schedules(table("rotary_emb.cos_sin_cache", role="cos_sin_cache"))
    assert found.rope_type == "stored"
    assert found.parameters["role"] == "cos_sin_cache"


def test_a_learned_table_says_so_and_keeps_its_axes() -> None:
    (found,) = schedules(
        table("blocks.0.attn.freqs", (1.0, 2.0, 3.0, 4.0), role="learned", shape=(2, 2))
    )
    assert found.rope_type == "learned"
    assert found.groups() == ((0, 1), (2, 3))
    (flat,) = schedules(table("freqs", role="learned"))
    assert flat.axes is None


def test_what_is_not_read_is_said() -> None:
    empty = table("blocks.0.attn.freqs", (), role="learned", shape=(2, 12, 6, 32))
    factors = table("rope_freqs.weight", role="rope_factors")
    result = stored.read(Reading(target="m", format="torch", tables=(empty, factors)), ())
    assert result.schedules == ()
    assert [n.kind for n in result.notes] == ["learned", "insufficient"]
    assert "[2, 12, 6, 32]" in result.notes[0].message
    gguf = stored.read(Reading(target="m", format="gguf", tables=(factors,)), ())
    assert (gguf.schedules, gguf.notes) == ((), ())


def test_a_raw_table_is_one_text_schedule() -> None:
    (found,) = schedules(table("inv_freq", dtype="float64"), format="raw")
    assert (found.name, found.dtype) == ("text/stored", "float64")


_steps = st.sampled_from(
    ["model", "visual", "talker", "layers.3", "rotary_emb", "sliding_attention", "a", "\x1b[31m"]
)
_leaves = st.sampled_from(
    ["inv_freq", "original_inv_freq", "sliding_attention_inv_freq", "freqs", "cos_sin_cache"]
)


@st.composite
def tables(draw: st.DrawFn) -> tuple[StoredTable, ...]:
    found = []
    for _ in range(draw(st.integers(1, 8))):
        name = ".".join([*draw(st.lists(_steps, max_size=4)), draw(_leaves)])
        values = tuple(draw(st.lists(st.sampled_from([1.0, 0.5, math.nan]), max_size=3)))
        layer = draw(st.none() | st.integers(0, 5))
        role = draw(st.sampled_from(["inv_freq", "cos_sin_cache", "learned", "rope_factors"]))
        found.append(table(name, values, layer=layer, role=role))
    return tuple(found)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(tables())
def test_names_are_unique_and_no_distinct_table_is_lost(
    given_tables: tuple[StoredTable, ...],
) -> None:
    found = schedules(*given_tables)
    names = [s.name for s in found]
    assert len(names) == len(set(names))
    assert all(s.variant == "stored" for s in found)
    read = {t.values for t in given_tables if t.role != "rope_factors" and t.values}
    assert {repr(v) for v in read} == {repr(s.inv_freq) for s in found}
