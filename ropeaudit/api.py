"""What a program calls: audit, read, compare, prove or convert, refuse a wrong schedule."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ropeaudit import _arguments as given
from ropeaudit.audit import Bound, Options, audit_subject, audit_targets, bind
from ropeaudit.errors import SourceError, UnsafeScheduleError, UsageError, quoted
from ropeaudit.findings import Finding, Severity, Status, Verdict
from ropeaudit.packs import load_pack
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject
from ropeaudit.verdict import Report, SubjectReport

if TYPE_CHECKING:
    from ropeaudit.convert.interface import Converted
    from ropeaudit.diff.interface import Comparison
    from ropeaudit.perturb.variant import Variant
    from ropeaudit.proofs.certificate import Certificate

MAX_LINES = 8
"""Findings that the message of ``assert_safe`` lists; the report holds all."""
MAX_MESSAGE = 300


def audit(
    *targets: Any,
    rules: str | Iterable[str] = "core",
    fail_on: str | Severity = "error",
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    encoding: Mapping[str, str] = given.NOTHING,
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
        packs=given.names(rules),
        fail_on=given.severity(fail_on),
        allow_unknown=allow_unknown,
        contexts=given.lengths(contexts),
        overrides=given.texts(overrides),
        readers=given.engines(readers),
        encoding=given.stated(encoding),
        offline=offline,
    )
    return audit_targets([given.target_of(t) for t in targets], options)


def read(
    target: Any,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    encoding: Mapping[str, str] = given.NOTHING,
    offline: bool = False,
) -> Subject:
    """The schedules of one target, as ``audit`` would judge them; arguments as there.

    ``error`` is set where the target cannot be read. Raises UsageError for wrong arguments.
    """
    return resolve(
        given.target_of(target),
        contexts=given.lengths(contexts),
        overrides=given.texts(overrides),
        readers=given.engines(readers),
        encoding=given.stated(encoding),
        offline=offline,
    )


def diff(
    a: Any,
    b: Any,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    readers: str | Iterable[str] = (),
    ulp: int | None = None,
    encoding: Mapping[str, str] = given.NOTHING,
    fail_on: str | Severity = "info",
    allow_unknown: bool = False,
    offline: bool = False,
) -> Comparison:
    """Compare the schedules of two targets, ``b`` against ``a``; targets as in ``audit``.

    ``contexts``: lengths in positions to take the phase drift at, instead of the trained one;
    ``overrides``: texts as for ``audit``, for one side with ``a:`` or ``b:`` in front;
    ``readers``: engines as which both are read in place of the reference; ``ulp``: float32 steps
    that count as equivalent, by default 4, and 16 between tables of different arithmetic;
    ``encoding``: as for ``audit``, names for one side with ``a:`` or ``b:`` in front.
    ``fail_on`` and ``allow_unknown`` decide ``exit_code`` alone. A target that cannot be read is a
    subject with ``error`` set. Raises UsageError for wrong arguments.
    """
    from ropeaudit.diff.compare import Options as Asked
    from ropeaudit.diff.targets import compare_targets

    if ulp is not None and (isinstance(ulp, bool) or not isinstance(ulp, int) or ulp < 0):
        raise UsageError(f"ulp is {quoted(ulp)}, expected a whole number of steps, such as 4")
    options = Asked(
        contexts=given.lengths(contexts),
        overrides=given.texts(overrides),
        readers=given.engines(readers),
        ulp=ulp,
        encoding=given.sided(encoding),
        fail_on=given.severity(fail_on),
        allow_unknown=allow_unknown,
        offline=offline,
    )
    return compare_targets(given.target_of(a), given.target_of(b), options)


def prove(
    *targets: Any,
    ulp: int = 8,
    require: str | Iterable[str] = (),
    candidates: bool = False,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    encoding: Mapping[str, str] = given.NOTHING,
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
        [given.target_of(t) for t in targets],
        ulp=ulp,
        require=given.several(require, str, "require", "names of claims"),
        candidates=candidates,
        contexts=given.lengths(contexts),
        overrides=given.texts(overrides),
        encoding=given.stated(encoding),
        offline=offline,
    )


def perturb(
    target: Any,
    recipe: str,
    *,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    encoding: Mapping[str, str] = given.NOTHING,
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


def convert(
    target: Any,
    to: str,
    *,
    name: str | None = None,
    heads: int | None = None,
    matrix: str | None = None,
    contexts: int | Iterable[int] = (),
    overrides: str | Iterable[str] = (),
    encoding: Mapping[str, str] = given.NOTHING,
    offline: bool = False,
) -> Converted:
    """``target``, or a Subject that was read, as an encoding of the form ``to``: ``ape``, ``rope``.

    ``name``: which schedule or encoding, of several; ``heads``: heads to write where the source
    does not say; ``matrix``: ``map``, ``generator`` or ``parameter`` where the target is a file of
    plain matrices; the rest as for ``read``. The result holds ``tensors``, the ``basis`` that goes
    into the projections of queries and keys, and the ``residual``. Raises UsageError for wrong
    arguments and where mathematics has no such conversion, SourceError for what cannot be read.
    """
    from ropeaudit.convert import interface, reading

    if heads is not None and (isinstance(heads, bool) or not isinstance(heads, int) or heads < 1):
        raise UsageError(f"heads is {quoted(heads)}, expected a whole number from 1 on")
    form = interface.target(to)
    if isinstance(target, Subject):
        source = reading.of_subject(target, name)
    else:
        source = reading.read(
            given.target_of(target),
            matrix=matrix,
            name=name,
            encoding=given.stated(encoding),
            contexts=given.lengths(contexts),
            overrides=given.texts(overrides),
            offline=offline,
        )
    return form.convert(source, heads=heads)


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
    level = given.severity(fail_on)
    lengths = given.lengths(contexts)
    subject = resolve(given.target_of(model), contexts=lengths)
    report = audit_subject(subject, _rules(given.names(rules)), contexts=lengths, fail_on=level)
    if report.verdict is Verdict.FAIL:
        raise UnsafeScheduleError(_refusal(report, level))
    if report.verdict is Verdict.UNKNOWN and not allow_unknown:
        raise UnsafeScheduleError(_undecided(report))
    return report


@lru_cache(maxsize=16)
def _rules(names: tuple[str, ...]) -> tuple[Bound, ...]:
    return bind(load_pack(name) for name in names)


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
