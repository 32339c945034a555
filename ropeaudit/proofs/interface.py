"""What a claim module provides and what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Protocol

from ropeaudit.exact.enclosure import MOST_BITS
from ropeaudit.exact.terms import ClosedForm
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule


class Status(StrEnum):
    PROVED = "proved"
    REFUTED = "refuted"
    UNDECIDED = "undecided"


@record(kw_only=True)
class Claim:
    """One statement about one schedule.

    ``evidence`` holds JSON values only; exact numbers are text (``"1000/1"``, ``"1000000"``).
    ``method`` is one sentence: the theorem or computation that decides, or why nothing does.
    ``target`` is filled in by the certificate.
    """

    claim: str
    schedule: str
    status: Status
    method: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    target: str = ""


@record(kw_only=True)
class Exhibit:
    """One schedule with its exact closed form.

    ``form`` is None where nothing states one, and ``why_not`` says so. ``bits`` is the most
    precision an enclosure may take before a question is given up. ``memo`` lets the claims of one
    schedule share what is dear (normal forms, enclosures).
    """

    schedule: Schedule
    form: ClosedForm | None
    why_not: str | None = None
    ulp: int = 8
    bits: int = MOST_BITS
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)


class Prover(Protocol):
    """A module of this package that makes one claim: ``CLAIM`` is its name in certificates.

    A module that makes several of a kind has ``CLAIMS`` instead, a tuple of names, and its
    ``prove(exhibit, name)`` is told which of them to decide (``distinct_in``). A module with
    neither helps the others.
    """

    CLAIM: str

    def prove(self, exhibit: Exhibit) -> Claim:
        """Decides the claim; never raises for a table or form that is merely odd."""
