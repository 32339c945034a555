"""Fits over the cells of a run, a sentence each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ropeaudit.perplexity.statistics.fits import Control, Position, PowerLaw
from ropeaudit.report._numbers import plural, radians
from ropeaudit.report._perplexity_cells import Fits

SHOWN = 6
"""Sentences of one kind on a page that is not asked for everything."""


def told(found: Fits, *, full: bool) -> Iterator[tuple[str, list[str]]]:
    """(title, sentences) for each kind of fit that there is."""
    kinds = (
        ("power law", [_power_law(f) for f in found.power_law]),
        ("place in the spectrum", [_position(f) for f in found.position]),
        ("coincidence against displacement", [_control(f) for f in found.controls]),
    )
    for title, said in kinds:
        if said:
            yield title, said if full else _cut(said)


def _cut(said: Sequence[str]) -> list[str]:
    left = len(said) - SHOWN
    return list(said) if left <= 0 else [*said[:SHOWN], f"{left} more (-v)"]


def _between(ci95: tuple[float, float] | None) -> str:
    return "" if ci95 is None else f" ({_short(ci95[0])} to {_short(ci95[1])})"


def _short(value: float) -> str:
    """Three digits, none beyond the fourth decimal: what is nothing shows as 0."""
    return f"{round(value, 4) + 0.0:.3g}"


def _power_law(fit: PowerLaw) -> str:
    pairs = plural(len(fit.points), "pair")
    return (
        f"{fit.family} at {fit.context:,}: log inflation = {_short(fit.intercept)}"
        f"{_between(fit.intercept_ci95)} + {_short(fit.slope)}{_between(fit.slope_ci95)} x log "
        f"distance, Pearson r {_short(fit.r)}{_between(fit.r_ci95)} over {pairs}"
    )


def _position(fit: Position) -> str:
    return (
        f"{fit.high} against {fit.low} at {fit.context:,}, displaced by {fit.displacement:.3g} in "
        f"log: {fit.verdict}"
    )


def _control(fit: Control) -> str:
    logs = " and ".join(f"{d:.3g}" for d in fit.displacement)
    drifts = " and ".join(radians(d, 3) for d in fit.phase_drift)
    return (
        f"{fit.coincident} against {fit.control} ({fit.kind}) at {fit.context:,}, displaced by "
        f"{logs} in log, {drifts} rad: {fit.verdict}"
    )
