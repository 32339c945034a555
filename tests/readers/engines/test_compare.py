"""Distances of engines from the reference: against what was measured, and by their laws."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines import compare
from ropeaudit.readers.engines import transformers as hf
from ropeaudit.readers.engines.compare import distance, views
from ropeaudit.readers.engines.interface import Built, Engine, NotCovered, Refuses, Release, Request
from ropeaudit.readers.engines.known import Chosen, releases
from ropeaudit.readers.transformers import read
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Context, Schedule
from tests.engine_vectors import outcome, request, vectors
from tests.schedules import llama3, plain, with_values, yarn

GROWS = {("tgi-2026.01", "dynamic_old")}
"""Measured as the engine starts; its source makes the table anew for longer sequences."""

OLD = next(r for r in hf.RELEASES if r.name == "transformers-4.57")


def against(case: dict[str, Any], asked: Request) -> tuple[Schedule, ...] | None:
    """The schedules that the measurement took as reference."""
    if case["reference"] == "transformers-5.24":
        assert asked.reference is not None
        return asked.reference.schedules
    return hf.build(asked, OLD).schedules if case["reference"] == OLD.name else None


@pytest.mark.parametrize(
    ("engine", "release"), [pytest.param(e, r, id=r.name) for e, r in releases()]
)
def test_distances_are_those_that_were_measured(engine: Engine, release: Release) -> None:
    seen = 0
    for name, case in vectors()["cases"].items():
        row = case["readers"].get(release.name, {})
        asked = request(case)
        reference = against(case, asked) if row.get("status") == "ok" else None
        _, built, _ = outcome(engine, asked, release)
        if reference is None or built is None:
            continue
        found, wanted = (
            distance(built.schedules, reference, silent=release.silent),
            row["against_reference"],
        )
        assert found is not None, name
        if (release.name, name) in GROWS:
            continue
        assert found.same == (wanted["verdict"] == "same"), name
        seen += 1
        if found.width:
            assert found.max_abs_dlog is None
            continue
        assert found.max_abs_dlog == pytest.approx(wanted["max_abs_dlog"], rel=1e-2, abs=2e-5), name
        drift = pytest.approx(wanted["max_phase_drift"], rel=0.05, abs=0.05)
        assert found.max_phase_drift == drift, name
    assert seen or release.name not in vectors()["engines"]


def test_equal_schedules_are_the_same() -> None:
    found = distance([llama3()], [llama3()])
    assert found is not None
    assert found.same
    assert (found.max_abs_dlog, found.max_phase_drift) == (0.0, 0.0)
    assert (found.attention, found.softmax, found.layers) == (1.0, 1.0, ())


def test_a_lost_scaling_is_told_in_numbers() -> None:
    found = distance([plain(5e5)], [llama3(5e5)])
    assert found is not None
    assert not found.same
    assert found.max_abs_dlog == pytest.approx(math.log(8), abs=1e-5)
    assert found.max_phase_drift == math.pi
    assert found.schedules["text"]["max_abs_dlog"] == found.max_abs_dlog


def test_engine_arithmetic_is_the_same_and_more_is_not() -> None:
    table = plain()
    near = with_values(table, lambda k, v: v * (1 + 3e-6))
    far = with_values(table, lambda k, v: v * (1 + 2e-5))
    assert distance([near], [table]).same  # type: ignore[union-attr]
    assert not distance([far], [table]).same  # type: ignore[union-attr]


def test_factors_are_ratios_to_the_reference() -> None:
    a, b = yarn(), yarn()
    a = replace(a, attention_scaling=b.attention_scaling * 1.5, softmax_scale=0.5)
    found = distance([a], [b])
    assert found is not None
    assert (found.attention, found.softmax) == (pytest.approx(1.5), 0.5)
    assert not found.same
    silent = distance([a], [b], silent=frozenset({"attention", "softmax"}))
    assert silent is not None
    assert (silent.attention, silent.softmax, silent.same) == (None, None, True)


def test_other_widths_have_no_distance_in_log() -> None:
    found = distance([plain(dim=64)], [plain(dim=128)])
    assert found is not None
    assert (found.width, found.max_abs_dlog, found.same) == (True, None, False)


def test_a_channel_that_stands_still_is_infinitely_far() -> None:
    table = plain()
    stopped = with_values(table, lambda k, v: 0.0 if k == 3 else v)
    assert distance([stopped], [table]).max_abs_dlog == math.inf  # type: ignore[union-attr]


def test_layers_that_turn_on_one_side_only() -> None:
    a, b = plain(layers=(0, 1, 2, 3)), plain(layers=(0, 1, 2))
    found = distance([a], [b])
    assert found is not None
    assert (found.layers, found.same) == ((3,), False)
    assert distance([a], [b], silent=frozenset({"layers"})).same  # type: ignore[union-attr]
    assert distance([plain(layers=None)], [b]).same  # type: ignore[union-attr]


def test_one_table_stands_for_both_lists_of_the_reference() -> None:
    context = Context(4096, 131072)
    short = plain(1e4, variant="short", context=context)
    long = plain(1e5, variant="long", context=context)
    one = plain(1e5, context=context)
    found = distance([one], [short, long])
    assert found is not None
    assert found.schedules["text/long"]["max_abs_dlog"] == 0.0
    assert found.schedules["text/short"]["max_abs_dlog"] == found.max_abs_dlog > 1  # type: ignore[operator]


def test_one_table_for_all_layers_is_compared_with_each_layer_type() -> None:
    one = plain(1e6, layers=(0, 1))
    full = plain(1e6, layer_type="full_attention", layers=(1,))
    sliding = plain(1e4, layer_type="sliding_attention", layers=(0,))
    found = distance([one], [full, sliding])
    assert found is not None
    assert found.schedules["text/full_attention"]["max_abs_dlog"] == 0.0
    assert found.max_abs_dlog == found.schedules["text/sliding_attention"]["max_abs_dlog"]


def test_parts_that_one_side_lacks_are_not_compared() -> None:
    assert distance([plain()], [plain(component="vision")]) is None
    assert distance([], [plain()]) is None
    found = distance([plain()], [plain(), plain(2e4, component="vision")])
    assert found is not None
    assert found.same


def test_the_short_list_is_measured_at_its_own_length() -> None:
    context = Context(128, 131072)
    a, b = (plain(v, variant="short", context=context) for v in (1e4, 1.01e4))
    drift = max(abs(x - y) * 128 for x, y in zip(a.inv_freq, b.inv_freq, strict=True))
    assert distance([a], [b]).max_phase_drift == pytest.approx(drift)  # type: ignore[union-attr]


@given(st.floats(1e3, 1e7), st.floats(1e3, 1e7), st.sampled_from([32, 64, 128]))
def test_distance_is_symmetric_but_for_the_ratios(x: float, y: float, dim: int) -> None:
    a, b = plain(x, dim), plain(y, dim)
    there, back = distance([a], [b]), distance([b], [a])
    assert there is not None
    assert back is not None
    assert there.max_abs_dlog == pytest.approx(back.max_abs_dlog)
    assert there.max_phase_drift == back.max_phase_drift
    assert there.same == back.same


class Broken:
    """An engine that fails in the way it is told to."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.RELEASES = (replace(OLD, name="broken-1.0", engine="broken"),)

    def build(self, request: Request, release: Release) -> Built:
        raise self.error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Refuses("it stops here"), "refuses"),
        (InvalidValue("a value is wrong"), "refuses"),
        (NotCovered("nothing is known"), "not_covered"),
        (ZeroDivisionError("a fault"), "not_covered"),
    ],
)
def test_what_stops_one_engine_stops_no_other(
    error: Exception, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ROPEAUDIT_DEBUG", raising=False)
    document = Document("config.json", vectors()["cases"]["plain_old"]["config"])
    reference = read(Reading(target="t", format="hf-config", document=document))
    broken = Broken(error)
    chosen = [
        Chosen(engine=broken, release=broken.RELEASES[0]),
        Chosen(engine=hf, release=OLD),
    ]
    first, second = views(document, chosen, reference=reference, against=reference.schedules)
    assert (first.status, first.distance, first.schedules) == (status, None, ())
    assert str(error) in (first.reason or "")
    assert second.status == "ok"
    assert second.distance is not None
    assert second.distance.same


def test_a_fault_is_raised_where_it_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROPEAUDIT_DEBUG", "1")
    broken = Broken(ZeroDivisionError("a fault"))
    chosen = [Chosen(engine=broken, release=broken.RELEASES[0])]
    with pytest.raises(ZeroDivisionError):
        compare.views(Document("config.json", {}), chosen, reference=None, against=())


KEYS = ("rope_theta", "rope_scaling", "rope_parameters", "head_dim", "partial_rotary_factor")
KEYS += ("max_position_embeddings", "num_attention_heads", "layer_types", "model_type")
INNER = ("factor", "rope_type", "type", "original_max_position_embeddings", "attention_factor")
ODD = st.one_of(
    st.sampled_from([None, True, 0, -1, 1e308, math.nan, math.inf, "x", "", 10**30, [], {}]),
    st.sampled_from(["yarn", "llama3", [1.0] * 64, {"rope_type": "yarn"}, ["llama"]]),
)


@given(
    st.sampled_from(sorted(vectors()["cases"])),
    st.dictionaries(st.sampled_from(KEYS), ODD, max_size=2),
    st.dictionaries(st.sampled_from(INNER), ODD, max_size=2),
)
def test_no_value_makes_the_reading_of_transformers_fail(
    name: str, top: dict[str, Any], inner: dict[str, Any]
) -> None:
    config = {**vectors()["cases"][name]["config"], **top}
    for key in ("rope_scaling", "rope_parameters"):
        if isinstance(config.get(key), dict):
            config[key] = {**config[key], **inner}
    asked = request({"config": config, "file": "config.json"})
    for release in hf.RELEASES:
        outcome(hf, asked, release)  # whatever it says, it says it


def test_loaders_of_params_json_permute_the_weights(tmp_path: Path) -> None:
    case = vectors()["cases"]["params_yarn"]
    (tmp_path / "params.json").write_text(json.dumps(case["config"]))
    found = {v.reader: v.distance for v in resolve(str(tmp_path), readers=("all",)).views}
    for reader in ("vllm-0.33", "llama.cpp+tf5", "llama.cpp+tf4.57"):
        distance = found[reader]
        assert distance is not None
        assert (distance.same, distance.pairing, distance.words) == (True, False, ())


def test_phases_part_within_the_length_that_is_asked_for() -> None:
    table = plain(trained=4096)
    near = with_values(table, lambda k, v: v * (1 + 1e-4))
    at = {n: distance([near], [table], lengths=n) for n in ((), (100,), (10, 100), (200,))}
    found = {n: d.max_phase_drift for n, d in at.items() if d is not None}
    assert found[(100,)] == found[(10, 100)] == pytest.approx(100e-4, rel=1e-2)
    assert found[(200,)] == pytest.approx(2 * found[(100,)], rel=1e-3)
    assert found[()] > found[(200,)]
    assert {n: d.length for n, d in at.items() if d} == {
        (): None, (100,): 100, (10, 100): 100, (200,): 200
    }  # fmt: skip


def test_a_short_list_counts_within_the_length_that_it_serves() -> None:
    table = replace(plain(), variant="short", context=Context(128, 4096))
    near = with_values(table, lambda k, v: v * (1 + 1e-4))
    for lengths, served in (((), 128), ((64, 4096), 128), ((64,), 64)):
        found = distance([near], [table], lengths=lengths)
        assert found is not None
        assert found.max_phase_drift == pytest.approx(served * 1e-4, rel=1e-2)


def test_a_list_that_no_length_asked_for_turns_by_is_left_aside() -> None:
    context = Context(4096, 131072)
    short = replace(plain(), variant="short", context=context)
    long = replace(plain(2e4), variant="long", context=context)
    always_long = [replace(long, variant=None)]
    same = {
        lengths: distance(always_long, [short, long], lengths=lengths).same  # type: ignore[union-attr]
        for lengths in ((), (1024,), (8192,), (1024, 8192))
    }
    assert same == {(): False, (1024,): False, (8192,): True, (1024, 8192): False}


def test_long_lists_of_layers_are_cut() -> None:
    """Every second of 400 layers: 200 ranges would make a message that nobody reads."""
    every = replace(plain(), layers=tuple(range(400)))
    second = replace(plain(), layers=tuple(range(0, 400, 2)))
    found = distance([second], [every])
    assert found is not None
    assert found.words == (
        "does not rotate layers 1, 3, 5, 7, 9, 11, 13, 15 and 192 more (200 in all)",
    )
    assert len(found.layers) == 200
    few = distance([replace(plain(), layers=(0, 1, 5, 9))], [replace(plain(), layers=(0, 1))])
    assert few is not None
    assert few.words == ("rotates layers 5, 9, which it should not",)
    run = distance([replace(plain(), layers=(0,))], [every])
    assert run is not None
    assert run.words == ("does not rotate layers 1-399",)
