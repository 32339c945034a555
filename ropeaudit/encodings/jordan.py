"""Jordan-RoPE (Zhang, arXiv 2605.04217): rotation, damping and shear in one defective block.

Kinds: ``jordan-raw`` (shear ``eta d``, an exact group), ``jordan-exact`` (``eta d / L``, exact),
``jordan-stabilized`` (shear of ``tau(t) = t / (1 + |t|/L)`` at absolute positions, no group),
``jordan-jetmix`` (each power of the shear with a coefficient of its own) and ``jordan-real`` (no
rotation). Read from ``{"model": ..., "config": ...}`` checkpoints; the method of the config decides
what the parameters mean, and not its other fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _alibi, _jordan, _jordan_reading
from ropeaudit.encodings._jordan_reading import OPTIONS
from ropeaudit.encodings.interface import Sources

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("jordan-raw", "jordan-exact", "jordan-stabilized", "jordan-jetmix", "jordan-real")

__all__ = ["KINDS", "OPTIONS", "bias", "generators", "numbers", "operators", "pairwise", "rebuilt",
           "recognise", "spectrum"]  # fmt: skip


def recognise(sources: Sources) -> Iterator[Encoding]:
    """``blocks.i.attn.positioner.raw_gamma``, ``.raw_eta`` (heads, head_dim/(2m)), jets (m - 1,
    heads, blocks) and (heads, blocks).

    Raises InvalidValue for parameters without config, an unknown method, other shapes, NaN.
    """
    found = _jordan_reading.encoded(sources, "jordan")
    if found is not None:
        yield found


def numbers(encoding: Encoding) -> _jordan.Numbers:
    """w, gamma and eta of all blocks (layers, heads, blocks), and how they act."""
    return _jordan.numbers_of(encoding)


def spectrum(encoding: Encoding) -> Spectrum:
    """One unit a block: (w, gamma, eta) with the order of the block. ``eta`` of jets is g_1."""
    return _jordan.spectrum(numbers(encoding))


def generators(encoding: Encoding) -> Array | None:
    """Generator of the key map, ``-J``; None where the maps are no one-parameter group."""
    found = numbers(encoding)
    return -_jordan.generator(found)[None] if _jordan.is_group(found) else None


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """Maps of queries and keys at absolute positions, contragredient, with the code's clamp."""
    return _jordan.maps(numbers(encoding), positions[:, 0])


def pairwise(encoding: Encoding, lags: Array) -> Array:
    """G(d) of the paper's formula at ``lags`` (count,): for the stabilized kinds another object
    than :func:`operators` implement."""
    return _jordan.pairwise(numbers(encoding), lags)


def bias(encoding: Encoding, queries: Array, keys: Array) -> Array | None:
    """ALiBi where the method ends in ``_alibi``, else None."""
    if not encoding.settings["alibi"]:
        return None
    return _alibi.bias(encoding, queries, keys)


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with w, gamma and eta of ``spectrum`` put in place of its own."""
    own = numbers(encoding)
    return _jordan.changed(encoding, (own.w, own.gamma, own.eta), spectrum)
