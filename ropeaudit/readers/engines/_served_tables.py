"""Tables and schedules as vLLM and SGLang build them; their ``get_rope`` shares its laws.

Both packages descend from one rotary layer: float32 arithmetic as in transformers, a law by
``rope_type``, and a cache of cosines for positions up to a length that the law knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import shown
from ropeaudit.facts import Fact, Json, Origin
from ropeaudit.readers.engines._served_parts import Part
from ropeaudit.readers.engines.interface import Refuses, Request
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import Built, Inputs, family
from ropeaudit.schedule.families.yarn import mscale

LISTS = (("short", "short_factor"), ("long", "long_factor"))
"""Variants of longrope with the keys of their lists."""


@record(kw_only=True)
class Call:
    """What one attention layer hands to ``get_rope``.

    ``width``: rotated dimensions; ``max_position``: the length it passes, which some laws use.
    ``scaling``: the dict with the law's own inputs.
    """

    part: Part
    head_dim: int
    width: int
    base: float
    pairing: str
    max_position: int
    scaling: Mapping[str, Json] = field(default_factory=dict)

    def needed(self, key: str) -> Json:
        """A value that the engine takes without asking; Refuses where it is not there."""
        value = self.scaling.get(key)
        if value is None:
            raise Refuses(f"rope_type {shown(self.part.rope_type)} needs {key}")
        return value


def table(request: Request, call: Call, law: str, scaling: Mapping[str, Json]) -> Built:
    """The table of ``law`` over ``call``'s widths, built once for all engines of a document.

    Raises InvalidValue for values from which no table can be built.
    """
    inputs = inputs_of(call, scaling)
    key = ("served: table", law, call.base, call.width, call.head_dim, _frozen(inputs))
    found = family(law)
    assert found is not None  # laws are named by the modules of this package
    try:
        known = key in request.memo
    except TypeError:  # a list or an object where a number belongs: the law says so
        return found.build(inputs)
    if not known:
        request.memo[key] = found.build(inputs)
    built: Built = request.memo[key]
    return built


def inputs_of(call: Call, scaling: Mapping[str, Json], length: int | None = None) -> Inputs:
    return Inputs(
        rope_theta=call.base,
        rotary_dim=call.width,
        head_dim=call.head_dim,
        partial_rotary_factor=call.width / call.head_dim,
        max_position_embeddings=call.max_position,
        length=length,
        scaling=scaling,
    )


def _frozen(inputs: Inputs) -> tuple[Any, ...]:
    items = ((k, tuple(v) if isinstance(v, list) else v) for k, v in inputs.scaling.items())
    return (inputs.max_position_embeddings, *sorted(items, key=lambda item: item[0]))


def schedule(
    request: Request,
    call: Call,
    *,
    reader: str,
    rope_type: str,
    law: str = "default",
    scaling: Mapping[str, Json] | None = None,
    variant: str | None = None,
    attention: float | None = None,
    softmax: float = 1.0,
) -> Schedule:
    """The reference's schedule with the engine's own table, widths and factors in it.

    ``attention`` None takes the law's own factor on cosines and sines.
    """
    given = {} if scaling is None else scaling
    built = table(request, call, law, given)
    model = _model(call, variant)
    same_base = model.rope_theta == call.base and model.rotary_dim == call.width
    plain = built if law == "default" else table(request, call, "default", {})
    unscaled = model.unscaled if same_base and law != "default" else plain.inv_freq
    return replace(
        model,
        variant=variant,
        rope_type=rope_type,
        rope_theta=call.base,
        head_dim=call.head_dim,
        rotary_dim=call.width,
        pairing=call.pairing,
        axes=model.axes if len(built.inv_freq) == len(model.inv_freq) else None,
        inv_freq=built.inv_freq,
        unscaled=unscaled,
        static_channels=built.static_channels,
        attention_scaling=built.attention_scaling if attention is None else attention,
        softmax_scale=softmax,
        parameters=dict(built.parameters),
        provenance=_provenance(model, call),
        reader=reader,
        law=law,
        inputs=inputs_of(call, given),
    )


def _model(call: Call, variant: str | None) -> Schedule:
    """The reference's schedule of the same variant, else its first."""
    reference = call.part.reference
    return next((s for s in reference if s.variant == variant), reference[0])


def _provenance(model: Schedule, call: Call) -> tuple[Fact, ...]:
    """The reference's facts; a width that the engine works out itself is derived."""
    if model.head_dim == call.head_dim:
        return model.provenance
    kept = tuple(f for f in model.provenance if f.field != "head_dim")
    return (*kept, Fact("head_dim", call.head_dim, Origin.DERIVED))


def longrope_lists(call: Call) -> None:
    """Refuses for lists that are none, or of another length than the channels."""
    channels = (call.width + 1) // 2
    for _, key in LISTS:
        value = call.needed(key)
        if not isinstance(value, list | tuple) or len(value) not in (1, channels):
            raise Refuses(f"{key} is no list of {channels} factors")


def variants_at(lengths: tuple[int, ...], original: float) -> tuple[str, ...]:
    """The lists that are in use at ``lengths``; both where no length was asked for."""
    if not lengths:
        return ("short", "long")
    used = {"long" if length > original else "short" for length in lengths}
    return tuple(v for v, _ in LISTS if v in used)


def yarn_ratio(factor: float, top: float, bottom: float) -> float:
    """``m(factor, mscale) / m(factor, mscale_all_dim)``; Refuses where the divisor is 0."""
    divisor = mscale(factor, bottom)
    if not divisor:
        raise Refuses("mscale_all_dim makes the attention factor infinite")
    return mscale(factor, top) / divisor
