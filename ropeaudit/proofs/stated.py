"""What a config states about each table: its closed form, in the numbers that the file spells.

A parameter is the rational that its own text spells (``1e6``, ``0.1``), as long as that text reads
as the float that the engine used. Defaults and run-time overrides have no text: the shortest
decimal of the float stands for them. GGUF holds floats and no text: there the float itself counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.exact.enclosure import affordable
from ropeaudit.exact.inputs import ExactInputs, dyadic, shortest, spelled
from ropeaudit.exact.terms import ZERO, ClosedForm
from ropeaudit.facts import Fact, Json, Origin, as_number
from ropeaudit.proofs.interface import Exhibit
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import Family, Inputs, family
from ropeaudit.schedule.geometry import dlog
from ropeaudit.schedule.subject import Subject

_ALIASES = {"beta_fast": ("yarn_beta_fast",), "beta_slow": ("yarn_beta_slow",)}
"""Fields under which readers of other formats note a parameter."""
_LISTS = {"short_factor": "factors", "long_factor": "factors"}
"""Inputs that a closed form names otherwise."""
_SOURCES = "sources"

Place = dict[str, Any]


def exhibits(subject: Subject, ulp: int = 8) -> list[Exhibit]:
    """One exhibit for each schedule of ``subject``, in its order.

    A built schedule has the form of the law that built it. A stored table has that of the built
    schedule it belongs to, in the state that an engine starts with; alone, it has none. Where the
    config is read by common rules, or code outside the file takes part, the form is that of the
    reading shown: the subject's notes say on what it rests. Raises nothing.
    """
    built = {s.name: _built(subject, s, ulp) for s in subject.built()}
    return [
        _held(subject, s, built, ulp) if s.variant == "stored" else built[s.name]
        for s in subject.schedules
    ]


def sources(exhibit: Exhibit) -> dict[str, Place]:
    """Where each parameter that the input spells stands.

    ``file``, one of ``pointer``, ``key`` and ``tensor``, and ``text``, a JSON value that is exactly
    the parameter. Defaults, overrides and derived parameters are left out.
    """
    found: dict[str, Place] = exhibit.memo.get(_SOURCES, {})
    return found


def _built(subject: Subject, schedule: Schedule, ulp: int) -> Exhibit:
    law = family(schedule.law) if schedule.law is not None else None
    if law is None or not isinstance(schedule.inputs, Inputs):
        return _without(
            schedule,
            "No scaling law alone gives this table: the engine mixes several of them.",
            ulp,
        )
    try:
        form, places = _closed(subject, schedule, law, schedule.inputs)
    except InvalidValue as error:
        return _without(schedule, f"No closed form is stated: {error}.", ulp)
    return _exhibit(schedule, form, places, ulp)


def _held(subject: Subject, held: Schedule, built: Mapping[str, Exhibit], ulp: int) -> Exhibit:
    """The exhibit of a stored table."""
    if held.rope_type == "learned":
        return _without(held, "A learned table follows from no closed form.", ulp)
    beside = _starting(subject.built_for(held))
    if not beside:
        return _without(held, "No config beside the table states a closed form for it.", ulp)
    fitting = [s for s in beside if len(s.inv_freq) == len(held.inv_freq)]
    if not fitting:
        counts = " or ".join(map(str, sorted({len(s.inv_freq) for s in beside})))
        return _without(
            held,
            f"The table has {len(held.inv_freq)} channels, and the config states {counts}.",
            ulp,
        )
    nearest = min(fitting, key=lambda s: _distance(s, held))
    found = built[nearest.name]
    if nearest.inputs is not found.schedule.inputs:
        found = _built(subject, nearest, ulp)
    if found.form is None:
        return _without(held, found.why_not or "", ulp)
    return _exhibit(held, found.form, sources(found), ulp)


def _starting(built: tuple[Schedule, ...]) -> list[Schedule]:
    """The schedules in the state in which an engine starts: short lists, lengths not yet grown."""
    found: dict[str, Schedule] = {}
    for schedule in built:
        if schedule.variant == "long":
            continue
        if schedule.is_grown and isinstance(schedule.inputs, Inputs) and schedule.unscaled:
            start = replace(schedule.inputs, length=None)
            schedule = replace(schedule, inputs=start, inv_freq=schedule.unscaled)
        place = (schedule.layer_type or "") if schedule.rope_type == "dynamic" else schedule.name
        if place not in found or found[place].inputs is not schedule.inputs:
            found.setdefault(place, schedule)
    return list(found.values())


def _distance(built: Schedule, held: Schedule) -> float:
    """Largest log distance; NaN is no reason to prefer a schedule."""
    pairs = zip(built.inv_freq, held.inv_freq, strict=True)
    gaps = (abs(dlog(a, b)) for a, b in pairs)
    return max((g for g in gaps if g == g), default=0.0)


def _exhibit(schedule: Schedule, form: ClosedForm, places: dict[str, Place], ulp: int) -> Exhibit:
    if len(form.terms) != len(schedule.inv_freq):
        return _without(
            schedule,
            f"The table has {len(schedule.inv_freq)} channels, and the closed form "
            f"{len(form.terms)}.",
            ulp,
        )
    # Converters write huge divisors for channels that stand still; their terms are not zero.
    still = frozenset(k for k, term in enumerate(form.terms) if term == ZERO)
    if still != schedule.static_channels:
        schedule = replace(schedule, static_channels=still)
    bits = affordable(len(form.terms))
    return Exhibit(schedule=schedule, form=form, ulp=ulp, bits=bits, memo={_SOURCES: places})


def _without(schedule: Schedule, why: str, ulp: int) -> Exhibit:
    return Exhibit(schedule=schedule, form=None, why_not=why, ulp=ulp)


def _closed(
    subject: Subject, schedule: Schedule, law: Family, inputs: Inputs
) -> tuple[ClosedForm, dict[str, Place]]:
    """The law's closed form and the places of its parameters; raises InvalidValue."""
    texts = _Texts(subject, schedule)
    base, partial = inputs.rope_theta, inputs.partial_rotary_factor
    declared = inputs.max_position_embeddings
    exact = ExactInputs(
        rope_theta=texts.number("rope_theta", base),
        rotary_dim=inputs.rotary_dim,
        head_dim=inputs.head_dim,
        partial_rotary_factor=texts.number("partial_rotary_factor", partial),
        max_position_embeddings=None
        if declared is None
        else texts.number("max_position_embeddings", declared),
        length=inputs.length,
        scaling=texts.scaling(inputs.scaling, law.REQUIRED | law.OPTIONAL),
    )
    for name, width in (("rotary_dim", inputs.rotary_dim), ("head_dim", inputs.head_dim)):
        texts.number(name, width)
    form = law.closed_form(exact)
    return form, {name: place for name, place in texts.places(inputs) if name in form.parameters}


class _Texts:
    """Exact values of what decided one schedule; ``places`` are those with a text."""

    def __init__(self, subject: Subject, schedule: Schedule) -> None:
        self._reading = subject.reading
        document = subject.reading.document if subject.reading else None
        self._document = document if isinstance(document, Document) else None
        self._facts: dict[str, list[Fact]] = {}
        for fact in schedule.provenance:
            self._facts.setdefault(fact.field, []).append(fact)
        self._binary = subject.format == "gguf"
        self._places: dict[str, Place] = {}

    def number(self, name: str, used: float) -> Fraction:
        """``used`` as the input spells it; raises InvalidValue for what is no finite number."""
        for fact in self._of(name):
            if as_number(fact.value) != used:
                continue
            found = self._spelled(fact, used)
            if found is not None:
                exact, self._places[name] = found
                return exact
            if fact.origin is Origin.OVERRIDE:
                return shortest(used)
        return dyadic(used) if self._binary else shortest(used)

    def scaling(self, values: Mapping[str, Json], wanted: frozenset[str]) -> dict[str, Any]:
        """The scaling dict with exact numbers; what a law cannot use is left out."""
        found: dict[str, Any] = {}
        for name, value in values.items():
            if name not in wanted:
                continue
            if value is None or isinstance(value, bool | str):
                found[name] = value
                continue
            try:
                if isinstance(value, list | tuple):
                    found[name] = self._list(name, value)
                elif as_number(value) is not None:
                    found[name] = self.number(name, value)
            except InvalidValue:
                continue  # not finite: the law says that it is missing, or does without
        return found

    def places(self, inputs: Inputs) -> Iterator[tuple[str, Place]]:
        """Places by the names of a closed form's parameters."""
        long = inputs.scaling.get("original_max_position_embeddings")
        grown = inputs.length is not None and isinstance(long, int | float) and inputs.length > long
        for name, place in self._places.items():
            if name in _LISTS and name != ("long_factor" if grown else "short_factor"):
                continue
            yield _LISTS.get(name, name), place

    def _of(self, name: str) -> Iterator[Fact]:
        for field in (name, *_ALIASES.get(name, ())):
            yield from self._facts.get(field, ())

    def _spelled(self, fact: Fact, used: float) -> tuple[Fraction, Place] | None:
        where = fact.location
        if where is None or fact.origin in (Origin.OVERRIDE, Origin.DERIVED):
            return None
        if where.key is not None:
            exact = dyadic(used)
            return exact, {"file": where.file, "key": where.key, "text": _decimal(used)}
        text = self._text(where.file, where.pointer)
        found = spelled(text, used)
        if found is None:
            return None
        return found, {"file": where.file, "pointer": where.pointer, "text": text}

    def _text(self, file: str, pointer: str | None) -> str | None:
        document = self._document
        if document is None or pointer is None or document.file != file:
            return None
        return document.spelling(pointer)

    def _list(self, name: str, values: list[Any] | tuple[Any, ...]) -> tuple[Fraction, ...]:
        """Numbers of a list, each as spelled; raises InvalidValue for what is no number."""
        if any(as_number(v) is None for v in values):
            raise InvalidValue(f"{name} holds something other than numbers", where=name)
        if self._binary:
            self._tensor(name, tuple(values))
            return tuple(map(dyadic, values))
        fact = next((f for f in self._of(name) if f.value == values), None)
        where = None if fact is None else fact.location
        if where is None or where.pointer is None:
            return tuple(map(shortest, values))
        found = [
            spelled(self._text(where.file, f"{where.pointer}/{i}"), v) for i, v in enumerate(values)
        ]
        text = self._text(where.file, where.pointer)
        if text is not None and None not in found:
            self._places[name] = {"file": where.file, "pointer": where.pointer, "text": text}
        return tuple(shortest(v) if f is None else f for f, v in zip(found, values, strict=True))

    def _tensor(self, name: str, values: tuple[float, ...]) -> None:
        """Notes the tensor that holds ``values``, unless a factor was multiplied in."""
        for table in self._reading.tables if self._reading else ():
            noted = any(f.location == table.location for f in self._facts.get(table.role, ()))
            if noted and table.values[: len(values)] == values:
                self._places[name] = {
                    "file": table.location.file,
                    "tensor": table.location.tensor,
                    "text": f"[{', '.join(map(_decimal, values))}]",
                }
                return


def _decimal(value: float) -> str:
    """A float in full: every binary fraction has a finite decimal expansion."""
    return str(value) if isinstance(value, int) else format(Decimal(value), "f")
