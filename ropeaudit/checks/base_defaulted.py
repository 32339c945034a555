"""No base in the file: the engine takes its own default.

**What it checks.** Whether a base (``rope_theta`` and its other spellings) stands in the input, and
where it does not, whether the default can be what the weights were trained with.

**Why it matters.** Most engines default to 10000 without a message. A model trained with 1e6 then
turns up to a hundred times too fast and repeats itself after a few words.

**Passes when.** The base is given; or the family's official files leave it out and its class
default is right (Falcon, ESM); or the schedule does not turn with token positions.

**Fails when.** The default contradicts what released models of the family use, or llama3 scaling
(made for 500,000) stands on 10000, or the file states an original length of ``long_from`` or more:
the rule's severity. A declared length of ``long_from`` or more is a warning, for it says little of
the training: Mistral's and DeepSeek's first models were trained with 10000 and declare 16,384 and
32,768. A scaled model trained at ``doubtful_from`` or more, and a base under a key that only the
model's own code reads, are warnings too. A short model that gets 10000, a layer that attends to a
short window, and a class default other than 10000 are information: Llama 2 ships so.

**Exactness.** The trained length is the original one where it is stated, else declared / factor for
linear scaling and for scalings without original length, else the declared one. An attention window
limits it.

**Options.** ``long_from`` (16,384) and ``doubtful_from`` (8,192), in positions.

**References.** Class defaults in ``transformers/models/*/configuration_*.py``; published configs.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks._lengths import number, passed, skipped, text
from ropeaudit.checks._practice import DEFAULT_IS_RIGHT, USUAL_BASE
from ropeaudit.checks._words import about
from ropeaudit.checks.interface import Case
from ropeaudit.errors import quoted
from ropeaudit.facts import Location, Observation, Oddity
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.keys import BASES

SLUG = "base-defaulted"
NEEDS = "subject"
COMMON_DEFAULT = 10_000.0
HIDDEN = ("rope_ratio", *BASES[1:])
"""Keys in which models with code of their own keep the base, or a factor on it."""


@record()
class Params:
    long_from: int = 16_384
    doubtful_from: int = 8_192


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each text schedule without a base of its own; bases have no unit."""
    found = [o for o in case.subject.observations if o.kind is Oddity.BASE_DEFAULTED]
    if not found:
        built = case.subject.built()
        yield passed() if built else skipped("no schedule is built from a config")
    for observation in found:
        yield from _judge(case, observation, params)


def _judge(case: Case, observation: Observation, params: Params) -> Iterator[Outcome]:
    base = observation.evidence.get("rope_theta")
    named = [s for s in case.subject.built() if observation.schedule in (None, s.name)]
    named = [s for s in named if base is None or s.rope_theta == base] or named
    concerned: dict[str, Schedule] = {}
    for schedule in text(named):
        if number(schedule, "effective_rope_theta") is None or not concerned:
            concerned.setdefault(f"{schedule.component}/{schedule.layer_type}", schedule)
    if named and not concerned:
        yield passed()  # vision towers leave their base to the class
        return
    schedules: list[Schedule | None] = [*concerned.values()] or [None]
    for each in schedules:
        yield _outcome(case, observation, each, params)


def _outcome(
    case: Case, observation: Observation, schedule: Schedule | None, params: Params
) -> Outcome:
    family = str(observation.evidence.get("model_type") or case.subject.model_type or "")
    base = observation.evidence.get("rope_theta")
    if not isinstance(base, int | float):
        base = schedule.rope_theta if schedule else None
    trained = _trained(schedule)
    known = observation.evidence.get("family_base")
    usual = float(known) if isinstance(known, int | float) else USUAL_BASE.get(family)
    elsewhere = _elsewhere(case, observation)
    severity, reason = _weigh(
        family, base, usual, schedule, trained, observation, elsewhere, params
    )
    if severity is Severity.INFO and family in DEFAULT_IS_RIGHT and reason == "":
        return passed(schedule)
    at = "" if trained is None else f" for {_of_length(schedule, trained)}"
    return Outcome(
        status=Status.FAIL,
        severity=None if severity is Severity.ERROR else severity,
        schedule=schedule.name if schedule else observation.schedule,
        message=f"No base is stated, so the default {about(base) if base else 'of the engine'} "
        f"is used{at}{reason}.",
        evidence={
            "expected": usual,
            "found": base,
            "trained": trained,
            "model_type": family or None,
        },
        location=observation.location or _file(case),
        fix=f"Write rope_theta as the weights were trained"
        f"{f' (released {family} models: {about(usual)})' if usual else ''}.",
    )


def _elsewhere(case: Case, observation: Observation) -> str | None:
    """A key that may hold the base, where the model is read by the common rules only.

    Code that comes with the model may well read it; an engine that knows the family does not.
    """
    if not any(o.kind is Oddity.GENERIC_READING for o in case.subject.observations):
        return None
    data = case.document.data if case.document else {}
    named = observation.evidence.get("elsewhere")
    return str(named) if named else next((k for k in HIDDEN if data.get(k) is not None), None)


def _file(case: Case) -> Location | None:
    """What is missing has no place of its own, but it is missing in a file."""
    files = case.subject.reading.files if case.subject.reading else ()
    return Location(file=files[0].path) if files else None


def _of_length(schedule: Schedule | None, trained: float) -> str:
    """What the length is: a window, a stated original length, or only what is declared."""
    context = schedule.context if schedule else None
    if context and context.window is not None and context.window <= trained:
        return f"layers that attend to {about(trained)} positions"
    said = "declared" if context and context.assumed else "trained"
    return f"a model {said} at {about(trained)} positions"


def _trained(schedule: Schedule | None) -> float | None:
    """The length whose positions the weights met, as far as the input tells it."""
    length = _length(schedule)
    window = schedule.context.window if schedule else None
    return length if length is None or window is None else min(length, float(window))


def _length(schedule: Schedule | None) -> float | None:
    if schedule is None or schedule.context.trained is None:
        return None
    factor = number(schedule, "factor")
    if schedule.context.assumed and factor and factor > 1 and schedule.rope_type != "dynamic":
        return schedule.context.trained / factor
    return float(schedule.context.trained)


def _weigh(
    family: str,
    base: float | None,
    usual: float | None,
    schedule: Schedule | None,
    trained: float | None,
    observation: Observation,
    elsewhere: str | None,
    params: Params,
) -> tuple[Severity, str]:
    """How grave the default is, and the reason as the end of a sentence."""
    if usual is not None and base is not None and base != usual:
        return Severity.ERROR, f"; released {family} models use {about(usual)}"
    if base is not None and base != COMMON_DEFAULT:
        return Severity.INFO, ", which is what the engine's code for this family takes"
    if elsewhere is not None:
        return Severity.WARNING, f"; {quoted(elsewhere)} is in the file, and its code may read it"
    if family in DEFAULT_IS_RIGHT:
        return Severity.INFO, ""
    if schedule is not None and schedule.rope_type == "llama3":
        return Severity.ERROR, "; llama3 scaling was made for 500,000"
    if trained is not None and trained >= params.long_from:
        stated = schedule is not None and not schedule.context.assumed
        grave = Severity.ERROR if stated else Severity.WARNING
        return grave, "; most models of that length use 100,000 or more"
    scaled = observation.evidence.get("scaled") is True
    if scaled and trained is not None and trained >= params.doubtful_from:
        return Severity.WARNING, "; 10000 is usual up to 4,096 positions"
    return Severity.INFO, ""
