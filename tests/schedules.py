"""Builders of schedules, subjects and cases for tests; every table comes from the real laws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ropeaudit.checks.interface import Case
from ropeaudit.facts import Fact, Location, Observation
from ropeaudit.findings import Outcome
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.float32 import f32s, round_to
from ropeaudit.schedule.subject import Subject


def plain(base: float = 1e4, dim: int = 128, **kw: Any) -> Schedule:
    """The unscaled schedule ``base ** (-2k/dim)``; ``kw`` sets any field of Schedule.

    ``trained=4096`` is short for ``context=Context(4096, 4096)``.
    """
    table = tuple(geometric(base, dim))
    return _schedule(
        {"rope_type": "default", "rope_theta": base, "inv_freq": table, "unscaled": table}
        | {"head_dim": dim, "rotary_dim": dim, "provenance": (_base_fact(base),)},
        kw,
    )


def scaled(
    rope_type: str,
    base: float = 1e4,
    dim: int = 128,
    *,
    scaling: dict[str, Any],
    declared: int = 131_072,
    length: int | None = None,
    head_dim: int | None = None,
    partial: float = 1.0,
    **kw: Any,
) -> Schedule:
    """A schedule built by the law ``rope_type`` from its scaling dict."""
    law = family(rope_type)
    assert law is not None, rope_type
    built = law.build(
        Inputs(
            rope_theta=base,
            rotary_dim=dim,
            head_dim=head_dim or dim,
            partial_rotary_factor=partial,
            max_position_embeddings=declared,
            length=length,
            scaling=scaling,
        )
    )
    original = scaling.get("original_max_position_embeddings", declared)
    return _schedule(
        {
            "rope_type": rope_type,
            "rope_theta": base,
            "inv_freq": built.inv_freq,
            "unscaled": tuple(geometric(base, dim)) if rope_type != "proportional" else None,
            "head_dim": head_dim or dim,
            "rotary_dim": 2 * len(built.inv_freq),
            "attention_scaling": built.attention_scaling,
            "static_channels": built.static_channels,
            "parameters": built.parameters,
            "context": Context(trained=int(original), declared=declared),
            "provenance": (_base_fact(base),),
        },
        kw,
    )


def llama3(base: float = 5e5, dim: int = 128, factor: float = 8.0, **kw: Any) -> Schedule:
    """Llama 3.1's scaling of 8,192 positions."""
    return scaled(
        "llama3",
        base,
        dim,
        scaling={
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        **kw,
    )


def yarn(
    base: float = 1e6, dim: int = 128, factor: float = 4.0, original: int = 32768, **kw: Any
) -> Schedule:
    """YaRN as Qwen2.5's model cards write it."""
    return scaled(
        "yarn",
        base,
        dim,
        scaling={"factor": factor, "original_max_position_embeddings": original},
        **kw,
    )


def proportional(head_dim: int = 512, partial: float = 0.25, **kw: Any) -> Schedule:
    """Gemma 4's full-attention schedule: most channels are zero by design."""
    return scaled(
        "proportional", 1e6, head_dim, scaling={}, head_dim=head_dim, partial=partial, **kw
    )


def raw(values: Iterable[float], **kw: Any) -> Schedule:
    """A bare table as a file without a config gives it."""
    table = tuple(values)
    place = Location(file="table.json")
    return _schedule(
        {"rope_type": "stored", "rope_theta": None, "inv_freq": table, "variant": "stored"}
        | {"head_dim": None, "rotary_dim": 2 * len(table)}
        | {"provenance": (Fact("inv_freq", len(table), location=place),)},
        kw,
    )


def stored(schedule: Schedule, values: Iterable[float] | None = None, **kw: Any) -> Schedule:
    """``schedule`` as a checkpoint's tensor would hold it, optionally with other values."""
    table = schedule.inv_freq if values is None else tuple(values)
    place = Location(file="model.safetensors", tensor="model.rotary_emb.inv_freq")
    kw = {"component": schedule.component, "layer_type": schedule.layer_type} | kw
    return raw(table, provenance=(Fact("inv_freq", len(table), location=place),), **kw)


def with_values(
    schedule: Schedule, change: Callable[[int, float], float] | Sequence[float]
) -> Schedule:
    """``schedule`` with another table, rounded to float32."""
    if callable(change):
        change = [change(k, v) for k, v in enumerate(schedule.inv_freq)]
    return replace(schedule, inv_freq=tuple(f32s(change)))


def cast(schedule: Schedule, dtype: str) -> Schedule:
    """``schedule`` held in a narrower float format."""
    return replace(
        schedule, dtype=dtype, inv_freq=tuple(round_to(v, dtype) for v in schedule.inv_freq)
    )


def quantised(schedule: Schedule, bits: int, mode: str) -> Schedule:
    """``schedule`` after a round trip through integers, in float64 and rounded once.

    ``sym``: scale = max / (2**(bits-1) - 1). ``affine``: min..max in 2**bits - 1 steps. ``log``:
    affine in the logarithm.
    """
    values = list(schedule.inv_freq)
    if mode == "log":
        values = [math.log(v) for v in values]
    if mode == "sym":
        low, step = 0.0, max(values) / (2 ** (bits - 1) - 1)
    else:
        low, step = min(values), (max(values) - min(values)) / (2**bits - 1)
    back = [low + round((v - low) / step) * step for v in values]
    return with_values(schedule, [math.exp(v) for v in back] if mode == "log" else back)


def subject(*schedules: Schedule, observations: Iterable[Observation] = (), **kw: Any) -> Subject:
    fields: dict[str, Any] = {"target": "model", "format": "hf-config"} | kw
    return Subject(schedules=schedules, observations=tuple(observations), **fields)


def case(*schedules: Schedule, lengths: Sequence[int] = (), **kw: Any) -> Case:
    return Case(subject(*schedules, **kw), tuple(lengths))


def outcomes(check: Any, *schedules: Schedule, params: Any = None, **kw: Any) -> list[Outcome]:
    """What ``check`` (a module) says about a subject that holds ``schedules``."""
    return list(check.run(case(*schedules, **kw), params or check.Params()))


def only(check: Any, *schedules: Schedule, params: Any = None, **kw: Any) -> Outcome:
    """As :func:`outcomes`, when there must be exactly one."""
    found = outcomes(check, *schedules, params=params, **kw)
    assert len(found) == 1, found
    return found[0]


def _base_fact(base: float) -> Fact:
    return Fact("rope_theta", base, location=Location(file="config.json", pointer="/rope_theta"))


def _schedule(fields: dict[str, Any], kw: dict[str, Any]) -> Schedule:
    trained = kw.pop("trained", None)
    if trained is not None:
        fields["context"] = Context(trained=trained, declared=trained)
    return Schedule(**(fields | kw))
