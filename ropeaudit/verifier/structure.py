"""The claims about closed forms: ``distinct``, ``relations``, ``geometric`` and ``aliasing``.

Each function takes a schedule with a form and returns status and evidence, or raises Undecided.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import islice, pairwise
from typing import Any

from ropeaudit.verifier import numbers, terms, vectors
from ropeaudit.verifier.numbers import Enclosure, Undecided
from ropeaudit.verifier.schedules import Schedule
from ropeaudit.verifier.terms import Power, Term

Outcome = tuple[str, dict[str, Any]]

MAX_PAIRS = 1 << 16
"""Pairs of channels that are listed, or compared one by one."""


def clusters(groups: Iterable[Sequence[int]], keys: Sequence[Hashable]) -> list[list[int]]:
    """Channels of one group with one key, the largest sets first; the key None equals nothing."""
    found: list[list[int]] = []
    for group in groups:
        same: dict[Hashable, list[int]] = {}
        for k in group:
            if keys[k] is not None:
                same.setdefault(keys[k], []).append(k)
        found += [members for members in same.values() if len(members) > 1]
    return sorted(found, key=lambda members: (-len(members), members))


def equals(schedule: Schedule) -> list[list[int]]:
    """Sets of equal channels within a group. Raises Undecided where enclosures overlap."""
    assert schedule.terms is not None
    keys = [None if v is None else vectors.key(v) for v in schedule.vectors]
    for group in schedule.turning:
        if any(keys[k] is None for k in group):
            _separate(schedule, keys, group)
    return clusters(schedule.turning, keys)


def _separate(schedule: Schedule, keys: Sequence[Hashable], group: Sequence[int]) -> None:
    """Returns when no channel with logarithms can equal another one, else raises Undecided."""
    assert schedule.terms is not None
    for bits in numbers.precisions(schedule.bits):
        try:
            ends = sorted((*terms.enclosure(schedule.terms[k], bits), k) for k in group)
        except Undecided:
            continue
        if not any(_touch(ends, keys)):
            return


def _touch(
    ends: Sequence[tuple[Fraction, Fraction, int]], keys: Sequence[Hashable]
) -> Iterator[bool]:
    """True for each enclosure that overlaps one before it, if either has logarithms."""
    reach: Fraction | float = -math.inf
    reach_logs: Fraction | float = -math.inf
    for lo, hi, k in ends:
        logs = keys[k] is None
        yield lo <= (reach if logs else reach_logs)
        reach = max(reach, hi)
        reach_logs = max(reach_logs, hi) if logs else reach_logs


def distinct(schedule: Schedule) -> Outcome:
    found = equals(schedule)
    if not found:
        return "proved", {"channels": _turning(schedule)}
    assert schedule.terms is not None
    spelled = [[terms.spelled(schedule.terms[k]) for k in members] for members in found]
    return "refuted", {"duplicates": found, "terms": spelled}


def ordered(schedule: Schedule) -> bool:
    """Whether each group is a chain: by size, no factor falls from a channel to the next.

    Factors are the coefficient and the powers of the radicands; where one of them rises and none
    falls, the product rises, because x -> b**x is strictly monotone.
    """
    assert schedule.terms is not None
    radicands = sorted({r for t in schedule.terms if isinstance(t, Power) for r, _ in t.factors})
    for group in schedule.turning:
        chain = []
        for k in group:
            term = schedule.terms[k]
            if not isinstance(term, Power):
                return False
            powers = dict.fromkeys(radicands, Fraction(0))
            for radicand, exponent in term.factors:
                powers[radicand] += exponent if radicand > 1 else -exponent
            chain.append((term.coefficient, *powers.values()))
        chain.sort()
        for a, b in pairwise(chain):
            if a == b or any(x > y for x, y in zip(a, b, strict=True)):
                return False
    return True


def _turning(schedule: Schedule) -> int:
    return len(schedule.table) - len(schedule.static)


def relations(schedule: Schedule) -> Outcome:
    """Over all channels that turn, none of which has logarithms."""
    channels = sorted({k for group in schedule.turning for k in group})
    rays: dict[Hashable, list[tuple[int, Fraction]]] = {}
    members = {}
    for k in channels:
        vector = schedule.vectors[k]
        assert vector is not None
        ray, multiple = vectors.direction(vector)
        rays.setdefault(ray, []).append((k, multiple))
        members[k] = vector
    classes = [ray for ray in rays.values() if len(ray) > 1]
    turn = {(schedule.space.trivial[0], 1): Fraction(2)}
    return "proved", {
        "q_span_dimension": vectors.dimension(members.values()),
        "torus_dimension": vectors.dimension([turn, *members.values()]) - 1,
        "classes": [[k for k, _ in ray] for ray in classes],
        "generators": [
            {"k": k, "j": j, "ratio": _ratio(of_k / of_j)}
            for ray in classes
            for (k, of_k), (j, of_j) in pairwise(ray)
        ],
    }


def _ratio(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def geometric(schedule: Schedule) -> Outcome:
    assert schedule.terms is not None
    runs: list[list[int]] = []
    first: int | None = None
    for group in schedule.turning:
        same = [
            _same_ratio(schedule, *three)
            for three in zip(group, group[1:], group[2:], strict=False)
        ]
        runs += _runs(group, same)
        if first is None and not all(same):
            first = group[same.index(False) + 1]
    if first is not None:
        return "refuted", {"ratio": None, "equal_runs": runs, "first": first}
    ratios = [_quotient(schedule.terms, group) for group in schedule.turning]
    return "proved", {"ratio": ratios[0] if len(ratios) == 1 else ratios or None}


def _runs(group: Sequence[int], same: Sequence[bool]) -> list[list[int]]:
    """First and last channel of each longest run with one ratio inside."""
    found = []
    start = None
    for place, equal in enumerate([*same, False]):
        if equal and start is None:
            start = place
        elif not equal and start is not None:
            found.append([group[start], group[place + 1]])
            start = None
    return found


def _quotient(form: Sequence[Term], group: Sequence[int]) -> dict[str, Any] | None:
    if len(group) < 2:
        return None
    top, bottom = form[group[0]], form[group[1]]
    if not isinstance(top, Power) or not isinstance(bottom, Power):
        return None
    return terms.spelled(terms.quotient(top, bottom))


def _same_ratio(schedule: Schedule, i: int, j: int, k: int) -> bool:
    """Whether theta_i / theta_j = theta_j / theta_k."""
    a, b, c = (schedule.vectors[x] for x in (i, j, k))
    if a is not None and b is not None and c is not None:
        return schedule.space.product(a, c) == schedule.space.product(b, b)
    assert schedule.terms is not None
    for bits in numbers.precisions(schedule.bits):
        try:
            p, q, r = (terms.enclosure(schedule.terms[x], bits) for x in (i, j, k))
        except Undecided:
            continue
        outer, inner = terms.times(p, r), terms.times(q, q)
        if outer[1] < inner[0] or inner[1] < outer[0]:
            return False
    raise AssertionError


def aliasing(schedule: Schedule) -> Outcome:
    """theta_i +- theta_j = 2 pi m needs m = 0, since pi is transcendental, and equal channels."""
    found = equals(schedule)
    for group in schedule.turning:
        _no_turns(schedule, group)
    pairs = [list(pair) for pair in islice(_pairs(found), MAX_PAIRS)]
    if pairs:
        return "refuted", {"pairs": pairs}
    return "proved", {"channels": _turning(schedule)}


def _pairs(sets: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
    """All pairs within the sets, each once, ascending."""
    holding: dict[int, list[Sequence[int]]] = {}
    for members in sets:
        for i in members:
            holding.setdefault(i, []).append(members)
    for i in sorted(holding):
        yield from ((i, j) for j in sorted({j for members in holding[i] for j in members if j > i}))


def _no_turns(schedule: Schedule, group: Sequence[int]) -> None:
    """Returns when no channel with logarithms meets another one a whole turn away."""
    assert schedule.terms is not None
    logs = {k for k in group if schedule.vectors[k] is None}
    if not logs:
        return
    for bits in numbers.precisions(schedule.bits):
        try:
            ends = {k: terms.enclosure(schedule.terms[k], bits) for k in group}
        except Undecided:
            continue
        turn = terms.times((Fraction(2), Fraction(2)), numbers.pi(bits))
        if 2 * max(hi for _, hi in ends.values()) < turn[0]:
            return
        if len(group) * len(logs) > MAX_PAIRS:
            raise Undecided
        pairs = ((i, j) for i in logs for j in group if i != j)
        if all(
            _between_turns(whole, turn)
            for i, j in pairs
            for whole in (terms.plus(ends[i], ends[j]), terms.minus(ends[i], ends[j]))
        ):
            return


def _between_turns(whole: Enclosure, turn: Enclosure) -> bool:
    """Whether ``whole`` holds no multiple of 2 pi but 0."""
    lo, hi = terms.divided(whole, turn)
    return math.floor(lo) == math.floor(hi) != lo or (lo > -1 and hi < 1)
