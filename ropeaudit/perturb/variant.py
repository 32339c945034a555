"""A variant: what a recipe makes of a model's schedules, step by step, in float32 tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import InvalidValue, UsageError, quoted, suggestion
from ropeaudit.facts import Fact, Origin
from ropeaudit.perturb._layers import split
from ropeaudit.perturb.interface import Changed, Refused
from ropeaudit.perturb.recipe import QUANTITIES, Recipe, Step, parse
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32s

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.perturb._encodings_run import MadeEncoding, Work


@record()
class Variant:
    """``schedules[i]`` is what ``base[i]`` has become; both hold every schedule of the subject.

    A base stands twice where it was split (by layers, or into ``short`` and ``long``). Schedules
    that no step reached are their base itself. ``found[n]`` are the JSON values that step ``n``
    decided from the tables, one mapping a schedule, with its name under ``schedule``, or a list of
    an encoding (``encoding``, ``layer``, ``head``). ``encodings``: every learned encoding of the
    subject and what it has become.
    """

    recipe: Recipe
    base: tuple[Schedule, ...]
    schedules: tuple[Schedule, ...]
    found: tuple[tuple[Mapping[str, Any], ...], ...] = field(default=(), compare=False)
    encodings: tuple[MadeEncoding, ...] = field(default=(), compare=False)

    def changed(self) -> tuple[tuple[Schedule, Schedule], ...]:
        """(base, schedule) of every schedule whose numbers a step has changed."""
        return tuple(
            (b, s) for b, s in zip(self.base, self.schedules, strict=True) if differs(b, s)
        )


def differs(base: Schedule, made: Schedule) -> bool:
    """Whether an engine would compute anything else with ``made``."""
    return (base.inv_freq, base.attention_scaling, base.softmax_scale, base.pairing) != (
        made.inv_freq, made.attention_scaling, made.softmax_scale, made.pairing
    )  # fmt: skip


@record()
class _State:
    """A schedule on its way. ``lawful``: as it would be without the steps that moved values."""

    base: Schedule
    lawful: Schedule
    now: Schedule


def make(
    schedules: Sequence[Schedule], recipe: str | Recipe, encodings: Sequence[Encoding] = ()
) -> Variant:
    """Carry out a recipe on what one subject holds; the same input gives the same bits.

    Raises UsageError for a recipe that cannot be read, that applies to nothing, or that cannot be
    carried out on something it applies to.
    """
    recipe = parse(recipe)
    states = [_State(s, s, s) for s in schedules]
    work = _begun(encodings)
    found = []
    for step in recipe.steps:
        reaches = _reached(step, states, encodings)
        states, said = _run(step, states, also=encodings if reaches else ())
        if reaches:
            from ropeaudit.perturb._encodings_run import run

            work, more = run(step, work)
            said += more
        found.append(tuple(said))
    made = [_signed(s, recipe) for s in states]
    return Variant(
        recipe,
        tuple(s.base for s in states),
        tuple(made),
        tuple(found),
        _finished(work, recipe.text),
    )


def _begun(encodings: Sequence[Encoding]) -> tuple[Work, ...]:
    if not encodings:
        return ()
    from ropeaudit.perturb._encodings_run import begin

    return begin(encodings)


def _finished(work: Sequence[Work], text: str) -> tuple[MadeEncoding, ...]:
    if not work:
        return ()
    from ropeaudit.perturb._encodings_run import finish

    return finish(work, text)


def _reached(step: Step, states: Sequence[_State], encodings: Sequence[Encoding]) -> bool:
    """Whether a step changes encodings. A law of a RoPE config leaves them to the schedules."""
    if not encodings:
        return False
    from ropeaudit.perturb._encodings_run import is_law, named

    kind = step.scope.layer_type
    if is_law(step) and any(_named(s.base, kind) for s in states):
        return False
    return any(named(e, kind) for e in encodings)


def _signed(state: _State, recipe: Recipe) -> Schedule:
    if state.now is state.base or not differs(state.base, state.now):
        same = state.now.layers == state.base.layers and state.now.variant == state.base.variant
        return state.base if same else state.now
    fact = Fact("recipe", recipe.text, Origin.DERIVED)
    return replace(state.now, provenance=(*state.now.provenance, fact))


def _run(
    step: Step, states: Sequence[_State], also: Sequence[Encoding]
) -> tuple[list[_State], list[Mapping[str, Any]]]:
    """``also``: encodings that the step reaches as well."""
    chosen = _chosen(step, states, also)
    if not any(chosen):
        return list(states), []
    out: list[_State] = []
    said: list[Mapping[str, Any]] = []
    for state, inside in _parts(step, states, chosen):
        if not inside:
            out.append(state)
            continue
        try:
            made, found = _applied(step, state)
        except (Refused, InvalidValue) as error:
            raise UsageError(
                f"recipe {quoted(step.text)} on schedule {quoted(state.now.name)}: {error}"
            ) from None
        out += made
        if found:
            said.append({"schedule": state.now.name, **found})
    return out, said


def _chosen(step: Step, states: Sequence[_State], also: Sequence[Encoding]) -> list[bool]:
    """Which schedules the step's scope names; raises UsageError where it reaches nothing."""
    scope = step.scope
    where = f"recipe {quoted(step.text)}"
    kind = scope.layer_type
    if scope.head is not None or scope.quantity is not None:
        if also:
            return [False] * len(states)
        suffix = f"@{scope.quantity}" if scope.quantity else "@head"
        raise UsageError(
            f"{where}: a schedule has one table of frequencies for all heads, and no learned "
            f"encoding is named; leave {suffix} out"
        )
    chosen = [_named(s.base, kind) for s in states]
    if any(chosen) or also:
        return chosen
    if kind is None:
        raise UsageError(
            f"{where}: the model has no text schedule; name a component, as in @vision"
        )
    known = {n for s in states for n in (s.base.layer_type, s.base.component) if n}
    known = known or set(QUANTITIES)  # encodings alone, which have these in place of layer types
    near = suggestion(kind, known) or f"; known: {', '.join(map(quoted, sorted(known)))}"
    raise UsageError(f"{where}: no schedule of layer type {quoted(kind)}{near}")


def _named(schedule: Schedule, kind: str | None) -> bool:
    if kind is None:
        return schedule.is_text
    return kind in (schedule.layer_type, schedule.component)


def _parts(
    step: Step, states: Sequence[_State], chosen: Sequence[bool]
) -> Iterable[tuple[_State, bool]]:
    """The states, those that the scope's layers cut in two as two."""
    wanted = step.scope.layers
    if wanted is None:
        return zip(states, chosen, strict=True)
    _require_layers(step, states, chosen)
    parts: list[tuple[_State, bool]] = []
    taken = {s.now.name for s in states}
    for state, inside in zip(states, chosen, strict=True):
        if not inside:
            parts.append((state, False))
            continue
        for lawful, now, hit in split(state.base, state.lawful, state.now, wanted, taken):
            parts.append((_State(state.base, lawful, now), hit))
    return parts


def _require_layers(step: Step, states: Sequence[_State], chosen: Sequence[bool]) -> None:
    """Raises UsageError for layers that the model has not, or that no chosen schedule serves."""
    where = f"recipe {quoted(step.text)}"
    hit = [s.now for s, c in zip(states, chosen, strict=True) if c]
    unknown = next((s.name for s in hit if s.layers is None), None)
    if unknown is not None:
        raise UsageError(
            f"{where}: the layers of schedule {quoted(unknown)} are not known, so it cannot be "
            "split; leave @layers out"
        )
    served = {n for s in hit for n in s.layers or ()}
    wanted = set(step.scope.layers or ())
    last = max((n for s in states for n in s.now.layers or ()), default=-1)
    if max(wanted) > last:
        raise UsageError(
            f"{where}: the last layer that turns is {last}, and "
            f"{step.scope.text.removeprefix('@')} goes beyond; correct it"
        )
    if not served & wanted:
        raise UsageError(f"{where}: no schedule it applies to serves these layers; correct it")


def _applied(step: Step, state: _State) -> tuple[list[_State], Mapping[str, Any]]:
    module, now = step.module, state.now
    _require_numbers(now)
    if module.RESCALES:
        changed = module.apply(step.params, state.lawful)
        return [_rescaled(state, lawful) for lawful in changed.schedules], changed.found
    given = _in_float32(now)
    made: Changed = module.apply(step.params, given)
    out = []
    for schedule in made.schedules:
        if not all(map(math.isfinite, schedule.inv_freq)):
            raise Refused("a frequency would be beyond what float32 holds; take a smaller change")
        if schedule is not given and differs(now, schedule):  # it follows no law any more
            schedule = replace(schedule, law=None, inputs=None)
            out.append(_State(state.base, state.lawful, schedule))
        else:
            out.append(state)
    return out, made.found


def _rescaled(state: _State, lawful: Schedule) -> _State:
    """The law's new table; values that earlier steps have moved keep their ratio to the law's."""
    old, now = state.lawful.inv_freq, state.now.inv_freq
    if now == old:
        return _State(state.base, lawful, lawful)
    table = f32s(
        value * (new / before) if before else value
        for value, before, new in zip(now, old, lawful.inv_freq, strict=True)
    )
    return _State(state.base, lawful, replace(lawful, inv_freq=tuple(table), law=None, inputs=None))


def _in_float32(schedule: Schedule) -> Schedule:
    """As an engine loads it: a table stored wider or narrower becomes a float32 buffer."""
    if schedule.dtype == "float32":
        return schedule
    return replace(schedule, inv_freq=tuple(f32s(schedule.inv_freq)), dtype="float32")


def _require_numbers(schedule: Schedule) -> None:
    if not all(map(math.isfinite, schedule.inv_freq)):
        raise Refused("the table holds NaN or infinities; rebuild it first")
    if schedule.rope_type == "learned" and len(schedule.parameters.get("shape", ())) > 1:
        raise Refused("learned vectors of several layers or heads are no list of channels")
