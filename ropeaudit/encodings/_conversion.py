"""What ``convert --to rope`` writes beside its tensors, as far as reading them back needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.document import Document
from ropeaudit.facts import CONVERSION, as_number
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Positions


@record(kw_only=True)
class Stated:
    """The source of a conversion: ``heads`` and ``layers`` as its model has them, if known."""

    name: str
    kind: str
    head_dim: int
    heads: int | None
    layers: tuple[int, ...] | None
    axes: tuple[str, ...]
    positions: Positions


def written(axes: Sequence[str], positions: Positions) -> dict[str, Any]:
    """Axes and positions as they stand in the document; what :func:`stated` reads."""
    return {
        "axes": list(axes),
        "step": list(positions.step),
        "extent": list(positions.extent),
        "integer": positions.integer,
        "trained": None if positions.trained is None else list(positions.trained),
        "used": None if positions.used is None else list(positions.used),
    }


def stated(document: Document | None) -> Stated | None:
    """What a document says of a conversion to RoPE; None where it says nothing of the kind."""
    data = {} if document is None else document.data.get(CONVERSION)
    if not isinstance(data, Mapping):
        return None
    source, at = data.get("source"), data.get("positions")
    if not isinstance(source, Mapping) or not isinstance(at, Mapping):
        return None
    axes, heads, layers = at.get("axes"), source.get("heads"), source.get("layers")
    size, name = source.get("head_dim"), source.get("name")
    if not isinstance(axes, list) or not axes or not all(isinstance(a, str) for a in axes):
        return None
    if type(size) is not int or size < 1 or not isinstance(name, str):
        return None
    positions = _positions(at, len(axes))
    return None if positions is None else Stated(
        name=name,
        kind=str(source.get("kind")),
        head_dim=size,
        heads=heads if type(heads) is int and heads > 0 else None,
        layers=_whole(layers),
        axes=tuple(axes),
        positions=positions,
    )  # fmt: skip


def _whole(listed: Any) -> tuple[int, ...] | None:
    if not isinstance(listed, list) or not all(type(n) is int for n in listed):
        return None
    return tuple(listed)


def _positions(at: Mapping[str, Any], axes: int) -> Positions | None:
    from ropeaudit.encodings.core import Positions

    def listed(key: str) -> list[Any] | None:
        found = at.get(key)
        return found if isinstance(found, list) and len(found) == axes else None

    step = [as_number(v) for v in listed("step") or ()]
    extent = listed("extent")
    if len(step) != axes or None in step or extent is None:
        return None
    return Positions(
        step=tuple(v for v in step if v is not None),
        extent=tuple(as_number(v) for v in extent),
        integer=at.get("integer") is not False,
        trained=_whole(listed("trained")),
        used=_whole(listed("used")),
    )
