"""Schedules of engines that read raw configs: one Turn is one table that they build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Fact, Json
from ropeaudit.readers.engines.interface import Request
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.families import Built, Inputs, family


@record(kw_only=True)
class Turn:
    """What one table is built from.

    ``law`` names a module of ``schedule.families``, ``kind`` what the engine calls it (default: the
    law). ``attention`` replaces the law's own factor on cos and sin. ``length`` is the sequence
    length it is built for. ``declared`` and ``original`` are lengths as this engine reads them.
    """

    base: float
    rotary: int
    head: int | None = None
    law: str = "default"
    kind: str | None = None
    scaling: Mapping[str, Json] = field(default_factory=dict)
    partial: float = 1.0
    pairing: str = "half"
    attention: float | None = None
    softmax: float = 1.0
    label: str | None = None
    variant: str | None = None
    layers: tuple[int, ...] | None = None
    length: int | None = None
    declared: int | None = None
    original: int | None = None
    window: int | None = None


def schedule(request: Request, reader: str, turn: Turn, facts: tuple[Fact, ...]) -> Schedule:
    """The table of ``turn``; raises InvalidValue for values from which none can be built."""
    inputs = Inputs(
        rope_theta=turn.base,
        rotary_dim=turn.rotary,
        head_dim=turn.head or turn.rotary,
        partial_rotary_factor=turn.partial,
        max_position_embeddings=turn.declared,
        length=turn.length,
        scaling=turn.scaling,
    )
    if turn.rotary % 2:
        raise InvalidValue(f"the rotary width is {turn.rotary}, and pairs need an even one")
    plain = _built(request, "default", _bare(inputs))
    built = plain if turn.law == "default" else _built(request, turn.law, inputs)
    trained = turn.original or turn.declared
    own = built.attention_scaling if turn.attention is None else turn.attention
    return Schedule(
        layer_type=turn.label,
        variant=turn.variant,
        layers=turn.layers,
        rope_type=turn.kind or turn.law,
        rope_theta=turn.base,
        head_dim=turn.head,
        rotary_dim=turn.rotary,
        pairing=turn.pairing,
        inv_freq=built.inv_freq,
        unscaled=None if turn.law == "proportional" else plain.inv_freq,
        static_channels=built.static_channels,
        attention_scaling=own,
        softmax_scale=turn.softmax,
        context=Context(
            trained, turn.declared or trained, assumed=turn.original is None, window=turn.window
        ),
        parameters=built.parameters,
        provenance=facts,
        reader=reader,
        law=turn.law,
        inputs=inputs,
    )


def _bare(inputs: Inputs) -> Inputs:
    return Inputs(
        rope_theta=inputs.rope_theta, rotary_dim=inputs.rotary_dim, head_dim=inputs.rotary_dim
    )


def _built(request: Request, law: str, inputs: Inputs) -> Built:
    """The law's table, once for all engines and releases that ask for the same one."""
    values = tuple(
        (key, tuple(value) if isinstance(value, list) else value)
        for key, value in sorted(inputs.scaling.items())
    )
    key: Any = (
        "raw_table", law, inputs.rope_theta, inputs.rotary_dim, inputs.head_dim,
        inputs.partial_rotary_factor, inputs.max_position_embeddings, inputs.length, values,
    )  # fmt: skip
    try:
        found = request.memo.get(key)
    except TypeError:  # something unhashable stands where a number should; the law says what
        key, found = None, None
    if found is None:
        module = family(law)
        assert module is not None  # engines name laws of this package only
        found = module.build(inputs)
        if key is not None:
            request.memo[key] = found
    built: Built = found
    return built


def attention_layers(request: Request) -> tuple[int, ...] | None:
    """Layers with attention, as the reference counts them: the same lists say so to everybody."""
    if request.reference is None:
        return None
    texts = [s.layers for s in request.reference.schedules if s.is_text]
    if not texts or any(layers is None for layers in texts):
        return None
    return tuple(sorted({i for layers in texts for i in layers or ()}))
