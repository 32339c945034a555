"""An Encoding and its Spectrum: what every encoding module reads, returns and rebuilds.

Conventions: query position i, key position j, column vectors. A rotation by t is
``[[cos t, -sin t], [sin t, cos t]]``, its generator ``[[0, -1], [1, 0]]``. In one real plane ``w``
and ``-w`` are the same encoding; with several axes the vector of one plane has one global sign.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.facts import Fact, Note
from ropeaudit.records import field, record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


@record(kw_only=True)
class Positions:
    """Where queries and keys stand along each axis.

    ``step``: distance of neighbours in the unit of the spectrum (1.0 for token positions).
    ``extent``: largest distance that occurs, in that unit; None where nobody says. ``integer``:
    whether all positions are whole numbers, so that frequencies count modulo 2 pi. ``trained`` and
    ``used``: number of steps per axis in training and now (None where unknown).
    """

    step: tuple[float, ...] = (1.0,)
    extent: tuple[float | None, ...] = (None,)
    integer: bool = True
    trained: tuple[int, ...] | None = None
    used: tuple[int, ...] | None = None


@record(kw_only=True)
class Encoding:
    """One position encoding of one model part, as stored or as its config states it.

    ``kind`` belongs to one module (``ape-sequence`` to ``ape``). ``parameters``: float64 arrays
    under the names that the module gives them, in its own canonical layout; values exactly as
    stored. ``layers``: the model's layers along the layer axis, None where one set serves all.
    ``settings``: what decided the numbers beyond the parameters (options taken, constants of the
    code); ``assumed`` names those that nothing in the input states. ``dtype``: the stored format.
    """

    name: str
    kind: str
    module: str
    head_dim: int
    heads: int
    axes: tuple[str, ...] = ("p",)
    layers: tuple[int, ...] | None = None
    parameters: Mapping[str, Array] = field(default_factory=dict)
    dtype: str = "float32"
    positions: Positions = Positions()
    settings: Mapping[str, Any] = field(default_factory=dict)
    assumed: frozenset[str] = frozenset()
    provenance: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()


@record(kw_only=True)
class Spectrum:
    """Planes and Jordan blocks of all (layer, head) pairs, as arrays.

    ``w``: (layers, heads, units, axes), radians per ``unit``, canonical sign (the first component
    that is not about zero is positive). ``gamma`` (damping) and ``eta`` (shear): (layers, heads,
    units). ``order``: size of a unit's Jordan block. ``multiplicity``: planes that share a unit by
    construction. ``sector``: one of rotary, unipotent, bias for each unit. ``joint`` False: the
    axes (or branches) do not commute, each column of ``w`` is a spectrum of its own and rows are no
    planes. ``static``: channels that never rotate. ``directions``: for non-joint spectra, name of a
    unit direction -> (layers, heads, units). ``noise``: (layers, heads), below which two values
    are not told apart; 0.0 for formulas. ``rest``: (layers, heads), up to which a frequency may be
    what rounding a stored matrix leaves of 0 (see :mod:`ropeaudit.encodings._still`).
    """

    w: Array
    gamma: Array
    eta: Array
    order: int = 1
    multiplicity: int = 1
    eta_scale: float = 1.0
    tau: str = "linear"
    unit: str = "rad/step"
    sector: tuple[str, ...] = ()
    joint: bool = True
    static: int = 0
    directions: Mapping[str, Array] = field(default_factory=dict)
    noise: Any = 0.0
    rest: Any = 0.0
