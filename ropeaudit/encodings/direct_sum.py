"""Direct sum: RoPE on the first half of a head, real Jordan blocks of order 2 on the second.

The blocks have w = 0 and the bounded shear (public code), so the sum is no group although RoPE is.
The feature list that the same code calls ``direct_sum`` in its kernel probe is another object.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _jordan, _jordan_reading
from ropeaudit.encodings._jordan_reading import OPTIONS
from ropeaudit.encodings._planes import block_diagonal, phases, rotations, skew
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("direct-sum",)

__all__ = ["KINDS", "OPTIONS", "bias", "generators", "numbers", "operators", "pairwise", "rebuilt",
           "recognise", "rotary", "spectrum"]  # fmt: skip


def recognise(sources: Sources) -> Iterator[Encoding]:
    """``blocks.i.attn.positioner.real_jordan.raw_gamma`` and ``.raw_eta`` (heads, head_dim/8).

    Raises InvalidValue for a head size that 8 does not divide, other shapes and NaN.
    """
    found = _jordan_reading.encoded(sources, "direct_sum", share=2)
    if found is not None:
        yield found


def rotary(encoding: Encoding) -> Array:
    """``theta^(-2k / (head_dim/2))`` of the first half: (layers, heads, head_dim/4)."""
    import numpy as np

    count = encoding.head_dim // 4
    own = encoding.parameters.get("omega")
    if own is not None:
        return own[..., :count]
    theta = float(encoding.settings["theta"])
    table = theta ** (-2.0 * np.arange(count) / (encoding.head_dim // 2))
    return np.broadcast_to(table, (*_blocks(encoding).w.shape[:2], count))


def numbers(encoding: Encoding) -> _jordan.Numbers:
    """The blocks of the second half."""
    return _blocks(encoding)


def _blocks(encoding: Encoding) -> _jordan.Numbers:
    """Effective values that a change has put in place hold the rotary units first."""
    count = encoding.head_dim // 4
    own = {
        k: v[..., count:] if k in ("omega", "gamma", "eta") else v
        for k, v in encoding.parameters.items()
    }
    return _jordan.numbers_of(replace(encoding, parameters=own), share=2)


def spectrum(encoding: Encoding) -> Spectrum:
    """The rotary planes, then the blocks as unipotent units; ``order`` 2 is that of the blocks."""
    w, gamma, eta = _units(encoding)
    inner = _jordan.spectrum(_blocks(encoding))
    sector = ("rotary",) * (w.shape[2] - inner.w.shape[2]) + inner.sector
    return replace(inner, w=w[..., None], gamma=gamma, eta=eta, sector=sector)


def _units(encoding: Encoding) -> tuple[Array, Array, Array]:
    """w, gamma and eta (layers, heads, units), rotary planes first."""
    import numpy as np

    w, inner = rotary(encoding), _blocks(encoding)
    still = np.zeros(w.shape)
    return (
        np.concatenate([w, inner.w], axis=2),
        np.concatenate([still, inner.gamma], axis=2),
        np.concatenate([still, inner.eta], axis=2),
    )


def generators(encoding: Encoding) -> Array | None:
    """Generator of the key map; None with the bounded shear of public code."""
    found = _blocks(encoding)
    if not _jordan.is_group(found):
        return None
    return _summed(block_diagonal(skew(rotary(encoding))), -_jordan.generator(found))[None]


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """Maps of queries and keys at absolute positions: RoPE on both, and the contragredient pair."""
    queries, keys = _jordan.maps(_blocks(encoding), positions[:, 0])
    turned = block_diagonal(rotations(phases(positions, rotary(encoding)[..., None])))
    return _summed(turned, queries), _summed(turned, keys)


def pairwise(encoding: Encoding, lags: Array) -> Array:
    """G(d) of the formula at ``lags`` (count,). RoPE turns by ``+p``, which is ``R(-w d)``."""
    turned = block_diagonal(rotations(phases(-lags[:, None], rotary(encoding)[..., None])))
    return _summed(turned, _jordan.pairwise(_blocks(encoding), lags))


def _summed(first: Array, second: Array) -> Array:
    import numpy as np

    n = first.shape[-1]
    whole = np.zeros((*first.shape[:-2], 2 * n, 2 * n))
    whole[..., :n, :n] = first
    whole[..., n:, n:] = second
    return whole


def bias(encoding: Encoding, queries: Array, keys: Array) -> None:
    """None: nothing is added to the score."""
    return


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the numbers of ``spectrum``; raises InvalidValue for a damped or sheared
    rotary unit, which this encoding cannot hold."""
    count = encoding.head_dim // 4
    if spectrum.gamma[..., :count].any() or spectrum.eta[..., :count].any():
        raise InvalidValue(
            f"the rotary half of {quoted(encoding.name)} is damped or sheared, and a direct sum "
            "keeps those for the other half; leave its gamma and eta at 0"
        )
    return _jordan.changed(encoding, _units(encoding), spectrum)
