"""How large the nilpotent part of a Jordan block grows, and whether formats and the clamp hold it.

What it checks
    The largest norm of ``G(d)`` up to the largest distance: with ``s = |eta| tau(d)`` it is
    ``exp(-gamma d) (s/2 + sqrt(1 + s^2/4))`` at order 2; at higher orders an upper bound. And the
    rescaling of keys, ``exp(gamma p)`` at position p: where it leaves float16, and where the public
    code clamps it.

Why it matters
    Shear grows with distance before damping wins, so far keys may weigh more than near ones. Keys
    are kept after their rescaling: a cache in float16 overflows at ``gamma p = 11.09``, and beyond
    ``gamma p = 30`` the clamp makes scores depend on more than the distance, without a word.

Passes when
    No block grows beyond its size at distance 0, and the rescaling stays within float16.

Fails when
    One grows: information, with peak and place. As a warning: keys leave float16 or the clamp is
    reached within the largest distance, or a block with shear and linear coordinate has no damping,
    so that it grows without bound.

Exactness
    float64, at 256 distances. Skipped where nobody says how far positions reach.

Options
    None.

References
    Zhang, 2605.04217, sections 4.2 and 4.3; jordan_rope/positional.py of its public code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._lags import needs_lags, reach
from ropeaudit.checks.encodings._look import (
    NO_LENGTH,
    Look,
    each,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.interface import Case
from ropeaudit.encodings import _growth as growth
from ropeaudit.encodings import _jordan
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings._jordan import Numbers
    from ropeaudit.encodings.core import Array

SLUG = "jordan-growth"
NEEDS = "encoding"

_DISTANCES = 256


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look))


def shear(look: Look) -> tuple[Array, float | None]:
    """(layers, heads, units) effective eta, and the length that bounds its coordinate."""
    spectrum = look.spectrum
    bounded = spectrum.tau == "bounded"
    length = float(look.encoding.settings["train_context"]) if bounded else None
    return spectrum.eta * spectrum.eta_scale, length


def jets(look: Look) -> Numbers | None:
    """The numbers of blocks whose powers of the shear have coefficients of their own."""
    numbers = getattr(look.module, "numbers", None)
    found: Numbers | None = None if numbers is None else numbers(look.encoding)
    return None if found is None or found.jets is None else found


def _judge(case: Case, look: Look) -> Outcome:
    import numpy as np

    reason = needs_lags(look)
    if reason:
        return skipped(look, reason)
    furthest = reach(case, look)
    if furthest is None:
        return skipped(look, NO_LENGTH)
    eta, length = shear(look)
    gamma = look.spectrum.gamma
    if length is None and ((gamma == 0) & (eta != 0)).any():
        return _unbounded(look, gamma, eta, furthest)
    distances = np.unique(np.geomspace(1.0, furthest, _DISTANCES))
    norms = _norms(look, gamma, eta, length, distances)
    at, layer, head, unit = (int(i) for i in np.unravel_index(int(norms.argmax()), norms.shape))
    evidence = {
        "peak": rounded(norms.max()),
        "peak_distance": rounded(distances[at]),
        "unit": [look.layer(layer), look.head(head), unit],
        "growing_blocks": int((norms.max(0) > 1 + 1e-9).sum()),
        **_headroom(look, gamma, furthest),
    }
    return _cramped(look, gamma, furthest, evidence) or _grown(look, norms, evidence)


def _norms(look: Look, gamma: Array, eta: Array, length: float | None, distances: Array) -> Array:
    import numpy as np

    d = distances[:, None, None, None]
    own = jets(look)
    if own is not None:
        sizes = np.abs(_jordan.coefficients(own, distances)).sum(0)
        return np.asarray(np.exp(-gamma * d) * sizes)
    sheared = eta * growth.tau(d, length)
    if look.spectrum.order == 2:
        return np.asarray(growth.operator_norm(gamma, sheared, d))
    return np.asarray(growth.norm_bound(gamma, sheared, d, look.spectrum.order))


def _headroom(look: Look, gamma: Array, furthest: int) -> dict[str, Any]:
    """Positions where formats and the clamp end, of the block that is damped most."""
    fastest = float(gamma.max())
    clamp = float(look.encoding.settings.get("max_exponent", growth.MAX_EXPONENT))
    return {
        "furthest": furthest,
        "key_factor": rounded(growth.rescaling(fastest, furthest, clamp)),
        "float16_until": rounded(growth.overflow_position(fastest, "float16")),
        "clamped_from": rounded(growth.clamp_position(fastest, clamp)),
    }


def _cramped(look: Look, gamma: Array, furthest: int, evidence: dict[str, Any]) -> Outcome | None:
    clamped = furthest > evidence["clamped_from"]
    if not clamped and furthest <= evidence["float16_until"]:
        return None
    layer, head = look.worst(gamma.max(-1))
    said = (
        f"the clamp on exp(gamma p) is reached at position {evidence['clamped_from']:.6g}, and "
        "scores beyond depend on more than the distance"
        if clamped
        else f"keys grow by exp(gamma p) and leave float16 at position "
        f"{evidence['float16_until']:.6g}"
    )
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"Within {furthest:,} positions {said} ({look.at(layer, head)}, gamma "
        f"{gamma.max():.4g}).",
        evidence=evidence,
        location=place(look),
    )


def _grown(look: Look, norms: Array, evidence: dict[str, Any]) -> Outcome:
    if not evidence["growing_blocks"]:
        return passed(look)
    layer, head, unit = evidence["unit"]
    who = ", ".join(f"{n} {v}" for n, v in (("layer", layer), ("head", head)) if v is not None)
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO,
        message=f"{several(evidence['growing_blocks'], 'block')} of {norms[0].size:,} grow with "
        f"distance before the damping wins, at most to {evidence['peak']:.4g} times their size at "
        f"distance {evidence['peak_distance']:.4g} ({who}, block {unit}).",
        evidence=evidence,
        location=place(look),
        fix="Nothing to do: it is what the shear is for.",
    )


def _unbounded(look: Look, gamma: Array, eta: Array, furthest: int) -> Outcome:
    import numpy as np

    free = (gamma == 0) & (eta != 0)
    largest = float(np.abs(eta[free]).max())
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"{several(int(free.sum()), 'block')} with shear have no damping and grow without "
        f"bound; the shear reaches {largest * furthest:.4g} at distance {furthest:,}.",
        evidence={
            "blocks": int(free.sum()),
            "largest_eta": rounded(largest),
            "furthest": furthest,
            "shear": rounded(largest * furthest),
        },
        location=place(look),
    )
