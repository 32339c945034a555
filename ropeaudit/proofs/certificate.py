"""Certificates: claims with the exact numbers that they rest on, in a form that others can check.

The format is docs/certificates.md; ``ropeaudit.verifier`` reads it back and shares nothing with
this module.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from math import isfinite
from typing import Any

from ropeaudit._version import __version__
from ropeaudit.exact import encoding
from ropeaudit.facts import file_name
from ropeaudit.proofs import _encoding_entries, stated
from ropeaudit.proofs._claims import ABOUT_ENCODINGS, REQUIRED, claims
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.subject import Subject

SCHEMA = "ropeaudit/certificate/1"
_LISTS = ("inputs", "schedules", "claims", "encodings")


@record(kw_only=True)
class Part:
    """One target of a certificate: what was read, its exhibits, and all claims about them.

    ``encoding_claims`` are those about ``subject.encodings``, encoding by encoding.
    """

    subject: Subject
    exhibits: tuple[Exhibit, ...] = ()
    claims: tuple[Claim, ...] = ()
    encoding_claims: tuple[Claim, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to prove anything of."""
        return not (self.exhibits or self.encoding_claims)


@record(kw_only=True)
class Certificate:
    """What was claimed of every target, and the document that says so.

    ``document`` is the certificate as JSON values, its own ``sha256`` included. A target that
    cannot be read has a part whose subject holds the error; the document says nothing of it.
    """

    document: Mapping[str, Any]
    parts: tuple[Part, ...] = field(default=(), compare=False)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """All claims, schedule by schedule, then encoding by encoding, target by target."""
        return tuple(c for part in self.parts for c in (*part.claims, *part.encoding_claims))

    @property
    def sha256(self) -> str:
        """The digest that the document bears."""
        return str(self.document["sha256"])

    def exit_code(self, required: Iterable[str] = REQUIRED) -> int:
        """2 an unreadable target, 1 a required claim refuted, 3 one undecided or nothing, else 0.

        A target without schedules, or without one of the required claims, is undecided. Of an
        encoding only its own claims can be required, and one of them has to be.
        """
        wanted = tuple(required)
        if any(part.subject.error for part in self.parts):
            return 2
        made = [(c.claim, c.status) for c in self.claims]
        if any(status is Status.REFUTED for name, status in made if name in wanted):
            return 1
        decided = bool(self.parts) and all(
            any(c.claim == name and c.schedule == e.schedule.name for c in part.claims)
            for part in self.parts
            for e in part.exhibits
            for name in wanted
        )
        if any(part.encoding_claims for part in self.parts):
            decided = decided and any(name in ABOUT_ENCODINGS for name in wanted)
        empty = any(part.is_empty for part in self.parts)
        undecided = any(status is Status.UNDECIDED for name, status in made if name in wanted)
        return 0 if decided and not empty and not undecided else 3

    def to_json(self) -> str:
        """The document as text, a line for each input, schedule and claim."""
        rows = (
            f"  {_text(key)}: {_rows(value) if key in _LISTS else _text(value)}"
            for key, value in self.document.items()
        )
        return "{\n" + ",\n".join(rows) + "\n}\n"


def _rows(items: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(f"    {_text(i)}" for i in items) + "\n  ]" if items else "[]"


def _text(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def prove(subject: Subject, names: Sequence[str], *, ulp: int = 8, bits: int | None = None) -> Part:
    """Decides the claims ``names`` about every schedule of ``subject``."""
    found = stated.exhibits(subject, ulp)
    if bits is not None:
        found = [replace(e, bits=bits) for e in found]
    made = (
        replace(claim, target=subject.target)
        for exhibit in found
        for claim in claims(exhibit, names)
    )
    return Part(
        subject=subject,
        exhibits=tuple(found),
        claims=tuple(made),
        encoding_claims=_encoding_entries.made(subject) if subject.encodings else (),
    )


def stated_by(subject: Subject, ulp: int) -> dict[str, Any]:
    """The schedules that a certificate of ``subject`` would have, by name."""
    found = {e.schedule.name: _schedule(subject, e) for e in stated.exhibits(subject, ulp)}
    return {name: _valid(entry) for name, entry in found.items()}


def assemble(parts: Iterable[Part], inputs: Iterable[Mapping[str, Any]]) -> Certificate:
    """The certificate of several targets; ``inputs`` are the entries of the files behind them."""
    parts = tuple(parts)
    document = _valid(
        {
            "schema": SCHEMA,
            "tool": {"name": "ropeaudit", "version": __version__},
            "inputs": list(inputs),
            "schedules": [_schedule(p.subject, e) for p in parts for e in p.exhibits],
            "claims": [_claim(claim) for p in parts for claim in p.claims],
            **_encodings(parts),
        }
    )
    digest = sha256(canonical(document)).hexdigest()
    return Certificate(
        document={"schema": SCHEMA, "sha256": digest, **document},
        parts=parts,
    )


def _encodings(parts: Iterable[Part]) -> dict[str, Any]:
    """The key ``encodings``; absent where no target has one."""
    found = [
        entry
        for part in parts
        if part.encoding_claims
        for entry in _encoding_entries.entries(part.subject, part.encoding_claims)
    ]
    return {"encodings": found} if found else {}


def encodings_stated_by(subject: Subject) -> list[dict[str, Any]]:
    """The encodings that a certificate of ``subject`` would have."""
    said = _encoding_entries.made(subject) if subject.encodings else ()
    found: list[dict[str, Any]] = _valid(list(_encoding_entries.entries(subject, said)))
    return found


def canonical(document: Mapping[str, Any]) -> bytes:
    """The bytes that the digest is of: sorted keys, no white space, without ``sha256`` itself."""
    bare = {k: v for k, v in document.items() if k != "sha256"}
    text = json.dumps(
        bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode("utf-8")


def _schedule(subject: Subject, exhibit: Exhibit) -> dict[str, Any]:
    schedule = exhibit.schedule
    return {
        "target": subject.target,
        "name": schedule.name,
        "dtype": schedule.dtype,
        "table": encoding.table(schedule.inv_freq),
        "groups": [list(group) for group in schedule.groups()],
        "static": sorted(schedule.static_channels),
        "tolerance": exhibit.ulp,
        "form": _form(subject, exhibit),
        "why_not": exhibit.why_not,
    }


def _form(subject: Subject, exhibit: Exhibit) -> dict[str, Any] | None:
    form = exhibit.form
    if form is None:
        return None
    return {
        "law": form.law,
        "parameters": encoding.parameters(form),
        "sources": {
            name: _source(subject.target, place)
            for name, place in stated.sources(exhibit).items()
            if _spells(place["text"], form.parameters[name])
        },
        "terms": [encoding.term(t) for t in form.terms],
    }


def _spells(text: str, parameter: Any) -> bool:
    """Whether a law takes the value as it stands: yarn reads a beta of 0 as none given."""
    found = json.loads(text, parse_int=Fraction, parse_float=Fraction)
    if isinstance(found, bool) or isinstance(parameter, bool):
        return found is parameter
    return bool((tuple(found) if isinstance(found, list) else found) == parameter)


def _source(target: str, place: Mapping[str, Any]) -> dict[str, Any]:
    """Where a parameter stands, its file named as in ``inputs``."""
    file = place.get("file")
    return {**place, "file": file_name(target, file)} if isinstance(file, str) else {**place}


def _claim(claim: Claim) -> dict[str, Any]:
    return {
        "target": claim.target,
        "schedule": claim.schedule,
        "claim": claim.claim,
        "status": claim.status.value,
        "method": claim.method,
        "evidence": claim.evidence,
    }


def _valid(value: Any) -> Any:
    """What JSON and UTF-8 can hold: a file's name need not be text, nor a float a number."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_valid(str(k)): _valid(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_valid(v) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return encoding.value(value)
    return value
