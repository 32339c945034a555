"""Subjects with made-up engines beside them, and files as real engines read them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ropeaudit.audit import audit_subject, bind, resolve
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Finding, Outcome
from ropeaudit.packs import load_pack
from ropeaudit.readers.engines.compare import distance
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.views import Beside, View
from tests.engine_vectors import vectors
from tests.schedules import subject


def view(name: str, *schedules: Schedule, against: Iterable[Schedule], **kw: Any) -> View:
    """What an engine of this name makes of a file from which the reference builds ``against``."""
    fields: dict[str, Any] = {"version": "1", "how": "ran", "status": "ok"} | kw
    apart = distance(schedules, tuple(against)) if schedules else None
    return View(reader=name, schedules=schedules, distance=apart, **fields)


def case(
    reference: Schedule,
    *views: View,
    asked: Iterable[str] = (),
    singled: Iterable[str] | None = None,
    **kw: Any,
) -> Case:
    """``singled``: as ``asked`` unless said otherwise."""
    names = frozenset(asked)
    one_by_one = names if singled is None else frozenset(singled)
    beside = Beside(views=views, asked=names, singled=one_by_one)
    return replace(Case(subject(reference, **kw)), beside=beside)


def said(check: ModuleType, found: Case, **params: Any) -> list[Outcome]:
    return list(check.run(found, check.Params(**params)))


def findings(
    folder: Path, config: str | Mapping[str, Any], *readers: str, rule: str | None = None
) -> list[Finding]:
    """What the rules on engines say of a config, or of a measured case of this name."""
    found = vectors()["cases"][config]["config"] if isinstance(config, str) else config
    (folder / "config.json").write_text(json.dumps(found))
    report = audit_subject(resolve(str(folder)), bind([load_pack("core")]), readers=readers)
    assert report.subject.error is None, report.subject.error
    wanted = (rule,) if rule else ("RA406", "RA407", "RA408", "RA409")
    return [f for f in report.findings if f.rule in wanted]
