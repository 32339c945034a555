"""Claims about an encoding that is no single table: skew, distinct, relative.

They are about the numbers as they are held, which are exact: an encoding is what its file holds.
``skew``: every map is a rotation. ``distinct``: in
no head do two planes turn alike. ``relative``: scores depend on the difference of positions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ropeaudit.proofs import _encodings_jordan
from ropeaudit.proofs._claims import ABOUT_ENCODINGS
from ropeaudit.proofs._spectra import Planes, brackets, equal_vectors, planes
from ropeaudit.proofs.interface import Claim, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding

CLAIMS = ABOUT_ENCODINGS
"""Every claim about an encoding, in this order."""
SHOWN = 64
"""Clusters that the evidence lists."""

ROTATES = "A - A^T is skew whatever A holds, and the exponential of a skew matrix is a rotation."
SQUAREFREE = (
    "The characteristic polynomial of the generators, as integers times a power of two, is "
    "squarefree in the square of the frequency modulo a prime, so it has no repeated root."
)
REPEATED = "The characteristic polynomial of the generators, over the integers, has repeated roots."
EXACTLY = "Stored numbers are compared as they are, vectors up to one sign."
SUBGROUP = "exp(p B) is a one-parameter group: exp(i B)^T exp(j B) = exp((j - i) B)."
COMMUTE = "The commutators of the generators, in integers, are zero."
NO_COMMUTE = "An entry of a commutator of two generators, in integers, is not zero."
PREFIX = "Maps are orthogonal, so those of the common path cancel."
LAG = "The bias is a function of the lag."
BOTH = "Rotations are a one-parameter group, and the bias is a function of the lag."
NOT_COVERED = "No exact statement covers this kind of encoding."
NO_JOINT = "The axes do not commute, so there are no planes that all of them turn."
ONE_COMBINATION = (
    "A combination of the axes has planes that turn alike, which says nothing about all of them."
)
TOO_LARGE = "The integers are too large to decide with."


@record()
class _Found:
    status: Status
    method: str
    evidence: dict[str, Any]


def claims(encoding: Encoding) -> tuple[Claim, ...]:
    """Every claim of :data:`CLAIMS` about ``encoding``; never raises for odd numbers."""
    decide = _KINDS.get(encoding.kind, _uncovered)
    found = decide(encoding)
    return tuple(
        Claim(
            claim=name,
            schedule=encoding.name,
            status=found[name].status,
            method=found[name].method,
            evidence=found[name].evidence,
        )
        for name in CLAIMS
    )


def _proved(method: str, **evidence: Any) -> _Found:
    return _Found(Status.PROVED, method, evidence)


def _refuted(method: str, **evidence: Any) -> _Found:
    return _Found(Status.REFUTED, method, evidence)


def _open(method: str, **evidence: Any) -> _Found:
    return _Found(Status.UNDECIDED, method, {"reason": method, **evidence})


def _uncovered(encoding: Encoding) -> dict[str, _Found]:
    return dict.fromkeys(CLAIMS, _open(NOT_COVERED))


def _ape(encoding: Encoding) -> dict[str, _Found]:
    if encoding.settings.get("ape-stores") == "operator":
        return _uncovered(encoding)  # a stored map is orthogonal to rounding only
    tree = encoding.kind == "ape-tree"
    x = _ape_parameters(encoding)  # (axes or branches, heads, n, n)
    labels = [
        {"branch" if tree else "axis": a, "layer": 0, "head": h}
        for a in range(x.shape[0])
        for h in range(x.shape[1])
    ]
    n = x.shape[-1]
    distinct = _spectral(planes(x.reshape(1, -1, 1, n, n)), labels)
    relative = _proved(PREFIX) if tree else _proved(SUBGROUP)
    if encoding.kind == "ape-grid":
        relative = _proved(COMMUTE, axes=len(encoding.axes))  # disjoint channels
    return {"skew": _proved(ROTATES), "distinct": distinct, "relative": relative}


def _ape_parameters(encoding: Encoding) -> Array:
    """Matrices X whose ``X - X^T`` are the generators, of those that are read."""
    import numpy as np

    from ropeaudit.encodings import ape

    stored = encoding.parameters["_primitives"][ape._indices(encoding)]
    lower = encoding.settings.get("ape-skew") == "tril"
    return np.tril(stored, -1) if lower else np.asarray(stored)


def _ape_rotary(encoding: Encoding) -> dict[str, _Found]:
    thetas = encoding.parameters["thetas"].reshape(1, -1, 1)
    return {
        "skew": _proved(ROTATES),
        "distinct": _vectors(thetas, [{"layer": 0, "head": 0}]),
        "relative": _proved(SUBGROUP),
    }


def _liere(encoding: Encoding) -> dict[str, _Found]:
    import numpy as np

    from ropeaudit.encodings import liere

    x = np.triu(liere._used(encoding), 1)  # (axes, layers, heads, blocks, g, g)
    axes, layers, heads, blocks, g, _ = x.shape
    labels = [{"layer": n, "head": h} for n in range(layers) for h in range(heads)]
    if g == 2:
        w = np.moveaxis(x[..., 0, 1], 0, -1).reshape(layers * heads, blocks, axes)
        distinct, relative = _vectors(w, labels), _proved(COMMUTE, axes=axes)
    elif axes == 1:
        distinct = _spectral(planes(x.reshape(1, -1, blocks, g, g)), labels)
        relative = _proved(SUBGROUP)
    else:
        relative = _relative(x, encoding)
        distinct = _of_family(x, labels, commute=relative.status is Status.PROVED)
    return {"skew": _proved(ROTATES), "distinct": distinct, "relative": relative}


def _relative(x: Any, encoding: Encoding) -> _Found:
    axes, _, heads, blocks, g, _ = x.shape
    found = brackets(x.reshape(axes, -1, g, g))
    open_ = [b for b in found if b.entry is not None]
    if not open_:
        return _proved(COMMUTE, axes=axes)
    first = open_[0]
    assert first.entry is not None
    block, row, column = first.entry
    place, block = divmod(block, blocks)
    return _refuted(
        NO_COMMUTE,
        axes=[encoding.axes[a] for a in first.axes],
        layer=place // heads,
        head=place % heads,
        block=block,
        entry=[row, column],
        value=str(first.value),
    )


def _of_family(x: Any, labels: list[dict[str, int]], *, commute: bool) -> _Found:
    """Several axes with blocks of more than two: by one combination of them, if they commute.

    Planes that all axes turn alike, one sign given, are turned alike by every combination.
    """
    if not commute:
        return _open(NO_JOINT)
    spectral = _spectral(planes(x.reshape(len(x), -1, *x.shape[3:])), labels)
    return spectral if spectral.status is Status.PROVED else _open(ONE_COMBINATION)


def _spectral(found: list[Planes], labels: list[dict[str, int]]) -> _Found:
    clusters = [
        {**label, "planes": m, "frequencies": count, "w_squared": [str(f) for f in _squares(p, m)]}
        for p, label in zip(found, labels, strict=True)
        for m, count in sorted((p.parts or {}).items(), reverse=True)
        if m > 1
    ]
    if clusters:
        clusters.sort(key=lambda c: -int(str(c["planes"])))
        return _refuted(REPEATED, max_cluster=clusters[0]["planes"], clusters=clusters[:SHOWN])
    if any(p.largest is None for p in found):
        return _open(TOO_LARGE)
    primes = sorted({p.prime for p in found if p.prime is not None}, reverse=True)
    return _proved(SQUAREFREE, groups=len(found), primes=primes)


def _squares(p: Planes, m: int) -> tuple[Fraction, ...]:
    return (p.squares or {}).get(m, ())


def _vectors(w: Any, labels: list[dict[str, int]]) -> _Found:
    """``w`` (groups, units, axes), stored."""
    clusters: list[dict[str, Any]] = [
        {**label, "planes": len(units), "units": units}
        for own, label in zip(equal_vectors(w), labels, strict=True)
        for units in own
    ]
    if clusters:
        clusters.sort(key=lambda c: -c["planes"])
        return _refuted(EXACTLY, max_cluster=clusters[0]["planes"], clusters=clusters[:SHOWN])
    return _proved(EXACTLY, groups=w.shape[0])


def _stored_vectors(encoding: Encoding) -> dict[str, _Found]:
    import numpy as np

    w = np.moveaxis(encoding.parameters["freqs"], 0, -1)  # (layers, heads, units, axes)
    return {
        "skew": _proved(ROTATES),
        "distinct": _vectors(w.reshape(-1, *w.shape[2:]), _labels(w)),
        "relative": _proved(COMMUTE, axes=w.shape[3]),
    }


def _labels(w: Any) -> list[dict[str, int]]:
    return [{"layer": n, "head": h} for n in range(w.shape[0]) for h in range(w.shape[1])]


def _jordan(encoding: Encoding) -> dict[str, _Found]:
    found = _encodings_jordan.claims(encoding)
    if found is None:
        return _uncovered(encoding)
    return {name: _Found(*one) for name, one in found.items()}


def _rope_alibi(encoding: Encoding) -> dict[str, _Found]:
    omega = encoding.parameters["omega"]
    rows = omega.reshape(-1, omega.shape[-1], 1)
    return {
        "skew": _proved(ROTATES),
        "distinct": _vectors(rows, _labels(omega)),
        "relative": _proved(BOTH),
    }


def _alibi(encoding: Encoding) -> dict[str, _Found]:
    slopes = encoding.parameters["slopes"]
    rows = slopes.reshape(slopes.shape[0], -1, 1)
    return {
        "skew": _open("Nothing is turned, so there is no generator."),
        "distinct": _vectors(rows, [{"layer": n} for n in range(len(rows))]),
        "relative": _proved(LAG),
    }


_KINDS: dict[str, Callable[[Encoding], dict[str, _Found]]] = {
    "ape-sequence": _ape,
    "ape-tree": _ape,
    "ape-grid": _ape,
    "ape-rotary": _ape_rotary,
    "liere": _liere,
    "rope-mixed": _stored_vectors,
    "rope-axial": _stored_vectors,
    "rope-per-head": _stored_vectors,
    "alibi": _alibi,
    "rope-alibi": _rope_alibi,
    **dict.fromkeys(
        ("jordan-raw", "jordan-exact", "jordan-stabilized", "jordan-real", "damped-rope"), _jordan
    ),
    "direct-sum": _jordan,
}


def kinds() -> Iterator[str]:
    """Kinds of encodings that the claims are about."""
    yield from _KINDS
