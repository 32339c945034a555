"""Schedules of a certificate: their shape, and the closed form derived again from its law."""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from ropeaudit.verifier import laws, numbers, terms
from ropeaudit.verifier.bands import Parameters
from ropeaudit.verifier.formats import FORMATS, Value, rounded
from ropeaudit.verifier.reading import (
    Refused,
    counted,
    held,
    keyed,
    listed,
    one_of,
    pointer,
    refuse,
    same,
    shown,
    worded,
)
from ropeaudit.verifier.terms import Term
from ropeaudit.verifier.vectors import Space, Vector

_KEYS = (*("target", "name", "dtype", "table", "groups", "static", "tolerance", "form", "why_not"),)
_PLACES = ("pointer", "key", "tensor")
MAX_TOLERANCE = 1 << 53


@dataclass(frozen=True)
class Schedule:
    """One schedule, checked.

    ``terms`` is None where nothing states a closed form; ``stated`` are its ``law`` and
    ``parameters`` as the certificate spells them. ``bits``: how narrow enclosures may get before a
    question about it is given up.
    """

    target: str
    name: str
    dtype: str
    table: list[Value]
    groups: list[list[int]]
    static: frozenset[int]
    tolerance: int
    terms: list[Term] | None
    stated: dict[str, Any]
    why_not: str | None
    bits: int = numbers.PRECISIONS[-1]

    @cached_property
    def turning(self) -> list[list[int]]:
        """The channels of each group that turn; groups without any are left out."""
        groups = ([k for k in group if k not in self.static] for group in self.groups)
        return [group for group in groups if group]

    @cached_property
    def space(self) -> Space:
        return Space(self.terms or ())

    @cached_property
    def vectors(self) -> list[Vector | None]:
        """The vector of each channel; None for those with logarithms."""
        return [self.space.vector(term) for term in self.terms or ()]


Files = dict[str, set[str]]
"""The files of each target, by the certificate's ``inputs``."""


def schedules(given: Any, files: Files, where: str = "/schedules") -> list[Schedule]:
    """All schedules; those of one target with one name are the same."""
    found: list[Schedule] = []
    names: dict[tuple[str, str], Any] = {}
    channels = 0
    for place, value in enumerate(listed(given, where)):
        schedule = _schedule(value, files, pointer(where, place))
        if names.setdefault((schedule.target, schedule.name), value) != value:
            raise Refused(
                f"{where}/{place}/name: expected one schedule of each name in a target, found "
                f"another one called {shown(schedule.name)}"
            )
        found.append(schedule)
        channels += len(schedule.table)
        if channels > laws.MAX_CHANNELS:
            raise Refused(f"{where}: more than {laws.MAX_CHANNELS} channels are not checked")
    return found


def _schedule(given: Any, files: Files, where: str) -> Schedule:
    value = keyed(given, _KEYS, where)
    target = worded(value["target"], f"{where}/target")
    dtype = one_of(value["dtype"], tuple(FORMATS), f"{where}/dtype")
    entries = listed(value["table"], f"{where}/table")
    if not 0 < len(entries) <= laws.MAX_CHANNELS:
        raise refuse(f"{where}/table", f"1 to {laws.MAX_CHANNELS} values", entries)
    table = [_entry(v, dtype, f"{where}/table/{k}") for k, v in enumerate(entries)]
    form = _form(value["form"], len(table), files.get(target), f"{where}/form")
    why_not = value["why_not"]
    if form is not None:
        same(None, why_not, f"{where}/why_not")
    else:
        worded(why_not, f"{where}/why_not")
    return Schedule(
        target=target,
        name=worded(value["name"], f"{where}/name"),
        dtype=dtype,
        table=table,
        groups=_groups(value["groups"], len(table), f"{where}/groups"),
        static=_static(value["static"], table, form, f"{where}/static"),
        tolerance=counted(value["tolerance"], f"{where}/tolerance", 0, MAX_TOLERANCE),
        terms=form,
        stated={key: value["form"][key] for key in ("law", "parameters")}
        if form is not None
        else {},
        why_not=why_not,
        bits=numbers.most(len(table)),
    )


def _entry(given: Any, dtype: str, where: str) -> Value:
    value = held(given, where)
    if not isinstance(value, str) and rounded(value, dtype) != value:
        raise refuse(where, f"a number that {dtype} holds", given)
    return value


def _ascending(given: Any, channels: int, where: str) -> list[int]:
    found = listed(given, where)
    for place, k in enumerate(found):
        counted(k, f"{where}/{place}", found[place - 1] + 1 if place else 0, channels - 1)
    return found


def _groups(given: Any, channels: int, where: str) -> list[list[int]]:
    entries = listed(given, where)
    if len(entries) > channels:
        raise refuse(where, f"at most {channels} groups", entries)
    groups = []
    for place, group in enumerate(entries):
        groups.append(_ascending(group, channels, f"{where}/{place}"))
        if not groups[-1] or (place and groups[-1] <= groups[-2]):
            raise refuse(f"{where}/{place}", "channels, after those of the group before", group)
    missing = set(range(channels)).difference(*groups)
    if missing:
        raise Refused(f"{where}: expected every channel in a group, found none with {min(missing)}")
    return groups


def _static(given: Any, table: list[Value], form: list[Term] | None, where: str) -> frozenset[int]:
    found = _ascending(given, len(table), where)
    if form is not None:
        same([k for k, term in enumerate(form) if _is_zero(term)], found, where)
    for place, k in enumerate(found):
        if form is None and table[k] != 0:
            raise refuse(f"{where}/{place}", "a channel whose value is 0", k)
    return frozenset(found)


def _is_zero(term: Term) -> bool:
    return isinstance(term, terms.Power) and not term.coefficient


def _form(given: Any, channels: int, files: set[str] | None, where: str) -> list[Term] | None:
    if given is None:
        return None
    value = keyed(given, ("law", "parameters", "sources", "terms"), where)
    parameters = laws.parameters(value["law"], value["parameters"], where)
    _sources(value["sources"], parameters, files, f"{where}/sources")
    form = laws.closed_form(value["law"], parameters, where)
    if len(form) != channels:
        raise Refused(
            f"{where}: the law gives {len(form)} channels, and the table has {channels}; "
            "expected as many"
        )
    entries = listed(value["terms"], f"{where}/terms")
    same([terms.spelled(term) for term in form], entries, f"{where}/terms")
    return form


def _sources(given: Any, parameters: Parameters, files: set[str] | None, where: str) -> None:
    if not isinstance(given, dict):
        raise refuse(where, "an object", given)
    for name, source in given.items():
        place = pointer(where, name)
        if name not in parameters:
            raise Refused(f"{place}: expected a parameter of the law, found another name")
        places = [key for key in _PLACES if isinstance(source, dict) and key in source]
        keyed(source, ("file", (places or _PLACES)[0], "text"), place)
        for key, text in source.items():
            worded(text, pointer(place, key))
        if files is not None and source["file"] not in files:
            raise refuse(f"{place}/file", "a file of this target in /inputs", source["file"])
        if not _spells(source["text"], parameters[name]):
            raise refuse(f"{place}/text", "a text that spells the parameter", source["text"])


class _Number(str):
    """The text of a JSON number, which a string in quotes is not."""


def _spells(text: str, parameter: Any) -> bool:
    """Whether JSON text is the parameter: a number, true or false, or a list of numbers."""
    if text != text.strip():
        return False
    if isinstance(parameter, bool):
        return text in (("true", "1") if parameter else ("false", "0", "null"))
    if not isinstance(parameter, list):
        return numbers.decimal(text) == Fraction(parameter)
    try:
        entries = json.loads(text, parse_int=_Number, parse_float=_Number)
    except (ValueError, RecursionError):
        return False
    if not isinstance(entries, list) or not all(isinstance(e, _Number) for e in entries):
        return False
    return [numbers.decimal(e) for e in entries] == parameter
