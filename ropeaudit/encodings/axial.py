"""Axial 2-D RoPE (rope-vit, timm): the first half of the planes turns with x, the second with y.

``w = theta ** (-4 t / head_dim)``, t = 0 .. head_dim/4 - 1, on either axis. Only Swin stores it, as
a buffer; elsewhere it follows from the model's name in a config, or from options.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _grid, _vision, rope_mixed
from ropeaudit.encodings.interface import Sources
from ropeaudit.encodings.rope_mixed import bias, generators, operators, rebuilt, spectrum
from ropeaudit.errors import UsageError
from ropeaudit.facts import Fact, Origin

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding

KINDS = ("rope-axial",)
OPTIONS = {
    "method": "axial, for a model that stores no frequencies",
    "grid": _grid.GRID,
    "test-grid": _grid.TEST_GRID,
    "head-dim": _grid.HEAD_DIM,
    "heads": "number of heads",
    "theta": "base of the frequencies (100 in DeiT and timm, 50 in Swin)",
}

__all__ = ["KINDS", "OPTIONS", "bias", "generators", "operators", "rebuilt", "recognise",
           "spectrum"]  # fmt: skip


def table(theta: float, head_dim: int) -> Array:
    """Frequencies (2, 1, 1, head_dim/2) in radians per patch, the same for all layers and heads."""
    import numpy as np

    per_axis = theta ** (-4.0 * np.arange(head_dim // 4) / head_dim)
    still = np.zeros_like(per_axis)
    whole = np.stack([np.concatenate([per_axis, still]), np.concatenate([still, per_axis])])
    return whole[:, None, None, :]


def recognise(sources: Sources) -> Iterator[Encoding]:
    """Swin's ``rope_freqs`` buffers, told from learned vectors by their zeros (1e-6 relative);
    else the model's name; else ``method=axial`` with ``head-dim``.

    Raises UsageError for options that do not suffice.
    """
    groups = _vision.groups(sources)
    if groups:
        for group in _vision.each(groups, axial=True):
            yield rope_mixed.encoded(group, sources, "axial", "rope-axial")
        return
    if sources.options.get("method") == "axial":
        yield _asked(sources)
        return
    model = _vision.stated(sources.document)
    if model is not None and not model.mixed:
        yield from _named(model, sources)


def _asked(sources: Sources) -> Encoding:
    """What ``--encoding method=axial`` states."""
    options = sources.options
    head_dim = _grid.whole(options, "head-dim", least=4)
    if head_dim is None or head_dim % 4:
        said = "is missing" if head_dim is None else f"is {head_dim}"
        raise UsageError(
            f"method=axial needs the head size, and head-dim {said}; expected a multiple of 4, "
            "such as head-dim=64"
        )
    theta = _grid.number(options, "theta")
    assumed = {"theta"} if theta is None else set()
    return _encoding(
        "rope-axial",
        theta or 100.0,
        head_dim,
        _grid.whole(options, "heads") or 1,
        sources,
        assumed=frozenset(assumed),
    )


def _named(model: _vision.Stated, sources: Sources) -> Iterator[Encoding]:
    document = sources.document
    place = None if document is None else document.location(model.pointer)
    facts = (
        Fact(model.pointer[1:], model.name, location=place),
        Fact("theta", model.theta, Origin.DERIVED, place),
        Fact("head_dim", model.head_dim, Origin.DERIVED, place),
    )
    theta = _grid.number(sources.options, "theta") or model.theta
    for stage, heads in enumerate(model.heads):
        name = "rope-axial" if len(model.heads) == 1 else f"rope-axial.stage{stage}"
        yield _encoding(name, theta, model.head_dim, heads, sources, facts=facts)


def _encoding(
    name: str,
    theta: float,
    head_dim: int,
    heads: int,
    sources: Sources,
    *,
    assumed: frozenset[str] = frozenset(),
    facts: tuple[Fact, ...] = (),
) -> Encoding:
    from ropeaudit.encodings.core import Encoding

    return Encoding(
        name=name,
        kind="rope-axial",
        module="axial",
        head_dim=head_dim,
        heads=heads,
        axes=("x", "y"),
        parameters={"freqs": table(theta, head_dim)},
        positions=_vision.positions(sources),
        settings={"pairing": "interleaved", "theta": theta},
        assumed=assumed,
        provenance=facts,
    )
