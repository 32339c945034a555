"""A scaling that is declared and changes nothing.

**What it checks.** Schedules whose type is a scaling and whose table still equals the unscaled one,
and what the reader noticed: a scaling that the engine does not apply (a flat block on a model with
two schedules, tensors that the file should hold and does not), or a block without a type, whose
factor is then dead.

**Why it matters.** The model runs unscaled beyond its trained length, and nothing says so.

**Passes when.** The scaling changes the table, or changes cos and sin.

**Fails when.** It does not. By design, and so information: dynamic scaling, which is idle up to the
declared length; any scaling with factor 1; a longrope list of ones for short texts passes without
a word. A key of the block that alone is not applied (``truncate``) is a warning. Unknown when the
unscaled table is not known.

**Exactness.** Exact equality of float32 tables.

**Options.** None.

**References.** ``transformers/modeling_rope_utils.py`` (5.24): ``standardize_rope_params``.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._lengths import UNSCALED, number, passed, place, skipped, unknown
from ropeaudit.checks._words import about, sentence
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Observation, Oddity
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

SLUG = "scaling-no-effect"
NEEDS = "subject"
DETAILS = frozenset({"truncate", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"})
"""Keys that shape a scaling: losing one bends the table, losing the factor loses the scaling."""


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each scaled schedule and each remark of the reader."""
    remarks = [_remark(o) for o in case.subject.observations if o.kind in _REMARKS]
    yield from remarks
    seen: set[tuple[str, str | None]] = set()
    judged = 0
    for schedule in case.subject.built():
        key = schedule.component, schedule.layer_type
        dynamic = schedule.rope_type == "dynamic"
        if schedule.rope_type in UNSCALED or (dynamic and key in seen):
            continue
        seen.add(key)
        judged += 1
        yield _judge(schedule)
    if not remarks and not judged:
        yield skipped("no scaling is declared")


_REMARKS = (Oddity.NOT_APPLIED, Oddity.TYPE_MISSING)


def _remark(observation: Observation) -> Outcome:
    """Severity by what is lost: a factor of 1 is no loss, a detail of the ramp is a lesser one."""
    evidence = observation.evidence
    factor = evidence.get("factor")
    key = str(evidence.get("key") or (observation.location and observation.location.pointer) or "")
    severity: Severity | None = None
    untyped = observation.kind is Oddity.TYPE_MISSING and "factor" in evidence and factor is None
    if isinstance(factor, int | float) and factor == 1:
        severity = Severity.INFO
    elif untyped or key.rsplit("/", 1)[-1] in DETAILS:
        severity = Severity.WARNING
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=observation.schedule,
        message=sentence(observation.message),
        evidence=dict(evidence),
        location=observation.location,
        fix="Add rope_type to the block."
        if observation.kind is Oddity.TYPE_MISSING
        else "Write the scaling where the engine looks for it.",
    )


def _judge(schedule: Schedule) -> Outcome:
    grown = number(schedule, "effective_rope_theta")
    if schedule.rope_type == "ntk_alpha" and grown is not None and grown != schedule.rope_theta:
        return passed(schedule)  # the law changes the base, whatever the table was before
    if schedule.unscaled is None:
        return unknown(
            schedule,
            "the table before scaling is not known, so the effect of "
            f"{schedule.rope_type} cannot be told",
            place(schedule, "rope_type", "factor"),
        )
    if schedule.inv_freq != schedule.unscaled or schedule.variant == "short":
        return passed(schedule)
    factor = number(schedule, "factor")
    length = schedule.context.declared
    if schedule.rope_type == "dynamic":
        until = f" up to {about(length)} positions" if length else ""
        grows = "" if factor != 1 else ", and with factor 1 grows the base only beyond"
        message, severity = f"Dynamic scaling is idle{until}{grows}.", Severity.INFO
        fix = "Nothing to mend."
    elif factor == 1:
        message = f"The {schedule.rope_type} scaling with factor 1 changes nothing."
        severity, fix = Severity.INFO, "Remove the block, or set the factor that was meant."
    elif schedule.attention_scaling != 1:
        return passed(schedule)
    else:
        return _idle(schedule, factor)
    return _fail(schedule, message, severity, fix)


def _idle(schedule: Schedule, factor: float | None) -> Outcome:
    trained, length = schedule.context.trained, schedule.context.declared
    beyond = trained is not None and length is not None and length > trained
    known = "" if factor is None else f" by {about(factor)}"
    reach = f" and {about(length or 0)} positions are declared" if beyond else ""
    return _fail(
        schedule,
        f"The {schedule.rope_type} scaling{known} is declared, but the table equals the unscaled "
        f"one{reach}.",
        None if beyond else Severity.WARNING,
        "Check the parameters of the scaling: its bounds leave every channel untouched.",
    )


def _fail(schedule: Schedule, message: str, severity: Severity | None, fix: str) -> Outcome:
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=schedule.name,
        message=message,
        evidence={"factor": number(schedule, "factor"), "rope_type": schedule.rope_type},
        location=place(schedule, "factor", "rope_type", "rope_theta"),
        fix=fix,
    )
