"""Heads whose bias halves a weight only beyond the context, or a bias that reaches no neighbour.

What it checks
    The half-life of each head, ``ln 2 / m_h`` positions: the distance over which the bias ``-m_h
    d`` halves the weight of a key. It is held against the largest distance in use, and against one
    position.

Why it matters
    A head whose half-life lies beyond the context weighs near and far almost alike: its bias says
    nothing of position. Where the half-life of every head is below one position, nothing but the
    nearest keys is ever seen.

Passes when
    Every head halves within the context, and some head takes more than one position to do so. The
    published slopes, 2^(-8 h / n), have half-lives up to 177 positions; from 16 heads on the first
    ones are below one position by design, which is no finding.

Fails when
    A head does not halve within the context (information: a larger ``alibi_bias_max`` or a short
    context does this), no head does, or every head is below one position.

Exactness
    float64, from slopes in float64.

Options
    None.

References
    Press et al., 2108.12409, section 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from ropeaudit.checks.encodings._look import (
    NO_LENGTH,
    Look,
    each,
    extents,
    passed,
    place,
    rounded,
    several,
    skipped,
)
from ropeaudit.checks.encodings._slopes import NO_BIAS, slopes
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record

SLUG = "alibi-half-life"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(case, look))


def _judge(case: Case, look: Look) -> Outcome:
    found = slopes(look)
    if found is None:
        return skipped(look, NO_BIAS)
    if (found <= 0).any():
        return skipped(look, "some slope is not positive, which alibi-slopes tells")
    half = math.log(2.0) / found
    reach = extents(case, look)[0]
    beyond = half > math.inf if reach is None else half > reach
    short = half < 1.0
    if not (beyond.any() or short.all()):
        return passed(look) if reach is not None else skipped(look, NO_LENGTH)
    if short.all():
        told = "The bias halves the weight of a key within less than a position in every head."
    elif beyond.all():
        told = f"No head halves the weight of a key within {reach:,.0f} positions."
    else:
        told = (
            f"{several(int(beyond.sum()), 'head')} of {half.size} would halve the weight of a key "
            f"beyond the {reach:,.0f} positions in use, the slowest after {half.max():,.4g}."
        )
    return Outcome(
        status=Status.FAIL,
        severity=None if short.all() or beyond.all() else Severity.INFO,
        schedule=look.name,
        message=told,
        evidence={
            "half_life": [rounded(half.min()), rounded(half.max())],
            "reach": reach,
            "beyond": look.heads(beyond),
            "beyond_count": int(beyond.sum()),
            "below_one_count": int(short.sum()),
        },
        location=place(look),
    )
