"""The pipeline: target -> reading -> schedules -> rules -> report."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ropeaudit.bound import Bound, bind, limited, named_readers, wants_views
from ropeaudit.checks.interface import Case, is_of_encodings, load
from ropeaudit.errors import PackError, RopeAuditError, UsageError
from ropeaudit.findings import Finding, Severity, Skipped, Status, Verdict
from ropeaudit.packs import Pack, load_pack, params_for
from ropeaudit.records import field, record, replace
from ropeaudit.resolve import (
    attempt,
    beside,
    build,
    chosen_readers,
    failed,
    lost,
    resolve,
    with_readers,
)
from ropeaudit.schedule.subject import Problem, Subject
from ropeaudit.verdict import Report, SubjectReport, finding, judge

__all__ = [
    "Bound", "Options", "Report", "SubjectReport", "audit_subject", "audit_targets", "bind",
    "build", "resolve",
]  # fmt: skip

POOL_FROM = 48
"""Targets from which worker processes pay for their start."""


@record(kw_only=True)
class Options:
    """How to audit. ``overrides`` are ``KEY=VALUE`` or JSON texts as given by the user.

    ``encoding`` states what the layout of a learned encoding leaves open, as for ``resolve``.
    ``apply`` are recipes: each target is judged once for each of them, as that variant. ``readers``
    are names of engines to judge for, beside those that a pack names.
    """

    packs: tuple[str, ...] = ("core",)
    fail_on: Severity = Severity.ERROR
    allow_unknown: bool = False
    contexts: tuple[int, ...] = ()
    overrides: tuple[str, ...] = ()
    apply: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    encoding: Mapping[str, str] = field(default_factory=dict, compare=False)
    offline: bool = False
    skip_unrecognised: bool = False
    jobs: int | None = None


def audit_subject(
    subject: Subject,
    rules: Sequence[Bound],
    *,
    contexts: tuple[int, ...] = (),
    fail_on: Severity = Severity.ERROR,
    readers: Sequence[str] = (),
) -> SubjectReport:
    """Run rules over one subject. A check that crashes is a bug: its error passes through.

    ``readers``: engines to judge for, beside those that a rule names; raises UsageError for a name
    that is not known.
    """
    readers = (*readers, *named_readers(rules))
    subject = with_readers(subject, readers)
    if subject.error is not None:
        return SubjectReport(subject=subject, verdict=Verdict.UNKNOWN)
    findings: list[Finding] = []
    skipped: list[Skipped] = []
    memo: dict[Any, Any] = {}
    lengths = tuple(sorted({*contexts, *subject.lengths}))
    around = beside(subject, readers) if wants_views(subject, rules) else None
    for bound in rules:
        if not subject.encodings and is_of_encodings(bound.rule.check):
            continue
        check = load(bound.rule.check)
        case = Case(limited(subject, bound.rule), lengths, memo)
        if check.NEEDS == "views" and around is not None:
            case = replace(case, beside=around)
        if not case.subject.schedules and check.NEEDS in ("schedule", "views"):
            continue
        params = bound.params if bound.params is not None else params_for(bound.rule, check)
        for outcome in check.run(case, params):
            if outcome.status is Status.SKIP:
                skipped.append(Skipped(bound.rule.id, outcome.message))
            elif outcome.status is not Status.PASS:
                findings.append(finding(outcome, bound.rule, subject))
    findings.sort(key=lambda f: (-f.severity, f.rule, f.schedule or ""))
    return SubjectReport(
        subject=subject,
        verdict=judge(subject, findings, fail_on),
        findings=tuple(findings),
        skipped=tuple(dict.fromkeys(skipped)),
    )


def audit_targets(
    targets: Sequence[str | Any],
    options: Options | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Report:
    """Audit every target, whatever happens to the others; raises PackError and UsageError.

    ``progress`` is called with (done, total).
    """
    options = options or Options()
    packs = tuple(load_pack(name) for name in options.packs)
    rules = bind(packs)  # a bad pack stops the run before any target is read
    _require_readers(options.readers, rules)
    _require_recipes(options.apply)
    total = len(targets) * max(1, len(options.apply))
    reports: list[SubjectReport] = []
    for done, report in enumerate(_each(targets, options, packs), 1):
        reports.append(report)
        if progress is not None:
            progress(done, total)
    unrecognised = [r for r in reports if options.skip_unrecognised and _is_none_of_ours(r)]
    left_out = set(map(id, unrecognised))
    return Report(
        packs=packs,
        subjects=tuple(r for r in reports if id(r) not in left_out),
        fail_on=options.fail_on,
        allow_unknown=options.allow_unknown,
        skipped_targets=tuple(r.subject.target for r in unrecognised),
    )


def _is_none_of_ours(report: SubjectReport) -> bool:
    """No reader claims it, it is JSON that names no model, or a model without rotary encoding."""
    subject = report.subject
    if subject.error is not None:
        return subject.error.kind == "unrecognised_format"
    if subject.schedules or subject.encodings or report.findings:
        return False
    return subject.model_type is None or any(n.kind == "no_rotary" for n in subject.notes)


def _each(
    targets: Sequence[str | Any], options: Options, packs: tuple[Pack, ...]
) -> Iterator[SubjectReport]:
    if options.apply:
        rules = bind(packs)
        for target in targets:
            yield from _variants(target, options, rules)
        return
    jobs = options.jobs or os.cpu_count() or 1
    paths = all(isinstance(t, str) and t != "-" for t in targets)
    if jobs < 2 or len(targets) < POOL_FROM or not paths or _has_threads():
        rules = bind(packs)
        for target in targets:
            yield _one(target, options, rules)
        return
    yield from _pooled(targets, jobs, (options, packs))


def _require_readers(readers: Sequence[str], rules: Sequence[Bound]) -> None:
    """Raises UsageError for a name that is no engine, PackError where a pack has it."""
    chosen_readers(readers)
    for bound in rules:
        try:
            chosen_readers(named_readers([bound]))
        except UsageError as error:
            place = bound.rule.sets("readers")
            raise PackError(f"{place}, parameter readers: {error}") from None


def _require_recipes(recipes: Sequence[str]) -> None:
    """Raises UsageError for a recipe that cannot be read, before any target is."""
    if recipes:
        from ropeaudit.perturb.recipe import parse

        for recipe in recipes:
            parse(recipe)


def _variants(
    target: str | Any, options: Options, rules: Sequence[Bound]
) -> Iterator[SubjectReport]:
    """The reports of one target, one for each recipe; one that does not fit it is its error."""
    from ropeaudit.perturb.beside import apply

    subject = attempt(target, **_reading_options(options))
    for recipe in options.apply:
        try:
            judged = apply(subject, recipe)
            yield audit_subject(judged, rules, **_judging_options(options))
        except UsageError as error:
            problem = Problem(error.kind, str(error))
            yield SubjectReport(subject=replace(subject, error=problem), verdict=Verdict.UNKNOWN)
        except RopeAuditError:
            raise
        except Exception as error:
            yield SubjectReport(subject=failed(target, error), verdict=Verdict.UNKNOWN)


def _reading_options(options: Options) -> dict[str, Any]:
    return {
        "contexts": options.contexts,
        "overrides": options.overrides,
        "offline": options.offline,
        "encoding": options.encoding,
    }


def _judging_options(options: Options) -> dict[str, Any]:
    return {
        "contexts": options.contexts,
        "fail_on": options.fail_on,
        "readers": options.readers,
    }


def _has_threads() -> bool:
    """Whether forking is unsafe: a lock that another thread holds stays locked in the child."""
    threading = sys.modules.get("threading")
    return "torch" in sys.modules or (threading is not None and threading.active_count() > 1)


def _pooled(targets: Sequence[str], jobs: int, shared: _Shared) -> Iterator[SubjectReport]:
    """The reports of ``targets`` in order, from worker processes.

    When a worker is killed (out of memory, say), the rest goes to one fresh worker target by
    target, so that only the target that killed it is lost.
    """
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_all_start_methods, get_context

    # Forking skips importing everything anew.
    context = get_context("fork" if "fork" in get_all_start_methods() else "spawn")
    chunk = max(1, min(64, len(targets) // (4 * jobs)))
    rest = list(targets)
    while rest:
        done = 0
        pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=shared)
        try:
            with pool:
                for report in pool.map(_work, rest, chunksize=chunk):
                    done += 1
                    yield report
        except BrokenProcessPool:
            if jobs == chunk == 1:
                message = "the process that audited it was killed; audit it alone"
                yield SubjectReport(subject=lost(rest[done], message), verdict=Verdict.UNKNOWN)
                done += 1
            jobs = chunk = 1
        del rest[:done]


_Shared = tuple[Options, tuple[Pack, ...]]
_worker: tuple[Options, tuple[Bound, ...]] | None = None


def _start(options: Options, packs: tuple[Pack, ...]) -> None:
    global _worker
    _worker = options, bind(packs)
    from threading import Thread

    Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    """End this worker when its parent was killed: nobody else would, and pipes would stay open."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(target: str) -> SubjectReport:
    if _worker is None:
        raise RopeAuditError("a worker was not started")
    report = _one(target, *_worker)
    # Lines are filled in by now; sending the documents back would cost more than the audit.
    return replace(report, subject=replace(report.subject, reading=None))


def _one(target: str | Any, options: Options, rules: Sequence[Bound]) -> SubjectReport:
    """One target's report. A fault of ours is that target's error, so that others go on."""
    try:
        subject = resolve(target, **_reading_options(options))
        return audit_subject(subject, rules, **_judging_options(options))
    except RopeAuditError:
        raise
    except Exception as error:
        return SubjectReport(subject=failed(target, error), verdict=Verdict.UNKNOWN)
