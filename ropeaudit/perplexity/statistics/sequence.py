"""Stop early: an interval that may be looked at after every window.

The text has N windows; they are scored in a random order, without replacement, and after each one
an interval says where the inflation *over all N* lies. Its 95 % hold for all looks together, so a
cell may stop at any of them. After the last window the interval is the figure itself.

With differences x_1 .. x_n per token so far (mean m, sum of squared deviations SS):

    A = n N / (N - n)                      how much is known; n where the text has no end
    c = (sqrt(1 + g A) / alpha) ^ (2 / n)
    |mean over all N - m|  <=  sqrt( (c - 1) SS / (A (1 - c / (1 + g A))) )

Why: given a candidate for the mean over all N, each window has a known expected value from those
that are still to come (Waudby-Smith and Ramdas, Confidence sequences for sampling without
replacement, NeurIPS 2020). If the differences are draws from a normal distribution, the deviations,
scaled by sqrt((N-t+1)/(N-t)), are independent normal numbers of one unknown variance, and a wrong
candidate shifts them along a known regressor, whose squares add up to A. The interval is the set of
candidates whose Bayes factor in that regression is below 1 / alpha; its prior on the shift, in
units of the standard deviation, is normal with variance g, and the scale is integrated out. The
factor of the true mean is a martingale, so Ville's inequality holds over all looks (Lindon, Ham,
Tingley and Bojinov, Anytime-valid linear models, arXiv 2210.08589; Wang and Ramdas, Anytime-valid
t-tests and confidence sequences for Gaussian means with unknown variance, arXiv 2310.03722).

What is guaranteed: for normally distributed differences at least 1 - alpha = 99 % over all looks,
however few the windows and whatever their spread. For others it is the asymptotic kind (compare
Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Time-uniform central limit theory and asymptotic
confidence sequences, Annals of Statistics 2024): whoever knows no bound beforehand cannot promise
more, since one unseen window might outweigh all that were seen. Skewed differences are missed more
often, and those of merged channels are skewed; 99 % is asked of the normal case so that 95 % remain
for them, as simulations with measured differences show (tests/perplexity/test_coverage.py). Neither
correlation of neighbours nor parts of a text that differ do any harm: the windows come in random
order, and the mean that is wanted is the one of this text.
"""

from __future__ import annotations

import math

from ropeaudit.errors import InvalidValue
from ropeaudit.perplexity.statistics._groups import exp
from ropeaudit.perplexity.statistics.paired import Estimate

LEAST = 6
"""Windows before the first stop; on fewer, no interval is finite in a long text."""

_ALPHA = 0.01
"""What normally distributed differences get to be wrong; the rest of the 5 % is for skew."""

_UNIT = 1.0
"""g: a shift is expected to be of the size of one standard deviation between windows."""


class Sequential:
    """Watches one cell; feed it the windows of a random order and ask :attr:`done` after each.

    ``precision``: stop when the interval's half width, relative to the inflation, is at most this
    (0.005 = 0.5 %). ``threshold``: stop as well when the interval excludes this inflation (1.05).
    ``population``: windows N that the cell would score without stopping; None for a text without
    end (the interval then speaks for the source that the windows are drawn from).
    """

    def __init__(
        self,
        precision: float | None,
        threshold: float | None = None,
        *,
        population: int | None,
        least: int = LEAST,
    ) -> None:
        self.precision = precision
        self.threshold = threshold
        self.population = population
        self.least = least
        self.n = 0
        self._difference = self._weight = 0.0  # means over the windows so far
        self._dd = self._dw = self._ww = 0.0  # sums of squared deviations and products

    def add(self, difference: float, weight: float) -> None:
        """One more window: ``difference`` of log-loss summed over its ``weight`` targets, in nats.

        Raises InvalidValue for a number that is not finite, and for more windows than there are.
        """
        if not math.isfinite(difference) or not weight > 0:
            raise InvalidValue(
                f"a window has log-loss difference {difference} over {weight} targets, expected a "
                "finite number over at least one"
            )
        if self.population is not None and self.n >= self.population:
            raise InvalidValue(f"more than the {self.population} windows of the text were added")
        self.n += 1
        # Welford's update: no cancellation where all windows differ alike.
        from_difference, from_weight = difference - self._difference, weight - self._weight
        self._difference += from_difference / self.n
        self._weight += from_weight / self.n
        self._dd += from_difference * (difference - self._difference)
        self._dw += from_difference * (weight - self._weight)
        self._ww += from_weight * (weight - self._weight)

    @property
    def log_ratio(self) -> float:
        """Log of the inflation over the windows so far; raises InvalidValue before the first."""
        if not self.n:
            raise InvalidValue("no window was scored, so there is no inflation to tell")
        return self._difference / self._weight

    @property
    def half_width(self) -> float:
        """Of the interval of the log inflation; infinite while nothing can be said."""
        if self.population == self.n and self.n:
            return 0.0
        factor = self._factor() if self.n > 1 else math.inf
        if not math.isfinite(factor):
            return math.inf
        ratio = self.log_ratio
        # Deviations of d - ratio * w, per token: their mean is 0 by definition of the ratio.
        squares = max(self._dd - 2 * ratio * self._dw + ratio**2 * self._ww, 0.0)
        return math.sqrt(factor * squares) / self._weight

    def _factor(self) -> float:
        n, total = self.n, self.population
        known = n if total is None else n * total / (total - n)
        spread = 1 + _UNIT * known
        c = (math.sqrt(spread) / _ALPHA) ** (2 / n)
        return (c - 1) / (known * (1 - c / spread)) if c < spread else math.inf

    def interval(self) -> tuple[float, float] | None:
        """95 % interval of the inflation over all windows, valid at every look; None before."""
        half = self.half_width
        if not math.isfinite(half):
            return None
        return exp(self.log_ratio - half), exp(self.log_ratio + half)

    @property
    def done(self) -> bool:
        """Whether the cell may stop: precise enough, decided, or at the end of the text."""
        if self.n and self.n == self.population:
            return True
        found = self.interval() if self.n >= self.least else None
        if found is None:
            return False
        low, high = found
        if self.threshold is not None and not low <= self.threshold <= high:
            return True
        return (
            self.precision is not None and math.sinh(min(self.half_width, 700.0)) <= self.precision
        )

    def estimate(self) -> Estimate:
        """The inflation so far with this interval, for a cell that was stopped."""
        found = self.interval()
        whole = "this text" if self.population is not None else "text like this"
        return Estimate(
            ratio=exp(self.log_ratio),
            low=None if found is None else found[0],
            high=None if found is None else found[1],
            n=self.n,
            method=f"anytime-valid t over windows in random order; speaks for all of {whole}",
        )
