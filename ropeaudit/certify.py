"""The pipeline of ``prove``: target -> schedules -> claims -> certificate; and its check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ropeaudit.errors import SourceError, UsageError, quoted_path
from ropeaudit.proofs._agreement import disagreements
from ropeaudit.proofs._claims import REQUIRED, known, selected
from ropeaudit.proofs._encoding_entries import disagreements as encodings_disagree
from ropeaudit.proofs.certificate import (
    Certificate,
    Part,
    assemble,
    encodings_stated_by,
    prove,
    stated_by,
)
from ropeaudit.proofs.interface import Status
from ropeaudit.records import replace
from ropeaudit.resolve import attempt, failed
from ropeaudit.schedule.subject import Problem, Subject
from ropeaudit.sources._digests import differences, inputs
from ropeaudit.verifier import Result, verify

_HINT = "a certificate made with --context or --override is compared with the same ones"


def certify(
    targets: Iterable[Any],
    *,
    ulp: int = 8,
    require: Iterable[str] = (),
    candidates: bool = False,
    **options: Any,
) -> Certificate:
    """The certificate of all targets; ``options`` are those of ``resolve``.

    Raises UsageError for a required claim that nobody makes, before any target is read.
    """
    names = selected(require, candidates=candidates)
    subjects = _apart(attempt(target, **options) for target in _once(targets))
    made = [_part(subject, names, ulp) for subject in subjects]
    return assemble((part for part, _ in made), (entry for _, own in made for entry in own))


def _once(targets: Iterable[Any]) -> list[Any]:
    """Paths that were named twice are proved once; two live modules are two."""
    seen: set[str] = set()
    return [t for t in targets if not isinstance(t, str) or not (t in seen or seen.add(t))]  # type: ignore[func-returns-value]


def _apart(subjects: Iterable[Subject]) -> Iterator[Subject]:
    """A certificate tells targets apart by name, and live modules are named by their class."""
    seen: Counter[str] = Counter()
    for subject in subjects:
        seen[subject.target] += 1
        count = seen[subject.target]
        yield subject if count == 1 else replace(subject, target=f"{subject.target} #{count}")


def _part(subject: Subject, names: Sequence[str], ulp: int) -> tuple[Part, list[dict[str, Any]]]:
    """The claims about one target and the digests of its files; a fault of ours is its error."""
    if subject.error is not None:
        return Part(subject=subject), []
    try:
        part = prove(subject, names, ulp=ulp)
        return part, list(inputs(subject.reading)) if subject.reading and not part.is_empty else []
    except SourceError as error:
        problem = Problem(error.kind, str(error), error.where)
        return Part(subject=replace(subject, error=problem)), []
    except Exception as error:
        return Part(subject=failed(subject.target, error)), []


def required_claims(names: Iterable[str]) -> tuple[str, ...]:
    """Claims out of comma lists, by default form and distinct; raises UsageError for unknown ones.

    Lists without any name are an error: a gate that asks for nothing is always open.
    """
    lists = list(names)
    if not lists:
        return REQUIRED
    found = known(n for text in lists for part in text.split(",") if (n := part.strip()))
    if not found:
        raise UsageError("--require names no claim; leave it out for form and distinct")
    return found


def check(text: str, targets: Iterable[str], **options: Any) -> Result:
    """Verifies a certificate, and that it is about ``targets``: their files and their schedules.

    ``options`` are those of ``resolve``, as they were when the certificate was made. Raises
    SourceError where a target cannot be read.
    """
    result = verify(text)
    names = _once(targets)
    if result.kind not in ("verified", "stated") or not names:
        return result
    document = json.loads(text)
    own = Counter(claim["status"] for claim in document["claims"])
    message = (
        f"digest and {own.total()} claims verified: "
        + ", ".join(f"{own[s.value]} {s.value}" for s in Status)
        if own or not result.as_stated
        else "digest verified"
    )
    met: set[str | None] = set()
    tail = ""
    for target in names:
        name, said = _strange(document, target, options)
        if said:
            return Result("refused", "; ".join(said))
        met.add(name)
        tail += f"; {quoted_path(target)} has the same files and gives the same {_things(document)}"
    again = Counter(
        claim["status"]
        for entry in document.get("encodings", ())
        if entry["target"] in met
        for claim in entry["claims"]
    )
    left = result.as_stated - again.total()
    if again:
        message += f"; {again.total()} claims about encodings decided again: "
        message += ", ".join(f"{again[s.value]} {s.value}" for s in Status)
    if left:
        message += f"; {left} claims about encodings of other targets are taken as stated"
    counts = {s.value: own[s.value] + again[s.value] for s in Status}
    kind = "verified" if own or again or not left else "stated"
    return Result(
        kind,
        message + tail,
        counts["proved"],
        counts["refuted"],
        counts["undecided"],
        left,
    )


def _things(document: Mapping[str, Any]) -> str:
    named = [n for n in ("schedules", "encodings") if document.get(n)]
    return " and ".join(named) or "schedules"


def _strange(
    document: Mapping[str, Any], target: str, options: Mapping[str, Any]
) -> tuple[str | None, list[str]]:
    """Whom ``target`` stands for, and how it differs from what the certificate is about."""
    subject = attempt(target, **options)
    reading = subject.reading
    if reading is None:
        raise SourceError(_problem(subject))
    meant = {
        name: differences(reading, [e for e in document["inputs"] if e["target"] == name])
        for name in _meant(document, target, [entry["file"] for entry in inputs(reading)])
    }
    name, said = min(meant.items(), key=lambda found: bool(found[1]))
    if said:
        return name, said
    if subject.error is not None:
        raise SourceError(_problem(subject))
    held = {s["name"]: s for s in document["schedules"] if s["target"] == name}
    ulp = max((s["tolerance"] for s in held.values()), default=0)
    about = f"the certificate is not about {quoted_path(target)}"
    said = [f"{about}: {d}" for d in disagreements(held, stated_by(subject, ulp))]
    encodings = [e for e in document.get("encodings", ()) if e["target"] == name]
    own = encodings_stated_by(subject)
    said += [f"{about}: {d}" for d in encodings_disagree(encodings, own)]
    return name, said[:1] + ([_HINT] if said else [])


def _problem(subject: Subject) -> str:
    return subject.error.message if subject.error else "the target cannot be read"


def _meant(document: Mapping[str, Any], target: str, files: Sequence[str]) -> Sequence[str | None]:
    """Names of the certificate's targets that ``target`` may stand for on this machine.

    That is the one of the same name; else those whose files are named alike, since a copy of a
    model may lie anywhere; else, where there is one only, that one. None for no target.
    """
    parts = (*document["schedules"], *document.get("encodings", ()))
    by_target: dict[str, list[str]] = {s["target"]: [] for s in parts}
    for entry in document["inputs"]:
        by_target.setdefault(entry["target"], []).append(entry["file"])
    if target in by_target:
        return [target]
    alike = [name for name, own in by_target.items() if own and sorted(files) == sorted(own)]
    only = list(by_target) if len(by_target) == 1 else [None]
    return alike or only
