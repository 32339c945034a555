"""Real configs: each is the same as itself, and known changes to it are named."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.diff.compare import compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.likeness import Likeness
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32s
from ropeaudit.schedule.subject import Subject

ZOO = sorted((Path(__file__).parents[2] / "fixtures/zoo").glob("*/config.json"))
PLAIN_TYPES = frozenset({"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma", "stablelm"})


@cache
def subjects() -> tuple[Subject, ...]:
    return tuple(ropeaudit.read(path) for path in ZOO)


def rotating() -> list[Subject]:
    return [s for s in subjects() if s.schedules]


def names(found: Comparison) -> set[str]:
    return {lost.name for pair in found.pairs for lost in pair.lost}


def test_each_is_the_same_as_itself() -> None:
    assert len(rotating()) > 130
    for subject in subjects():
        found = compare(subject, subject)
        held = subject.schedules or subject.encodings
        wanted = Likeness.SAME if held else Likeness.UNKNOWN
        assert found.verdict is wanted, subject.target
        assert found.exit_code == (0 if held else 3)
        assert names(found) == set(), subject.target
        assert not found.unpaired
        paired = [(p.a.name, p.b.name) for p in found.pairs]
        assert {a for a, _ in paired} == {s.name for s in subject.schedules}
        assert all(a == b for a, b in paired)
        for pair in found.pairs:
            assert pair.max_ulp == 0
            assert pair.max_abs_dlog == pair.max_phase_drift == 0
            assert pair.new_clusters == ()


def test_any_two_part_as_far_from_either_side() -> None:
    draw = Random(0)
    for _ in range(150):
        a, b = draw.sample(rotating(), 2)
        one, other = compare(a, b), compare(b, a)
        told = f"{a.target} and {b.target}"
        assert one.verdict is other.verdict, told
        assert {(p.a.name, p.b.name): p.likeness for p in one.pairs} == {
            (p.b.name, p.a.name): p.likeness for p in other.pairs
        }, told
        assert all(lost.text.isprintable() for p in one.pairs for lost in p.lost)


def text(subject: Subject) -> list[Schedule]:
    return [s for s in subject.schedules if s.component == "text"]


def changed(subject: Subject, **fields: Any) -> Subject:
    """``subject`` with every text schedule changed; a callable is given the schedule."""

    def apply(schedule: Schedule) -> Schedule:
        if schedule.component != "text":
            return schedule
        made = {k: v(schedule) if callable(v) else v for k, v in fields.items()}
        return replace(schedule, **made)

    return replace(subject, schedules=tuple(map(apply, subject.schedules)), reading=None)


@given(st.data())
def test_a_moved_channel_is_found_where_it_is(data: st.DataObject) -> None:
    subject = data.draw(st.sampled_from([s for s in rotating() if text(s)]))
    schedule = text(subject)[0]
    turning = [k for k, v in enumerate(schedule.inv_freq) if v > 0]
    k = data.draw(st.sampled_from(turning))
    by = data.draw(st.sampled_from([0.5, 0.9, 0.999, 1.001, 1.5]))

    def moved(s: Schedule) -> tuple[float, ...]:
        return tuple(f32s(v * by if i == k else v for i, v in enumerate(s.inv_freq)))

    found = compare(subject, changed(subject, inv_freq=moved))
    assert found.verdict is Likeness.DIFFERENT
    for pair in (p for p in found.pairs if p.a.component == "text"):
        away = [c.k for c in pair.channels if c.ulp]
        assert away == [k] if k < len(pair.channels) and pair.a.inv_freq[k] else away == []
        back = next(p for p in compare(found.b, found.a).pairs if p.b is pair.a and p.a is pair.b)
        for there, again in zip(pair.channels, back.channels, strict=True):
            assert there.dlog == pytest.approx(-again.dlog, abs=1e-12)
            assert there.phase_drift == again.phase_drift
            assert there.ulp == again.ulp


def plain_texts(scaled: bool | None = None) -> list[tuple[Path, dict[str, Any]]]:
    """Configs of types whose rope keys are the usual ones, as dicts."""
    found = []
    for path in ZOO:
        data = json.loads(path.read_text())
        usual = data.get("model_type") in PLAIN_TYPES
        has = bool(data.get("rope_scaling"))
        if usual and "rope_parameters" not in data and (scaled is None or has is scaled):
            found.append((path, data))
    return found


def against(path: Path, data: dict[str, Any], folder: Path) -> Comparison:
    copy = folder / "config.json"
    copy.write_text(json.dumps(data))
    return ropeaudit.diff(path, copy)


def test_a_base_that_is_dropped(tmp_path: Path) -> None:
    told = 0
    for path, data in plain_texts():
        base = data.pop("rope_theta", None)
        found = against(path, data, tmp_path)
        if base in (None, 10000, 10000.0):
            assert found.verdict is Likeness.SAME, path
            continue
        if found.verdict is Likeness.SAME:  # the class has that base of its own
            assert found.b.schedules[0].rope_theta == base
            continue
        assert "base defaulted" in names(found), path
        assert found.severity is ropeaudit.Severity.ERROR
        told += 1
    assert told > 15


def test_a_scaling_that_is_dropped(tmp_path: Path) -> None:
    told = 0
    for path, data in plain_texts(scaled=True):
        before = ropeaudit.read(path)
        data["rope_scaling"] = None
        found = against(path, data, tmp_path)
        kinds = {s.rope_type for s in before.schedules if s.inv_freq != s.unscaled}
        if not kinds and not any(s.rope_type == "dynamic" for s in before.schedules):
            assert found.verdict in (Likeness.SAME, Likeness.DIFFERENT)
            continue
        assert "scaling dropped" in names(found), path
        assert found.exit_code == 1
        told += 1
    assert told >= 8


def test_a_factor_that_is_changed(tmp_path: Path) -> None:
    told = 0
    for path, data in plain_texts(scaled=True):
        scaling = data["rope_scaling"]
        if not isinstance(scaling.get("factor"), int | float) or scaling["factor"] == 1:
            continue
        data["rope_scaling"] = {**scaling, "factor": 3 * scaling["factor"]}
        found = against(path, data, tmp_path)
        assert names(found) & {"factor changed", "attention factor changed"}, path
        told += 1
    assert told >= 8


def test_half_of_the_head(tmp_path: Path) -> None:
    told = 0
    for path, data in plain_texts(scaled=False):
        if data["model_type"] not in ("llama", "mistral", "qwen2", "qwen3"):
            continue
        # The engine ignores a fraction for these types; a head of half the width it does not.
        width = data.get("head_dim") or data["hidden_size"] // data["num_attention_heads"]
        found = against(path, {**data, "head_dim": width // 2}, tmp_path)
        assert "wrong rotary width" in names(found), path
        assert found.pairs[0].max_phase_drift > 1.5
        assert found.severity is ropeaudit.Severity.ERROR
        told += 1
    assert told > 20


def test_every_setting_of_a_quantised_copy_but_the_positions(tmp_path: Path) -> None:
    """What a quantiser adds is no difference, also where the model type is not known."""
    for path in ZOO:
        before = ropeaudit.read(path)
        if not before.schedules:
            continue
        data = json.loads(path.read_text())
        data |= {
            "quantization_config": {"quant_method": "fp8", "ignored_layers": ["lm_head"]},
            "transformers_version": "9.9.9",
            "torch_dtype": "float16",
        }
        found = against(path, data, tmp_path)
        assert found.verdict is Likeness.SAME, (path, found.undecided)
