"""What a comparison says in words, the same on every page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit.report import _numbers as show

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Comparison, Pair, Readings, Unpaired


def summary(found: Comparison) -> list[str]:
    """``2 pairs: 1 same, 1 different``, and what the gate made of it."""
    words = [p.likeness.value for p in found.pairs] + [p.likeness.value for p in found.encodings]
    told = ", ".join(f"{n} {word}" for word, n in Counter(words).items())
    parts = []
    if found.readers:
        each = Counter(r.verdict.value for r in found.readers)
        engines = ", ".join(f"{n} {word}" for word, n in each.items())
        parts.append(f"{show.plural(len(found.readers), 'reader')}: {engines}")
    parts.append(show.plural(len(words), "pair") + (f": {told}" if told else ""))
    left = sum(u.matters for u in found.unpaired)
    parts += [f"{show.plural(left, 'schedule')} without a counterpart"] if left else []
    left = sum(u.matters for u in found.unpaired_encodings)
    parts += [f"{show.plural(left, 'encoding')} without a counterpart"] if left else []
    if found.verdict.value == "different" and found.exit_code == 0:
        parts.append(f"below --fail-on {found.fail_on.label}")
    return parts


def heading(pair: Pair) -> str:
    """``text/full_attention`` or, where the names differ, ``text/long against text``."""
    if pair.a.name == pair.b.name:
        return pair.a.name
    return f"{pair.a.name} against {pair.b.name}"


def as_read(rest: Unpaired) -> str:
    """``as vllm-0.33 reads it: `` where an engine was named."""
    return f"as {rest.schedule.reader} reads it: " if rest.schedule.reader else ""


def of_readings(found: Readings) -> list[str]:
    """What is told of an engine beside its pairs: why there is none, what it leaves aside."""
    if found.reason is not None:
        return [found.reason]
    sides = (("A", found.a), ("B", found.b))
    said = [f"does not read {_first(v.ignored)} of {side}" for side, v in sides if v.ignored]
    notes = [n.message for _, v in sides for n in v.notes if n.kind in _TOLD]
    return [*said, *dict.fromkeys(notes)]


def _first(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


_TOLD = frozenset({"nearest_reader", "crashes"})
"""Kinds of notes about an engine that matter whatever the verdict."""


def repeats(before: Pair, pair: Pair) -> bool:
    """Whether ``pair`` is the one before it at another length: all but the phases is told."""
    return before.a is pair.a and before.b is pair.b


def length_words(pair: Pair) -> str:
    source = {"reference": "no length is stated", "variant": "the length of this table"}
    return f"{pair.context} positions ({source.get(pair.context_source, pair.context_source)})"


def steps(pair: Pair) -> str:
    """How near two tables are that are not the same."""
    if pair.max_ulp:
        return f"within {show.plural(pair.max_ulp, 'float32 step')} ({pair.tolerance} allowed)"
    return f"the tables are equal, the scalings within {pair.tolerance} float32 steps"


def told(pair: Pair) -> list[str]:
    """Numbers of a pair in words: channels, clusters, scalings."""
    moved = displaced(pair)
    total = len(pair.channels)
    if not moved:
        parts = ["the tables agree"]
    else:
        which = f"{len(moved)} of {total} channels differ ({show.ranges(moved)})"
        if len(which) > 60:
            which = f"{len(moved)} of {total} channels differ, {moved[0]} the first"
        parts = [which, _direction(pair)]
    said = [" · ".join(p for p in parts if p)]
    if pair.new_clusters:
        sizes = [len(c) for c in pair.new_clusters]
        listed = "; ".join(show.ranges(c) for c in pair.new_clusters[:3])
        more = "; …" if len(sizes) > 3 else ""
        said.append(f"{sum(sizes)} channels became equal to others in B: {listed}{more}")
    return said


def displaced(pair: Pair) -> list[int]:
    """Channels beyond the tolerance."""
    return [c.k for c in pair.channels if c.ulp is None or c.ulp > pair.tolerance]


def _direction(pair: Pair) -> str:
    moved = set(displaced(pair))
    found = [c.dlog for c in pair.channels if c.k in moved]
    if all(d < 0 for d in found):
        return "B turns slower"
    return "B turns faster" if all(d > 0 for d in found) else "some faster, some slower in B"
