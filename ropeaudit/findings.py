"""What checks conclude and what a report holds. Frozen data, no behaviour beyond ordering."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from typing import Any

from ropeaudit.facts import Location
from ropeaudit.records import field, record


class Severity(IntEnum):
    """How much harm; ordered, so ``max`` and ``>=`` mean what they say."""

    INFO = 1
    WARNING = 2
    ERROR = 3

    @property
    def label(self) -> str:
        return self.name.lower()

    @classmethod
    def parse(cls, text: str) -> Severity:
        return cls[text.upper()]


class Status(StrEnum):
    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"
    """The input is there and cannot be decided; never a pass."""
    SKIP = "skip"
    """The input that the check needs is absent; does not touch the verdict."""


@record(kw_only=True)
class Outcome:
    """One conclusion of one check.

    ``severity`` None means the rule's; a check lowers it where the harm is less (what is by design
    is INFO). It can never raise it above the rule's. ``message`` is one sentence, or two.
    """

    status: Status
    message: str = ""
    schedule: str | None = None
    severity: Severity | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    location: Location | None = None
    fix: str | None = None


@record(kw_only=True)
class Finding:
    """An outcome under a rule: what a reader of a report sees."""

    rule: str
    name: str
    severity: Severity
    status: Status
    schedule: str | None
    message: str
    evidence: Mapping[str, Any]
    location: Location | None
    fix: str | None
    fingerprint: str


@record()
class Skipped:
    rule: str
    reason: str


class Verdict(StrEnum):
    """fail > unknown > warn > pass."""

    FAIL = "fail"
    UNKNOWN = "unknown"
    WARN = "warn"
    PASS = "pass"
