"""RoPE with frequencies of every layer and head, as ``ropeaudit convert --to rope`` writes it.

Neighbouring channels (2c, 2c+1) turn by ``sum_a w_a p_a``, after the basis of the file has gone
into the projections of queries and keys. The last channel of an odd head stands still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ropeaudit.encodings import _conversion, _vision
from ropeaudit.encodings._planes import block_diagonal, canonical, phases, rotations, skew
from ropeaudit.encodings._stored import facts, finite, misshaped
from ropeaudit.encodings.interface import Sources
from ropeaudit.encodings.rope_mixed import bias, rebuilt

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

__all__ = ["KINDS", "OPTIONS", "bias", "generators", "operators", "rebuilt", "recognise",
           "spectrum"]  # fmt: skip

KINDS = ("rope-per-head",)
OPTIONS: Mapping[str, str] = {}
_TENSOR = "rotary.freqs"


def recognise(sources: Sources) -> Iterator[Encoding]:
    """``rotary.freqs`` (axes, layers, heads, n/2) beside the document of a conversion.

    Raises InvalidValue for another shape and for what are no frequencies.
    """
    from ropeaudit.encodings.core import Encoding

    told = _conversion.stated(sources.document)
    tensor = next((t for t in sources.tensors if t.name == _TENSOR), None)
    if told is None or tensor is None:
        return
    width = told.head_dim // 2
    if len(tensor.shape) != 4 or tensor.shape[::3] != (len(told.axes), width):
        raise misshaped(tensor, f"({len(told.axes)}, layers, heads, {width}), as its document says")
    _, layers, heads, _ = tensor.shape
    yield Encoding(
        name=told.name,
        kind="rope-per-head",
        module="converted",
        head_dim=told.head_dim,
        heads=told.heads if heads == 1 and told.heads else heads,
        axes=told.axes,
        layers=told.layers if told.layers and len(told.layers) == layers else None,
        parameters={"freqs": finite(tensor)},
        dtype=tensor.dtype,
        positions=told.positions,
        settings={"pairing": "interleaved", "converted_from": told.kind},
        provenance=facts([tensor]),
    )


def spectrum(encoding: Encoding) -> Spectrum:
    """One vector a plane, in stored order, sign canonical."""
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    w, _ = canonical(_vision.planes(encoding))
    still = np.zeros(w.shape[:-1])
    unit = "rad/step" if encoding.positions.integer else "rad/unit"
    static = encoding.head_dim % 2
    sector = ("rotary",) * w.shape[2]
    return Spectrum(w=w, gamma=still, eta=still, unit=unit, sector=sector, static=static)


def generators(encoding: Encoding) -> Array:
    """(axes, layers, heads, n, n); all commute."""
    return block_diagonal(skew(encoding.parameters["freqs"]), encoding.head_dim)


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """The same rotation for queries and keys: (count, layers, heads, n, n) twice."""
    turned = block_diagonal(rotations(phases(positions, _vision.planes(encoding))),
                            encoding.head_dim)  # fmt: skip
    if encoding.head_dim % 2:
        turned[..., -1, -1] = 1.0
    return turned, turned
