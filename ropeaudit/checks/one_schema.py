"""The position values stand in one schema only, and some engines look for the other.

**What it checks.** Whether base and scaling are written where each engine looks for them: in
``rope_parameters`` (what transformers 5 saves) or in ``rope_theta`` and ``rope_scaling`` (what
everything before reads), and for CTranslate2 the base inside of ``rope_scaling``. It names the
engines that lose the values, among those that were asked for or else those in use.

**Why it matters.** An engine that looks for the other schema takes base 10,000 and no scaling, and
says nothing.

**Passes when.** No engine loses a value by it, whatever is written.

**Fails when.** One does: a warning. Where only the base is missing inside of a ``rope_scaling``, it
is information unless the engine is named. Skipped for files without a config.

**Exactness.** From what each engine passes over, by its own rules.

**Options.** None.

**References.** ``transformers/modeling_rope_utils.py`` (5.24, lines 775-884; 4.57).
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._engines import (
    Cause,
    Misreading,
    base_outside,
    evidence,
    listed,
    location,
    misreadings,
    new_schema,
    plural,
)
from ropeaudit.checks._lengths import passed, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "one-schema"
NEEDS = "views"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each schema that is missing, or one that passes."""
    if not case.beside.views:
        yield skipped(case.beside.why or "no engine was looked at")
        return
    found = misreadings(case)
    new = [m for m in found if m.cause is Cause.SCHEMA]
    inside = [m for m in found if m.cause is Cause.PLACE and m.words[0].startswith("base ")]
    if new:
        yield _new_only(case, new)
    if inside:
        yield _inside(case, inside)
    if not new and not inside:
        yield passed()


def _new_only(case: Case, lost: list[Misreading]) -> Outcome:
    names = [m.reader for m in lost]
    looks, loses = plural(names, "looks", "look"), plural(names, "loses", "lose")
    return Outcome(
        status=Status.FAIL,
        message=f"Position values stand only in rope_parameters, which transformers 5 saves; "
        f"{listed(names)} {looks} for rope_theta and rope_scaling, and {loses} them.",
        evidence=evidence(case, lost[0], names),
        location=location(case, new_schema(case)),
        fix="Write the values in both schemas: ropeaudit normalise shows the change, and makes it "
        "with --write.",
    )


def _inside(case: Case, lost: list[Misreading]) -> Outcome:
    names = [m.reader for m in lost]
    asked = any(m.asked for m in lost)
    return Outcome(
        status=Status.FAIL,
        severity=None if asked else Severity.INFO,
        message=f"The base stands beside rope_scaling; {listed(names)} "
        f"{plural(names, 'takes', 'take')} it from inside of it: {lost[0].words[0]}.",
        evidence=evidence(case, lost[0], names),
        location=location(case, base_outside(case)),
        fix="Write rope_theta inside rope_scaling too: ropeaudit normalise makes the change.",
    )
