"""The tables that one slot holds while a variant is measured: by layers, and by length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.perplexity._slots import Slot, original_length
from ropeaudit.perturb.variant import differs
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule


@record()
class Table:
    """What the slot's buffer is to hold, float32 on its device, and the factor on cos and sin.

    ``schedule`` is what it was made of.
    """

    schedule: Schedule
    values: Any
    attention_scaling: float

    def install(self, slot: Slot) -> None:
        slot.module._buffers[slot.buffer] = self.values
        if hasattr(slot.module, slot.scaling_name):
            setattr(slot.module, slot.scaling_name, self.attention_scaling)
        if callable(slot.module.__dict__.get("rope_init_fn")):  # Phi-MoE calls it in each forward
            slot.module.rope_init_fn = lambda *_, **__: (self.values, self.attention_scaling)


@record()
class Group:
    """Layers that share their tables: (longest length served, table), the shortest first.

    The length is None where there is no limit. ``declared``: beyond it dynamic scaling has a table
    of its own for every length. ``changed``: whether a step has changed a number.
    """

    layers: tuple[int, ...]
    tables: tuple[tuple[int | None, Table], ...]
    declared: int | None
    changed: bool

    @property
    def alone(self) -> bool:
        return len(self.tables) == 1 and self.tables[0][0] is None

    def pick(self, length: int) -> Table:
        """The table for a sequence of ``length`` tokens.

        Raises UsageError where dynamic scaling would need one that the variant does not hold.
        """
        for limit, table in self.tables:
            if limit is None or limit == length:
                return table
            if length < limit and (self.declared is None or limit <= self.declared):
                return table
        known = ", ".join(str(limit) for limit, _ in self.tables)
        raise UsageError(
            f"the model's scaling depends on the length, and the variant has tables for {known} "
            f"tokens, none for {length}; load the model with this context length"
        )


def grouped(slot: Slot, pairs: Sequence[tuple[Schedule, Schedule]]) -> tuple[Group, ...]:
    """The groups of a slot for (base, made) pairs, the largest first."""
    found: dict[tuple[int, ...], list[tuple[Schedule, Schedule]]] = {}
    for base, made in pairs:
        own = set(made.layers or ()) & set(slot.layers or made.layers or ())
        if made.layers is not None and not own:
            continue  # another module's layers
        found.setdefault(tuple(sorted(own)), []).append((base, made))
    groups = [_group(slot, layers, members) for layers, members in found.items()]
    return tuple(sorted(groups, key=lambda g: -len(g.layers)))


def _group(
    slot: Slot, layers: tuple[int, ...], members: Sequence[tuple[Schedule, Schedule]]
) -> Group:
    tables = [(_limit(made), _table(slot, base, made)) for base, made in members]
    tables.sort(key=lambda entry: (entry[0] is None, entry[0] or 0))
    same = {(t.schedule.inv_freq, t.attention_scaling) for _, t in tables}
    if len(tables) > 1 and len(same) == 1:  # a recipe has put one table in the place of several
        tables = [(None, tables[0][1])]
    grows = any(_is_dynamic(made) for _, made in members)
    declared = max((b.context.declared or 0 for b, _ in members), default=0) if grows else None
    return Group(layers, tuple(tables), declared, any(differs(b, s) for b, s in members))


def _limit(made: Schedule) -> int | None:
    """The longest length that a schedule serves, None for any."""
    if made.variant == "short":
        return original_length(made)
    return int((made.variant or "")[1:]) if _is_dynamic(made) else None


def _is_dynamic(made: Schedule) -> bool:
    name = made.variant or ""
    return name[:1] == "@" and name[1:].isdigit()


def _table(slot: Slot, base: Schedule, made: Schedule) -> Table:
    if slot.cached and not differs(base, made):  # to the bit, whatever computed it
        return Table(made, slot.module._buffers[slot.buffer], made.attention_scaling)
    values = slot.holding(made.inv_freq, made.attention_scaling)
    return Table(made, values, made.attention_scaling)
