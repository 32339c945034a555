"""Encodings in a certificate: what they are, the digests of their numbers, and their claims.

Their numbers are too many to stand there (a LieRE checkpoint has a million), so a certificate pins
them and cannot be decided again without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import quoted
from ropeaudit.proofs._encodings import claims
from ropeaudit.proofs.interface import Claim
from ropeaudit.records import replace
from ropeaudit.schedule.subject import Subject

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding


def made(subject: Subject) -> tuple[Claim, ...]:
    """Every claim about every encoding of ``subject``, in the order of the encodings."""
    return tuple(
        replace(claim, target=subject.target) for one in subject.encodings for claim in claims(one)
    )


def entries(subject: Subject, said: Sequence[Claim]) -> Iterator[dict[str, Any]]:
    """An entry for each encoding of ``subject``; ``said`` are the claims about them."""
    for encoding in subject.encodings:
        yield {
            "target": subject.target,
            "name": encoding.name,
            "kind": encoding.kind,
            "axes": list(encoding.axes),
            "heads": encoding.heads,
            "head_dim": encoding.head_dim,
            "dtype": encoding.dtype,
            "parameters": list(_parameters(encoding)),
            "claims": [
                {
                    "claim": claim.claim,
                    "status": claim.status.value,
                    "method": claim.method,
                    "evidence": claim.evidence,
                }
                for claim in said
                if claim.schedule == encoding.name
            ],
        }


def _parameters(encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Each array as float64, little endian, row by row."""
    import numpy as np

    for name, values in sorted(encoding.parameters.items()):
        held = np.ascontiguousarray(values, dtype="<f8")
        yield {
            "name": name,
            "shape": list(held.shape),
            "sha256": sha256(held.tobytes()).hexdigest(),
        }


def disagreements(
    held: Iterable[Mapping[str, Any]], own: Iterable[Mapping[str, Any]]
) -> Iterator[str]:
    """Sentences on how the encodings of a certificate differ from those of a target."""
    there = {e["name"]: {**e, "target": ""} for e in held}
    here = {e["name"]: {**e, "target": ""} for e in own}
    for name in [*there, *(n for n in here if n not in there)]:
        shown = quoted(name)
        if name not in here:
            yield f"it has an encoding {shown}, which the target does not give"
        elif name not in there:
            yield f"it lacks the encoding {shown}, which the target gives"
        else:
            for key, value in here[name].items():
                if there[name].get(key) != value:
                    yield f"its encoding {shown} is another one, or other claims hold: {key}"
                    break
