"""``--to rope``: frequencies of every head, and the basis that the projections take in.

The real normal form: an orthogonal C is ``Q T Q^T`` with T made of rotations by two, a skew B is
``Q diag([[0, -w], [w, 0]], ...) Q^T``. Then ``q^T exp((j-i) B) k = (Q^T q)^T R((j-i) w) (Q^T k)``:
RoPE with learnable frequencies on interleaved pairs, after ``W_Q -> Q^T W_Q`` and
``W_K -> Q^T W_K`` in every head. This needs one Q for all positions, so one axis, or axes whose
generators commute. The polar decomposition finds nothing here: of an orthogonal matrix it is the
matrix itself times the identity.

Tensors: ``rotary.freqs`` (axes, layers, heads, n/2), ``rotary.basis`` (layers, heads, n, n), both
float64. An odd head has one channel, the last, that stands still.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.convert._matrices import rounding
from ropeaudit.convert.interface import CLOSE, Converted, Refused, Source

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

NAME = "rope"
_CLEAR = 1e-4
"""Of a head's largest frequency: planes above it are told from their conjugates to 12 digits."""
COMMUTE = 1e-12
"""Relative commutator that float64 rounding leaves of two generators that commute."""


def convert(source: Source, *, heads: int | None = None) -> Converted:
    """Frequencies in radians per unit of position, and the bases.

    Falling in each head; where neighbouring channels turn by two, in the order of the channels.

    Raises Refused for reflections, half turns of a bare map, and axes that do not commute.
    """
    import numpy as np

    if source.maps is not None:
        w, q, notes = _of_maps(source.maps)
        again, aim = _maps(w, q), source.maps
    elif source.generators is not None:
        w, q, notes = _of_generators(source.generators)
        again, aim = generators(w, q), source.generators
    else:
        raise Refused("the source turns nothing")
    residual = float(np.abs(again - aim).max()) / (float(np.abs(aim).max()) or 1.0)
    allowed = CLOSE
    if source.maps is not None:
        allowed += rounding(source.maps)
    if residual > allowed:
        raise Refused(
            f"the planes made miss the source by {residual:.3g} of its largest entry, which is no "
            "rounding; the generators do not share a basis"
        )
    if (
        source.key_heads is not None
        and source.heads is not None
        and source.key_heads < source.heads
    ):
        notes.append(
            f"{source.key_heads} key heads serve {source.heads} query heads, so query heads of one "
            "group need one basis"
        )
    notes.append(
        "the basis goes into W_Q and W_K only where the rotation follows the projection at once: a "
        "norm with a gain per channel in between forbids it"
    )
    return Converted(
        to=NAME,
        source=source,
        tensors={"rotary.freqs": w, "rotary.basis": q},
        basis=q,
        frequencies=w,
        residual=residual,
        notes=tuple(notes),
    )


def generators(w: Array, q: Array) -> Array:
    """(axes, layers, heads, n, n) of frequencies (axes, layers, heads, n//2) and bases."""
    import numpy as np

    from ropeaudit.encodings._planes import block_diagonal, skew

    found: Array = q @ block_diagonal(skew(w), q.shape[-1]) @ np.swapaxes(q, -1, -2)
    return found


def _maps(w: Array, q: Array) -> Array:
    import numpy as np

    from ropeaudit.encodings._planes import block_diagonal, rotations

    n = q.shape[-1]
    turned = block_diagonal(rotations(w[0, 0]), n)
    if n % 2:
        turned[..., -1, -1] = 1.0
    found: Array = q[0] @ turned @ np.swapaxes(q[0], -1, -2)
    return found


def _of_maps(maps: Array) -> tuple[Array, Array, list[str]]:
    import numpy as np

    from ropeaudit.encodings._normal_form import normal_form

    found = [normal_form(one) for one in maps]
    for head, (_, theta, signs) in enumerate(found):
        where = f"head {head}: " if len(maps) > 1 else ""
        if (signs < 0.0).any():
            raise Refused(
                f"{where}the determinant is -1: the map holds a reflection, and RoPE only turns"
            )
        if theta.size and theta.max() > math.pi - CLOSE:
            raise Refused(
                f"{where}an angle is pi: a map that turns a plane half around does not say which "
                "way, nor in which planes if it does so twice; give the generator with --matrix "
                "generator"
            )
    w = np.stack([theta for _, theta, _ in found])[None, None]
    q = np.stack([basis for basis, _, _ in found])[None]
    return w, q, [
        "of a map the angles are known modulo 2 pi and without a sign: what is written equals the "
        "source at whole positions"
    ]  # fmt: skip


def _of_generators(family: Array) -> tuple[Array, Array, list[str]]:
    axes, layers, heads, n, _ = family.shape
    stored = _of_blocks(family)
    if stored is not None:
        w, q = stored
    elif axes > 1:
        return _of_family(family)
    else:
        w, q = _of_matrices(family.reshape(-1, n, n))
        w, q = w.reshape(1, layers, heads, n // 2), q.reshape(layers, heads, n, n)
    notes = []
    if w.size and float(w.max()) > math.pi:
        notes.append(
            f"the largest frequency is {float(w.max()):.4g}, beyond pi: it is kept as it is, "
            "though at whole positions a smaller one does the same"
        )
    return w, q, notes


def _of_blocks(family: Array) -> tuple[Array, Array] | None:
    """Planes of neighbouring channels as they are stored, exactly; None for anything else.

    A plane that turns the other way has its two channels swapped.
    """
    import numpy as np

    from ropeaudit.encodings._planes import block_diagonal, canonical

    n = family.shape[-1]
    half = 2 * (n // 2)
    rates = np.diagonal(family[..., 1:half:2, 0:half:2], axis1=-2, axis2=-1)
    if np.count_nonzero(family) != 2 * np.count_nonzero(rates):
        return None
    w, signs = canonical(np.moveaxis(rates, 0, -1))
    blocks = np.where(signs[..., None, None] < 0.0, np.eye(2)[::-1], np.eye(2))
    q = block_diagonal(blocks, n)
    if n % 2:
        q[..., -1, -1] = 1.0
    return np.moveaxis(w, -1, 0), q


def _of_matrices(b: Array) -> tuple[Array, Array]:
    """Frequencies (count, n//2) and bases (count, n, n) of skew matrices.

    At once where every plane turns clearly; one by one where some are near to standing still, which
    eigenvectors alone do not tell from their conjugates.
    """
    import numpy as np

    from ropeaudit.encodings._normal_form import skew_planes

    n = b.shape[-1]
    w, q = np.zeros((len(b), n // 2)), np.zeros(b.shape)
    clear = np.zeros(len(b), dtype=bool)
    if n % 2 == 0:
        values, vectors = np.linalg.eigh(1j * b)
        clear = values[:, n // 2] > _CLEAR * values[:, -1]
        v = math.sqrt(2.0) * vectors[clear][..., : n // 2 - 1 : -1]
        w[clear] = values[clear][:, : n // 2 - 1 : -1]
        q[clear] = np.stack([v.real, v.imag], axis=-1).reshape(-1, n, n)
    for at in np.flatnonzero(~clear):
        q[at], w[at] = skew_planes(b[at])
    return w, q


def _of_family(family: Array) -> tuple[Array, Array, list[str]]:
    """Several axes: one basis for all of them, where they commute."""
    import numpy as np

    from ropeaudit.encodings._algebra import joint_vectors, largest_commutator

    apart = float(largest_commutator(family).max())
    if apart > COMMUTE:
        raise Refused(
            f"the generators of the {len(family)} axes do not commute (|[A, B]| / (|A| |B|) "
            f"reaches {apart:.3g}), so no basis turns all of them into planes; only blocks of two, "
            "one axis or a commuting family have frequencies"
        )
    w, v = joint_vectors(family)
    planes = np.stack([v.real, v.imag], axis=-1) * math.sqrt(2.0)
    n = family.shape[-1]
    q = planes.reshape(*planes.shape[:-2], n // 2 * 2)
    if n % 2 or float(np.abs(np.swapaxes(q, -1, -2) @ q - np.eye(n // 2 * 2)).max()) > CLOSE:
        raise Refused(
            "some plane stands still on every axis, so its basis is not determined; convert each "
            "axis on its own"
        )
    return np.moveaxis(w, -1, 0), q, [f"{len(family)} axes that commute, one vector for each plane"]
