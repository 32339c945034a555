"""What a set of cells says about the claims: power law, place in the spectrum, coincidence.

Every function takes the cells of one run (base included, any order), finds those it can compare,
and returns what it found, per context length and per scope; nothing comparable is an empty tuple.
Cells are compared on the windows that all of them have scored. Effects are differences of log-loss
per token against the base, so "log inflation" is the natural logarithm of the ratio of
perplexities. Intervals are 95 % and by the text alone (:mod:`._groups`): they say how far another
stretch of such text could move a figure, not whether other channels or models would agree.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from ropeaudit.perplexity.records import Cell
from ropeaudit.perplexity.statistics._groups import (
    Groups,
    exp,
    grouped,
    interval,
    quotient,
)
from ropeaudit.perplexity.statistics._pairs import (
    Comparable,
    comparable,
    controlled,
    families,
    log_distance,
    matched,
    place,
)
from ropeaudit.records import record

MARGIN = 0.01
"""Relative difference of perplexities below which two variants count as equally bad."""

DRAWS = 2000


@record(kw_only=True)
class PowerLaw:
    """``log inflation = intercept + slope * log distance`` over pairs merged at one place.

    ``points``: (log distance in nats, log inflation). The intervals of slope and intercept are
    Student's, that of Pearson's ``r`` the percentiles of a seeded bootstrap over the groups of
    windows; None where fewer than 2 (for ``r`` 4) groups leave none.
    """

    context: int
    family: str
    points: tuple[tuple[float, float], ...]
    slope: float
    slope_ci95: tuple[float, float] | None
    intercept: float
    intercept_ci95: tuple[float, float] | None
    r: float
    r_ci95: tuple[float, float] | None
    windows: int


@record(kw_only=True)
class Position:
    """The same perturbation at a higher and a lower place of the spectrum.

    ``ratio`` is log inflation high / low, with Fieller's interval; None where the lower one's
    log inflation cannot be told from 0. ``difference`` is their difference in log.
    """

    context: int
    high: str
    low: str
    displacement: float
    ratio: float | None
    ratio_ci95: tuple[float, float] | None
    difference: float
    difference_ci95: tuple[float, float] | None
    windows: int
    verdict: str


@record(kw_only=True)
class Control:
    """A cell with coincident channels beside one that is displaced as far and has none.

    ``ratio`` is perplexity(coincident) / perplexity(control). ``displacement`` and ``phase_drift``
    are (coincident, control): the largest log displacement and the largest phase drift.
    """

    kind: str
    context: int
    coincident: str
    control: str
    displacement: tuple[float, float]
    phase_drift: tuple[float, float]
    ratio: float
    ratio_ci95: tuple[float, float] | None
    windows: int
    verdict: str


def power_law(cells: Sequence[Cell], *, seed: int = 0) -> tuple[PowerLaw, ...]:
    """Log inflation against log distance for pairs merged at codimension 2.

    One fit for each family of at least three cells that differ only in how far the pair lay apart
    (``gap`` or ``dlog``). Raises InvalidValue for scores that cannot be compared.

    Source of the claim: the paper fits log(inflation) = 0.6 * (log distance) with r > 0.996.
    """
    found = []
    for base, family, members in families(cells, without=("gap", "dlog")):
        pairs = [(d, c) for c in members if (d := log_distance(c)) is not None]
        pairs.sort(key=lambda pair: pair[0])
        if len({round(d, 9) for d, _ in pairs}) >= 3:
            found.append(_fit(base, family, pairs, seed))
    return tuple(found)


def _fit(base: Cell, family: str, pairs: Sequence[tuple[float, Comparable]], seed: int) -> PowerLaw:
    groups = grouped(base.scores, *(c.cell.scores for _, c in pairs))
    xs = [d for d, _ in pairs]
    ys = [groups.mean(j) for j in range(len(xs))]
    # Slope and intercept are fixed weighted sums of the y, so each group of windows has its own.
    centre = math.fsum(xs) / len(xs)
    spread = math.fsum((x - centre) ** 2 for x in xs)
    slopes = [(x - centre) / spread for x in xs]
    constants = [1 / len(xs) - centre * s for s in slopes]
    return PowerLaw(
        context=base.context,
        family=family,
        points=tuple(zip(xs, ys, strict=True)),
        slope=_dot(slopes, ys),
        slope_ci95=interval(_combined(groups, slopes), groups.tokens),
        intercept=_dot(constants, ys),
        intercept_ci95=interval(_combined(groups, constants), groups.tokens),
        r=pearson(xs, ys),
        r_ci95=_bootstrap_r(xs, groups, seed),
        windows=groups.windows,
    )


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def _combined(groups: Groups, weights: Sequence[float]) -> list[float]:
    return [_dot(weights, column) for column in zip(*groups.differences, strict=True)]


def pearson(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Pearson's correlation; 0 where one side does not vary."""
    mean_x, mean_y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    dx, dy = [x - mean_x for x in xs], [y - mean_y for y in ys]
    size = math.sqrt(_dot(dx, dx) * _dot(dy, dy))
    return max(-1.0, min(1.0, _dot(dx, dy) / size)) if size else 0.0


def _bootstrap_r(xs: Sequence[float], groups: Groups, seed: int) -> tuple[float, float] | None:
    count = len(groups.tokens)
    if count < 4:
        return None
    random, found = Random(seed), []
    for _ in range(DRAWS):
        # random() alone keeps its sequence over versions of Python.
        chosen = [int(random.random() * count) for _ in range(count)]
        tokens = sum(groups.tokens[g] for g in chosen)
        ys = [sum(row[g] for g in chosen) / tokens for row in groups.differences]
        found.append(pearson(xs, ys))
    found.sort()
    return found[int(0.025 * DRAWS)], found[int(0.975 * DRAWS) - 1]


def position(cells: Sequence[Cell]) -> tuple[Position, ...]:
    """The highest place of a perturbation against each lower one, at matched displacement.

    Cells of one family differ only in ``at``. Pairs whose largest log displacements differ by more
    than 5 % are left out. Raises InvalidValue for scores that cannot be compared.
    """
    found = (
        (base, ranked[0], low)
        for base, _, members in families(cells, without=("at",))
        for ranked in [sorted(members, key=place)]
        for low in ranked[1:]
    )
    return tuple(
        _position(base, high, low)
        for base, high, low in found
        if place(high) < place(low) and matched(high.cell, low.cell)
    )


def _position(base: Cell, high: Comparable, low: Comparable) -> Position:
    groups = grouped(base.scores, high.cell.scores, low.cell.scores)
    a, b = groups.differences
    apart = interval([x - y for x, y in zip(a, b, strict=True)], groups.tokens)
    ratio = quotient(a, b, groups.tokens)
    point = groups.mean(0) / groups.mean(1) if ratio else None
    return Position(
        context=base.context,
        high=high.text,
        low=low.text,
        displacement=max(high.cell.max_abs_dlog, low.cell.max_abs_dlog),
        ratio=point,
        ratio_ci95=ratio,
        difference=groups.mean(0) - groups.mean(1),
        difference_ci95=apart,
        windows=groups.windows,
        verdict=_position_verdict(point, ratio, apart),
    )


def _position_verdict(
    point: float | None, ratio: tuple[float, float] | None, apart: tuple[float, float] | None
) -> str:
    if apart is None:
        return "undecided: one window leaves no interval"
    if apart[0] <= 0 <= apart[1]:
        return "undecided: neither place is worse beyond the interval"
    verdict = f"the {'higher' if apart[0] > 0 else 'lower'} place is worse"
    if point is None or ratio is None:
        return verdict
    return (
        f"{verdict}: log inflation at the higher one is {point:.3g} times "
        f"({ratio[0]:.3g} to {ratio[1]:.3g}) that at the lower one"
    )


def controls(cells: Sequence[Cell], *, margin: float = MARGIN) -> tuple[Control, ...]:
    """Coincidence against displacement: each merge beside its controls, with a plain verdict.

    Kinds: ``jitter`` (the same tables, their coincident channels split by tiny steps), ``apart``
    (as far, away from each other), ``shift`` (as far, both the same way), ``swap`` (each by a whole
    gap, against a merge of twice the gap). Pairs whose displacements differ by more than 5 % in log
    are left out, unless the control says it is matched in phase. ``margin``: relative difference of
    perplexities that counts as nothing. Raises InvalidValue for scores that cannot be compared.
    """
    return tuple(
        _control(kind, base, merged, control, margin)
        for base, variants in comparable(cells)
        for kind, merged, control in controlled(variants)
    )


def _control(
    kind: str, base: Cell, merged: Comparable, control: Comparable, margin: float
) -> Control:
    groups = grouped(base.scores, merged.cell.scores, control.cell.scores)
    a, b = groups.differences
    found = interval([x - y for x, y in zip(a, b, strict=True)], groups.tokens)
    ci95 = None if found is None else (exp(found[0]), exp(found[1]))
    ratio = exp(groups.mean(0) - groups.mean(1))
    return Control(
        kind=kind,
        context=base.context,
        coincident=merged.text,
        control=control.text,
        displacement=(merged.cell.max_abs_dlog, control.cell.max_abs_dlog),
        phase_drift=(merged.cell.max_phase_drift, control.cell.max_phase_drift),
        ratio=ratio,
        ratio_ci95=ci95,
        windows=groups.windows,
        verdict=_control_verdict(ratio, ci95, margin),
    )


def _control_verdict(ratio: float, ci95: tuple[float, float] | None, margin: float) -> str:
    if ci95 is None:
        return f"undecided: {ratio:.4f} times the control's perplexity, on one window"
    low, high = ci95
    measured = f"{ratio:.4f} times the control's perplexity ({low:.4f} to {high:.4f})"
    if 1 / (1 + margin) <= low and high <= 1 + margin:
        return f"coincidence adds nothing beyond {margin:.0%}: {measured}"
    if low > 1:
        return f"coincidence is worse than the same displacement without it: {measured}"
    if high < 1:
        return f"coincidence is less harmful than its control: {measured}"
    return f"undecided: {measured}; more windows are needed"
