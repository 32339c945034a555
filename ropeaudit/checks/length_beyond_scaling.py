"""A declared length that neither the base nor the scaling covers.

**What it checks.** For text schedules, limited to the attention window where there is one:

- a scaling that states its original length reaches ``factor * original``; the declared length must
  not lie beyond (longrope has a list made for the declared length, dynamic grows with the text);
- a plain table whose input states a shorter trained length;
- a plain table of a family whose models with this base are trained shorter;
- a plain table of at least ``long_from`` positions whose base is below ``base_per_position`` times
  the length. Most plain models are above: ERNIE 4.5 at 3.8 (5e5 for 131,072 positions), GLM-5 at
  4.9 (1e6 for 202,752). Few healthy ones are below, such as GLM-4.5V (1e4 for 65,536);
- a table whose slowest channel turns ``max_turns`` times or more: then every channel wraps, and far
  positions look like near ones.

**Why it matters.** The declared length is what servers allow. Beyond what was trained or scaled the
model decays without a message.

**Passes when.** Each condition holds, or the schedule has channels that the family keeps still.

**Fails when.** One does not. A reach short by less than half, a family or base that suggests a lost
scaling, and a partly rotated head whose slowest channel wraps are warnings. llama3 scaling never
reaches its declared length by this product (Llama 3.1: half of it), so it may lie up to twice
beyond, and further only warns.

**Exactness.** Products and turns in float64; lengths within 1 % agree. Whether the model was in
fact trained at the declared length cannot be read from a file; the warnings say so.

**Options.** ``max_turns`` (10), ``long_from`` (65,536), ``base_per_position`` (3).

**References.** Peng et al., 2309.00071; Men et al., 2405.14591; published configs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ropeaudit.checks._lengths import (
    declared,
    finite,
    number,
    passed,
    place,
    skipped,
    text,
    unknown,
)
from ropeaudit.checks._practice import ROTATES_LOCALLY, SCALED_TWIN, TRAINED_LENGTH
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import TWO_PI, under_rotated

SLUG = "length-beyond-scaling"
NEEDS = "schedule"
AGREES = 1.01
LLAMA3_ALLOWANCE = 2.0
NO_REACH = frozenset({"dynamic", "ntk_alpha", "longrope", "proportional", "axial", "learned"})
"""Types for which ``factor * original`` bounds nothing, or that no config declares."""
LIMITED = frozenset({"sliding_attention", "chunked_attention", "local_attention"})
FIX = "Restore the scaling block of the original model, or lower max_position_embeddings."


@record()
class Params:
    max_turns: float = 10.0
    long_from: int = 65_536
    base_per_position: float = 3.0


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule that a config declares a length for."""
    schedules = tuple(s for s in text(case.subject.schedules) if s.variant != "stored")
    if not schedules:
        yield skipped("no text schedule is built from a config")
    for schedule in schedules:
        yield _judge(schedule, case.subject.model_type or "", params)


def _judge(schedule: Schedule, model_type: str, params: Params) -> Outcome:
    length = declared(schedule)
    if length is None:
        return skipped(f"{schedule.name}: no length is declared")
    if schedule.layers == ():
        return skipped(f"{schedule.name}: no layer turns by this table")  # DeepSeek-V4-Pro's main
    if not finite(schedule):
        return unknown(schedule, "the table holds NaN or infinities", place(schedule, "inv_freq"))
    local = schedule.layer_type in LIMITED or model_type in ROTATES_LOCALLY
    if local and schedule.context.window is None:
        return passed(schedule)  # attention is local, its reach is just not stated
    found = _wraps(schedule, length, params)
    if found is None and schedule.rope_type == "default":
        found = _plain(schedule, length, model_type, params)
    elif found is None and schedule.rope_type not in NO_REACH:
        found = _scaled(schedule, length)
    return found or passed(schedule)


def _wraps(schedule: Schedule, length: int, params: Params) -> Outcome | None:
    slowest = min((abs(v) for v in schedule.inv_freq), default=0.0)
    if not slowest or schedule.variant in ("short", "long"):
        return None  # a still channel tells far from near; longrope lists are made for the length
    turns = slowest * length / TWO_PI
    if turns < params.max_turns:
        return None
    partial = schedule.head_dim is not None and schedule.rotary_dim < schedule.head_dim
    base = schedule.rope_theta
    cause = f"Base {about(base)}" if base else "The table"
    return _outcome(
        schedule,
        f"{cause} is too small for {about(length)} positions: the slowest of "
        f"{len(schedule.inv_freq)} channels makes {turns:.4g} turns, so every channel wraps.",
        {"turns_of_slowest": turns, "declared": length, "rope_theta": base},
        Severity.WARNING if partial else None,
        fix="Restore the base that the weights were trained with.",
        fields=("rope_theta", "inv_freq"),
    )


def _plain(schedule: Schedule, length: int, model_type: str, params: Params) -> Outcome | None:
    context, base = schedule.context, schedule.rope_theta or 0.0
    evidence = {"declared": length, "trained": context.trained, "rope_theta": base, "factor": None}
    if context.trained and not context.assumed and length > context.trained * AGREES:
        return _outcome(
            schedule,
            f"{about(length)} positions are declared and {about(context.trained)} stated as the "
            "original length, but the table is not scaled.",
            evidence,
            Severity.WARNING if length < 2 * context.trained else None,
        )
    trained, family = TRAINED_LENGTH.get((model_type, base), (0, ""))
    small = length >= params.long_from and base < params.base_per_position * length
    if not small and not (trained and length >= 2 * trained):
        return None
    evidence["trained"] = trained or None
    idle = {n: len(under_rotated(schedule.inv_freq, n)) for n in (length, trained) if n}
    counted = ", ".join(f"{c} at {about(n)}" for n, c in idle.items())
    twin = SCALED_TWIN.get((model_type, base))
    sibling = f"; {family} models with this base are trained at {about(trained)}" if trained else ""
    return _outcome(
        schedule,
        f"{about(length)} positions are declared with base {about(base)} and no scaling{sibling}"
        f"{'; this ' + twin if twin else ''}. Channels under one turn: {counted}. The trained "
        "length cannot be read from the file.",
        evidence | {"under_rotated": {str(n): c for n, c in idle.items()}},
        Severity.WARNING,
    )


def _scaled(schedule: Schedule, length: int) -> Outcome | None:
    original, factor = schedule.context.trained, number(schedule, "factor")
    if original is None or schedule.context.assumed or factor is None:
        return skipped(
            f"{schedule.name}: the {schedule.rope_type} scaling states no original length"
        )
    reach = factor * original
    llama3 = schedule.rope_type == "llama3"
    if length <= reach * (LLAMA3_ALLOWANCE if llama3 else 1.0) * AGREES:
        return None
    return _outcome(
        schedule,
        f"{about(length)} positions are declared, but the {schedule.rope_type} scaling covers "
        f"{about(factor)} x {about(original)} = {about(reach)}.",
        {"declared": length, "trained": original, "factor": factor, "covered": reach},
        Severity.WARNING if llama3 or length < 2 * reach else None,
        fix=f"Set factor to {about(length / original)}, or declare {about(reach)} positions.",
        fields=("factor", "max_position_embeddings", "original_max_position_embeddings"),
    )


def _outcome(
    schedule: Schedule,
    message: str,
    evidence: Mapping[str, object],
    severity: Severity | None,
    *,
    fix: str = FIX,
    fields: tuple[str, ...] = ("max_position_embeddings", "rope_scaling", "rope_theta"),
) -> Outcome:
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=schedule.name,
        message=message,
        evidence=evidence,
        location=place(schedule, *fields),
        fix=fix,
    )
