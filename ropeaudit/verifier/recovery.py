"""The claims about tables: ``recovery``, ``distinct:<dtype>`` and ``candidates``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from ropeaudit.verifier import engine, numbers
from ropeaudit.verifier.formats import NARROW, SHORT, Value, rounded, steps
from ropeaudit.verifier.laws import MAX_CHANNELS
from ropeaudit.verifier.reading import (
    Refused,
    counted,
    keyed,
    listed,
    one_of,
    pointer,
    refuse,
    same,
    worded,
)
from ropeaudit.verifier.rising import rise
from ropeaudit.verifier.schedules import Schedule
from ropeaudit.verifier.structure import Outcome, clusters

FIT = ("rope_theta", "rotary_dim", "rope_type", "parameters", "max_ulp")
FOUND = (*FIT, "dtype", "next", "ambiguous")
_WHY = ("reason", "witness")
MAX_COEFFICIENT = 10**12


def shown_dtype(table: Sequence[Value]) -> str:
    """The first narrow format that holds every value, else float32."""
    for dtype in NARROW:
        if all(rounded(value, dtype) == value for value in table):
            return dtype
    return "float32"


def recovery(schedule: Schedule, given: Any, where: str) -> Outcome:
    """Checks what was found by computing the tables again; returns what follows from it."""
    if not isinstance(given, dict):
        raise refuse(where, "an object", given)
    # Engines compute in float32, so of a wider table no more than that is asked for.
    schedule = replace(schedule, table=[rounded(value, "float32") for value in schedule.table])
    dtype = shown_dtype(schedule.table)
    # A step of a narrow format may be one of float32 across a boundary; two of them are percents.
    most = schedule.tolerance if dtype == "float32" else min(schedule.tolerance, 1)
    evidence: dict[str, Any] = {}
    if "rope_theta" in given:
        evidence = keyed(given, (*FOUND, *(key for key in _WHY if key in given)), where)
        if _found(schedule, evidence, dtype, where) <= most:
            return "proved", {key: evidence[key] for key in FOUND}
    reason = {"reason": worded(given.get("reason"), f"{where}/reason")}
    evidence = {key: evidence[key] for key in FOUND if evidence} | reason
    witness = rise(schedule.table, dtype, most)
    if witness is None:
        return "undecided", evidence
    return "refuted", evidence | {"witness": witness}


def _found(schedule: Schedule, found: dict[str, Any], dtype: str, where: str) -> int:
    """``max_ulp`` of what was found; the other parameters that are listed are checked too."""
    same(dtype, found["dtype"], f"{where}/dtype")
    best = _fit(schedule, {key: found[key] for key in FIT}, dtype, where)
    seen: list[dict[str, Any]] = []
    _new(found, seen, where)
    others = listed(found["ambiguous"], f"{where}/ambiguous")
    room = max(1, MAX_CHANNELS // len(schedule.table))
    if len(others) > room:
        raise refuse(f"{where}/ambiguous", f"at most {room} entries", others)
    for place, other in enumerate(others):
        here = f"{where}/ambiguous/{place}"
        if _fit(schedule, other, dtype, here) != best:
            raise refuse(f"{here}/max_ulp", f"{best}, as of what was found", other["max_ulp"])
        _new(other, seen, here)
    if found["next"] is not None:
        here = f"{where}/next"
        if _fit(schedule, found["next"], dtype, here) < best:
            raise refuse(f"{here}/max_ulp", f"at least {best}", found["next"]["max_ulp"])
        _new(found["next"], seen, here)
    return best


def _new(fit: dict[str, Any], seen: list[dict[str, Any]], where: str) -> None:
    """Refuses parameters that stood before."""
    own = {key: fit[key] for key in FIT[:-1]}
    if any(own == other for other in seen):
        raise Refused(f"{where}: expected other parameters than those above, found the same")
    seen.append(own)


def _fit(schedule: Schedule, given: Any, dtype: str, where: str) -> int:
    """The ``max_ulp`` of a set of parameters, computed again and compared."""
    fit = keyed(given, FIT, where)
    law = one_of(fit["rope_type"], tuple(engine.ENGINES), f"{where}/rope_type")
    place = f"{where}/parameters"
    numbers_of = keyed(fit["parameters"], engine.ENGINES[law][1], place)
    width = counted(fit["rotary_dim"], f"{where}/rotary_dim", 1, 2 * MAX_CHANNELS)
    if (width + 1) // 2 != len(schedule.table):
        raise refuse(f"{where}/rotary_dim", f"a width of {len(schedule.table)} channels", width)
    parameters = {name: _number(name, v, pointer(place, name)) for name, v in numbers_of.items()}
    parameters["rope_theta"] = _number("rope_theta", fit["rope_theta"], f"{where}/rope_theta")
    parameters["rotary_dim"] = width
    least, most = _distances(schedule.table, engine.table(law, parameters), dtype, where)
    claimed = counted(fit["max_ulp"], f"{where}/max_ulp")
    if not least <= claimed <= most:
        expected = f"{least}" if least == most else f"{least} or {most}"
        raise refuse(f"{where}/max_ulp", expected, claimed)
    return claimed


def _number(name: str, value: Any, where: str) -> Any:
    """A parameter as JSON spells it: a number whose decimal text is exact, or true or false."""
    if name == "truncate":
        if type(value) is not bool:
            raise refuse(where, "true or false", value)
        return value
    if type(value) is float and value.is_integer() and abs(value) < 1 << 53:
        raise refuse(where, "a whole number without a point", value)
    if type(value) not in (int, float) or not value > 0:
        raise refuse(where, "a number above 0", value)
    found = numbers.decimal(repr(value))
    if found is None:
        raise refuse(where, "a number that JSON can spell", value)
    return found


def _distances(
    table: Sequence[Value], built: list[engine.Choices] | None, dtype: str, where: str
) -> tuple[int, int]:
    """The least and the most that the largest distance may be, over the choices of a library."""
    if built is None or len(built) != len(table):
        raise Refused(f"{where}: the engine's float32 cannot build this table; expected one")
    least = most = 0
    for k, (value, choices) in enumerate(zip(table, built, strict=True)):
        found = [steps(rounded(value, dtype), rounded(c, dtype), dtype) for c in choices]
        counts = [count for count in found if count is not None]
        if len(counts) < len(found):
            raise Refused(f"{where}: channel {k} is no number in {dtype}; expected no recovery")
        least, most = max(least, min(counts)), max(most, max(counts))
    return least, most


def distinct_in(schedule: Schedule, short: str) -> Outcome:
    """Equal values of the table in a narrower format."""
    values = [rounded(value, SHORT[short]) for value in schedule.table]
    keys = [None if value == "nan" else value for value in values]
    found = clusters(schedule.turning, keys)
    evidence = {"max_cluster": len(found[0]) if found else 1, "clusters": found}
    if found:
        return "refuted", evidence
    turning = (k for group in schedule.turning for k in group)
    broken = [k for k in turning if isinstance(values[k], str)]
    if broken:
        return "undecided", {"reason": f"Channel {min(broken)} is no finite number."}
    return "proved", evidence


def candidates(schedule: Schedule, given: Any, reason: str, where: str) -> Outcome:
    """Checks the residual of each relation; they are never more than candidates."""
    found = keyed(given, ("relations", "reason"), where)
    seen: list[dict[str, Any]] = []
    for place, relation in enumerate(listed(found["relations"], f"{where}/relations")):
        here = f"{where}/relations/{place}"
        entry = keyed(relation, ("coefficients", "residual"), here)
        total = _sum(schedule, entry["coefficients"], f"{here}/coefficients")
        same(str(total), entry["residual"], f"{here}/residual")
        if entry in seen:
            raise Refused(f"{here}: expected each relation once, found it again")
        seen.append(entry)
    return "undecided", {**found, "reason": reason}


def _sum(schedule: Schedule, given: Any, where: str) -> Fraction:
    if not isinstance(given, dict) or len(given) < 2:
        raise refuse(where, "coefficients of at least two channels", given)
    channels = {str(k): k for group in schedule.turning for k in group}
    total, common = Fraction(0), 0
    for name, coefficient in given.items():
        place = pointer(where, name)
        value = schedule.table[channels[name]] if name in channels else None
        if not isinstance(value, Fraction):
            raise Refused(f"{place}: expected a channel that turns, with a finite value")
        if counted(coefficient, place, -MAX_COEFFICIENT, MAX_COEFFICIENT) == 0:
            raise refuse(place, "an integer other than 0", coefficient)
        total += coefficient * value
        common = math.gcd(common, coefficient)
    if common != 1:
        raise refuse(where, "coefficients without a common factor", common)
    return total
