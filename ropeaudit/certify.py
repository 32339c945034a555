"""The pipeline of ``prove``: target -> schedules -> claims -> certificate; and its check."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ropeaudit.errors import SourceError, UsageError
from ropeaudit.proofs._claims import REQUIRED, known, selected
from ropeaudit.proofs.certificate import Certificate, Part, assemble, prove
from ropeaudit.records import replace
from ropeaudit.resolve import attempt, failed, read_files
from ropeaudit.schedule.subject import Problem, Subject
from ropeaudit.sources._digests import differences, inputs
from ropeaudit.verifier import Result, verify


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
        return part, list(inputs(subject.reading)) if subject.reading and part.exhibits else []
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


def check(text: str, targets: Iterable[str], *, offline: bool = False) -> Result:
    """Verifies a certificate, and that the files of ``targets`` are those that it is about.

    Raises SourceError where a target cannot be read.
    """
    result = verify(text)
    if result.kind != "verified":
        return result
    entries = json.loads(text)["inputs"]
    for target in targets:
        reading = read_files(target, offline=offline)
        said = differences(reading, _meant(entries, target, [f["file"] for f in inputs(reading)]))
        if said:
            return Result("refused", "; ".join(said))
    return result


def _meant(
    entries: Sequence[Mapping[str, Any]], target: str, files: Sequence[str]
) -> list[Mapping[str, Any]]:
    """Entries of the certificate's target that ``target`` stands for on this machine.

    That is the one of the same name; else the one (of several, the first) whose files are named
    alike, since a copy of a model may lie anywhere; else, where there is one only, that one.
    """
    by_target: dict[str, list[Mapping[str, Any]]] = {}
    for entry in entries:
        by_target.setdefault(entry["target"], []).append(entry)
    if target in by_target:
        return by_target[target]
    alike = [own for own in by_target.values() if sorted(files) == sorted(e["file"] for e in own)]
    found = alike or (list(by_target.values()) if len(by_target) == 1 else [[]])
    return found[0]
