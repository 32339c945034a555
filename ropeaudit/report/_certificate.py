"""Certificates for people: each schedule's closed form, and what became of every claim about it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit._version import __version__
from ropeaudit.errors import UsageError
from ropeaudit.exact import statement
from ropeaudit.facts import file_name
from ropeaudit.proofs.interface import Status
from ropeaudit.report import _numbers as show
from ropeaudit.report._claims import words
from ropeaudit.report._encoding_claims import sections as about_encodings
from ropeaudit.report._encoding_claims import words as encoding_words
from ropeaudit.report._terminal import Ink, View, ascii_only, pad, safe, width_of
from ropeaudit.report.json_v1 import FORMAT
from ropeaudit.report.markdown import code, text

if TYPE_CHECKING:
    from ropeaudit.proofs.certificate import Certificate, Part
    from ropeaudit.proofs.interface import Claim, Exhibit

FORMATS = ("console", "json", FORMAT, "markdown")
_COLORS = {Status.PROVED: "green", Status.REFUTED: "red", Status.UNDECIDED: "magenta"}
_BADGES = {"PROVED": "pass", "REFUTED": "fail", "UNDECIDED": "unknown", "UNREADABLE": "fail"}
_INDENT = 4
FEW = 5
"""Up to so many targets each get their formulas and all claims."""


def check_format(name: str) -> None:
    """Raises UsageError unless a certificate can be written in this format."""
    if name not in FORMATS:
        raise UsageError(
            f"format {name} is for findings; certificates come as console, json or markdown"
        )


def render(name: str, certificate: Certificate, required: Sequence[str], view: View) -> str:
    """The certificate in a format; ``required`` claims decide the badges of a page."""
    if name in ("json", FORMAT):
        return certificate.to_json()
    if name == "markdown":
        return _markdown(certificate, required)
    return _console(certificate, required, Ink(view))


def outcome(part: Part, required: Iterable[str]) -> str:
    """What became of a target: the worst of its required claims."""
    if part.subject.error is not None:
        return "UNREADABLE"
    if part.is_empty:
        return "NOTHING TO PROVE"
    wanted = frozenset(required)
    found = {c.status for c in (*part.claims, *part.encoding_claims) if c.claim in wanted}
    if Status.REFUTED in found:
        return "REFUTED"
    return "PROVED" if found == {Status.PROVED} or not wanted else "UNDECIDED"


def unmade(part: Part, required: Sequence[str]) -> str | None:
    """What to say of a target of which no required claim is made, so that none can be decided."""
    made = {c.claim for c in (*part.claims, *part.encoding_claims)}
    if not made or not required or made & set(required):
        return None
    return f"undecided: nothing here has the required claim: {', '.join(required)}"


def summary(certificate: Certificate) -> str:
    """``2 targets · 16 claims: 14 proved, 1 refuted, 1 undecided``."""
    counts = Counter(c.status for c in certificate.claims)
    told = ", ".join(f"{counts[s]:,} {s.value}" for s in Status if counts[s])
    claims = show.plural(sum(counts.values()), "claim")
    targets = show.plural(len(certificate.parts), "target")
    return f"{targets} · {claims}" + (f": {told}" if told else "")


def _console(certificate: Certificate, required: Sequence[str], ink: Ink) -> str:
    full = len(certificate.parts) <= FEW or ink.view.verbose
    for part in certificate.parts:
        if ink.lines and full:
            ink.line()
        _heading(ink, part, required)
        for names, exhibit, claims in _alike(part):
            if full:
                ink.line()
                _exhibit(ink, part.subject.target, names, exhibit)
                ink.line()
                _claims(ink, claims, exhibit, required)
                continue
            open_ = _open(claims, required)
            if open_:
                ink.line((f"    {', '.join(map(safe, names))}", "dim"))
            _claims(ink, open_, exhibit, required)
        for name, kind, claims in about_encodings(part):
            shown = claims if full else _open(claims, required)
            if shown:
                ink.lines += [""] * full
                ink.line((f"  {safe(name)}", "bold"), (f"  {kind}", "dim"))
                ink.lines += [""] * full
                _claims(ink, shown, None, required)
    if ink.view.verbose:
        _inputs(ink, certificate.document["inputs"])
    if ink.lines:
        ink.line()
    ink.line(summary(certificate), (f" · ropeaudit {__version__}", "dim"))
    ink.line((f"certificate sha256 {certificate.sha256}", "dim"))
    return ink.text()


def _open(claims: Sequence[Claim], required: Sequence[str]) -> list[Claim]:
    return [c for c in claims if c.claim in required and c.status is not Status.PROVED]


def _alike(part: Part) -> list[tuple[list[str], Exhibit, list[Claim]]]:
    """Exhibits with their claims; schedules of which all the same is said stand together."""
    found: dict[object, tuple[list[str], Exhibit, list[Claim]]] = {}
    for exhibit in part.exhibits:
        name = exhibit.schedule.name
        mine = [c for c in part.claims if c.schedule == name]
        said = [(c.claim, c.status, repr(c.evidence)) for c in mine]
        form = exhibit.form.terms if exhibit.form else exhibit.why_not
        key = (exhibit.schedule.inv_freq, exhibit.schedule.dtype, form, *said)
        found.setdefault(key, ([], exhibit, mine))[0].append(name)
    return list(found.values())


def _heading(ink: Ink, part: Part, required: Sequence[str]) -> None:
    subject = part.subject
    word = outcome(part, required)
    known = (t for t in (subject.format, subject.model_type) if t and t != "unknown")
    ink.line(
        (f" {word} ", _BADGES.get(word, "none")), " ", (safe(subject.target), "bold"),
        (f"  {' · '.join(map(safe, known))}", "dim"),
    )  # fmt: skip
    if subject.error is not None:
        ink.paragraph(safe(subject.error.message), indent=_INDENT, style="red")
    for note in subject.notes:
        ink.paragraph(f"note: {safe(note.message)}", indent=_INDENT, style="dim")
    if (said := unmade(part, required)) is not None:
        ink.paragraph(said, indent=_INDENT, style="yellow")


def _exhibit(ink: Ink, target: str, names: Sequence[str], exhibit: Exhibit) -> None:
    schedule = exhibit.schedule
    law = exhibit.form.law if exhibit.form else schedule.rope_type
    count = show.plural(len(schedule.inv_freq), "channel")
    ink.line(
        (f"  {', '.join(map(safe, names))}", "bold"),
        (f"  {safe(law)}, {count} in {safe(schedule.dtype)}", "dim"),
    )
    if exhibit.form is None:
        ink.paragraph(f"no closed form: {safe(_why_not(exhibit))}", indent=_INDENT)
        return
    for formula, where in _formulas(exhibit):
        ink.paragraph(_signs(f"{formula}  {where}", ink), indent=_INDENT)
    if ink.view.verbose:
        _parameters(ink, target, exhibit)


def _why_not(exhibit: Exhibit) -> str:
    said = (exhibit.why_not or "nothing states one").removeprefix("No closed form is stated: ")
    return said[:1].lower() + said[1:]


def _formulas(exhibit: Exhibit) -> Iterable[tuple[str, str]]:
    """``θ_k = ...`` and the channels where that holds."""
    if exhibit.form is None:
        return
    for piece in statement.plain(exhibit.form):
        channels = show.ranges(range(piece.first, piece.last + 1))
        rule = ", c_k as listed in the certificate" if "c_k" in piece.formula else ""
        yield f"θ_k = {piece.formula}", f"for k = {channels}{rule}"


def _parameters(ink: Ink, target: str, exhibit: Exhibit) -> None:
    from ropeaudit.exact.encoding import parameters
    from ropeaudit.proofs.stated import sources

    if exhibit.form is None:
        return
    places = sources(exhibit)
    for name, value in parameters(exhibit.form).items():
        place = places.get(name) or {}
        parts = [str(place[k]) for k in ("pointer", "key", "tensor") if place.get(k)]
        at = " ".join([file_name(target, place["file"]), *parts]) if place else ""
        spelled = f", spelled {place['text']}" if place.get("text") else ""
        shown = show.cut(safe("none" if value is None else value), 100)
        ink.line(f"      {safe(name)} = {shown}", (f"  {safe(at + spelled)}", "dim"))


def _said(claim: Claim, exhibit: Exhibit | None, *, full: bool = False) -> str:
    """The outcome in words; ``exhibit`` is None for a claim about an encoding."""
    if exhibit is None:
        return encoding_words(claim, full=full)
    return words(claim, exhibit, full=full)


def _claims(
    ink: Ink, claims: Sequence[Claim], exhibit: Exhibit | None, required: Sequence[str]
) -> None:
    """A line each: status, claim, and what it came to; the method with -v."""
    width = max((width_of(c.claim) for c in claims), default=0) + 2
    start = _INDENT + 11
    for claim in claims:
        said = _signs(_said(claim, exhibit, full=ink.view.verbose), ink)
        lines = list(_wrapped(said, ink.view.width - start - width))
        ink.line(
            " " * _INDENT, (pad(claim.status.value, 11), _color(claim, required)),
            (pad(claim.claim, width), "bold" if claim.claim in required else None), lines[0],
        )  # fmt: skip
        for line in lines[1:]:
            ink.line(" " * (start + width), line)
        if ink.view.verbose:
            ink.paragraph(safe(claim.method), indent=start + width, style="dim")


def _signs(said: str, ink: Ink) -> str:
    """Words and formulas in the signs that the page has; a dot between two factors is a product."""
    if ink.view.unicode:
        return said
    return ascii_only(re.sub(r"(?<=\S)·(?=\S)", "*", said))


def _color(claim: Claim, required: Sequence[str]) -> str:
    """Red is for what fails the gate: that yarn is not geometric is no fault."""
    mild = claim.status is Status.REFUTED and claim.claim not in required
    return "yellow" if mild else _COLORS[claim.status]


def _wrapped(said: str, width: int) -> Iterable[str]:
    from ropeaudit.report._terminal import wrap

    return wrap(said, max(24, width))


def _inputs(ink: Ink, inputs: Sequence[dict[str, Any]]) -> None:
    if not inputs:
        return
    ink.line()
    ink.line(("  inputs", "bold"))
    for entry in inputs:
        part = f", its {entry['part']}" if "part" in entry else ""
        ink.line(
            f"    {safe(entry['file'])}",
            (f"  {entry['bytes']:,} bytes{part}, sha256 {entry['sha256']}", "dim"),
        )


def _markdown(certificate: Certificate, required: Sequence[str]) -> str:
    lines = ["## ropeaudit: certificate", "", summary(certificate), ""]
    for part in certificate.parts:
        lines += [f"### {outcome(part, required).lower()}: {code(part.subject.target)}", ""]
        if part.subject.error is not None:
            lines += [text(part.subject.error.message), ""]
        for note in part.subject.notes:
            lines += [f"- **note**: {text(note.message)}", ""]
        if (said := unmade(part, required)) is not None:
            lines += [f"- {text(said)}", ""]
        for names, exhibit, claims in _alike(part):
            lines += _markdown_exhibit(names, exhibit)
            lines += _markdown_claims(claims, exhibit, required)
        for name, kind, claims in about_encodings(part):
            lines += [f"**{text(name)}** {text(kind)}", ""]
            lines += _markdown_claims(claims, None, required)
    digest = code(certificate.sha256)
    return "\n".join([*lines, f"Certificate sha256 {digest}, ropeaudit {__version__}"]) + "\n"


def _markdown_exhibit(names: Sequence[str], exhibit: Exhibit) -> list[str]:
    lines = [f"**{text(', '.join(names))}**", ""]
    if exhibit.form is None:
        lines += [text(f"No closed form: {_why_not(exhibit)}"), ""]
    else:
        lines += [f"$${statement.latex(exhibit.form)}$$", ""]
    return lines


def _markdown_claims(
    claims: Sequence[Claim], exhibit: Exhibit | None, required: Sequence[str]
) -> list[str]:
    lines = ["| claim | status | |", "|---|---|---|"]
    for claim in claims:
        name = f"**{claim.claim}**" if claim.claim in required else claim.claim
        lines.append(f"| {name} | {claim.status.value} | {text(_said(claim, exhibit))} |")
    return [*lines, ""]
