"""Planes of single matrices: real bases in which skew and orthogonal matrices are blocks of two.

The batched functions of ``_algebra`` pair an eigenvector with its conjugate, which is no plane
where an eigenvalue is about zero. Here such channels are split off and looked at on their own
scale, so that angles of 1e-9 beside angles of 1 keep their digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropeaudit.encodings._algebra import joint_vectors, skew_part
from ropeaudit.encodings._planes import block_diagonal, rotations, skew

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

_CLEAR = 1e-4
"""Of the largest frequency: a plane above it is told from its conjugate to 12 digits."""
_NOISE = 1e-14
_OVERLAP = 1e-7


def skew_planes(b: Array) -> tuple[Array, Array]:
    """(Q, w) of one skew matrix (n, n): ``B = Q diag([[0, -w], [w, 0]], ...) Q^T``.

    Q is orthogonal with determinant of any sign, w (n//2,) falls and is not negative; for odd n the
    last column of Q is the axis that stands still.
    """
    import numpy as np

    n = len(b)
    if n < 2:
        return np.eye(n), np.zeros(0)
    values, vectors = np.linalg.eigh(1j * b)
    top = values[-1]
    if not top > 0.0:
        return np.eye(n), np.zeros(n // 2)
    clear = np.flatnonzero(values > _CLEAR * top)[::-1]
    v = np.sqrt(2.0) * vectors[:, clear]
    columns = np.stack([v.real, v.imag], axis=-1).reshape(n, -1)
    w = values[clear]
    if 2 * len(clear) < n - 1:
        whole, _ = np.linalg.qr(columns, mode="complete")
        rest = whole[:, 2 * len(clear) :]
        inner = rest.T @ b @ rest
        inner = (inner - inner.T) / 2.0
        # Below rounding of the whole matrix nothing turns.
        inner = np.where(np.abs(inner).max() > _NOISE * top, inner, 0.0)
        own, more = skew_planes(inner)
        columns, w = np.hstack([columns, rest @ own]), np.concatenate([w, more])
    elif 2 * len(clear) < n:
        whole, _ = np.linalg.qr(columns, mode="complete")
        columns = np.hstack([columns, whole[:, -1:]])
    return _orthogonal(columns), w


def _orthogonal(q: Array) -> Array:
    """The orthogonal matrix next to ``q``, which nearly is one: its polar factor."""
    import numpy as np

    u, _, vh = np.linalg.svd(q)
    found: Array = u @ vh
    return found


def normal_form(c: Array) -> tuple[Array, Array, Array]:
    """(Q, angles, signs) of one orthogonal matrix: ``C = Q T Q^T``, the real Schur form.

    T holds ``[[cos, -sin], [sin, cos]]`` of each angle in (0, pi], falling, then ``signs``: single
    channels with 1.0 (static) or -1.0 (a reflection; at most one). An eigenvalue -1 that occurs
    twice is the angle pi, and 1 twice the angle 0.
    """
    import numpy as np

    n = len(c)
    cosines, basis = np.linalg.eigh((c + c.T) / 2.0)
    # Cut where neighbours are far apart: the two spaces are then known to full precision. Where
    # angles stay away from pi (or from 0) one space holds everything.
    cut = _cut(cosines)
    parts = []
    for space, sign in ((basis[:, cut:], 1.0), (basis[:, :cut], -1.0)):
        inner = sign * (space.T @ c @ space)
        eye = np.eye(len(inner))
        # Cayley: skew, with tan(angle / 2) of what is left of each angle.
        cayley = np.linalg.solve((inner + eye).T, (inner - eye).T).T
        q, _ = skew_planes((cayley - cayley.T) / 2.0)
        parts.append((space @ q, sign))
    return _assembled(c, parts, n)


def _cut(cosines: Array) -> int:
    import numpy as np

    edges = np.concatenate([[-0.7], np.clip(cosines, -0.7, 0.7), [0.7]])
    return int(np.argmax(np.diff(edges)))


def _assembled(c: Array, parts: list[tuple[Array, float]], n: int) -> tuple[Array, Array, Array]:
    import numpy as np

    planes, singles, signs = [], [], []
    for q, sign in parts:
        pairs = q.shape[1] // 2
        planes += [q[:, 2 * i : 2 * i + 2] for i in range(pairs)]
        if q.shape[1] % 2:
            singles.append(q[:, -1:])
            signs.append(sign)
    if len(singles) == 2 and n % 2 == 0 and signs[0] == signs[1]:
        planes.append(np.hstack(singles))
        singles, signs = [], []
    found = []
    for p in planes:
        t = p.T @ c @ p
        found.append(float(np.arctan2((t[1, 0] - t[0, 1]) / 2.0, (t[0, 0] + t[1, 1]) / 2.0)))
    planes = [p if a >= 0.0 else p[:, ::-1] for p, a in zip(planes, found, strict=True)]
    theta = np.abs(np.array(found))
    order = np.argsort(-theta, kind="stable")
    whole = np.hstack([*(planes[i] for i in order), *singles]) if n else np.zeros((0, 0))
    return _orthogonal(whole), theta[order], np.array(signs)


def from_normal_form(q: Array, theta: Array, signs: Array) -> Array:
    """The matrix of :func:`normal_form` again."""
    t = block_diagonal(rotations(theta), len(q))
    at = 2 * len(theta)  # what follows are single channels
    t[range(at, len(q)), range(at, len(q))] = signs
    found: Array = q @ t @ q.T
    return found


def principal_log(c: Array) -> Array | None:
    """The skew logarithm of one orthogonal matrix with all frequencies in [0, pi].

    None for determinant -1, which has no real logarithm. Unique where no angle is pi.
    """
    q, theta, signs = normal_form(c)
    if (signs < 0.0).any():
        return None
    found = q @ block_diagonal(skew(theta), len(q)) @ q.T
    return skew_part(found) / 2.0


def plane_vectors(family: Array) -> tuple[Array, Any]:
    """As :func:`ropeaudit.encodings._algebra.joint_vectors`, with planes also where nothing turns.

    Of channels that stand still, eigenvectors do not say which two make a plane; any two do, and
    they have to be two. Only matrices that have such channels are worked on one by one.
    """
    import numpy as np

    w, v = joint_vectors(family)
    n, units = v.shape[-2:]
    # An eigenvector and its conjugate are orthogonal where its plane turns.
    overlap = np.abs(np.swapaxes(v, -1, -2) @ v).max(axis=(-2, -1), initial=0.0)
    flat_w, flat_v = w.reshape(-1, units, len(family)), v.reshape(-1, n, units)
    members = family.reshape(len(family), -1, n, n)
    for i in np.flatnonzero(overlap.reshape(-1) > _OVERLAP):
        if len(family) == 1:
            q, turns = skew_planes(members[0, i])
            flat_w[i, :, 0] = turns
        else:
            q = _with_still_planes(flat_w[i], flat_v[i])
        flat_v[i] = (q[:, : 2 * units : 2] + 1j * q[:, 1 : 2 * units : 2]) / np.sqrt(2.0)
    return flat_w.reshape(w.shape), flat_v.reshape(v.shape)


def _with_still_planes(w: Array, v: Any) -> Array:
    """A real basis of the planes ``v`` (n, units), any in place of those that stand still."""
    import numpy as np

    length = np.linalg.norm(w, axis=-1)
    turning = length > _CLEAR * length.max(initial=0.0)  # longest first
    clear = np.sqrt(2.0) * v[:, turning]
    columns = np.stack([clear.real, clear.imag], axis=-1).reshape(len(v), -1)
    whole, _ = np.linalg.qr(columns, mode="complete")
    return _orthogonal(np.hstack([columns, whole[:, columns.shape[1] :]]))
