"""Distances whose bias is one value in the format that it is held in.

What it checks
    For each head, how many different values ``slope * d`` takes for d = 0 .. L-1 in the model's
    format, L the largest distance in use.

Why it matters
    bfloat16 has 8 significant bits. With slope 1 and L = 4096 it keeps 769 different biases,
    float16 3073, float32 all 4096: far keys share one bias, the additive form of a frequency
    cluster.

Passes when
    Every distance has its own value in every head.

Fails when
    Distances share one. The evidence counts all three formats, so that a cast can be judged ahead.

Exactness
    Counts: the product in float64, rounded once to the format, half to even. An engine that builds
    the bias in float32 and only then casts is counted right; one that multiplies in the narrow
    format keeps fewer.

Options
    None.

References
    Press et al., 2108.12409.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.encodings._look import (
    NO_LENGTH,
    Look,
    each,
    extents,
    passed,
    place,
    several,
    skipped,
)
from ropeaudit.checks.encodings._slopes import NO_BIAS, slopes
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._alibi import rounded
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "bias-collapse"
NEEDS = "encoding"

FORMATS = ("bfloat16", "float16", "float32")
MAX_LENGTH = 1 << 17
"""Beyond it only so many distances are counted; they collapse all the more."""


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look))


def _judge(case: Case, look: Look) -> Outcome:
    import numpy as np

    found = slopes(look)
    if found is None:
        return skipped(look, NO_BIAS)
    reach = extents(case, look)[0]
    if reach is None:
        return skipped(look, NO_LENGTH)
    if look.encoding.dtype not in FORMATS:
        return skipped(look, f"biases are not counted in {look.encoding.dtype}")
    length = min(round(reach) + 1, MAX_LENGTH)
    one_of_each = np.unique(found)
    counts = {f: distinct(one_of_each, length, f) for f in FORMATS}
    own = counts[look.encoding.dtype]
    short = own < length
    if not short.any():
        return passed(look)
    heads = int(np.isin(found, one_of_each[short]).sum())
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"In {look.encoding.dtype} {length:,} distances have {int(own.min()):,} different "
        f"biases; distances share one in {several(heads, 'head')} of {found.size}.",
        evidence={
            "length": length,
            "dtype": look.encoding.dtype,
            "distinct": {f: int(c.min()) for f, c in counts.items()},
            "head_count": heads,
        },
        location=place(look),
    )


def distinct(slopes: Array, length: int, dtype: str) -> Any:
    """(slopes,): different values of ``slope * d``, d = 0..length-1, in a format."""
    import numpy as np

    # Biases fall with distance, so equal ones are neighbours.
    values = rounded(slopes[:, None] * np.arange(float(length)), dtype)
    return 1 + (values[:, 1:] != values[:, :-1]).sum(1)
