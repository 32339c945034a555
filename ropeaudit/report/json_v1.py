"""JSON: ``ropeaudit/report/1`` (audit) and ``ropeaudit/schedules/1`` (show).

Keys have a fixed order and values none of their own: no timestamps, no absolute times, so two runs
on the same input give the same bytes. One schedule and one finding stand on one line each, which
keeps line-based diffs readable. Changes within version 1 only add keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit._version import __version__
from ropeaudit.report import _readers
from ropeaudit.report._plain import numbers, plain

if TYPE_CHECKING:
    from ropeaudit.facts import Fact, Location
    from ropeaudit.findings import Finding
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.schedule.subject import Subject
    from ropeaudit.verdict import Report, SubjectReport

FORMAT = "json-v1"

TOOL = {"name": "ropeaudit", "version": __version__}


def render(report: Report) -> str:
    """The report as schema ``ropeaudit/report/1`` (docs/schemas/report-1.json)."""
    return page(
        {
            "schema": "ropeaudit/report/1",
            "tool": TOOL,
            "packs": [
                {"name": p.name, "version": p.version, "sha256": p.sha256} for p in report.packs
            ],
            "verdict": report.verdict.value,
            "fail_on": report.fail_on.label,
            "exit_code": report.exit_code,
            "subjects": [judged(s) for s in report.subjects],
            "skipped_targets": list(report.skipped_targets),
            "counts": plain(report.counts),
        }
    )


def render_schedules(subjects: Sequence[Subject]) -> str:
    """Schedules as schema ``ropeaudit/schedules/1`` (docs/schemas/schedules-1.json)."""
    return page(
        {
            "schema": "ropeaudit/schedules/1",
            "tool": TOOL,
            "subjects": [subject(s) for s in subjects],
        }
    )


def judged(report: SubjectReport) -> dict[str, Any]:
    return {
        **subject(report.subject),
        "verdict": report.verdict.value,
        "findings": [finding(f) for f in report.findings],
        "skipped": [{"rule": s.rule, "reason": s.reason} for s in report.skipped],
        "suppressed": report.suppressed,
    }


def subject(subject: Subject) -> dict[str, Any]:
    error = subject.error
    return {
        "target": subject.target,
        "format": subject.format,
        "model_type": subject.model_type,
        "schedules": [schedule(s) for s in (*subject.schedules, *_readers.schedules(subject))],
        **_readers.members(subject),
        **_encodings(subject),
        "notes": [{"kind": n.kind, "message": n.message} for n in subject.notes],
        "error": None
        if error is None
        else {"kind": error.kind, "message": error.message, "where": error.where},
    }


def _encodings(subject: Subject) -> dict[str, Any]:
    """The key ``encodings``, only where the subject has some."""
    if not subject.encodings:
        return {}
    from ropeaudit.report._encodings import encoding_json

    return {
        "encodings": [
            encoding_json(e) | {"provenance": [fact(f) for f in e.provenance]}
            for e in subject.encodings
        ]
    }


def schedule(schedule: Schedule) -> dict[str, Any]:
    context = schedule.context
    return {
        "name": schedule.name,
        "component": schedule.component,
        "layer_type": schedule.layer_type,
        "variant": schedule.variant,
        "layers": None if schedule.layers is None else list(schedule.layers),
        "rope_type": schedule.rope_type,
        "rope_theta": plain(schedule.rope_theta),
        "head_dim": schedule.head_dim,
        "rotary_dim": schedule.rotary_dim,
        "pairing": schedule.pairing,
        "axes": None
        if schedule.axes is None
        else [{"axis": a.axis, "channels": list(a.channels)} for a in schedule.axes],
        "inv_freq": numbers(schedule.inv_freq),
        "dtype": schedule.dtype,
        "attention_scaling": plain(schedule.attention_scaling),
        "softmax_scale": plain(schedule.softmax_scale),
        "context": {
            "trained": context.trained,
            "declared": context.declared,
            "assumed": context.assumed,
            "window": context.window,
        },
        "provenance": list(provenance(schedule)),
        "reader": schedule.reader,
    }


def provenance(schedule: Schedule) -> Iterable[dict[str, Any]]:
    """One entry per value that decided the numbers; an assumed trained length says so itself."""
    yield from map(fact, schedule.provenance)
    if schedule.context.assumed:
        yield {"field": "trained", "value": schedule.context.trained, "assumed": True}


def fact(fact: Fact) -> dict[str, Any]:
    found: dict[str, Any] = {"field": fact.field, "value": plain(fact.value)}
    if fact.location is not None:
        found |= place(fact.location)
    found["provenance"] = fact.origin.value
    if fact.origin.value == "default":
        found["default"] = True
    return found


def place(location: Location) -> dict[str, Any]:
    """A location: its file, what stands in it, and the line where one is known."""
    found: dict[str, Any] = {"file": location.file}
    for key in ("pointer", "tensor", "key", "line"):
        value = getattr(location, key)
        if value is not None:
            found[key] = value
    return found


def finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity.label,
        "status": finding.status.value,
        "schedule": finding.schedule,
        "message": finding.message,
        "evidence": plain(promised(finding.rule) | dict(finding.evidence)),
        "location": None if finding.location is None else place(finding.location),
        "fix": finding.fix,
        "fingerprint": finding.fingerprint,
    }


_PROMISED: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("RA10", {"max_cluster": None, "clusters": []}),
    ("RA202", {"log_gaps": None}),
    ("RA301", {"under_rotated": {}, "critical_dim": None}),
    ("RA4", dict.fromkeys(("expected", "found", "max_abs_dlog", "max_phase_drift"))),
)


def promised(rule: str) -> dict[str, Any]:
    """Evidence that every finding of a family of rules has, null where it found none.

    Whoever reads the JSON may index these keys; a finding about a key has no phase drift to give.
    """
    return next((dict(keys) for start, keys in _PROMISED if rule.startswith(start)), {})


def page(top: dict[str, Any]) -> str:
    """The top object with a line a key; lists of objects get a line an element."""
    return _members(top, "") + "\n"


def _members(value: dict[str, Any], indent: str) -> str:
    inner = indent + "  "
    parts = [f"{inner}{json.dumps(k)}: {_value(v, inner)}" for k, v in value.items()]
    return "{\n" + ",\n".join(parts) + "\n" + indent + "}"


def _value(value: Any, indent: str) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value, allow_nan=False)
    inner = indent + "  "
    # Subjects spread over lines; what they hold stands on a line each.
    spread = "target" in value[0]
    items = [_members(v, inner) if spread else json.dumps(v, allow_nan=False) for v in value]
    return "[\n" + ",\n".join(inner + item for item in items) + "\n" + indent + "]"
