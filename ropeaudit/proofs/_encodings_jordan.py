"""Claims about Jordan blocks, damped RoPE and direct sums, from what their checkpoints learn.

Frequencies are a formula, ``theta^(-2k/n)``. Damping is a softplus, which is positive; the shear is
0 exactly where its raw value is. So each claim has an answer that no rounding touches.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ropeaudit.proofs.interface import Status

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding

Found = tuple[Status, str, dict[str, Any]]

MONOTONE = "Strict monotonicity: powers of one base other than 1 with different exponents differ."
NONE_TURNS = "Nothing turns, so no two planes turn alike."
SHRINKS = "softplus is positive, so lengths fall with the lag, which no rotation does."
SHEARS = "A shear that is not 0 changes lengths, which no rotation does."
TURNS_ONLY = "Without damping and shear a block is a rotation."
GROUP = (
    "G(d) = exp(d J) is a one-parameter group, and queries take its inverse transpose: scores are "
    "functions of the lag, up to the clamp on exponents."
)
BOUNDED = (
    "The bounded shear tau is taken of positions: tau(1) - tau(0) and tau(2) - tau(1) differ, and "
    "the shear is not 0."
)
NO_SHEAR = "The shear is 0, and what is left is a one-parameter group."


def claims(encoding: Encoding) -> Mapping[str, Found] | None:
    """Skew, distinct and relative of one encoding; None where a change has replaced what was
    learned, or jets of their own stand for the shear."""
    held = encoding.parameters
    if not set(held) <= {"raw_gamma", "raw_eta"}:
        return None
    sheared = _first_shear(held.get("raw_eta"))
    return {
        "skew": _skew("raw_gamma" in held, sheared),
        "distinct": _distinct(encoding),
        "relative": _relative(encoding, sheared),
    }


def _first_shear(raw: Any) -> dict[str, int] | None:
    """Layer, head and block of the first raw shear that is not 0."""
    import numpy as np

    if raw is None or not raw.any():
        return None
    layer, head, block = (int(k) for k in np.argwhere(raw)[0])
    return {"layer": layer, "head": head, "block": block}


def _skew(damped: bool, sheared: dict[str, int] | None) -> Found:
    if damped:
        return Status.REFUTED, SHRINKS, {"learned": "raw_gamma"}
    if sheared is not None:
        return Status.REFUTED, SHEARS, {"learned": "raw_eta", **sheared}
    return Status.PROVED, TURNS_ONLY, {}


def _distinct(encoding: Encoding) -> Found:
    """Units count: planes that share one by construction are one."""
    if not encoding.settings.get("rotates", True) and encoding.kind != "direct-sum":
        return Status.PROVED, NONE_TURNS, {"groups": 0}
    if float(encoding.settings["theta"]) == 1.0:
        method = "Every power of 1 is 1."
        return Status.REFUTED, method, {"max_cluster": _units(encoding), "clusters": []}
    return Status.PROVED, MONOTONE, {"groups": 1}


def _units(encoding: Encoding) -> int:
    return max(1, int(next(iter(encoding.parameters.values())).shape[-1]))


def _relative(encoding: Encoding, sheared: dict[str, int] | None) -> Found:
    if encoding.settings["tau"] != "bounded":
        return Status.PROVED, GROUP, {}
    if sheared is None:
        return Status.PROVED, NO_SHEAR, {}
    length = Fraction(float(encoding.settings["train_context"]))
    at = [d / (1 + d / length) for d in (Fraction(0), Fraction(1), Fraction(2))]
    steps = [str(b - a) for a, b in pairwise(at)]
    return Status.REFUTED, BOUNDED, {**sheared, "tau_steps": steps}
