"""What a program calls: audit, read, compare or prove anything, refuse a wrong schedule."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ropeaudit.audit import Bound, Options, audit_subject, audit_targets, bind
from ropeaudit.errors import SourceError, UnsafeScheduleError, UsageError, quoted
from ropeaudit.facts import MAX_LENGTH
from ropeaudit.findings import Finding, Severity, Status, Verdict
from ropeaudit.packs import load_pack
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import Report, SubjectReport

if TYPE_CHECKING:
    from ropeaudit.diff.interface import Comparison
    from ropeaudit.perturb.variant import Variant
    from ropeaudit.proofs.certificate import Certificate

MAX_LINES = 8
"""Findings that the message of ``assert_safe`` lists; the report holds all."""
MAX_MESSAGE = 300
_NOTHING: Mapping[str, str] = {}


def audit(
    *targets: Any,
    rules: str | Iterable[str] = "core",
    fail_on: str | Severity = "error",
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    encoding: Mapping[str, str] = _NOTHING,
    allow_unknown: bool = False,
    offline: bool = False,
) -> Report:
    """Audit paths, ``hf:org/name[@revision]`` ids and live ``torch.nn.Module`` objects.

    ``rules``: names or paths of packs; ``contexts``: a length, or lengths, in positions to judge at
    besides the trained and the declared one; ``overrides``: ``KEY=VALUE`` or JSON texts (or one of
    them), as an engine would be given; ``readers``: engines to judge for, such as ``vllm``, or
    ``all``; ``encoding``: what the file of a learned encoding leaves open, such as ``{"grid":
    "14x14"}``. A target that cannot be read is a subject with ``error`` set, and the others are
    audited all the same. Raises UsageError for wrong arguments and PackError for a wrong pack.
    """
    options = Options(
        packs=_names(rules),
        fail_on=_severity(fail_on),
        allow_unknown=allow_unknown,
        contexts=_lengths(contexts),
        overrides=_texts(overrides),
        readers=_engines(readers),
        encoding=_stated(encoding),
        offline=offline,
    )
    return audit_targets([_target(t) for t in targets], options)


def read(
    target: Any,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    encoding: Mapping[str, str] = _NOTHING,
    offline: bool = False,
) -> Subject:
    """The schedules of one target, as ``audit`` would judge them; arguments as there.

    ``error`` is set where the target cannot be read. Raises UsageError for wrong arguments.
    """
    return resolve(
        _target(target),
        contexts=_lengths(contexts),
        overrides=_texts(overrides),
        readers=_engines(readers),
        encoding=_stated(encoding),
        offline=offline,
    )


def diff(
    a: Any,
    b: Any,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    ulp: int | None = None,
    encoding: Mapping[str, str] = _NOTHING,
    fail_on: str | Severity = "info",
    allow_unknown: bool = False,
    offline: bool = False,
) -> Comparison:
    """Compare the schedules of two targets, ``b`` against ``a``; targets as in ``audit``.

    ``contexts``: lengths in positions to take the phase drift at, instead of the trained one;
    ``overrides``: texts as for ``audit``, for one side with ``a:`` or ``b:`` in front; ``ulp``:
    float32 steps that count as equivalent, by default 4, and 16 between tables of different
    arithmetic; ``encoding``: as for ``audit``, for both sides. ``fail_on`` and ``allow_unknown``
    decide ``exit_code`` alone. A target that cannot be read is a subject with ``error`` set. Raises
    UsageError for wrong arguments.
    """
    from ropeaudit.diff import compare

    if ulp is not None and (isinstance(ulp, bool) or not isinstance(ulp, int) or ulp < 0):
        raise UsageError(f"ulp is {quoted(ulp)}, expected a whole number of steps, such as 4")
    options = compare.Options(
        contexts=_lengths(contexts),
        overrides=_texts(overrides),
        ulp=ulp,
        encoding=(_stated(encoding),) * 2,
        fail_on=_severity(fail_on),
        allow_unknown=allow_unknown,
        offline=offline,
    )
    return compare.compare_targets(_target(a), _target(b), options)


def prove(
    *targets: Any,
    ulp: int = 8,
    require: str | Iterable[str] = (),
    candidates: bool = False,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    encoding: Mapping[str, str] = _NOTHING,
    offline: bool = False,
) -> Certificate:
    """Decide every claim about every schedule of the targets; targets as in ``audit``.

    ``ulp``: steps of its own format that a stored value may be off the closed form. ``require``:
    claims that are made in any case; ``candidates``: also search for small integer relations, which
    takes seconds and proves nothing. A target that cannot be read is a part with an error, and the
    others are worked on all the same. Raises UsageError for wrong arguments.
    """
    from ropeaudit.certify import certify

    if isinstance(ulp, bool) or not isinstance(ulp, int) or ulp < 0:
        raise UsageError(f"ulp is {quoted(ulp)}, expected a whole number of steps, such as 8")
    return certify(
        [_target(t) for t in targets],
        ulp=ulp,
        require=_several(require, str, "require", "names of claims"),
        candidates=candidates,
        contexts=_lengths(contexts),
        overrides=_texts(overrides),
        encoding=_stated(encoding),
        offline=offline,
    )


def perturb(
    target: Any,
    recipe: str,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    encoding: Mapping[str, str] = _NOTHING,
    offline: bool = False,
) -> Variant:
    """A variant of what ``read`` gives for ``target``, or of a Schedule or Subject.

    ``recipe`` is text such as ``int8:sym`` or ``cluster:at=0,codim=2,gap=3,to=gm``; the other
    arguments are those of ``read``. The same recipe on the same input gives the same bits. Raises
    UsageError for a recipe that cannot be read or carried out, and SourceError for a target that
    cannot be read.
    """
    from ropeaudit.perturb.variant import make

    if isinstance(target, Schedule):
        return make((target,), recipe)
    found = target
    if not isinstance(target, Subject):
        asked: Any = {"contexts": contexts, "overrides": overrides, "encoding": encoding}
        found = read(target, **asked, offline=offline)
    if found.error is not None:
        raise SourceError(found.error.message, where=found.error.where)
    return make(found.schedules, recipe, found.encodings)


def assert_safe(
    model: Any,
    *,
    rules: str | Iterable[str] = "core",
    fail_on: str | Severity = "error",
    contexts: int | Iterable[int] = (),
    allow_unknown: bool = False,
) -> SubjectReport:
    """Refuse a model (or path) whose schedule is wrong; meant for the start of training or serving.

    Returns the report when no finding reaches ``fail_on``. Raises UnsafeScheduleError, which is
    also an AssertionError, with the findings in a few lines; also where nothing could be judged
    (no rotary table, tensors without values, an undecided rule) unless ``allow_unknown``. Costs
    milliseconds: only frequency tables are read, never a weight.
    """
    level = _severity(fail_on)
    lengths = _lengths(contexts)
    subject = resolve(_target(model), contexts=lengths)
    report = audit_subject(subject, _rules(_names(rules)), contexts=lengths, fail_on=level)
    if report.verdict is Verdict.FAIL:
        raise UnsafeScheduleError(_refusal(report, level))
    if report.verdict is Verdict.UNKNOWN and not allow_unknown:
        raise UnsafeScheduleError(_undecided(report))
    return report


@lru_cache(maxsize=16)
def _rules(names: tuple[str, ...]) -> tuple[Bound, ...]:
    return bind(load_pack(name) for name in names)


def _target(target: Any) -> Any:
    return os.fspath(target) if isinstance(target, str | os.PathLike) else target


def _names(rules: str | Iterable[str]) -> tuple[str, ...]:
    found = _several(rules, str, "rules", "names or paths of packs")
    if not found:
        raise UsageError("rules is empty: nothing would be judged; name a pack, such as core")
    return found


def _lengths(contexts: int | Iterable[int]) -> tuple[int, ...]:
    found: tuple[int, ...] = _several(contexts, int, "contexts", "lengths in positions")
    wrong = [n for n in found if isinstance(n, bool) or not 1 <= n <= MAX_LENGTH]
    if wrong:
        raise UsageError(
            f"contexts are lengths from 1 to {MAX_LENGTH} positions, not {quoted(wrong[0])}"
        )
    return found


def _engines(readers: str | Iterable[str]) -> tuple[str, ...]:
    return _several(readers, str, "readers", "names of engines, such as vllm, or all")


def _texts(overrides: str | Iterable[str]) -> tuple[str, ...]:
    return _several(overrides, str, "overrides", "texts such as rope_theta=1e6")


def _stated(encoding: Mapping[str, str]) -> dict[str, str]:
    texts = (*encoding, *encoding.values()) if isinstance(encoding, Mapping) else None
    _several(texts, str, "encoding", 'texts by name, such as {"grid": "14x14"}')
    return dict(encoding)


def _several(given: Any, kind: type, name: str, expected: str) -> tuple[Any, ...]:
    """One value of ``kind`` or any number of them; raises UsageError for anything else."""
    found = (given,) if isinstance(given, kind) else given
    if not isinstance(found, Iterable):
        raise UsageError(f"{name} is {quoted(given)}, expected {expected}")
    found = tuple(found)
    wrong = [v for v in found if not isinstance(v, kind)]
    if wrong:
        raise UsageError(f"{name} are {expected}, not {quoted(wrong[0])}")
    return found


def _severity(level: str | Severity) -> Severity:
    if isinstance(level, Severity):
        return level
    try:
        return Severity.parse(level)
    except (KeyError, AttributeError):
        raise UsageError(f"fail_on is {quoted(level)}, expected error, warning or info") from None


def _refusal(report: SubjectReport, level: Severity) -> str:
    found = [f for f in report.findings if f.status is Status.FAIL and f.severity >= level]
    count = f"{len(found)} finding" + ("s" if len(found) > 1 else "")
    lines = [f"unsafe rotary schedule in {quoted(report.subject.target)}: {count}"]
    lines += [_line(f) for f in found[:MAX_LINES]]
    if len(found) > MAX_LINES:
        lines.append(f"  and {len(found) - MAX_LINES} more; ropeaudit.audit() reports all")
    return "\n".join(lines)


def _undecided(report: SubjectReport) -> str:
    subject = report.subject
    head = f"the rotary schedule of {quoted(subject.target)} could not be judged"
    if subject.error is not None:
        return f"{head}: {subject.error.message}"
    open_ = [f for f in report.findings if f.status is Status.UNKNOWN]
    if open_:
        return "\n".join([head, *(_line(f) for f in open_[:MAX_LINES])])
    why = "; ".join(dict.fromkeys(n.message for n in subject.notes)) or "no schedule was found"
    return f"{head}: {quoted(why, MAX_MESSAGE)}"


def _line(finding: Finding) -> str:
    where = f" [{quoted(finding.schedule)}]" if finding.schedule else ""
    place = f" ({quoted(str(finding.location), MAX_MESSAGE)})" if finding.location else ""
    text = quoted(finding.message, MAX_MESSAGE)
    return f"  {finding.rule} {finding.name}{where}: {text}{place}"
