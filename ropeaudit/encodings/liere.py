"""LieRE (Ostmeier et al., arXiv 2406.10322): ``M(p) = exp(sum_a p_a A_a)`` of learned generators.

``A_a = U_a - U_a^T`` with U strictly upper triangular in blocks of g channels; queries and keys
turn alike, the class token stands at 0. Blocks of two always commute, so that scores depend on
differences alone; larger blocks do only where training kept them commuting.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings._algebra import (
    expm_family,
    frequencies,
    frobenius,
    from_planes,
    joint_vectors,
    largest_commutator,
    resolution,
    skew_part,
)
from ropeaudit.encodings._liere_layout import OPTIONS, recognise
from ropeaudit.encodings._normal_form import plane_vectors
from ropeaudit.encodings._planes import block_diagonal, canonical, rotations
from ropeaudit.encodings._still import rest
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

__all__ = [
    "KINDS", "OPTIONS", "bias", "blocks", "commutes", "generators", "operators", "rebuilt",
    "recognise", "spectrum",
]  # fmt: skip

KINDS = ("liere",)
_COMMUTING = 16.0
"""Relative commutators up to this many eps are rounding."""


def spectrum(encoding: Encoding) -> Spectrum:
    """Radians per unit of position, block after block.

    Blocks of two, one axis, and families that commute: one vector a plane (``joint``), in stored
    order for blocks of two, otherwise longest first in each block. What does not commute has no
    joint spectrum: column a is the spectrum of axis a alone, falling, and ``directions`` holds
    those along the diagonals, ``sum_a n_a A_a`` with n of length 1.
    """
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    family = blocks(encoding)  # (axes, layers, heads, count, g, g)
    joint = commutes(encoding, family)
    w = _joint(family) if joint else np.moveaxis(frequencies(family), 0, -1)
    count, g = family.shape[3:5]
    still = np.zeros((*w.shape[:2], count * (g // 2)))
    return Spectrum(
        w=w.reshape(*still.shape, len(family)),
        gamma=still,
        eta=still,
        unit="rad/unit",
        sector=("rotary",) * still.shape[-1],
        joint=joint,
        static=encoding.head_dim - 2 * still.shape[-1],
        directions={} if joint else _directions(family, encoding.axes),
        # Blocks of two hold their frequencies as they are.
        noise=(g > 2) * 4.0 * resolution(encoding.dtype) * frobenius(family).max(axis=(0, 3)),
        rest=rest(family, encoding.dtype).max(axis=(0, 3)),
    )


def blocks(encoding: Encoding) -> Array:
    """The generators of the layers in use, block by block: (axes, layers, heads, count, g, g)."""
    import numpy as np

    return skew_part(np.triu(_used(encoding), 1))


def commutes(encoding: Encoding, family: Array) -> bool:
    """Whether all generators commute, up to the rounding of the stored format."""
    limit = _COMMUTING * resolution(encoding.dtype)
    return bool((largest_commutator(family) <= limit).all())


def generators(encoding: Encoding) -> Array:
    """(axes, layers, heads, n, n), radians per unit; channels beyond the last block are zero."""
    return block_diagonal(blocks(encoding), encoding.head_dim)


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """The same maps for queries and keys, (count, layers, heads, n, n) twice.

    ``positions``: (count, axes) in units, see :func:`_liere_layout.line`; the class token is at 0.
    """
    import numpy as np

    family = blocks(encoding)
    at = np.asarray(positions, dtype=np.float64)
    if family.shape[-1] == 2:
        own = np.tensordot(at, family[..., 1, 0], axes=1)
        turned = rotations(own)
    else:
        turned = expm_family(family, at)
    if turned.shape[-1] == encoding.head_dim:
        return turned[..., 0, :, :], turned[..., 0, :, :]
    found = block_diagonal(turned, encoding.head_dim)
    rest = range(turned.shape[-3] * turned.shape[-1], encoding.head_dim)
    found[..., rest, rest] = 1.0
    return found, found


def bias(encoding: Encoding, queries: Array, keys: Array) -> None:
    """None: nothing is added to the score."""
    return


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the frequencies of ``spectrum`` in its own planes.

    Joint spectra: each plane keeps its place. Others: each axis keeps its own planes. Only entries
    above the diagonal change, of the layers in use; the rest of the tensor is never read.
    """
    import numpy as np

    family = blocks(encoding)
    axes, layers, heads, count, g, _ = family.shape
    w = spectrum.w.reshape(layers, heads, count, g // 2, axes)
    if g == 2:
        _, signs = canonical(np.moveaxis(family[..., 1, 0], 0, -1))
        turns = w[..., 0, :] * signs[..., None]
        new = np.zeros_like(family)
        new[..., 1, 0] = np.moveaxis(turns, -1, 0)
        new[..., 0, 1] = -new[..., 1, 0]
    elif commutes(encoding, family):
        planes = plane_vectors(family)[1]
        new = np.stack([from_planes(planes, w[..., a]) for a in range(axes)])
    else:
        planes = plane_vectors(family[None])[1]
        new = from_planes(planes, np.moveaxis(w, -1, 0))
    stored = encoding.parameters["generator_raw_params"].copy()
    used = stored[:, :layers].reshape(axes, layers, heads, count, g, g)
    upper = np.triu(np.ones((g, g), dtype=bool), 1)
    stored[:, :layers] = np.where(upper, new, used).reshape(axes, layers, heads * count, g, g)
    return replace(encoding, parameters={**encoding.parameters, "generator_raw_params": stored})


def _used(encoding: Encoding) -> Array:
    """The stored tensor of the layers in use, heads apart: (axes, layers, heads, count, g, g)."""
    stored = encoding.parameters["generator_raw_params"]
    axes, layers, total, g, _ = stored.shape
    if encoding.settings["layers_used"] == "first":
        stored, layers = stored[:, :1], 1
    count = encoding.settings["blocks_per_head"]
    return stored.reshape(axes, layers, total // count, count, g, g)


def _joint(family: Array) -> Array:
    """(layers, heads, count, units, axes) of a family that commutes."""
    import numpy as np

    if family.shape[-1] == 2:
        return canonical(np.moveaxis(family[..., 1, 0], 0, -1))[0][..., None, :]
    if len(family) == 1:
        return frequencies(family[0])[..., None]
    return joint_vectors(family)[0]


def _directions(family: Array, axes: tuple[str, ...]) -> dict[str, Array]:
    """Spectra along the diagonals: all sums and differences of two or three axes, length 1."""
    import numpy as np

    found: dict[str, Any] = {}
    for signs in product((0, 1, -1), repeat=len(axes)):
        used = [(s, a) for s, a in zip(signs, axes, strict=True) if s]
        if len(used) < 2 or used[0][0] < 0:
            continue  # an axis alone, or another direction backwards
        n = np.array(signs) / np.sqrt(len(used))
        values = frequencies(np.tensordot(n, family, axes=1))
        name = "".join(f"{'+' if s > 0 else '-'}{a}" for s, a in used).removeprefix("+")
        found[name] = values.reshape(*values.shape[:2], -1)
    return found
