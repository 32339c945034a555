"""Damped RoPE: ``G(d) = exp(-gamma d) R(w d)``, an exact group, with the contragredient pair.

In the code of Jordan-RoPE it is the order-2 module with eta = 0, so each of its head_dim/4
frequencies turns two planes by construction.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _jordan, _jordan_reading
from ropeaudit.encodings._jordan_reading import OPTIONS
from ropeaudit.encodings.interface import Sources
from ropeaudit.encodings.jordan import generators, numbers, operators, pairwise
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("damped-rope",)

__all__ = ["KINDS", "OPTIONS", "bias", "generators", "numbers", "operators", "pairwise", "rebuilt",
           "recognise", "spectrum"]  # fmt: skip


def recognise(sources: Sources) -> Iterator[Encoding]:
    """``blocks.i.attn.positioner.raw_gamma`` (heads, head_dim/4) of the method ``damped_rope``.

    Raises InvalidValue for parameters that this method does not have, other shapes and NaN.
    """
    found = _jordan_reading.encoded(sources, "damped")
    if found is not None:
        yield found


def spectrum(encoding: Encoding) -> Spectrum:
    """One unit a frequency, each of two planes: order 1, multiplicity 2."""
    found = numbers(encoding)
    return replace(_jordan.spectrum(found), order=1, multiplicity=found.order, tau="linear")


def bias(encoding: Encoding, queries: Array, keys: Array) -> None:
    """None: the damping is part of the maps."""
    return


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with w and gamma of ``spectrum``, and a shear where it has one: then the two
    planes of a unit are one Jordan block."""
    own = numbers(encoding)
    return _jordan.changed(encoding, (own.w, own.gamma, own.eta), spectrum)
