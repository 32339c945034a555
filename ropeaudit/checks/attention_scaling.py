"""The factor on cos and sin: missing, or not what the method prescribes.

**What it checks.** For each schedule the factor that multiplies cos and sin against its method:
yarn ``0.1 ln s + 1`` (or the ratio of two such terms with ``mscale`` and ``mscale_all_dim``),
longrope ``sqrt(1 + ln s / ln L)`` with the original length L, and 1 for every other type. A table
that is held live or stored with a factor of its own is compared with the config's.

**Why it matters.** The factor enters every logit squared. It does not show in the frequencies, so a
comparison of tables does not find it: yarn by 64 without it makes all scores half as sharp.

**Passes when.** The factor is the prescribed one to ``tolerance``.

**Fails when.** It differs. An explicit value in the file must be honoured, so an explicit
difference is information, unless it equals the scaling factor itself or is not a positive number
(the rule's severity), or is above ``plausible`` or below its reciprocal (warning). A factor that
comes from two mscale terms, from ``apply_scale: false``, or that longrope applies to short texts
too is information, because other readers miss it. Unknown when the scaling factor is not known.

**Exactness.** float64; compared relatively.

**Options.** ``tolerance`` (1e-4). ``plausible`` (2): no published model has a larger factor.

**References.** Peng et al., 2309.00071, section 3.4; Ding et al., 2402.13753, section 3.3;
``transformers/modeling_rope_utils.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks._lengths import number, passed, place, skipped, stated, unknown
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.facts import Origin
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32

SLUG = "attention-scaling"
NEEDS = "schedule"
LONGROPE_FAMILIES = ("phi3", "phi4", "phimoe")


@record()
class Params:
    tolerance: float = 1e-4
    plausible: float = 2.0


@record()
class Rule:
    """What a method prescribes: the value, how it is written, None for unknown inputs."""

    value: float | None
    formula: str


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each schedule whose factor is known."""
    judged = [s for s in case.subject.schedules if _has_factor(s)]
    if not judged:
        yield skipped("no schedule has a factor on cos and sin")
    for schedule in judged:
        if schedule.variant == "stored":
            yield _against_config(case, schedule, params)
        else:
            yield _judge(schedule, case.subject.model_type or "", params)


def prescribed(schedule: Schedule, model_type: str = "") -> Rule:
    """The factor that the schedule's method gives when the file names none."""
    if schedule.rope_type == "yarn":
        factor = number(schedule, "factor")
        if factor is None or factor <= 0:
            return Rule(None, "0.1 ln s + 1")
        return Rule(1.0 if factor <= 1 else 0.1 * math.log(factor) + 1, "0.1 ln s + 1")
    if schedule.rope_type in ("longrope", "su"):
        original = number(schedule, "original_max_position_embeddings") or schedule.context.trained
        return _longrope(number(schedule, "factor"), original)
    trained, declared = schedule.context.trained, schedule.context.declared
    unscaled = schedule.rope_type == "default" and trained and declared and declared > trained
    if unscaled and model_type.startswith(LONGROPE_FAMILIES):
        return _longrope((declared or 1) / (trained or 1), trained)
    return Rule(1.0, "1 (no factor)")


def _longrope(factor: float | None, original: float | None) -> Rule:
    formula = "sqrt(1 + ln s / ln L)"
    if factor is None or original is None or original <= 1:
        return Rule(None, formula)
    return Rule(
        1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original)), formula
    )


def _has_factor(schedule: Schedule) -> bool:
    return schedule.variant != "stored" or schedule.fact("attention_scaling") is not None


def _judge(schedule: Schedule, model_type: str, params: Params) -> Outcome:
    found = schedule.attention_scaling
    explicit = stated(schedule, "attention_factor")
    rule = prescribed(schedule, model_type)
    factor = number(schedule, "factor")
    if not 0 < f32(found) < math.inf:  # cos and sin, and with them every score
        return _fail(schedule, f"The factor on cos and sin is {found}.", rule.value, None)
    if factor is not None and factor > 1.5 and _near(found, factor, params.tolerance):
        message = (
            f"The factor on cos and sin is {about(found)}, which is the scaling factor itself; "
            f"{schedule.rope_type} prescribes {rule.formula}"
        )
        known = f" = {about(rule.value)}" if rule.value else ""
        return _fail(schedule, f"{message}{known}.", rule.value, None)
    if rule.value is None:
        return unknown(
            schedule,
            f"the {schedule.rope_type} scaling factor or original length is not known, so the "
            "factor on cos and sin cannot be checked",
            place(schedule, "factor", "rope_type"),
        )
    if _near(found, rule.value, params.tolerance):
        return _as_prescribed(schedule, rule)
    if found == 1 and _near(schedule.softmax_scale, rule.value**2, params.tolerance):
        return passed(schedule)  # latent attention carries it on the logits, squared
    return _differs(schedule, rule, explicit, params)


def _as_prescribed(schedule: Schedule, rule: Rule) -> Outcome:
    if schedule.variant != "short" or rule.value == 1:
        return passed(schedule)
    return _fail(
        schedule,
        f"Cos and sin are multiplied by {schedule.attention_scaling:.6f} for short texts too; a "
        "reader that leaves it out gets softer scores.",
        rule.value,
        Severity.INFO,
        fix="Nothing to mend; check that the engine applies it.",
    )


def _differs(schedule: Schedule, rule: Rule, explicit: bool, params: Params) -> Outcome:
    found, wanted = schedule.attention_scaling, rule.value or 1.0
    usual = f"{schedule.rope_type} prescribes {rule.formula} = {wanted:.6g}"
    tops = number(schedule, "mscale"), number(schedule, "mscale_all_dim")
    switch, own = schedule.fact("apply_scale"), schedule.fact("attention_factor")
    if explicit:
        usual_size = 1 / params.plausible <= found <= params.plausible
        severity = Severity.INFO if usual_size else Severity.WARNING
        message = f"An explicit attention factor of {found:.6g} stands in the file; {usual}."
        fix = "Keep it if the model was trained so; every engine must honour it."
    elif schedule.rope_type == "yarn" and all(tops):
        severity = Severity.INFO
        message = f"The factor {found:.6g} is the ratio of two mscale terms; {usual}."
        fix = "Nothing to mend; check that the engine reads mscale and mscale_all_dim."
    elif switch is not None and switch.value is False and found == 1:
        severity = Severity.INFO
        message = f"apply_scale is false, so cos and sin are not multiplied; {usual}."
        fix = "Nothing to mend; a converted config needs attention_factor 1.0."
    elif own is not None and own.origin is Origin.DEFAULT and own.value == found:
        severity = Severity.INFO
        message = f"The code of this model type sets the factor to {found:.6g}; {usual}."
        fix = "Nothing to mend; check that the engine knows this model type."
    else:
        return _fail(
            schedule,
            f"Cos and sin are multiplied by {found:.6g}; {usual}. Logits change by the square, "
            f"{about((found / wanted) * (found / wanted))}.",
            wanted,
            None,
        )
    return _fail(schedule, message, wanted, severity, fix=fix)


def _against_config(case: Case, schedule: Schedule, params: Params) -> Outcome:
    """A live or stored factor against those of the schedules built for the same component."""
    built = [s for s in case.subject.built() if s.component == schedule.component]
    same = [s for s in built if s.layer_type == schedule.layer_type] or built
    if not same:
        return skipped(f"{schedule.name}: no config to compare its factor with")
    found = schedule.attention_scaling
    nearest = min(same, key=lambda s: abs(s.attention_scaling - found))
    if _near(found, nearest.attention_scaling, params.tolerance):
        return passed(schedule)
    return _fail(
        schedule,
        f"The live factor on cos and sin is {found:.6g}, the config means "
        f"{nearest.attention_scaling:.6g}.",
        nearest.attention_scaling,
        None,
        fix="Rebuild the rotary module from the config.",
    )


def _near(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance * abs(b)


def _fail(
    schedule: Schedule,
    message: str,
    expected: float | None,
    severity: Severity | None,
    *,
    fix: str | None = None,
) -> Outcome:
    wanted = "remove attention_factor" if expected is None else f"set it to {expected:.6g}"
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=schedule.name,
        message=message,
        evidence={"expected": expected, "found": schedule.attention_scaling},
        location=place(
            schedule, "attention_scaling", "attention_factor", "mscale", "factor", "rope_type"
        ),
        fix=fix or f"Remove attention_factor, or {wanted}.",
    )
