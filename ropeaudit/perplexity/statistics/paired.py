"""Inflation of perplexity: what a variant costs over its base on the same windows.

    inflation = exp(sum of log-loss differences / number of targets) = ppl(variant) / ppl(base)

The 95 % interval comes from how the paired differences vary over the text: sums over at most 8
stretches of consecutive windows, with Student's quantile (see :mod:`._groups` for why and for the
sources). It speaks for *text like this one*: the stretches are taken as a sample of it. How sure
the figure for the whole of this text is, when only a part was scored, is what
:mod:`ropeaudit.perplexity.statistics.sequence` says.

The pairing removes what both share: how hard a window is for the model varies far more from window
to window than by how much a variant makes it worse.
"""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.statistics._groups import exp, grouped, interval
from ropeaudit.records import record


@record(kw_only=True)
class Estimate:
    """A ratio of perplexities over ``n`` windows and its 95 % interval.

    ``low`` and ``high`` are None where there is no interval (fewer than two windows). ``method``
    says in a few words how it was made and what it speaks for.
    """

    ratio: float
    low: float | None
    high: float | None
    n: int
    method: str

    @property
    def ci95(self) -> tuple[float, float] | None:
        """Both ends, as :class:`~ropeaudit.perplexity.records.Cell` keeps them."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def inflation(base: Sequence[WindowScore], variant: Sequence[WindowScore]) -> Estimate:
    """Ratio of perplexities over the windows that both have scored.

    Raises InvalidValue for scores that cannot be compared: no window in common, different numbers
    of targets in one window, a log-loss that is not finite.
    """
    groups = grouped(base, variant)
    log_ratio = groups.mean(0)
    found = interval(groups.differences[0], groups.tokens)
    count = len(groups.tokens)
    method = f"paired t over {count} groups of consecutive windows; speaks for text like this"
    if found is None:
        method = "one window leaves no interval"
    return Estimate(
        ratio=exp(log_ratio),
        low=None if found is None else exp(found[0]),
        high=None if found is None else exp(found[1]),
        n=groups.windows,
        method=method,
    )
