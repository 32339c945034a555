"""RoPE-Mixed (rope-vit, arXiv 2403.13298): every plane turns with a learned vector of x and y.

Channel pair (2c, 2c+1) turns by ``w_x t_x + w_y t_y``; t_x is the column of a patch and t_y its
row, whole numbers from 0. Queries and keys turn alike, so the score depends on differences only.
The class token is not rotated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _grid, _vision
from ropeaudit.encodings._planes import block_diagonal, canonical, phases, rotations, skew
from ropeaudit.encodings._stored import facts
from ropeaudit.encodings.interface import Sources
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("rope-mixed",)
OPTIONS = {"grid": _grid.GRID, "test-grid": _grid.TEST_GRID, "head-dim": _grid.HEAD_DIM}


def recognise(sources: Sources) -> Iterator[Encoding]:
    """Learned vectors: DeiT ``freqs`` (2, layers, heads * head_dim/2), head after head; Swin
    ``rope_freqs`` (2, heads, head_dim/2) a block; one attention ``freqs`` (2, heads * head_dim/2);
    timm ``rope.freqs`` (2, layers, heads, head_dim/2).

    Raises InvalidValue for shapes that fit none of them, NaN and blocks that differ.
    """
    for group in _vision.each(_vision.groups(sources), axial=False):
        yield encoded(group, sources, "rope_mixed", "rope-mixed")


def encoded(group: _vision.Group, sources: Sources, module: str, kind: str) -> Encoding:
    """One group of stored vectors as an encoding of ``module``."""
    from ropeaudit.encodings.core import Encoding

    name = kind if group.stage is None else f"{kind}.stage{group.stage}"
    return Encoding(
        name=name,
        kind=kind,
        module=module,
        head_dim=2 * group.w.shape[-1],
        heads=group.w.shape[2],
        axes=("x", "y"),
        layers=group.layers,
        parameters={"freqs": group.w},
        dtype=group.tensors[0].dtype,
        positions=_vision.positions(sources),
        settings={"pairing": "interleaved", "parameter": group.leaf},
        assumed=group.assumed,
        provenance=facts(group.tensors),
    )


def spectrum(encoding: Encoding) -> Spectrum:
    """One vector (x, y) a plane, in stored order, sign canonical."""
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    w, _ = canonical(_vision.planes(encoding))
    still = np.zeros(w.shape[:-1])
    return Spectrum(w=w, gamma=still, eta=still, sector=("rotary",) * w.shape[2])


def generators(encoding: Encoding) -> Array:
    """(2, layers, heads, n, n); all commute."""
    return block_diagonal(skew(encoding.parameters["freqs"]))


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """The same rotation for queries and keys: (count, layers, heads, n, n) twice."""
    turned = block_diagonal(rotations(phases(positions, _vision.planes(encoding))))
    return turned, turned


def bias(encoding: Encoding, queries: Array, keys: Array) -> None:
    """None: nothing is added to the score."""
    return


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the vectors of ``spectrum``, each plane turning its own way."""
    import numpy as np

    _, signs = canonical(_vision.planes(encoding))
    freqs = np.ascontiguousarray(np.moveaxis(spectrum.w * signs[..., None], -1, 0))
    return replace(encoding, parameters={**encoding.parameters, "freqs": freqs})
