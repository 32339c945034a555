"""Jordan blocks of any order: their numbers, and the maps of queries and keys.

One block is ``G(d) = exp(-gamma d) R(w d) sum_r c_r(d) N^r`` for the lag d = i - j of query i and
key j (Zhang, arXiv 2605.04217; ybzhang-nxu/jordan_rope ``positional.py``). Public code maps keys by
``A = G(-p)`` and queries by the inverse transpose of it, from absolute positions p, so the score
``q^T A_i^-1 A_j k`` is ``q^T G(i - j) k`` where G is a group. The bounded shear makes none, and two
objects have to be told apart: :func:`maps` is what the code computes (position-wise), and
:func:`pairwise` is the formula in the lag.

Coordinates: block after block, in it pair after pair. Exponents ``gamma p`` are clamped as in the
code (``max_exponent``).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.encodings._growth import jet_defects, tau
from ropeaudit.encodings._planes import block_diagonal, rotations
from ropeaudit.records import record, replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum


@record(kw_only=True)
class Numbers:
    """Effective numbers of all blocks: arrays (layers, heads, blocks).

    ``jets`` (orders, layers, heads, blocks) holds the base and the jet coefficients where a method
    learns them; None where the coefficients are ``(eta tau)^r / r!``.
    """

    w: Array
    gamma: Array
    eta: Array
    order: int
    length: float | None
    """Bounds the shear; None where the shear is linear."""
    shear_scale: float
    max_exponent: float
    jets: Array | None = None


def numbers_of(encoding: Encoding, share: int = 1) -> Numbers:
    """What the parameters mean. ``omega``, ``gamma`` and ``eta`` among them are effective values
    that a change has put in place (see :func:`rebuilt`)."""
    import numpy as np

    p, s = encoding.parameters, encoding.settings
    order, scale = int(s["order"]), float(s["shear_scale"])
    width = encoding.head_dim // share
    first = next(iter(p[k] for k in ("gamma", "raw_gamma", "raw_eta") if k in p))
    w = p.get("omega")
    if w is None:
        k = np.arange(width // (2 * order))
        grid = float(s["theta"]) ** (-2.0 * k / width) if s["rotates"] else np.zeros(len(k))
        w = np.broadcast_to(grid, first.shape)
    gamma, eta = p.get("gamma"), p.get("eta")
    if gamma is None:
        raw = p.get("raw_gamma")
        gamma = np.zeros_like(w) if raw is None else np.logaddexp(0.0, raw) + float(s["gamma_min"])
    jets = _jets(encoding)
    if eta is None and jets is not None:
        eta = jets[1]
    elif eta is None:
        raw = p.get("raw_eta")
        eta = np.zeros_like(w) if raw is None else float(s["eta_max"]) * np.tanh(raw)
    if jets is not None:
        jets = np.concatenate([jets[:1], eta[None], jets[2:]])
    return Numbers(
        w=np.asarray(w),
        gamma=np.asarray(gamma),
        eta=np.asarray(eta),
        order=order,
        length=float(s["train_context"]) if s["tau"] == "bounded" else None,
        shear_scale=scale,
        max_exponent=float(s["max_exponent"]),
        jets=jets,
    )


def _jets(encoding: Encoding) -> Array | None:
    """Base and jets (orders, layers, heads, blocks): ``max tanh(raw)``, base 1 if not learned."""
    import numpy as np

    raw = encoding.parameters.get("raw_jet_coefficients")
    if raw is None:
        return None
    largest = float(encoding.settings["jet_max"])
    rest = largest * np.tanh(np.moveaxis(raw, 1, 0))
    base = encoding.parameters.get("raw_jet_base")
    first = np.ones_like(rest[0]) if base is None else largest * np.tanh(base)
    return np.concatenate([first[None], rest])


def coefficients(numbers: Numbers, t: Array) -> Array:
    """``c_r(t)`` (orders, count, layers, heads, blocks): ``(eta tau)^r / r!``, or the jets'."""
    import numpy as np

    place = (tau(t, numbers.length) * numbers.shear_scale)[:, None, None, None]
    if numbers.jets is None:
        base, gates = numbers.eta[None] * place, np.ones((numbers.order, 1, 1, 1))
    else:
        base, gates = place, numbers.jets
    rows = [gates[r] * base**r / math.factorial(r) for r in range(numbers.order)]
    shape = (len(t), *numbers.w.shape)
    return np.stack([np.broadcast_to(row, shape) for row in rows])


def inverse(coefficients: Array) -> Array:
    """Coefficients of the inverse of the nilpotent polynomial, in the same layout."""
    import numpy as np

    found = [1.0 / coefficients[0]]
    for r in range(1, len(coefficients)):
        rest = sum(coefficients[s] * found[r - s] for s in range(1, r + 1))
        found.append(-rest / coefficients[0])
    return np.stack(found)


def maps(numbers: Numbers, positions: Array) -> tuple[Array, Array]:
    """Maps of queries and keys at ``positions`` (count,), as public code builds them.

    Both (count, layers, heads, n, n): keys by A(-p), queries by its inverse transpose.
    """
    import numpy as np

    t = -positions
    c = coefficients(numbers, t)
    exponent = numbers.gamma[None] * t[:, None, None, None]
    exponent = np.clip(exponent, -numbers.max_exponent, numbers.max_exponent)
    keys = _assembled(numbers, t, np.exp(-exponent) * c)
    queries = _assembled(numbers, t, np.exp(exponent) * inverse(c), transposed=True)
    return queries, keys


def pairwise(numbers: Numbers, lags: Array) -> Array:
    """G(d) of the formula at ``lags`` (count,): (count, layers, heads, n, n), nothing clamped."""
    import numpy as np

    decay = np.exp(-numbers.gamma[None] * lags[:, None, None, None])
    return _assembled(numbers, lags, decay * coefficients(numbers, lags))


def _assembled(numbers: Numbers, t: Array, c: Array, *, transposed: bool = False) -> Array:
    """Block (row a, col b) is ``c_{b-a} R(w t)``, in the transposed case ``c_{a-b} R(w t)``."""
    import numpy as np

    order = numbers.order
    mixing = np.zeros((*c.shape[1:], order, order))
    for a in range(order):
        for b in range(a, order):
            row, col = (b, a) if transposed else (a, b)
            mixing[..., row, col] = c[b - a]
    turned = rotations(t[:, None, None, None] * numbers.w)
    whole = mixing[..., :, None, :, None] * turned[..., None, :, None, :]
    return block_diagonal(whole.reshape(*c.shape[1:], 2 * order, 2 * order))


def generator(numbers: Numbers) -> Array:
    """J of the lag (layers, heads, n, n): ``(-gamma + i w) I + eta shear_scale N``; exact where the
    shear is linear and no jets are learned, else the rate at lag 0."""
    import numpy as np

    order = numbers.order
    unit = np.stack(
        [
            np.stack([-numbers.gamma, -numbers.w], -1),
            np.stack([numbers.w, -numbers.gamma], -1),
        ],
        -2,
    )
    whole = np.zeros((*numbers.w.shape, 2 * order, 2 * order))
    for a in range(order):
        rows = slice(2 * a, 2 * a + 2)
        whole[..., rows, rows] = unit
        if a + 1 < order:
            shear = (numbers.eta * numbers.shear_scale)[..., None, None] * np.eye(2)
            whole[..., rows, 2 * a + 2 : 2 * a + 4] = shear
    return block_diagonal(whole)


def is_group(numbers: Numbers, tolerance: float = 0.0) -> bool:
    """Whether G is a one-parameter group: linear shear or none at all, and jets ``g_r = g_1^r``
    with base 1."""
    import numpy as np

    if numbers.jets is None:
        return numbers.length is None or not numbers.eta.any()
    if numbers.length is not None:
        return False
    off = np.abs(numbers.jets[0] - 1.0).max(), np.abs(jet_defects(numbers.jets[1:])).max()
    return bool(max(off) <= tolerance)


def spectrum(numbers: Numbers) -> Spectrum:
    """One unit a block."""
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    sector = "rotary" if np.any(numbers.w) else "unipotent"
    return Spectrum(
        w=np.ascontiguousarray(numbers.w)[..., None],
        gamma=numbers.gamma,
        eta=numbers.eta,
        order=numbers.order,
        eta_scale=numbers.shear_scale,
        tau="linear" if numbers.length is None else "bounded",
        sector=(sector,) * numbers.w.shape[2],
    )


def changed(encoding: Encoding, own: tuple[Array, Array, Array], spectrum: Spectrum) -> Encoding:
    """``encoding`` with the numbers of ``spectrum`` where they differ from its ``own`` (w, gamma,
    eta).

    They are kept as they are, under ``omega``, ``gamma`` and ``eta``: what a raw parameter can hold
    is bounded (``gamma > gamma_min``), and a change need not keep to that.
    """
    import numpy as np

    parameters = dict(encoding.parameters)
    for name, before, after in (
        ("omega", own[0], spectrum.w[..., 0]),
        ("gamma", own[1], spectrum.gamma),
        ("eta", own[2], spectrum.eta),
    ):
        if not np.array_equal(before, after):
            parameters[name] = np.array(after)
    return replace(encoding, parameters=parameters)
