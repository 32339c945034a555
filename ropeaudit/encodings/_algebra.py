"""Linear algebra of rotation generators, batched: leading axes are layers, heads, blocks.

A skew matrix B turns planes; their radians per unit of position are its singular values, which come
in equal twos. Planes come from the Hermitian ``i B``, whose eigenvalues are the same numbers with
both signs. What needs no planes stays real: the complex solvers hand matrices of 64 channels to
several threads, which costs up to fifty times as much where other work holds the cores.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings._planes import canonical

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

TWO_PI = 2.0 * math.pi
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
"""Distance of 1 to the next number of the formats that generators are made in. Narrower ones hold
what a cast has made of them, and the model has no other frequencies than those."""

_PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
"""Numerator of the diagonal Pade approximant of degree 13 (Higham 2005, equation 2.3)."""
_PADE_NORM = 5.371920351148152
"""Up to this 1-norm degree 13 is exact to float64 (Higham 2005, table 2.3)."""
_SQUARINGS = 6
"""Three or four squarings lose a digit; for more, eigenvectors keep maps orthogonal."""
_CHUNK = 1 << 15
"""Numbers of one array that are worked on at once, so that all stay in a cache."""
_FAMILY_SEED = 7
_TRIES = 4


def resolution(dtype: str) -> float:
    """Relative rounding of what was computed before it was stored as ``dtype``."""
    return EPS.get(dtype, EPS["float32"])


def skew_part(a: Array, *, lower: bool = False) -> Array:
    """``A - A^T``, exactly skew; with ``lower`` of the strict lower triangle of A alone."""
    import numpy as np

    used = np.tril(a, -1) if lower else a
    found: Array = used - np.swapaxes(used, -1, -2)
    return found


def frequencies(b: Array) -> Array:
    """(..., n//2) absolute eigenvalues of skew matrices (..., n, n), falling, one a plane.

    Exact to a few eps of the norm, and never folded.
    """
    import numpy as np

    every = np.linalg.svd(b, compute_uv=False)[..., ::2]
    return np.asarray(every[..., : b.shape[-1] // 2], dtype=np.float64)


def angles(c: Array) -> Array:
    """(..., n//2) rotation angles of orthogonal matrices of determinant 1, falling, in [0, pi].

    From the eigenvalues and never from the cosines: in float32 the arc cosine of a symmetric part
    loses half of the digits of a small angle.
    """
    import numpy as np

    n = c.shape[-1]
    every = np.sort(np.abs(np.angle(np.linalg.eigvals(c))), axis=-1)[..., ::-1]
    found: Array = every[..., ::2][..., : n // 2]
    return found


def expm_skew(b: Array, times: Array | None = None) -> Array:
    """``exp(t B)`` of skew B (..., n, n) for each of ``times`` (count,): (count, ..., n, n).

    Without ``times``: exp(B) alone. One eigendecomposition serves several of them.
    """
    import numpy as np

    steps = np.ones(1) if times is None else np.asarray(times, dtype=np.float64)
    if len(steps) == 1 and _squarings(b * steps[0]).max(initial=0) <= _SQUARINGS:
        one = expm(b * steps[0])
        return one if times is None else one[None]
    values, vectors = np.linalg.eigh(1j * b)
    phase = np.exp(-1j * steps.reshape(-1, *(1,) * values.ndim) * values)
    turned = vectors * phase[..., None, :]
    # The real part alone, in two real products instead of a complex one (four).
    across = np.swapaxes(vectors, -1, -2)
    real, imag = np.ascontiguousarray(across.real), np.ascontiguousarray(across.imag)
    found: Array = np.ascontiguousarray(turned.real) @ real
    found += np.ascontiguousarray(turned.imag) @ imag
    if times is None:
        found = found[0]
    return found


def expm_family(family: Array, positions: Array) -> Array:
    """``exp(sum_a p_a A_a)`` of skew ``family`` (axes, ..., n, n) at ``positions`` (count, axes).

    (count, ..., n, n). Positions on one line through 0 share one eigendecomposition.
    """
    import numpy as np

    at = np.asarray(positions, dtype=np.float64)
    found = np.zeros((len(at), *family.shape[1:]))
    left = np.arange(len(at))
    while len(left):
        line = at[left[np.argmax(np.linalg.norm(at[left], axis=1))]]
        size = float(line @ line)
        times = at[left] @ line / (size or 1.0)
        off = np.linalg.norm(at[left] - times[:, None] * line, axis=1)
        on = off <= 4.0 * EPS["float64"] * np.linalg.norm(at[left], axis=1)
        found[left[on]] = expm_skew(np.tensordot(line, family, axes=1), times[on])
        left = left[~on]
    return found


def expm(a: Array) -> Array:
    """exp of any square matrices (..., n, n), by Pade approximation and repeated squaring.

    N. J. Higham, The scaling and squaring method for the matrix exponential revisited, 2005.
    """
    import numpy as np

    n = a.shape[-1]
    flat = a.reshape(-1, n, n)
    found = np.empty(flat.shape)
    size = max(1, _CHUNK // (n * n))
    for start in range(0, len(flat), size):
        found[start : start + size] = _exponentials(flat[start : start + size])
    return found.reshape(a.shape)


def _squarings(a: Array) -> Any:
    """(...,): how often ``a`` (..., n, n) has to be halved for the approximation to hold."""
    import numpy as np

    norm = np.abs(a).sum(axis=-2).max(axis=-1, initial=0.0)
    return np.ceil(np.log2(np.maximum(norm / _PADE_NORM, 1.0))).astype(int)


def _exponentials(a: Array) -> Array:
    import numpy as np

    squarings = _squarings(a)
    found = _pade(a * np.exp2(-squarings.astype(np.float64))[:, None, None])
    for step in range(int(squarings.max(initial=0))):
        more = squarings > step
        found[more] = found[more] @ found[more]
    return found


def _pade(a: Array) -> Array:
    import numpy as np

    one = np.eye(a.shape[-1])
    two = a @ a
    four = two @ two
    six = four @ two
    c = _PADE
    odd = a @ (
        six @ (c[13] * six + c[11] * four + c[9] * two)
        + c[7] * six + c[5] * four + c[3] * two + c[1] * one
    )  # fmt: skip
    even = (
        six @ (c[12] * six + c[10] * four + c[8] * two)
        + c[6] * six + c[4] * four + c[2] * two + c[0] * one
    )  # fmt: skip
    found: Array = np.asarray(np.linalg.solve(even - odd, even + odd), dtype=np.float64)
    return found


def commutator(a: Array, b: Array) -> Array:
    """``AB - BA``."""
    return a @ b - b @ a


def relative_commutator(a: Array, b: Array) -> Array:
    """``||[A, B]||_F / (||A||_F ||B||_F)``: 0 where the two commute, also where one is zero."""
    import numpy as np

    size = frobenius(a) * frobenius(b)
    found: Array = frobenius(commutator(a, b)) / np.where(size > 0.0, size, 1.0)
    return found


def frobenius(a: Array) -> Array:
    """The Frobenius norm of each matrix."""
    import numpy as np

    found: Array = np.linalg.norm(a, axis=(-2, -1))
    return found


def largest_commutator(family: Array) -> Array:
    """The largest relative commutator among pairs of ``family`` (axes, ..., n, n)."""
    import numpy as np

    worst: Array = np.zeros(family.shape[1:-2])
    for i in range(len(family)):
        for j in range(i):
            worst = np.maximum(worst, relative_commutator(family[j], family[i]))
    return worst


def orthogonality_defect(c: Array) -> Array:
    """``||C^T C - I||_F / sqrt(n)``."""
    import numpy as np

    n = c.shape[-1]
    found: Array = frobenius(np.swapaxes(c, -1, -2) @ c - np.eye(n)) / math.sqrt(n)
    return found


def joint_vectors(family: Array) -> tuple[Array, Array]:
    """Common eigenvectors of commuting skew matrices ``family`` (axes, ..., n, n).

    w (..., n//2, axes): what each plane turns by along each axis, longest vector first, sign
    canonical; v (..., n, n//2) complex with ``i A_a v = w_a v``, so that ``A_a`` is the sum of
    ``2 w_a Im(v v^H)``. A random combination of the family tells the planes apart; of several the
    one that leaves the smallest rest is taken, since one may make two planes about equal.
    """
    import numpy as np

    rng = np.random.default_rng(_FAMILY_SEED)
    best_w: Any
    best_w, best_v, rest = _diagonalised(family, np.ones(len(family)))
    for _ in range(_TRIES if len(family) > 1 else 0):
        w, v, left = _diagonalised(family, rng.standard_normal(len(family)))
        better = left < rest
        best_w = np.where(better[..., None, None], w, best_w)
        best_v = np.where(better[..., None, None], v, best_v)
        rest = np.minimum(left, rest)
    order = np.argsort(-np.linalg.norm(best_w, axis=-1), axis=-1, kind="stable")
    best_w = np.take_along_axis(best_w, order[..., None], axis=-2)
    best_v = np.take_along_axis(best_v, order[..., None, :], axis=-1)
    w, signs = canonical(best_w)
    return w, np.where(signs[..., None, :] < 0.0, best_v.conj(), best_v)


def _diagonalised(family: Array, weights: Array) -> tuple[Array, Any, Array]:
    import numpy as np

    n = family.shape[-1]
    _, vectors = np.linalg.eigh(1j * np.tensordot(weights, family, axes=1))
    turned = np.conj(np.swapaxes(vectors, -1, -2)) @ (1j * family) @ vectors
    values = np.diagonal(turned, axis1=-2, axis2=-1).real
    off = turned * (1.0 - np.eye(n))
    rest: Array = np.sqrt((np.abs(off) ** 2).sum(axis=(0, -2, -1)))
    kept = slice(n - n // 2, None)
    w = np.moveaxis(values[..., kept], 0, -1)[..., ::-1, :]
    return w, vectors[..., kept][..., ::-1], rest


def from_planes(v: Any, w: Array) -> Array:
    """The skew matrix (..., n, n) that turns planes ``v`` (..., n, units) by ``w`` (..., units)."""
    import numpy as np

    product = (v * w[..., None, :]) @ np.conj(np.swapaxes(v, -1, -2))
    whole = 2.0 * product.imag
    found: Array = (whole - np.swapaxes(whole, -1, -2)) / 2.0
    return found


def folded(w: Array) -> Array:
    """``w`` (..., axes) modulo 2 pi on each axis, sign canonical.

    Two vectors are the same encoding at whole-number positions where their folded ones are equal;
    one sign goes with all axes: (5.0, 0.3) is (1.283, -0.3), and not (1.283, 0.3).
    """
    import numpy as np

    return canonical(w - TWO_PI * np.round(w / TWO_PI))[0]


def stored_again(a: Array, old: Array, new: Array) -> Array:
    """``A`` with the skew part ``new`` (A - A^T) in place of ``old``, its symmetric part kept."""
    return a + (new - old) / 2.0
