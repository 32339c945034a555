"""Other dimensions of the head are paired, and no known conversion reorders the weights for it."""

from __future__ import annotations

from ropeaudit.diff.guess import guessed
from ropeaudit.diff.interface import Case
from ropeaudit.diff.kinship import bare_type
from ropeaudit.diff.law import is_bare
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

NAME = "pairing layout changed"
GRAVE = True


def detail(case: Case) -> str | None:
    if is_bare(case.a) or is_bare(case.b) or guessed(case.subject_a) or guessed(case.subject_b):
        return None
    a, b = layouts(case.a, case.subject_a), layouts(case.b, case.subject_b)
    if a & b or _one_model_in_two_formats(case.subject_a, case.subject_b):
        return None
    return (
        f"{case.a.pairing} pairs in A, {case.b.pairing} in B; right only if the rows of query and "
        "key were reordered to match"
    )


def layouts(schedule: Schedule, subject: Subject) -> frozenset[str]:
    """The layouts that mean the same model: conversions of some formats reorder the weights.

    GGUF converters do for some architectures; Hugging Face's do for checkpoints with a params.json.
    """
    found = {schedule.pairing}
    before = schedule.parameters.get("pairing_before_conversion")
    if isinstance(before, str):
        found.add(before)
    if schedule.pairing == "interleaved" and _is_params(subject):
        found.add("half")
    return frozenset(found)


def _one_model_in_two_formats(a: Subject, b: Subject) -> bool:
    """Whether a GGUF file has the architecture that is made for the other side's model type.

    Its layout then is what llama.cpp's code for that type expects, and the converter's business.
    """
    if (a.format == "gguf") == (b.format == "gguf"):
        return False
    return bare_type(a.model_type) == bare_type(b.model_type)


def _is_params(subject: Subject) -> bool:
    if subject.format == "params-json":
        return True
    document = subject.reading.document if subject.reading else None
    if document is None or subject.format not in ("hub", "module"):
        return False
    from ropeaudit.sources._config import flavour

    return flavour(document) == "params-json"
