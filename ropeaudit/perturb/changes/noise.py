"""``noise``: every frequency times ``1 + eps * g_k``, g_k standard normal and independent.

The same seed gives the same bits on every machine and version of Python. The uniform numbers are
those of the Mersenne Twister, whose sequence Python promises to keep (``random.random``); its
``gauss`` carries no such promise, and a Box-Muller transform would depend on the platform's
logarithm and cosine. So the normal ones are made here by the ratio of uniforms (Kinderman and
Monahan, ACM TOMS 3, 1977): the value itself takes one subtraction, one product and one quotient,
which IEEE arithmetic rounds alike everywhere; a logarithm only decides whether it is accepted.

Channel k takes the k-th number of the sequence, whatever the table; zeros by design stay zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from random import Random

from ropeaudit.perturb._expect import Rules, moved, uneven
from ropeaudit.perturb._keys import number, whole
from ropeaudit.perturb._table import changed, turning
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

HEADS = (
    Head(
        name="noise", usage="noise:eps=E,seed=S with E of at least 0 and a whole number S",
        keys={"eps": number(least=0.0), "seed": whole(0, 2**64 - 1)},
    ),
)  # fmt: skip
RESCALES = False

_WIDTH = 1.7155277699214135
"""2 * sqrt(2 / e), the width of the region that the ratio is drawn from."""


@record(kw_only=True)
class Params:
    eps: float
    seed: int


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | uneven(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    drawn = list(islice(normals(params.seed), len(schedule.inv_freq)))
    values = {}
    for k in turning(schedule):
        factor = 1.0 + params.eps * drawn[k]
        if factor <= 0:
            raise Refused(
                f"with seed {params.seed} the noise turns channel {k} around "
                f"(1 + eps * g = {factor:.3g}); take a smaller eps"
            )
        values[k] = schedule.inv_freq[k] * factor
    return changed(schedule, values)


def normals(seed: int) -> Iterator[float]:
    """Standard normal numbers; the sequence depends on ``seed`` alone."""
    draw = Random(seed).random
    while True:
        u, v = draw(), 1.0 - draw()
        z = _WIDTH * (u - 0.5) / v
        if z * z / 4.0 <= -math.log(v):
            yield z
