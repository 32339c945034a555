"""The table of ``ggml_rope_ext``: closed form, and how far the engine's own steps stray from it.

    theta_k = base ** (-2k/n) / factor_k
    table_k = theta_k * scale * (1 - m_k) + theta_k * m_k,   m_k = ext * (1 - ramp_k)

with ``scale`` = 1 / scaling factor and the YaRN ramp between two whole channels
(``ggml_rope_yarn_corr_dims`` in ``ggml/src/ggml.c``, ``rope_yarn`` in ``ggml-cpu/ops.cpp``).
"""

from __future__ import annotations

import math

from ropeaudit.errors import InvalidValue, quoted, unexpected
from ropeaudit.records import record
from ropeaudit.schedule.families.interface import check_width
from ropeaudit.schedule.families.yarn import ramp_ends
from ropeaudit.schedule.float32 import Table, f32, f32s

_NORMAL = 2.0**-126
"""The smallest normal float32 number."""


@record(kw_only=True)
class Rotation:
    """The parameters of one ``ggml_rope_ext`` call.

    ``factor`` divides frequencies (1 / freq_scale); ``ext`` mixes the YaRN ramp in; ``ramp`` are
    the channels where it starts and ends; ``divisors`` are the factor tensor's values.
    """

    base: float
    dim: int
    factor: float = 1.0
    ext: float = 0.0
    ramp: tuple[float, float] = (0.0, 0.0)
    divisors: Table | None = None


def corr_dims(
    dim: int, base: float, original: float, beta_fast: float, beta_slow: float
) -> tuple[float, float]:
    """Channels where the ramp starts and ends; raises InvalidValue where logarithms end."""
    try:
        return ramp_ends(dim, base, original, beta_fast, beta_slow, truncate=True)
    except (ArithmeticError, ValueError, InvalidValue):
        raise InvalidValue(
            f"the YaRN ramp cannot be placed with base {quoted(base)}, original length "
            f"{quoted(original)}, yarn_beta_fast {quoted(beta_fast)} and yarn_beta_slow "
            f"{quoted(beta_slow)}; expected a base other than 1, and the others above 0",
            where="rope.scaling",
        ) from None


def check(base: float, dim: int) -> None:
    """Raises InvalidValue unless ggml can rotate ``dim`` channels with ``base``."""
    check_width(dim)
    if dim % 2:
        raise InvalidValue(
            f"the rotary width is {dim}, expected an even number; convert again",
            where="rope.dimension_count",
        )
    if not 0 < f32(base) < math.inf:
        raise unexpected(
            "the rotary base", base, "a positive number that float32 holds", where="rope.freq_base"
        )


def closed_form(rotation: Rotation) -> Table:
    """The table, radians per position, shape (dim/2,): float64 arithmetic, rounded once.

    What a divisor takes below the normal numbers is 0: files spell infinity as 3.4e38, because
    loaders reject it, and such a channel turns at no length.
    """
    r = rotation
    check(r.base, r.dim)
    divisors = r.divisors or (1.0,) * (r.dim // 2)
    table = []
    for k in range(r.dim // 2):
        theta = _quotient(r.base ** (-2 * k / r.dim), divisors[k])
        value = theta / r.factor
        if r.ext:
            mix = r.ext * (1 - _rise(k, *r.ramp))
            value = value * (1 - mix) + theta * mix
        table.append(0.0 if r.divisors and abs(value) < _NORMAL else value)
    return tuple(f32s(table))


def stray(rotation: Rotation) -> float:
    """Largest relative distance of the engine's float32 steps, at position 1, from the table."""
    r = rotation
    step = f32(f32(r.base) ** f32(-2.0 / r.dim))
    scale, ext = f32(1.0 / r.factor), f32(r.ext)
    divisors = r.divisors or (1.0,) * (r.dim // 2)
    theta, worst = 1.0, 0.0
    for k, exact in enumerate(closed_form(r)):
        extrapolated = f32(_quotient(theta, divisors[k]))
        value = interpolated = f32(scale * extrapolated)
        if r.ext:
            mix = f32(f32(1 - f32(_rise(k, *r.ramp))) * ext)
            value = f32(f32(interpolated * f32(1 - mix)) + f32(extrapolated * mix))
        if 0 < abs(exact) < math.inf:
            worst = max(worst, abs(value - exact) / abs(exact))
        theta = f32(theta * step)
    return worst


def _quotient(theta: float, divisor: float) -> float:
    """As C divides: by zero is infinite, and NaN stays NaN."""
    if divisor:
        return theta / divisor
    return math.copysign(math.inf, divisor) if divisor == divisor else math.nan


def _rise(k: int, low: float, high: float) -> float:
    return min(1.0, max(0.0, (k - low) / max(0.001, high - low)))
