"""A claim about the schedule is not proved.

What it checks
    One claim of ``ropeaudit prove`` about each schedule: ``form`` (every value lies within a few
    steps of the closed form that the config states), ``distinct`` (no two channels are equal as
    real numbers), ``relations``, ``geometric`` or ``aliasing``.

Why it matters
    A float table suggests; exact arithmetic decides. Where ``form`` holds, what is proved of the
    closed form is true of what the engine computes, up to a known number of steps.

Passes when
    The claim is proved.

Fails when
    The claim is refuted; the evidence is the witness. Not an error where the law itself is why:
    yarn and llama3 are not geometric by design.

Exactness
    Exact rational arithmetic, unique factorisation and, where pi or logarithms enter, certified
    enclosures whose precision is raised until they decide. Unknown where nothing states a closed
    form (a bare table), where a theorem is missing, or where the enclosures did not decide.

Options
    claim: the claim that is required (default form). ulp: steps of its own format that a value may
    lie off its closed form (default 8).

References
    docs/exactness.md.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._spectrum import VECTORS, and_more, counted, place, skipped, spectra
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity
from ropeaudit.findings import Status as Verdict
from ropeaudit.proofs._claims import claims, known
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.proofs.stated import exhibits
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

SLUG = "proved"
NEEDS = "schedule"


@record()
class Params:
    claim: str = "form"
    ulp: int = 8


def run(case: Case, params: Params) -> Iterator[Outcome]:
    (name,) = known([params.claim])
    learned = {s.schedule.name: s for s in spectra(case) if s.learned}
    for exhibit in _exhibits(case, params.ulp):
        if exhibit.schedule.name in learned:
            yield skipped(VECTORS, learned[exhibit.schedule.name])
            continue
        (claim,) = claims(exhibit, [name])
        yield _judge(claim, exhibit)


def _exhibits(case: Case, ulp: int) -> list[Exhibit]:
    """Exact forms, once a run: several rules ask for claims about the same ones."""
    key = ("exhibits", ulp, *map(id, case.subject.schedules))
    if key not in case.memo:
        case.memo[key] = exhibits(case.subject, ulp)
    found: list[Exhibit] = case.memo[key]
    return found


def _judge(claim: Claim, exhibit: Exhibit) -> Outcome:
    schedule = exhibit.schedule
    if claim.status is Status.PROVED:
        return Outcome(status=Verdict.PASS, schedule=schedule.name)
    where = place(schedule, *_PLACES.get(claim.claim, ()))
    if claim.status is Status.UNDECIDED:
        reason = str(claim.evidence.get("reason") or claim.method).rstrip(".")
        return Outcome(
            status=Verdict.UNKNOWN,
            schedule=schedule.name,
            message=f"The claim '{claim.claim}' is undecided: {reason[:1].lower()}{reason[1:]}.",
            evidence=_short(claim),
            location=where,
        )
    by_design = claim.claim == "geometric" and _bent(exhibit)
    return Outcome(
        status=Verdict.FAIL,
        schedule=schedule.name,
        severity=Severity.INFO if by_design else None,
        message=_said(claim, schedule),
        evidence=_short(claim),
        location=where,
    )


_PLACES = {"form": ("inv_freq",), "distinct": ("rope_theta",)}
_STRAIGHT = frozenset({"default", "linear", "dynamic", "ntk_alpha", "ntk_fixed", "proportional"})
"""Laws whose closed form is geometric; refuted for one of these, a parameter is odd."""


def _bent(exhibit: Exhibit) -> bool:
    return exhibit.form is not None and exhibit.form.law not in _STRAIGHT


def _said(claim: Claim, schedule: Schedule) -> str:
    evidence = claim.evidence
    if claim.claim == "form":
        over = [k for k, ulp in enumerate(evidence["ulp"]) if _above(ulp, evidence["tolerance"])]
        verb = "lies" if len(over) == 1 else "lie"
        return (
            f"{len(over)} of {len(schedule.inv_freq)} values {verb} more than "
            f"{evidence['tolerance']} {evidence['dtype']} steps off the closed form, the most by "
            f"{_steps(evidence['max_ulp'])} at channel {evidence['channel']}."
        )
    if claim.claim == "distinct":
        sets = evidence["duplicates"]
        more = and_more(len(sets) - 1, "such set")
        return f"The closed forms of {counted(sets[0])} are equal as real numbers{more}."
    if claim.claim == "aliasing":
        i, j = evidence["pairs"][0]
        more = and_more(len(evidence["pairs"]) - 1, "such pair")
        return f"Channels {i} and {j} agree at every integer position{more}."
    if claim.claim == "geometric":
        first = evidence.get("first")
        at = "" if first is None else f": the ratio to the next changes first at channel {first}"
        return f"The closed form is not geometric{at}."
    if "clusters" in evidence:
        sets = evidence["clusters"]
        more = and_more(len(sets) - 1, "such set")
        held = claim.claim.partition(":")[2]
        return f"In {held} {counted(sets[0])} hold one value{more}."
    return f"The claim '{claim.claim}' is refuted."


def _above(ulp: float | str, tolerance: int) -> bool:
    return isinstance(ulp, str) or ulp > tolerance


def _steps(ulp: float | str) -> str:
    return "infinitely many" if isinstance(ulp, str) else f"{ulp:.6g}"


def _short(claim: Claim) -> dict[str, object]:
    """The evidence without what is as long as the table."""
    return {k: v for k, v in claim.evidence.items() if k not in ("ulp", "terms")}
