"""Learned encodings as lists that recipes act on, and encodings made again from changed lists.

One list for each layer and head, as a schedule has one table: the frequencies ``|w|`` of its planes
(``frequency``), and of damped kinds ``damping`` (gamma) and ``shear`` (eta) of its blocks. Axes and
branches that do not commute have a list each. Slopes of ALiBi (``slope``) are one list a layer,
whose channels are the heads. Values are rounded to float32 once, as an engine holds a table.

Channels stand in the order in which the encoding stores its planes. Dense blocks of LieRE and
matrices of APE store none, so theirs fall from the fastest to the slowest (APE grids: on each
axis, axis after axis).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings.core import Encoding, Spectrum
from ropeaudit.encodings.interface import of
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import Table, f32s

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

_SECTION = {"frequency": "w", "damping": "gamma", "shear": "eta", "slope": "eta"}


@record(kw_only=True)
class Listed:
    """One list. ``base`` and ``now``: float32 values before and after, in the order of channels.

    ``at``: indices of layer, head and axis in the arrays of the spectrum (head None for slopes,
    axis None where planes belong to all axes); ``units``: the unit of each channel. ``layer`` and
    ``head`` as the model counts them, None where one set serves all. ``static``: channels that have
    no direction to turn in.
    """

    encoding: str
    quantity: str
    layer: int | None
    head: int | None
    axis: str | None
    at: tuple[int, int | None, int | None]
    units: tuple[int, ...]
    base: Table
    now: Table
    static: frozenset[int] = frozenset()

    @property
    def place(self) -> str:
        """``layer 3, head 2, axis y``."""
        named = (("layer", self.layer), ("head", self.head), ("axis", self.axis))
        return ", ".join(f"{n} {v}" for n, v in named if v is not None)

    def schedule(self) -> Schedule:
        """The list as a table that a perturbation takes."""
        return Schedule(
            component=self.encoding,
            rope_type="learned",
            rope_theta=None,
            head_dim=2 * len(self.now),
            rotary_dim=2 * len(self.now),
            inv_freq=self.now,
            static_channels=self.static,
        )


def lists(encoding: Encoding, spectrum: Spectrum) -> tuple[Listed, ...]:
    """All lists of an encoding, by quantity, layer, head, axis.

    A quantity that is 0 everywhere (the shear of untrained blocks) has none.
    """
    return tuple(
        item
        for quantity, values, units in _quantities(spectrum)
        for item in _listed(encoding, spectrum, quantity, values, units)
    )


def _quantities(spectrum: Spectrum) -> Iterator[tuple[str, Any, Any]]:
    """Quantity, its values (layers, heads, units[, axes]) and the units that have it."""
    import numpy as np

    sector = np.array(spectrum.sector or ("rotary",) * spectrum.w.shape[2])
    rotary, added = sector == "rotary", sector == "bias"
    if spectrum.w[:, :, rotary].any():
        yield "frequency", spectrum.w, np.flatnonzero(rotary)
    # Where planes stand beside blocks that do not turn, only the latter are damped.
    mapped = (sector == "unipotent") if (sector == "unipotent").any() else rotary
    for quantity, values in (("damping", spectrum.gamma), ("shear", spectrum.eta)):
        if values[:, :, mapped].any():
            yield quantity, values, np.flatnonzero(mapped)
    if added.any():
        yield "slope", spectrum.eta, np.flatnonzero(added)


def _listed(
    encoding: Encoding, spectrum: Spectrum, quantity: str, values: Array, units: Any
) -> Iterator[Listed]:
    import numpy as np

    layers, heads = values.shape[:2]
    if quantity == "slope":
        for layer in range(layers):
            for unit in units.tolist():
                base = tuple(f32s(values[layer, :, unit].tolist()))
                yield _item(encoding, quantity, (layer, None, None), (unit,) * heads, base)
        return
    axes: tuple[int | None, ...] = (None,)
    if quantity != "frequency":
        sizes = values[..., None]
    elif spectrum.joint:
        one = values.shape[-1] == 1
        sizes = values if one else np.linalg.norm(values, axis=-1)[..., None]
    else:
        sizes, axes = np.abs(values), tuple(range(values.shape[-1]))
    still = spectrum.joint and quantity == "frequency" and values.shape[-1] > 1
    for layer in range(layers):
        for head in range(heads):
            for at, axis in enumerate(axes):
                own = sizes[layer, head, units, at]
                order = np.argsort(-own, kind="stable") if _unordered(encoding) else slice(None)
                own, place = own[order], units[order]
                base = tuple(f32s(own.tolist()))
                static = frozenset(k for k, v in enumerate(base) if v == 0) if still else ()
                found = _item(
                    encoding, quantity, (layer, head, axis), tuple(place.tolist()), base,
                    heads=heads,
                )  # fmt: skip
                yield replace(found, static=frozenset(static))


def _unordered(encoding: Encoding) -> bool:
    """Whether planes stand in no order of their own: several dense blocks, each falling."""
    return encoding.module == "liere" and int(encoding.settings["block"]) > 2


def _item(
    encoding: Encoding,
    quantity: str,
    at: tuple[int, int | None, int | None],
    units: tuple[int, ...],
    base: Table,
    heads: int = 1,
) -> Listed:
    layer, head, axis = at
    return Listed(
        encoding=encoding.name,
        quantity=quantity,
        layer=None if encoding.layers is None else int(encoding.layers[layer]),
        head=head if heads == encoding.heads else None,
        axis=None if axis is None else encoding.axes[axis],
        at=at,
        units=units,
        base=base,
        now=base,
    )


def changed_spectrum(spectrum: Spectrum, found: Sequence[Listed]) -> Spectrum:
    """``spectrum`` with the values of the lists; what no step has moved keeps every bit.

    A plane keeps its direction: ``w' = w * made / |w|``.
    """
    w, gamma, eta = (v.copy() for v in (spectrum.w, spectrum.gamma, spectrum.eta))
    whole = {"w": w, "gamma": gamma, "eta": eta}
    for item in found:
        target = whole[_SECTION[item.quantity]]
        for k in _touched(item):
            _put(target, item, k, joint=spectrum.joint)
    return replace(spectrum, w=w, gamma=gamma, eta=eta)


def _touched(item: Listed) -> list[int]:
    """Channels with another value, and those that others have become equal to.

    The latter move by less than half a float32 step, without which equal values would differ in
    float64.
    """
    moved = [k for k, (a, b) in enumerate(zip(item.base, item.now, strict=True)) if a != b]
    values = {item.now[k] for k in moved}
    return [k for k, v in enumerate(item.now) if v in values] if moved else []


def _put(target: Any, item: Listed, k: int, *, joint: bool) -> None:
    import numpy as np

    layer, head, axis = item.at
    unit, value = item.units[k], item.now[k]
    if item.quantity == "slope":
        target[layer, k, unit] = value
    elif item.quantity != "frequency":
        target[layer, head, unit] = value
    elif axis is not None and not joint:
        target[layer, head, unit, axis] = value
    elif target.shape[-1] == 1:
        target[layer, head, unit, 0] = value
    else:
        size = float(np.linalg.norm(target[layer, head, unit]))
        target[layer, head, unit] *= value / size if size else 0.0


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with ``spectrum`` in its own planes; raises InvalidValue as its module does."""
    return of(encoding).rebuilt(encoding, spectrum)
