"""Factor, original length and declared length that do not agree.

**What it checks.** For text schedules with a scaling that states an original length:
``factor * original`` against the declared length. For yarn, longrope and llama3 without one: the
engine then takes the declared length as original. For linear scaling, which has no original length:
the factor against a second length in the file (``max_sequence_length``). A declared length that
looks like a slip of the pen for a power of two (8096) is named.

**Why it matters.** Engines pick different ones of the three numbers. Older transformers replaced
the yarn factor by declared / original; servers multiply the declared length once more; without an
original length the yarn ramp sits at the extended length.

**Passes when.** The product is within 1 % of the declared length. llama3 scaling never satisfies it
(Llama 3.1: 65,536 against 131,072), and longrope lists do not follow from the factor, so both pass
when they state an original length.

**Fails when.** The original length is missing (the rule's severity), or the product differs
(warning). A declared length that still is the original one is information: that is how the yarn
recipes of model cards and vicuna's files are written.

**Exactness.** float64 products.

**Options.** ``tolerance`` (0.01), relative.

**References.** ``transformers/modeling_rope_utils.py`` (yarn, 4.55 and 5.24); Qwen model cards.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._lengths import number, passed, place, skipped, text
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Observation, Oddity, Origin
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

SLUG = "factor-length"
NEEDS = "schedule"
FREE = frozenset({"llama3", "longrope", "su"})
SLIPS = {8096: 8192, 16834: 16384, 32786: 32768, 65356: 65536, 131027: 131072, 130172: 131072}
TRAINED_KEYS = ("max_sequence_length",)


@record()
class Params:
    tolerance: float = 0.01


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule built from a config; variants of one law count once."""
    missing = [o for o in case.subject.observations if o.kind is Oddity.ORIGINAL_DEFAULTED]
    seen: set[tuple[str, str | None]] = set()
    for schedule in text(case.subject.schedules):
        key = schedule.component, schedule.layer_type
        if schedule.variant == "stored" or key in seen:
            continue
        seen.add(key)
        yield _judge(case, schedule, missing, params)
    if not seen:
        yield skipped("no text schedule is built from a config")


def _judge(case: Case, schedule: Schedule, missing: list[Observation], params: Params) -> Outcome:
    slip = SLIPS.get(schedule.context.declared or 0)
    if slip is not None:
        return _fail(
            schedule,
            f"max_position_embeddings {schedule.context.declared} looks like a slip for {slip}.",
            expected=slip,
            found=schedule.context.declared,
            severity=Severity.WARNING,
            fix=f"Write {slip} if that is what was meant.",
        )
    defaulted = next((o for o in missing if o.schedule in (None, schedule.name)), None)
    if defaulted is not None and schedule.rope_type in ("yarn", "longrope", "llama3"):
        return _original_missing(schedule, defaulted)
    if schedule.rope_type == "linear":
        return _linear(case, schedule, params)
    return _product(schedule, params)


def _original_missing(schedule: Schedule, observation: Observation) -> Outcome:
    length, factor = schedule.context.declared, number(schedule, "factor")
    likely = length / factor if length and factor and factor > 1 else None
    known = ""
    if length and factor and likely:
        known = f"; {about(length)} / {about(factor)} = {about(likely)} is likely"
    return Outcome(
        status=Status.FAIL,
        schedule=schedule.name,
        message=f"The {schedule.rope_type} scaling states no original_max_position_embeddings, so "
        f"the declared {about(length or 0)} takes its place{known}.",
        evidence={"expected": likely, "found": length, "factor": factor},
        location=observation.location or place(schedule, "factor", "rope_type"),
        fix="Write original_max_position_embeddings"
        + (f": {about(likely)}" if likely else "")
        + " into the scaling block.",
    )


def _linear(case: Case, schedule: Schedule, params: Params) -> Outcome:
    length, factor = schedule.context.declared, number(schedule, "factor")
    data = case.document.data if case.document else {}
    other = next((data[k] for k in TRAINED_KEYS if isinstance(data.get(k), int)), None)
    if not length or not factor or factor == 1 or not other or other <= length:
        return skipped(f"{schedule.name}: linear scaling states no original length")
    if abs(factor * length / other - 1) <= params.tolerance:
        return passed(schedule)
    return _fail(
        schedule,
        f"Linear factor {about(factor)} x {about(length)} = {about(factor * length)}, but "
        f"max_sequence_length is {about(other)}.",
        expected=other / length,
        found=factor,
        severity=Severity.WARNING,
        fix=f"Check the factor; {about(other / length)} would agree.",
    )


def _product(schedule: Schedule, params: Params) -> Outcome:
    context, factor = schedule.context, number(schedule, "factor")
    if factor is None or context.trained is None or context.assumed:
        return skipped(f"{schedule.name}: no scaling with an original length")
    if context.declared is None:
        return skipped(f"{schedule.name}: no length is declared")
    product = factor * context.trained
    implied = context.declared / context.trained
    derived = (fact := schedule.fact("factor")) and fact.origin in (Origin.DERIVED, Origin.DEFAULT)
    if schedule.rope_type in FREE or derived:
        return passed(schedule)
    if abs(product / context.declared - 1) <= params.tolerance:
        return passed(schedule)
    original = context.declared == context.trained
    return _fail(
        schedule,
        f"Factor {about(factor)} x original {about(context.trained)} = {about(product)}, but "
        f"{about(context.declared)} positions are declared"
        + (", which is the original length." if original else ".")
        + f" Readers that divide the lengths use a factor of {about(implied)}.",
        expected=product,
        found=context.declared,
        severity=Severity.INFO if original else Severity.WARNING,
        fix=f"Declare {about(product)} positions, or set factor to {about(implied)}.",
    )


def _fail(
    schedule: Schedule,
    message: str,
    *,
    expected: float | None,
    found: float | None,
    severity: Severity,
    fix: str,
) -> Outcome:
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=schedule.name,
        message=message,
        evidence={"expected": expected, "found": found, "factor": number(schedule, "factor")},
        location=place(
            schedule, "factor", "original_max_position_embeddings", "max_position_embeddings"
        ),
        fix=fix,
    )
