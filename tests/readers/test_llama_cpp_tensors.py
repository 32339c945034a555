"""Factor tensors of GGUF files: which are applied, refused, or of the wrong size."""

from __future__ import annotations

import math

import pytest

from ropeaudit.facts import Oddity
from ropeaudit.readers import llama_cpp
from ropeaudit.schedule.float32 import f32, f32s
from tests.gguf_readings import SHAPE, build, notes, reading, seen


def test_factors_that_llama_cpp_does_not_take() -> None:
    refused = build("qwen2", SHAPE, {"rope_freqs.weight": [2.0] * 64})
    assert seen(refused, Oddity.NOT_APPLIED)[0].evidence["refused"] is True
    assert refused.schedules[0].inv_freq == refused.schedules[0].unscaled
    unused = build("falcon-h1", SHAPE, {"rope_freqs.weight": [2.0] * 64})
    assert seen(unused, Oddity.NOT_APPLIED)[0].evidence["refused"] is False
    assert unused.schedules[0].inv_freq == unused.schedules[0].unscaled


def test_lists_need_the_type_outside_phi_3() -> None:
    lists = {"rope_factors_long.weight": [4.0] * 64, "rope_factors_short.weight": [2.0] * 64}
    named = SHAPE | {"rope.scaling.type": "longrope"}
    assert [s.variant for s in build("llama", named, lists).schedules] == ["short", "long"]
    without = build("llama", SHAPE, lists)
    assert [o.evidence["refused"] for o in seen(without, Oddity.NOT_APPLIED)] == [True, True]
    assert [s.variant for s in without.schedules] == [None]
    dropped = build("llama", named)
    (found,) = seen(dropped, Oddity.NOT_APPLIED)
    assert "does not say so" in found.message


@pytest.mark.parametrize("length", [63, 65])
def test_factors_of_the_wrong_length(length: int) -> None:
    resolution = build("llama", SHAPE, {"rope_freqs.weight": [2.0] * length})
    (found,) = seen(resolution, Oddity.LENGTH_MISMATCH)
    assert (found.evidence["expected"], found.evidence["found"]) == (64, length)
    assert len(resolution.schedules[0].inv_freq) == 64


def test_unknown_factors_are_a_stored_table() -> None:
    factors = [1.0 + k / 7 for k in range(64)]
    (schedule,) = build("llama", SHAPE, {"rope_freqs.weight": factors}).schedules
    assert schedule.rope_type == "stored"
    exact = f32s(1e4 ** (-k / 64) / d for k, d in enumerate(f32s(factors)))
    assert list(schedule.inv_freq) == exact


def test_strange_factors_reach_the_checks() -> None:
    factors = [math.nan, 0.0, -0.0, math.inf, -2.0] + [1.0] * 59
    (schedule,) = build("llama", SHAPE, {"rope_freqs.weight": factors}).schedules
    assert math.isnan(schedule.inv_freq[0])
    assert schedule.inv_freq[1:4] == (math.inf, -math.inf, 0.0)
    assert schedule.inv_freq[4] < 0


def test_factors_per_layer() -> None:
    same = {f"blk.{i}.rope_freqs.weight": [2.0] * 64 for i in range(8)}
    (schedule,) = build("llama", SHAPE, same).schedules
    assert schedule.layers == tuple(range(8))
    assert schedule.inv_freq[0] == 0.5
    mixed = {f"blk.{i}.rope_freqs.weight": [2.0 if i < 5 else 3.0] * 64 for i in range(8)}
    first, second = build("llama", SHAPE, mixed).schedules
    assert (first.name, first.layers) == ("text/layers_0-4", (0, 1, 2, 3, 4))
    assert (second.name, second.layers) == ("text/layers_5-7", (5, 6, 7))
    assert second.inv_freq[0] == f32(1 / 3)


def test_half_precision_factors_are_refused_by_the_engine() -> None:
    source = reading("llama", SHAPE, {"rope_freqs.weight": [1.0] * 64}, dtype="float16")
    assert "float32 factors only" in notes(llama_cpp.read(source, ()))["engine_refuses"]
