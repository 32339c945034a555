"""What no table of the laws that ``recovery`` knows does: to rise, or to be negative.

That refutes a recovery where a search that fails would prove nothing. The laws are meant with a
base above 1, yarn and llama3 with a factor of at least 1 as well, yarn with beta_fast >= beta_slow,
and llama3 with low = high or a blend band that is no sliver: 2048 |high - low| is at least high and
factor * low. Write u = 2**-24, fl for a rounding to float32; a rounding never turns an order round.

``default``, ``linear``, ``proportional``: the powers of the engine rise with the exponent (two of
them differ by more than a float64 power errs), so their reciprocals, divided by one factor, fall or
stay. What follows in a proportional table is 0.

``yarn``: theta and theta' = fl(1 / fl(factor * turns)) fall, theta' <= theta, and the weight w of
theta falls, for with these betas the ramp runs forwards, or is 0 or 1 throughout. So does the exact
value of theta' (1 - w) + theta w. The engine rounds 1 - w, two products of positive numbers and a
sum: 3 u each way, and less than two subnormal steps.

``llama3``: s, the share of theta, falls with theta, and so does h = theta ((1 - s) / factor
+ s). It should lie in [0, 1] within the band; three roundings of L / wavelength, which is at most
high, and one of low put it outside by 6 u high / |high - low| or 6 u low / |high - low|. That
makes h more than theta by a part of 2**-24 * 6 * 2048 < 2**-10, or less than theta / factor by as
little a part; never both between two channels. Where low > high, or the two are equal, there is no
band.

So a value is never above one before it by more than a part of 2**-10 and four steps; the table that
is held may be ``tolerance`` steps off at each of the two, and half a step for a narrow format.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from ropeaudit.schedule.float32 import FORMATS, round_to

METHOD = (
    "With a base above 1 and, in yarn and llama3, a factor of at least 1, the frequencies of these "
    "laws never rise, and none is negative."
)
_ENGINE = 1 + Fraction(1, 1 << 10)


def rise(values: Sequence[float], dtype: str, tolerance: int) -> list[int] | None:
    """The first channel that is negative, or the least channel before it and one above that.

    ``dtype`` is the format whose rounding the values show. None where nothing rises, where a value
    is no finite number, and for a tolerance of half a binade.
    """
    fmt = FORMATS[dtype]
    room = tolerance + (4 if dtype == "float32" else 1)
    held = [round_to(v, dtype) for v in values]
    if room > 1 << (fmt.precision - 1) or not all(map(math.isfinite, held)):
        return None
    least = 0
    for k, value in enumerate(held):
        step = Fraction(fmt.spacing(value))
        if value + room * step < 0:
            return [k]
        before = held[least]
        above = Fraction(before) + 2 * room * Fraction(fmt.spacing(before))
        if Fraction(value) - room * step > above * _ENGINE:
            return [least, k]
        if value < before:
            least = k
    return None
