"""Bases of the kernel probe: the functions of the lag that an encoding can put into a logit.

Every basis begins with a constant. Frequencies are ``omega_k = theta^(-2k/head_dim)``. Definitions:
arXiv 2605.04217v2, sections 3 and 5.1; ``tau(d) = d / (1 + d/L)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.records import field, record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

PUBLISHED = (
    "rope",
    "damped",
    "rope_alibi",
    "alibi",
    "direct_sum",
    "jordan_stabilized",
    "jordan_raw",
    "jordan_scaled_c0.1",
    "jordan_scaled_c1",
)
"""The bases of the published table, in its order."""
DEFAULT = (*PUBLISHED, "jordan_raw_gamma0")
GAMMA0 = "_gamma0"
_SCALED = re.compile(r"jordan_scaled_c(\d+(?:\.\d+)?(?:e-?\d+)?)", re.ASCII)

Columns = Callable[["Array", "Array", float, int], "list[Array]"]
"""Columns beside the constant, from lags (count, 1), frequencies, gamma and length."""


@record()
class Basis:
    """A basis by name: ``definition`` in symbols, ``gamma`` its damping per position."""

    name: str
    definition: str
    gamma: float
    columns: Columns = field(compare=False)

    def features(self, lags: Array, frequencies: Array, length: int) -> Array:
        """Values at ``lags`` (count,) as (count, features), float64; the constant comes first."""
        import numpy as np

        d = lags[:, None]
        parts = self.columns(d, frequencies, self.gamma, length)
        return np.concatenate([np.ones_like(d), *parts], axis=1)


def basis(name: str, *, gamma: float, length: int) -> Basis:
    """The basis called ``name`` for the damping ``gamma`` per position and the length fitted.

    ``jordan_scaled_cX`` has damping X/length, and a name that ends in ``_gamma0`` none. Raises
    UsageError for an unknown name.
    """
    plain = name.removesuffix(GAMMA0)
    scaled = _SCALED.fullmatch(plain)
    known = _KNOWN.get("jordan_raw" if scaled else plain)
    if known is None or (plain != name and not known[2]):
        names = [*_KNOWN, "jordan_scaled_c0.1", "jordan_scaled_c1"]
        said = suggestion(name, names) or f"; known: {', '.join(names)}"
        raise UsageError(f"no basis is called {quoted(name)}{said}")
    definition, columns, _ = known
    if scaled:
        gamma = float(scaled[1]) / length
        if not math.isfinite(gamma):
            raise UsageError(f"basis {quoted(name)}: the damping is beyond float64; correct it")
    return Basis(name, definition, 0.0 if plain != name else gamma, columns)


def _waves(d: Array, w: Array) -> list[Array]:
    import numpy as np

    return [np.cos(d * w), np.sin(d * w)]


def _decay(d: Array, gamma: float) -> Array:
    import numpy as np

    found: Array = np.exp(-gamma * d)
    return found


def _rope(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    return _waves(d, w)


def _damped(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    return [_decay(d, gamma) * part for part in _waves(d, w)]


def _rope_alibi(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    return [*_waves(d, w), d / length]


def _alibi(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    return [d / length]


def _direct_sum(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    decay = _decay(d, gamma)
    return [*_waves(d, w), d / length, decay, _bounded(d, length) / length * decay]


def _raw(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    base = _damped(d, w, gamma, length)
    return [*base, *(d / length * part for part in base)]


def _stabilized(d: Array, w: Array, gamma: float, length: int) -> list[Array]:
    base = _damped(d, w, gamma, length)
    return [*base, *(_bounded(d, length) / length * part for part in base)]


def _bounded(d: Array, length: int) -> Array:
    return d / (1.0 + d / length)


_WAVES = "cos(w d), sin(w d)"
_FADED = "exp(-g d) cos(w d), exp(-g d) sin(w d)"
_KNOWN: dict[str, tuple[str, Columns, bool]] = {
    "rope": (f"1, {_WAVES}", _rope, False),
    "damped": (f"1, {_FADED}", _damped, True),
    "rope_alibi": (f"1, {_WAVES}, d/L", _rope_alibi, False),
    "alibi": ("1, d/L", _alibi, False),
    "direct_sum": (f"1, {_WAVES}, d/L, exp(-g d), (tau/L) exp(-g d)", _direct_sum, True),
    "jordan_stabilized": (f"1, {_FADED}, and both times tau/L", _stabilized, True),
    "jordan_raw": (f"1, {_FADED}, and both times d/L", _raw, True),
}
"""Name: what it consists of, its columns, and whether damping plays a part."""
