"""Which schedule of A answers to which of B: by component, then by layers, then by variant.

Like is compared with like: what engines build with what engines build, stored tables with stored
tables. A bare table is compared with the built ones of the other side only where that has nothing
else, or where the table is not what its own config means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ropeaudit.diff.interface import Unpaired
from ropeaudit.diff.law import is_bare
from ropeaudit.diff.measure import channels
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject


@record(frozen=False)
class Matching:
    """``pairs``: schedules of A and of B with each other."""

    pairs: list[tuple[Schedule, Schedule]] = field(default_factory=list)
    unpaired: list[Unpaired] = field(default_factory=list)

    def leave(self, side: str, schedules: Iterable[Schedule], reason: str, matters: bool) -> None:
        self.unpaired += (Unpaired(side, s, reason, matters) for s in schedules)


@record()
class Group:
    """Schedules that serve the same layers: one, or the variants of one law."""

    layer_type: str | None
    members: tuple[Schedule, ...]

    @property
    def layers(self) -> frozenset[int] | None:
        found = self.members[0].layers
        return None if found is None else frozenset(found)


def match(a: Subject, b: Subject) -> Matching:
    """Pairs in A's order, then what is left over on either side."""
    out = Matching()
    left, right = _by_component(a), _by_component(b)
    if not set(left) & set(right) and len(left) == len(right) == 1 and (_bare(a) or _bare(b)):
        # A bare table does not tell which part of a model it serves.
        right = dict(zip(left, right.values(), strict=True))
    for component in dict.fromkeys((*left, *right)):
        as_, bs = left.get(component, []), right.get(component, [])
        if not as_ or not bs:
            side, rest, other = ("b", bs, "A") if bs else ("a", as_, "B")
            out.leave(side, rest, f"{other} has no {component} schedule", matters=False)
        else:
            _component(as_, bs, out)
    return out


def _by_component(subject: Subject) -> dict[str, list[Schedule]]:
    found: dict[str, list[Schedule]] = {}
    for schedule in subject.schedules:
        found.setdefault(schedule.component, []).append(schedule)
    return found


def _bare(subject: Subject) -> bool:
    return all(map(is_bare, subject.schedules))


def _component(as_: list[Schedule], bs: list[Schedule], out: Matching) -> None:
    (built_a, held_a), (built_b, held_b) = _parted(as_), _parted(bs)
    if built_a and built_b:
        _by_layers(built_a, built_b, out)
    if held_a and held_b:
        _by_layers(held_a, held_b, out)
    elif held_a:
        _to_built(_telling(held_a, built_a, built_b), built_b, out, held_side="a")
    elif held_b:
        _to_built(_telling(held_b, built_b, built_a), built_a, out, held_side="b")


def _parted(schedules: list[Schedule]) -> tuple[list[Schedule], list[Schedule]]:
    return [s for s in schedules if not is_bare(s)], [s for s in schedules if is_bare(s)]


def _telling(held: list[Schedule], own: list[Schedule], others: list[Schedule]) -> list[Schedule]:
    """Bare tables that say more than the config beside them, which is compared anyway."""
    from ropeaudit.checks._laws import relation

    if not own or not others:
        return held
    return [h for h in held if not any(relation(s.inv_freq, h) for s in own)]


def _to_built(held: list[Schedule], built: list[Schedule], out: Matching, held_side: str) -> None:
    """Each bare table with the built one that it equals, or else comes nearest to."""
    if not held:
        return
    taken: list[Schedule] = []
    one_each = len(held) == len(built)
    other = "b" if held_side == "a" else "a"
    partners: dict[int, Schedule] = {}
    # Tables whose names tell what they are go first: the rest then have fewer to choose from.
    for table in sorted(held, key=lambda t: not _in_name(t, built)):
        if table.rope_type == "learned":
            out.leave(held_side, [table], "learned tables follow from no config", matters=False)
            continue
        candidates = _candidates(table, built)
        free = [s for s in candidates if not any(s is t for t in taken)]
        found = _nearest(table, (free or candidates) if one_each else candidates)
        taken.append(found)
        partners[id(table)] = found
    for table in held:
        if id(table) in partners:
            pair = table, partners[id(table)]
            out.pairs.append(pair if held_side == "a" else pair[::-1])
    paired = {id(s) for pair in out.pairs for s in pair}
    left = [s for s in built if id(s) not in paired]
    if taken:
        out.leave(other, left, f"no table of {held_side.upper()} is it", matters=False)


def _candidates(table: Schedule, built: list[Schedule]) -> list[Schedule]:
    layers = set(table.layers or ())
    return _in_name(table, built) or [s for s in built if layers & set(s.layers or ())] or built


def _in_name(table: Schedule, built: list[Schedule]) -> list[Schedule]:
    """Schedules whose layer type or variant stands in the table's: ``text.long.inv_freq``."""
    words = f"_{re.sub(r'[^A-Za-z0-9]', '_', table.layer_type or '')}_"
    exact = [s for s in built if s.layer_type and s.layer_type == table.layer_type]
    kind = exact or [s for s in built if s.layer_type and f"_{s.layer_type}_" in words]
    variant = [
        s for s in kind or built if s.variant and f"_{s.variant.removeprefix('@')}_" in words
    ]
    return variant or kind


def _nearest(table: Schedule, built: list[Schedule]) -> Schedule:
    def distance(schedule: Schedule) -> tuple[bool, float]:
        uneven = len(schedule.inv_freq) != len(table.inv_freq)
        drifts = (c.phase_drift for c in channels(schedule, table, 4096))
        return uneven, sum(drifts)

    return min(built, key=distance)


def _by_layers(as_: list[Schedule], bs: list[Schedule], out: Matching) -> None:
    left, right = _groups(as_), _groups(bs)
    found = _of_layers(left, right)
    used_a, used_b = {id(x) for x, _ in found}, {id(y) for _, y in found}
    rest_a = [g for g in left if id(g) not in used_a]
    rest_b = [g for g in right if id(g) not in used_b]
    for x, y in found:
        _variants(x, y, out)
    for group in rest_a[:]:
        partner = _partner(group, rest_b, right)
        if partner is not None:
            _variants(group, partner, out)
            rest_a.remove(group)
            rest_b = [g for g in rest_b if g is not partner]
    for group in rest_b[:]:
        partner = _partner(group, [], left)
        if partner is not None:
            _variants(partner, group, out)
            rest_b.remove(group)
    if len(rest_a) == len(rest_b) == 1:
        _variants(rest_a.pop(), rest_b.pop(), out)
    for side, rest, other in (("a", rest_a, "B"), ("b", rest_b, "A")):
        for group in rest:
            what = f"of type {group.layer_type}" if group.layer_type else "that it serves"
            out.leave(side, group.members, f"{other} has no schedule for layers {what}", True)


def _groups(schedules: Sequence[Schedule]) -> list[Group]:
    found: dict[str | None, list[Schedule]] = {}
    for schedule in schedules:
        found.setdefault(schedule.layer_type, []).append(schedule)
    return [Group(kind, tuple(members)) for kind, members in found.items()]


def _of_layers(left: list[Group], right: list[Group]) -> list[tuple[Group, Group]]:
    """Groups that serve a common layer; of models of different depth those of one name."""
    by_name = {g.layer_type: g for g in right}
    if {g.layer_type for g in left} == set(by_name) and not _alike_deep(left, right):
        return [(g, by_name[g.layer_type]) for g in left]
    return [(x, y) for x in left for y in right if x.layers and y.layers and x.layers & y.layers]


def _alike_deep(left: list[Group], right: list[Group]) -> bool:
    deepest = [max((max(g.layers) for g in side if g.layers), default=-1) for side in (left, right)]
    # Layers that do not rotate may be the last ones, so a few may be missing at the end.
    return min(deepest) >= 0 and abs(deepest[0] - deepest[1]) <= 1


def _partner(group: Group, free: list[Group], others: list[Group]) -> Group | None:
    """Of the same name, else with an equal table, else the only one there is."""
    named = [g for g in others if g.layer_type == group.layer_type]
    equal = [g for g in free if g.members[0].inv_freq == group.members[0].inv_freq]
    lone = others if len(others) == 1 else []
    return next(iter((*named, *equal, *lone)), None)


def _variants(x: Group, y: Group, out: Matching) -> None:
    """Variants of the same name; else each with the one that the engine starts with."""
    names = {s.variant for s in x.members} & {s.variant for s in y.members}
    by_name = {s.variant: s for s in y.members}
    out.pairs += [(s, by_name[s.variant]) for s in x.members if s.variant in names]
    rest_x = [s for s in x.members if s.variant not in names]
    rest_y = [s for s in y.members if s.variant not in names]
    if rest_x and rest_y:
        for at in range(max(len(rest_x), len(rest_y))):
            out.pairs.append((rest_x[min(at, len(rest_x) - 1)], rest_y[min(at, len(rest_y) - 1)]))
        return
    for side, rest, other in (("a", rest_x, "B"), ("b", rest_y, "A")):
        out.leave(side, rest, f"{other} has no variant {rest and rest[0].variant}", matters=False)
