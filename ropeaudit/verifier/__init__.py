"""Checks a certificate without its target and without the code that made it.

Nothing here is imported from the rest of the package, and nothing beyond the standard library: an
error in the prover cannot hide in its checker. Written from docs/certificates.md. The schedules are
derived again from their laws, every claim is decided again, and the certificate has to say the
same, to the letter. ``reading`` parses, ``laws`` and ``schedules`` rebuild the closed forms,
``distance``, ``structure`` and ``recovery`` decide, ``claims`` compares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ropeaudit.verifier import encodings
from ropeaudit.verifier.claims import check, counts
from ropeaudit.verifier.reading import (
    Refused,
    Unreadable,
    counted,
    keyed,
    listed,
    one_of,
    parse,
    refuse,
    same,
    worded,
)
from ropeaudit.verifier.schedules import Schedule, schedules

__all__ = ["Result", "verify"]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_KEYS = ("schema", "sha256", "tool", "inputs", "schedules", "claims")


@dataclass(frozen=True)
class Result:
    """What became of a certificate.

    ``kind`` is ``verified``, ``stated`` (well formed, but every claim is about numbers that are not
    in it), ``refused`` (something in it is wrong) or ``unreadable`` (cut off, no JSON, no
    certificate, or of a newer version); ``message`` is one sentence. The counts are of the claims
    that were decided again; ``as_stated`` counts those that were not. ``notes`` are sentences on
    what it takes as stated.
    """

    kind: str
    message: str
    proved: int = 0
    refuted: int = 0
    undecided: int = 0
    as_stated: int = 0
    notes: tuple[str, ...] = ()


def verify(text: str) -> Result:
    """Checks the text of a certificate, every claim in it. Raises nothing for any text."""
    try:
        found, statuses, stated = _verified(parse(text))
    except Unreadable as error:
        return Result("unreadable", str(error))
    except Refused as error:
        return Result("refused", str(error))
    proved, refuted, undecided = counts(statuses)
    message = (
        f"digest and {len(statuses)} claims verified: {proved} proved, {refuted} refuted, "
        f"{undecided} undecided"
    )
    untold = len(encodings.CLAIMS) * stated
    if untold:
        taken = f"{untold} claims about encodings are taken as stated"
        message = f"{message}; {taken}" if statuses else f"digest verified; {taken}"
    return Result(
        "verified" if statuses or not untold else "stated",
        message,
        proved,
        refuted,
        undecided,
        untold,
        tuple(_notes(found, stated)),
    )


def _notes(found: Sequence[Schedule], encodings: int) -> Iterator[str]:
    """What a certificate says of its schedules and only their model can confirm."""
    steps = sorted({s.tolerance for s in found if s.terms is not None})
    if steps:
        yield f"form allows {' or '.join(map(str, steps))} ulp"
    for what, count in (
        ("without a closed form", sum(s.terms is None for s in found)),
        ("whose channels are dealt to several coordinates", sum(len(s.groups) > 1 for s in found)),
    ):
        if count:
            yield f"schedules {what}: {count} of {len(found)}"
    if encodings:
        yield (
            f"claims about {encodings} encoding{'s' if encodings > 1 else ''} are taken as stated, "
            "for their numbers are not in the certificate; name the target too"
        )
    elif not found:
        yield "the certificate is about no schedule and claims nothing"
    yield "that these are the tables and files of a model was not compared; name it too"


def _verified(document: dict[str, Any]) -> tuple[list[Schedule], list[str], int]:
    keyed(document, (*_KEYS, "encodings") if "encodings" in document else _KEYS, "")
    tool = keyed(document["tool"], ("name", "version"), "/tool")
    same("ropeaudit", tool["name"], "/tool/name")
    worded(tool["version"], "/tool/version")
    files: dict[str, set[str]] = {}
    for place, entry in enumerate(listed(document["inputs"], "/inputs")):
        target, file = _input(entry, f"/inputs/{place}")
        files.setdefault(target, set()).add(file)
    found = schedules(document["schedules"], files)
    stated = encodings.check(document["encodings"]) if "encodings" in document else 0
    return found, check(document["claims"], found), stated


def _input(given: Any, where: str) -> tuple[str, str]:
    """Target and file of an input; whether the file has that digest, its owner can tell."""
    keys = ["target", "file", "sha256", "bytes"]
    if isinstance(given, dict) and "part" in given:
        one_of(given["part"], ("header",), f"{where}/part")
        keys.append("part")
    entry = keyed(given, keys, where)
    if not isinstance(entry["sha256"], str) or not _DIGEST.fullmatch(entry["sha256"]):
        raise refuse(f"{where}/sha256", "64 hexadecimal digits", entry["sha256"])
    counted(entry["bytes"], f"{where}/bytes")
    target = worded(entry["target"], f"{where}/target")
    return target, worded(entry["file"], f"{where}/file")
