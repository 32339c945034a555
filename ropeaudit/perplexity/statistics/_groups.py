"""The same windows of several cells, side by side, in groups of neighbours.

Windows of one text are not independent: neighbours share a topic, and a few windows carry most of
the damage. So the unit of every interval here is a group of consecutive windows, at most
:data:`MOST` of them, and its quantile is Student's with groups - 1 degrees of freedom. Sums over
long stretches are close to normal and nearly independent where single windows are neither.

Source: Ibragimov and Müller, t-statistic based correlation and heterogeneity robust inference,
Journal of Business & Economic Statistics 28 (2010). Their interval is conservative at 95 % for
groups of unequal variance (Bakirov and Székely 2005). Groups of unequal token counts are weighted
as in the ratio estimator of Cochran, Sampling Techniques (1977), section 6.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ropeaudit.errors import InvalidValue
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.statistics._student import quantile
from ropeaudit.records import record

MOST = 8


@record()
class Groups:
    """``tokens[g]`` of a group and ``differences[j][g]``, log-loss of cell j minus base, in nats.

    ``windows``: how many windows the groups hold.
    """

    windows: int
    tokens: tuple[int, ...]
    differences: tuple[tuple[float, ...], ...]

    def mean(self, j: int) -> float:
        """Log of the ratio of perplexities: difference per token over all windows."""
        return math.fsum(self.differences[j]) / sum(self.tokens)


def grouped(base: Sequence[WindowScore], *cells: Sequence[WindowScore]) -> Groups:
    """Groups of the windows that the base and all cells have scored.

    Raises InvalidValue for scores that cannot be compared: none in common, a window that stands
    twice or whose cells scored different numbers of targets, a log-loss that is not finite.
    """
    tables = [_by_index(scores) for scores in (base, *cells)]
    shared = sorted(set.intersection(*(set(t) for t in tables)))
    if not shared:
        raise InvalidValue("the cells have no window in common, so they cannot be compared")
    for index in shared:
        counts = {t[index].tokens for t in tables}
        if len(counts) > 1:
            raise InvalidValue(
                f"window {index} has {' and '.join(map(str, sorted(counts)))} targets in two "
                "cells, expected the same targets in all; measure them again with one setting"
            )
    count = min(len(shared), MOST)
    parts = [
        shared[g * len(shared) // count : (g + 1) * len(shared) // count] for g in range(count)
    ]
    first = tables[0]
    return Groups(
        windows=len(shared),
        tokens=tuple(sum(first[i].tokens for i in part) for part in parts),
        differences=tuple(
            tuple(math.fsum(t[i].nll - first[i].nll for i in part) for part in parts)
            for t in tables[1:]
        ),
    )


def _by_index(scores: Sequence[WindowScore]) -> dict[int, WindowScore]:
    table: dict[int, WindowScore] = {}
    for score in scores:
        if score.index in table:
            raise InvalidValue(f"window {score.index} was scored twice in one cell")
        if score.tokens < 1 or not math.isfinite(score.nll):
            raise InvalidValue(
                f"window {score.index} has log-loss {score.nll} over {score.tokens} targets, "
                "expected a finite number over at least one; leave the cell out or score it again"
            )
        table[score.index] = score
    return table


def interval(values: Sequence[float], tokens: Sequence[int]) -> tuple[float, float] | None:
    """95 % interval of ``sum(values) / sum(tokens)``; None for fewer than two groups."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / sum(tokens)
    half = quantile(len(values) - 1) * math.sqrt(covariance(values, values, tokens))
    return mean - half, mean + half


def covariance(a: Sequence[float], b: Sequence[float], tokens: Sequence[int]) -> float:
    """Estimated covariance of two means per token, from how groups differ; needs two groups."""
    total, q = sum(tokens), len(tokens)
    mean_a, mean_b = math.fsum(a) / total, math.fsum(b) / total
    products = ((x - mean_a * n) * (y - mean_b * n) for x, y, n in zip(a, b, tokens, strict=True))
    return q / (q - 1) * math.fsum(products) / total**2


def quotient(
    a: Sequence[float], b: Sequence[float], tokens: Sequence[int]
) -> tuple[float, float] | None:
    """95 % interval of ``sum(a) / sum(b)``, None where b cannot be told from 0.

    The ratios rho for which the mean of ``a - rho * b`` may be 0. Source: Fieller, Some problems in
    interval estimation, JRSS B 16 (1954).
    """
    if len(tokens) < 2:
        return None
    total, t2 = sum(tokens), quantile(len(tokens) - 1) ** 2
    mean_a, mean_b = math.fsum(a) / total, math.fsum(b) / total
    square = mean_b**2 - t2 * covariance(b, b, tokens)
    middle = mean_a * mean_b - t2 * covariance(a, b, tokens)
    last = mean_a**2 - t2 * covariance(a, a, tokens)
    if square <= 0:
        return None
    root = math.sqrt(max(middle**2 - square * last, 0.0))
    return (middle - root) / square, (middle + root) / square


def exp(value: float) -> float:
    """``e ** value``, infinite where a float cannot hold it."""
    return math.exp(value) if value < 709 else math.inf
