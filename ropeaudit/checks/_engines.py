"""Engines that would build another schedule from the same file, and what in the file is the cause.

Causes are told from the file and from what an engine passes over: a schema that it does not look
for, spellings that conflict, a number that is left to defaults, a key that the reference does not
read, or a kind of value that the engine does not know.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from ropeaudit.checks.interface import Case
from ropeaudit.document import Document
from ropeaudit.facts import Location, Observation, Oddity
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.keys import FRACTIONS, WIDTHS
from ropeaudit.schedule.views import Distance, View

BASE_KEYS = ("rope_theta", "rotary_emb_base")
NULL_WINS = "llama.cpp"
"""Its converter takes rope_parameters before rope_scaling, also when it is null
(``conversion/base.py`` 1462-1510 in the sources of llama-cpp-python 0.3.36)."""


RESPELL = (
    "Try ropeaudit normalise: it writes the spelling that most engines read, and says whether that "
    "helps here; where no spelling does, use another engine, or convert the values for this one."
)
"""What to do where it cannot be told from the file alone whether the engine knows another way to
say it: a factor by its own key in place of mscale, a type without a second one that contradicts."""


class Cause(StrEnum):
    """What in the file makes an engine build another schedule."""

    SCHEMA = "schema"
    """The values stand in a schema that the engine does not look for."""
    PLACE = "place"
    """The base stands beside the scaling, or the original length of longrope inside of it, and the
    engine looks for it in the other place."""
    CONFLICT = "conflict"
    """Two spellings say two things."""
    DEFAULT = "default"
    """A number is left out, and engines have different defaults."""
    DEAD = "dead"
    """The engine reads what the reference does not."""
    SPELLING = "spelling"
    """What is written is of a kind that the engine does not know, or does not know in this form."""


@record()
class Misreading:
    """One engine that would build another schedule. ``asked``: whether the user names it."""

    view: View
    distance: Distance
    cause: Cause
    asked: bool

    @property
    def reader(self) -> str:
        return self.view.reader

    @property
    def words(self) -> tuple[str, ...]:
        return self.distance.words or ("another table",)


def misreadings(case: Case) -> tuple[Misreading, ...]:
    """Every engine of ``case.beside`` that builds something and not the reference's schedule."""
    found: tuple[Misreading, ...] | None = case.memo.get("misreadings")
    if found is None:
        asked = case.beside.singled
        found = case.memo["misreadings"] = tuple(
            Misreading(view, view.distance, _cause(case, view, view.distance), view.reader in asked)
            for view in case.beside.views
            if view.status == "ok" and view.distance is not None and not view.distance.same
        )
    return found


def _cause(case: Case, view: View, distance: Distance) -> Cause:
    conflict = conflicting(case)
    if conflict is not None and _takes_a_side(view, conflict):
        return Cause.CONFLICT
    ignored = view.ignored
    if ignored and all(_is_new_schema(p) for p in ignored):
        return Cause.SCHEMA
    if view.reader.startswith(NULL_WINS) and null_schema(case) is not None:
        return Cause.CONFLICT
    words = distance.words
    kinds = {s.rope_type for s in case.subject.built()}
    if _only(words, "base ") and base_outside(case):
        return Cause.PLACE
    if _only(words, "original length ") and ignored and "longrope" in kinds:
        return Cause.PLACE
    if any(" added" in w for w in words):
        return Cause.DEAD
    if distance.width and not ignored:
        return Cause.DEAD if _states_width(case) else Cause.DEFAULT
    defaulted = {o.kind for o in case.subject.observations}
    if _only(words, "original length ") and Oddity.ORIGINAL_DEFAULTED in defaulted:
        return Cause.DEFAULT
    if _only(words, "base ") and Oddity.BASE_DEFAULTED in defaulted:
        return Cause.DEFAULT
    return Cause.SPELLING


def _is_new_schema(pointer: str) -> bool:
    """Whether it is a whole dict of the new schema, or the base in it."""
    block, _, inner = pointer.partition("/rope_parameters")
    return block != pointer and (inner.rsplit("/", 1)[-1] in ("", *BASE_KEYS) or "_att" in inner)


def _states_width(case: Case) -> bool:
    return any(key in node for _, node in nodes(case.document) for key in (*FRACTIONS, *WIDTHS))


def _only(words: Sequence[str], start: str) -> bool:
    return bool(words) and all(w.startswith(start) for w in words)


def _takes_a_side(view: View, conflict: Observation) -> bool:
    """Whether the engine takes what the reference leaves out of the conflict."""
    if conflict.kind is Oddity.TYPE_CONFLICT:
        kinds = {str(conflict.evidence.get(k)) for k in ("type", "rope_type")}
        built = {s.rope_type for s in view.schedules}
        return bool(built & kinds) and "/rope_scaling" not in view.ignored
    return bool(view.ignored)


def conflicting(case: Case) -> Observation | None:
    """What the reader of the reference noticed: two spellings that say two things."""
    kinds = (Oddity.SCHEMA_CONFLICT, Oddity.TYPE_CONFLICT)
    return next((o for o in case.subject.observations if o.kind in kinds), None)


def nodes(document: Document | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The parts of a config that state a language model's position values, with their pointers."""
    data = document.data if document is not None else None
    if not isinstance(data, Mapping):
        return
    for pointer, node in (("", data), ("/text_config", data.get("text_config"))):
        if isinstance(node, Mapping):
            yield pointer, node


def null_schema(case: Case) -> str | None:
    """Pointer of a rope_parameters that is null beside a rope_scaling that says something."""
    for pointer, node in nodes(case.document):
        empty = "rope_parameters" in node and not node["rope_parameters"]
        if empty and isinstance(node.get("rope_scaling"), Mapping) and node["rope_scaling"]:
            return f"{pointer}/rope_parameters"
    return None


def base_outside(case: Case) -> str | None:
    """Pointer of a base that stands beside rope_scaling and not inside of it."""
    for pointer, node in nodes(case.document):
        inner = node.get("rope_scaling")
        if isinstance(inner, Mapping) and inner and "rope_theta" not in inner:
            key = next((k for k in BASE_KEYS if k in node), None)
            if key is not None:
                return f"{pointer}/{key}"
    return None


def new_schema(case: Case) -> str | None:
    """Pointer of the first rope_parameters that says something."""
    for pointer, node in nodes(case.document):
        if isinstance(node.get("rope_parameters"), Mapping) and node["rope_parameters"]:
            return f"{pointer}/rope_parameters"
    return None


def location(case: Case, pointer: str | None) -> Location | None:
    document = case.document
    if document is None or pointer is None:
        return None
    return Location(file=document.file, pointer=pointer)


def listed(names: Iterable[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    *some, last = names
    return f"{', '.join(some)} and {last}" if some else last


def plural(names: Sequence[str], one: str, many: str) -> str:
    return one if len(names) == 1 else many


def worst(case: Case, found: Misreading) -> tuple[Schedule, Schedule] | None:
    """The engine's and the reference's schedule that are farthest apart; None if none is named."""
    parts = found.distance.schedules
    if not parts:
        return None
    name = max(parts, key=lambda n: _harm(parts[n]))
    theirs = next((s for s in case.subject.built() if s.name == name), None)
    if theirs is None:
        return None
    same = [s for s in found.view.schedules if s.component == theirs.component]
    same = [s for s in same if s.layer_type == theirs.layer_type] or same
    ours = next((s for s in same if s.variant == theirs.variant), same[0] if same else None)
    return None if ours is None else (ours, theirs)


def _harm(part: Mapping[str, float | None]) -> tuple[float, float, float]:
    factors = [part.get(k) for k in ("attention", "softmax")]
    logs = [abs(math.log(f)) for f in factors if f is not None and 0 < f < math.inf]
    dlog = part.get("max_abs_dlog")
    return part.get("max_phase_drift") or 0.0, math.inf if dlog is None else dlog, sum(logs)


def evidence(case: Case, found: Misreading, readers: Sequence[str]) -> dict[str, Any]:
    """Numbers of a misreading that ``readers`` share; factors and layers where they differ."""
    distance = found.distance
    factors = {"attention": distance.attention, "softmax": distance.softmax}
    return {
        "readers": list(readers),
        **_expected(case, found),
        "max_abs_dlog": distance.max_abs_dlog,
        "max_phase_drift": distance.max_phase_drift,
        **{k: v for k, v in factors.items() if v is not None and v != 1},
        **({"layers": list(distance.layers)} if distance.layers else {}),
    }


def _expected(case: Case, found: Misreading) -> dict[str, Any]:
    """What the reference has where the engine is farthest from it, and what the engine has."""
    pair = worst(case, found)
    if pair is None:
        return {"expected": None, "found": None}
    ours, theirs = pair
    if len(ours.inv_freq) != len(theirs.inv_freq) or ours.rotary_dim != theirs.rotary_dim:
        return {"expected": theirs.rotary_dim, "found": ours.rotary_dim}
    gaps = [abs(a - b) / (b or 1.0) for a, b in zip(ours.inv_freq, theirs.inv_freq, strict=True)]
    k = max(range(len(gaps)), key=gaps.__getitem__, default=0)
    if gaps and gaps[k] > 1e-5:
        return {"expected": theirs.inv_freq[k], "found": ours.inv_freq[k], "channel": k}
    if ours.attention_scaling != theirs.attention_scaling:
        return {"expected": theirs.attention_scaling, "found": ours.attention_scaling}
    return {"expected": theirs.softmax_scale, "found": ours.softmax_scale}
