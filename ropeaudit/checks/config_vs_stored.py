"""The table in the checkpoint or in memory is not the one that the config means.

**What it checks.** Every table that lies in a tensor or a live buffer against the schedules built
from the config of the same target, for the same component and layer type. Where they differ it says
by how much (log distance and phase drift at the trained length), at which channel the difference
starts, and which law the stored table is instead: the unscaled table (the scaling was lost), a
plain table with another base, the table of an earlier long prompt (dynamic scaling), another
schedule of the same model, or none.

**Why it matters.** Engines that load the tensor and engines that rebuild it from the config then
run two different models from the same files.

**Passes when.** Every channel agrees to 4 float32 ulp, or the stored table is the config's after
rounding to the narrower format that it is held in (RA501 judges that).

**Fails when.** It differs: the rule's severity from a phase drift of ``error_phase``, and already
from ``warning_phase`` when the scaling or base was lost; else a warning from there; below it is
information. Skipped for learned tables, which no config predicts, and when there is no config or no
table. Unknown when the channel counts differ, so that channels cannot be matched, and when a live
buffer has no memory yet.

**Exactness.** Float32 steps; a table read off cos and sin rows is allowed 16. Phase drift is
``min(|a - b| * L, pi)``, at the trained length or ``reference_length`` where none is stated.

**Options.** ``error_phase`` (pi/2) and ``warning_phase`` (0.1), in radians; ``reference_length``
(4,096), in positions.

**References.** Su et al., 2104.09864, eq. 15; ``transformers/modeling_rope_utils.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks._laws import Fit, fit, relation, same
from ropeaudit.checks._lengths import UNSCALED, number, passed, place, skipped, unknown
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.errors import quoted
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.geometry import dlog, phase_drift

SLUG = "config-vs-stored"
NEEDS = "subject"


@record()
class Params:
    error_phase: float = math.pi / 2
    warning_phase: float = 0.1
    reference_length: int = 4096


@record()
class Difference:
    """Between a built and a stored table: ``lost`` when base or scaling is another one."""

    built: Schedule
    max_abs_dlog: float
    max_phase_drift: float
    first: int
    length: int


_NO_VALUES = frozenset({"meta_tensor", "broken_table"})
"""Notes on a table that is there and cannot be read."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each stored table."""
    stored = case.subject.stored()
    empty = next((n.message for n in case.subject.notes if n.kind in _NO_VALUES), None)
    if empty is not None:
        yield Outcome(status=Status.UNKNOWN, message=f"A table cannot be compared: {empty}.")
    if not stored and empty is None:
        yield skipped("no table is stored beside the config")
    elif not case.subject.built():
        yield skipped("no config lies beside the stored tables")
    else:
        for held in stored:
            yield _judge(case, held, params)


def _judge(case: Case, held: Schedule, params: Params) -> Outcome:
    if held.rope_type == "learned":
        return skipped(f"{held.name}: learned tables follow from no config")
    candidates = [s for s in case.subject.built_for(held) if not s.is_grown]
    others = [s for s in case.subject.built() if s not in candidates]
    if not candidates and not others:
        return skipped(f"{held.name}: no config describes it")
    if any(relation(s.inv_freq, held) for s in candidates):
        return passed(held)
    fitting = [s for s in candidates if len(s.inv_freq) == len(held.inv_freq)]
    if not fitting:
        return _uneven(held, candidates, others)
    found = min(
        (_difference(case, s, held, params) for s in fitting), key=lambda d: d.max_phase_drift
    )
    return _finding(held, found, _law(held, found, case), params)


def _uneven(held: Schedule, candidates: list[Schedule], others: list[Schedule]) -> Outcome:
    if any(relation(s.inv_freq, held) for s in others):
        return passed(held)  # the tensor's name did not tell which part of the model it serves
    counts = sorted({len(s.inv_freq) for s in candidates})
    expected = " or ".join(map(str, counts)) or "none"
    return unknown(
        held,
        f"The stored table has {len(held.inv_freq)} channels and the config builds {expected}, so "
        "they cannot be compared channel by channel.",
        place(held, "inv_freq"),
    )


def _difference(case: Case, built: Schedule, held: Schedule, params: Params) -> Difference:
    length = case.trained(built) or built.context.declared or params.reference_length
    largest, drift, first = 0.0, 0.0, -1
    for k, (a, b) in enumerate(zip(built.inv_freq, held.inv_freq, strict=True)):
        steps = ulp_distance(a, b)
        if steps is not None and steps <= 4:
            continue
        first = k if first < 0 else first
        gap = abs(dlog(a, b))
        largest = max(largest, math.inf if math.isnan(gap) else gap)
        drift = max(drift, phase_drift(a, b, length))
    return Difference(built, largest, drift, max(first, 0), length)


def _law(held: Schedule, found: Difference, case: Case) -> tuple[str, bool]:
    """What the stored table is instead, and whether that means a lost base or scaling."""
    built = found.built
    scaled = built.rope_type not in UNSCALED
    if scaled and built.unscaled is not None and relation(built.unscaled, held):
        return f"it equals the unscaled schedule, so the {built.rope_type} scaling is lost", True
    for other in case.subject.built():
        grown = other.is_grown and other.layer_type == built.layer_type
        if other is not built and relation(other.inv_freq, held):
            return (
                f"it is the state of an earlier long prompt ({other.name})"
                if grown
                else f"it equals {other.name}"
            ), True
    plain = fit(held)
    if plain is not None:
        return _fitted(plain, built), True
    lost = [k for k, v in enumerate(held.inv_freq) if not 0 < v < 1e4]
    still = not any(held.inv_freq[k] for k in lost)
    has = f"it has {len(lost)} value{'s' if len(lost) > 1 else ''}"
    if lost and _agree_but(lost, built, held):
        return f"{has} {'of 0' if still else 'that are no frequencies'}, the others agree", True
    recipe = held.fact("recipe")
    if recipe is not None:
        return f"it is what {quoted(recipe.value)} makes of it", bool(lost)
    if lost and still:
        return f"{has} of 0, and others differ too", True
    if lost:
        return "it looks like memory that was never initialised", True
    ratios = {round(b / a, 5) for a, b in zip(built.inv_freq, held.inv_freq, strict=True) if a}
    if len(ratios) == 1:
        return f"every frequency is {next(iter(ratios)):g} times the config's", False
    return "no known law gives it", False


def _agree_but(lost: list[int], built: Schedule, held: Schedule) -> bool:
    """Whether the channels that are left are the config's."""
    gone = set(lost)
    left = [k for k in range(len(held.inv_freq)) if k not in gone]
    pairs = [(built.inv_freq[k], held.inv_freq[k]) for k in left]
    return bool(pairs) and all(same((a,), (b,)) for a, b in pairs)


def _fitted(plain: Fit, built: Schedule) -> str:
    rounded = "" if plain.dtype is None else f" rounded to {plain.dtype}"
    divided = "" if plain.factor == 1 else f", divided by {plain.factor:.6g}"
    if plain.dimension != 2 * len(plain.table):
        divided += f", with the exponent over {plain.dimension}"
    means = "" if built.rope_theta is None else f", the config means {about(built.rope_theta)}"
    declared, base = built.context.declared, built.rope_theta
    factor = number(built, "factor")
    if built.rope_type == "dynamic" and declared and base and factor and plain.base > base:
        dim = built.rotary_dim
        growth = (plain.base / base) ** ((dim - 2) / dim)
        reached = declared * (growth + factor - 1) / factor
        return (
            f"it is the state of an earlier prompt of about {about(round(reached))} positions "
            f"(base {plain.base:.7g})"
        )
    return f"it fits base {plain.base:.7g}{divided}{rounded}{means}"


def _drift(phase: float) -> str:
    """Half a turn is where the drift is cut off: beyond it the phase says nothing."""
    return "half a turn or more" if phase >= math.pi else f"up to {phase:.4g} rad"


def _finding(held: Schedule, found: Difference, law: tuple[str, bool], params: Params) -> Outcome:
    said, lost = law
    severity: Severity | None = None
    if found.max_phase_drift < params.warning_phase:
        severity = Severity.INFO
    elif found.max_phase_drift < params.error_phase and not lost:
        severity = Severity.WARNING
    k, channels = found.first, len(held.inv_freq)
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=held.name,
        message=f"The stored table is not the one that the config means ({found.built.name}): from "
        f"channel {k} of {channels} on it differs ({held.inv_freq[k]:.7g} against "
        f"{found.built.inv_freq[k]:.7g}), by "
        f"{_drift(found.max_phase_drift)} at {about(found.length)} positions; {said}.",
        evidence={
            "expected": found.built.inv_freq[k],
            "found": held.inv_freq[k],
            "first_channel": k,
            "max_abs_dlog": found.max_abs_dlog,
            "max_phase_drift": found.max_phase_drift,
            "length": found.length,
            "against": found.built.name,
            "differing": sum(
                not same((a,), (b,))
                for a, b in zip(found.built.inv_freq, held.inv_freq, strict=True)
            ),
        },
        location=place(held, "inv_freq"),
        fix="Rebuild the buffer from the config, or correct the config to what the weights were "
        "trained with.",
    )
