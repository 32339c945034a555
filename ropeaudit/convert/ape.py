"""``--to ape``: the parameters of an algebraic positional encoding of sequences and grids.

Closed form, no optimiser: for skew B the strict upper triangle ``A = triu(B, 1)`` has
``A - A^T = B`` bit for bit. For rotary angles B is written down directly: ``-theta`` and ``theta``
at the two channels of each pair, whichever way the engine pairs them, so that no basis changes. The
map of one step, ``W = exp(B)``, is then the rotation that the engine computes.

Layout of the public code (konstantinosKokos/ape, ``ape/nn/position/algebraic.py``):
``positional_encoder._primitives`` (heads, n, n), one set for all layers; for grids (axes * heads,
n/axes, n/axes), axis by axis, each axis with its own run of channels. W. Kogkalidis et al.,
arXiv 2312.16045v3, appendix A.2.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.convert._matrices import rounding
from ropeaudit.convert.interface import CLOSE, Converted, Refused, Source
from ropeaudit.errors import UsageError

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

NAME = "ape"
TENSOR = "positional_encoder._primitives"


def convert(source: Source, *, heads: int | None = None) -> Converted:
    """The strict upper triangles (heads, n, n), for grids of each axis; radians per step.

    Raises Refused for axes that share channels, for layers that differ, and for maps without one
    logarithm.
    """
    import numpy as np

    from ropeaudit.encodings._algebra import frequencies, skew_part

    b = _generators(source)
    axes, held, m, _ = b.shape
    count = _heads(source, held, heads)
    b = np.broadcast_to(b, (axes, count, m, m))
    a = np.triu(b, 1)
    again = skew_part(a)
    largest = float(np.abs(b).max()) or 1.0
    residual = float(np.abs(again - b).max()) / largest
    allowed = CLOSE
    if source.maps is not None:
        from ropeaudit.encodings._algebra import expm_skew

        residual = max(residual, float(np.abs(expm_skew(again[0]) - source.maps).max()))
        allowed += rounding(source.maps)
    if residual > allowed:
        raise Refused(f"the parameters made miss the source by {residual:.3g}; report this")
    notes = list(_notes(source, count))
    if not (a.astype(np.float32) == a).all():
        notes.append(
            "the parameters need float64 to be exact; the public code keeps float32, which rounds "
            "them"
        )
    if source.scale != 1.0:
        notes.append(
            f"the factor {source.scale:.7g} on the turned queries and keys is no rotation; "
            "multiply the turned rows of W_Q and W_K by it"
        )
    return Converted(
        to=NAME,
        source=source,
        tensors={TENSOR: a.reshape(axes * count, m, m)},
        frequencies=_along_axes(frequencies(b)),
        residual=residual,
        notes=tuple(notes),
    )


def _along_axes(every: Array) -> Array:
    """(axes, heads, planes) -> (axes, 1, heads, axes * planes): a plane turns along one axis."""
    import numpy as np

    axes, heads, planes = every.shape
    w = np.zeros((axes, 1, heads, axes * planes))
    for a in range(axes):
        w[a, 0, :, a * planes : (a + 1) * planes] = every[a]
    return w


def _generators(source: Source) -> Array:
    """(axes, heads, n/axes, n/axes), or one head where all share it."""
    import numpy as np

    if source.maps is not None:
        logs = [_logarithm(w, h, len(source.maps)) for h, w in enumerate(source.maps)]
        return np.stack(logs)[None]
    found = source.generators
    if found is None:
        raise Refused("the source turns nothing")
    layers, blocks = found.shape[1], _blocks(found)
    if not all((blocks[:, 0] == blocks[:, k]).all() for k in range(1, layers)):
        raise Refused(
            f"the source differs between its {layers} layers, and APE keeps one set for all of them"
        )
    if not source.integer:
        raise Refused(
            "positions of the source are no whole numbers, and APE takes whole powers of its maps"
        )
    return np.asarray(blocks[:, 0], np.float64)


def _blocks(family: Array) -> Array:
    """(axes, layers, heads, m, m): what each axis turns, in its own run of channels."""
    import numpy as np

    axes, n = len(family), family.shape[-1]
    m = n // axes
    runs = [slice(a * m, (a + 1) * m) for a in range(axes)]
    blocks = np.stack([family[a, ..., run, run] for a, run in enumerate(runs)])
    if (blocks != 0).sum() != (family != 0).sum() or n % axes:
        raise Refused(
            f"the source has {axes} axes that share channels; an APE of sequences has one axis, "
            "and one of grids gives each axis a run of channels of its own"
        )
    return blocks


def _logarithm(w: Array, head: int, heads: int) -> Array:
    """The skew logarithm of one map; Refused where there is none, or no single one."""
    import numpy as np

    from ropeaudit.encodings._normal_form import normal_form, principal_log

    where = f"head {head}: " if heads > 1 else ""
    _, theta, signs = normal_form(w)
    if (signs < 0.0).any():
        raise Refused(
            f"{where}the determinant is -1: the map holds a reflection, and exp of a skew matrix "
            "never does, so no parameter gives it"
        )
    if theta.size and theta.max() > math.pi - CLOSE:
        raise Refused(
            f"{where}an angle is pi: the map turns a plane half around, which turning either way "
            "does, so it has no single logarithm; give the generator with --matrix generator"
        )
    found = principal_log(w)
    if found is None:
        raise Refused(f"{where}the map has no real logarithm")
    return np.asarray(found, np.float64)


def _heads(source: Source, held: int, asked: int | None) -> int:
    if held > 1:
        if asked not in (None, held):
            raise UsageError(f"--heads is {asked}, and the source has {held} heads of its own")
        return held
    return asked or source.heads or 1


def _notes(source: Source, count: int) -> list[str]:
    said = []
    if source.origin == "schedule":
        said.append(
            f"{count} heads hold the same map; APE's code gives head h the rows h, h+{count}, ... "
            "of the projections, so weights that keep heads together need their rows moved"
        )
    if source.maps is not None:
        said.append(
            "of a map the angles are known modulo 2 pi: what is written has the smallest, and "
            "equals the source at whole positions"
        )
    if (
        source.key_heads is not None
        and source.heads is not None
        and source.key_heads < source.heads
    ):
        said.append(
            f"{source.key_heads} key heads serve {source.heads} query heads; that works as long as "
            "all heads keep one map, and stops when they are trained apart"
        )
    return said
