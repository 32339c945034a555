"""Tables rebuilt by a scaling law, as when the rope settings of a config are rewritten."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.perturb.interface import Refused
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import Built, Inputs, family
from ropeaudit.schedule.float32 import Table, f32s, ulp_distance

ON_A_LADDER = frozenset(
    {"default", "linear", "dynamic", "yarn", "llama3", "longrope", "su", "ntk_alpha", "ntk_fixed"}
)
"""Laws that scale the plain ladder ``base ** (-2k/d)``, so that one can take another's place."""
_ENGINES = 8
"""Float32 steps by which engines' plain tables differ."""


def law(name: str, inputs: Inputs) -> Built:
    """What the family ``name`` builds; raises InvalidValue."""
    found = family(name)
    assert found is not None, name  # names come from this package or from a law that built a table
    return found.build(inputs)


def scaled(
    schedule: Schedule,
    name: str,
    scaling: Mapping[str, Any],
    *,
    declared: int | None = None,
    length: int | None = None,
) -> Schedule:
    """``schedule`` with its scaling replaced by the law ``name`` on its own base and width.

    An engine whose plain table differs by a few ulp (GGUF) keeps its own: the law's ratio to the
    plain ladder is applied to it. Raises Refused where the base is not known or the table is no
    plain ladder underneath.
    """
    inputs, plain = _inputs(schedule, scaling, declared, length)
    built = law(name, inputs)
    table, unscaled = built.inv_freq, schedule.unscaled or plain
    own = unscaled == plain
    if not own:
        ratios = zip(unscaled, table, plain, strict=True)
        table = tuple(f32s(v * (new / old) for v, new, old in ratios))
    parameters = dict(built.parameters)
    for kept in ("mrope_section", "positions"):
        if kept in schedule.parameters:
            parameters[kept] = schedule.parameters[kept]
    return replace(
        schedule,
        rope_type=name,
        inv_freq=table,
        unscaled=unscaled,
        dtype="float32",
        attention_scaling=built.attention_scaling,
        parameters=parameters,
        law=name if own else None,
        inputs=inputs if own else None,
    )


def _inputs(
    schedule: Schedule, scaling: Mapping[str, Any], declared: int | None, length: int | None
) -> tuple[Inputs, Table]:
    """What the law is given, and the plain ladder that it scales."""
    base = schedule.rope_theta
    if base is None:
        raise Refused(
            "the base of the table is not known, so no scaling can be built; perturb the model's "
            "config, or use a recipe that works on the table itself, such as linear"
        )
    inputs = Inputs(
        rope_theta=base,
        rotary_dim=schedule.rotary_dim,
        head_dim=schedule.head_dim or schedule.rotary_dim,
        max_position_embeddings=declared or schedule.context.declared,
        length=length,
        scaling=scaling,
    )
    plain = law("default", replace(inputs, scaling={}, length=None)).inv_freq
    on_ladder = schedule.rope_type in ON_A_LADDER and (
        schedule.unscaled is None or _alike(schedule.unscaled, plain)
    )
    if not on_ladder:
        raise Refused(
            f"its law '{schedule.law or schedule.rope_type}' does not scale a plain ladder, so "
            "another law cannot take its place; use base, linear or a recipe that works on the "
            "table itself"
        )
    return inputs, plain


def _alike(a: Table, b: Table) -> bool:
    return len(a) == len(b) and all(
        (ulp_distance(x, y) or 0) <= _ENGINES for x, y in zip(a, b, strict=True)
    )


def rebased(schedule: Schedule, base: float) -> Schedule:
    """``schedule`` with another base under the same law.

    The law is built anew where its inputs are known. Elsewhere (GGUF, whose divisors stay as they
    are) the plain table under it is exchanged: each value is multiplied by the ratio of the two
    plain ones. Raises Refused for a table whose base is not known.
    """
    if schedule.rope_theta is None:
        raise Refused(
            "the base of the table is not known, so it cannot be changed; perturb the model's "
            "config instead"
        )
    name, inputs = schedule.law, schedule.inputs
    if name is not None and inputs is not None and family(name) is not None:
        inputs = replace(inputs, rope_theta=base)
        built = law(name, inputs)
        unscaled = schedule.unscaled
        if unscaled == schedule.inv_freq:
            unscaled = built.inv_freq
        elif unscaled is not None:
            unscaled = _exchanged(schedule, unscaled, base)
        return replace(
            schedule,
            rope_theta=base,
            inv_freq=built.inv_freq,
            unscaled=unscaled,
            dtype="float32",
            attention_scaling=built.attention_scaling,
            parameters={**schedule.parameters, **built.parameters},
            inputs=inputs,
        )
    unscaled = schedule.unscaled
    return replace(
        schedule,
        rope_theta=base,
        inv_freq=_exchanged(schedule, schedule.inv_freq, base),
        unscaled=None if unscaled is None else _exchanged(schedule, unscaled, base),
        dtype="float32",
        law=None,
        inputs=None,
    )


def _exchanged(schedule: Schedule, table: Table, base: float) -> Table:
    old, new = (_exponents(schedule, b) for b in (schedule.rope_theta or 1.0, base))
    if len(old) != len(table):
        raise Refused(
            f"its table has {len(table)} channels and its width means {len(old)}, so the base "
            "cannot be changed"
        )
    if table == old:
        return new
    return tuple(f32s(v * (n / o) for v, o, n in zip(table, old, new, strict=True)))


def _exponents(schedule: Schedule, base: float) -> Table:
    width = schedule.rotary_dim
    if schedule.rope_type == "proportional":  # its exponent runs over the whole head
        width = schedule.head_dim or width
    return law("default", Inputs(rope_theta=base, rotary_dim=width, head_dim=width)).inv_freq


def divided(schedule: Schedule, divisors: list[float]) -> Table:
    """The table divided channel by channel in float64, rounded once; zeros stay zero."""
    return tuple(f32s(v / d if v else v for v, d in zip(schedule.inv_freq, divisors, strict=True)))
