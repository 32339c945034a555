"""Power law, place in the spectrum and controls, on cells whose answer is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ropeaudit.errors import InvalidValue, UsageError
from ropeaudit.perplexity.records import Cell
from ropeaudit.perplexity.statistics.fits import controls, pearson, position, power_law
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perturb.measure import measures
from ropeaudit.perturb.variant import make
from tests.perplexity.scores import cell
from tests.schedules import plain

WINDOWS = 12
STEP = math.log(1e5) / 32
"""Log distance of neighbours in SmolLM2's table."""


def wobble(seed: int, size: float) -> list[float]:
    """Per-window deviations whose mean is exactly 0."""
    values = np.random.default_rng(seed).normal(0, size, WINDOWS)
    return list(values - values.mean())


def run(losses: Callable[[str], Sequence[float] | float], *recipes: str, **kw: Any) -> list[Cell]:
    """A base and real variants of SmolLM2's table; ``losses`` in nats per target above the base."""
    hard = [3.0 + 0.2 * (i % 5) for i in range(WINDOWS)]
    cells = [cell(None, [100 * x for x in hard], **kw)]
    for recipe in recipes:
        moved = max(measures(make((plain(1e5, 64, trained=2048),), recipe)),
                    key=lambda m: m.max_abs_dlog)  # fmt: skip
        more = losses(recipe)
        per_window = [more] * WINDOWS if isinstance(more, (int, float)) else more
        cells.append(
            cell(
                recipe,
                [100 * (x + y) for x, y in zip(hard, per_window, strict=True)],
                max_abs_dlog=moved.max_abs_dlog,
                max_phase_drift=moved.max_phase_drift or 0.0,
                **kw,
            )
        )
    return cells


def merge(gap: int, at: object = 0, to: str = "gm") -> str:
    return f"cluster:at={at},codim=2,gap={gap},to={to}"


def gap_of(recipe: str) -> int:
    return int(recipe.split("gap=")[1].split(",")[0])


class TestPowerLaw:
    def test_an_exact_law_is_found_exactly(self) -> None:
        recipes = [merge(g) for g in (1, 2, 3, 4, 5)]
        (found,) = power_law(run(lambda r: 0.6 * STEP * gap_of(r) - 0.02, *recipes))
        assert found.slope == pytest.approx(0.6, abs=1e-5)
        assert found.intercept == pytest.approx(-0.02, abs=1e-5)
        assert found.r == pytest.approx(1, abs=1e-8)
        assert found.slope_ci95 == pytest.approx((0.6, 0.6), abs=1e-5)
        assert [x for x, _ in found.points] == pytest.approx([g * STEP for g in range(1, 6)], 1e-5)
        assert found.family == "cluster:gap=*,at=0,codim=2,to=gm"
        assert (found.context, found.windows) == (512, WINDOWS)

    def test_a_noisy_one_is_fitted_as_numpy_fits_it(self) -> None:
        noisy = {g: 0.5 * STEP * g + 0.1 * math.sin(g) for g in range(1, 8)}
        (found,) = power_law(run(lambda r: noisy[gap_of(r)], *map(merge, noisy)))
        x, y = zip(*found.points, strict=True)
        assert (found.slope, found.intercept) == pytest.approx(tuple(np.polyfit(x, y, 1)))
        assert found.r == pytest.approx(np.corrcoef(x, y)[0, 1])

    def test_the_interval_of_the_slope_is_that_of_the_slopes_of_the_windows(self) -> None:
        def losses(recipe: str) -> list[float]:
            return [0.6 * STEP * gap_of(recipe) * (1 + w) for w in wobble(1, 0.2)]

        cells = run(losses, *[merge(g) for g in (1, 2, 3, 5)])
        (found,) = power_law(cells)
        assert found.slope == pytest.approx(0.6, abs=1e-5)
        # One window's slope is 0.6 (1 + w): an inflation measured in just those windows.
        slopes = [300.0 + 60 * (1 + w) for w in wobble(1, 0.2)]
        expected = inflation(
            cell(None, [300.0] * WINDOWS).scores, cell("base:theta=2", slopes).scores
        ).ci95
        assert expected is not None
        assert found.slope_ci95 == pytest.approx(tuple(np.log(expected)), abs=1e-5)

    def test_r_has_a_seeded_interval_around_it(self) -> None:
        def losses(recipe: str) -> list[float]:
            return [0.6 * STEP * gap_of(recipe) + w for w in wobble(gap_of(recipe), 0.3)]

        cells = run(losses, *[merge(g) for g in (1, 2, 3, 4, 5)])
        (found,) = power_law(cells)
        assert found.r_ci95 is not None
        low, high = found.r_ci95
        assert -1 <= low < found.r <= 1
        assert low < high <= 1
        assert power_law(cells) == (found,)
        assert power_law(cells, seed=1)[0].r_ci95 != found.r_ci95

    def test_pairs_that_meet_at_an_end_lie_as_far_apart(self) -> None:
        recipes = [merge(g, to=to) for g in (1, 2, 3) for to in ("gm", "first", "last")]
        found = power_law(run(lambda r: 0.4 * STEP * gap_of(r), *recipes))
        assert len(found) == 3
        for fit in found:
            assert fit.slope == pytest.approx(0.4, abs=1e-4), fit.family

    def test_places_scopes_and_lengths_are_fitted_apart(self) -> None:
        recipes = [merge(g, at) for g in (1, 2, 3) for at in (0, 8)]
        recipes += [f"{merge(g)}@full" for g in (1, 2, 3)]
        short = run(lambda r: 0.1 * gap_of(r), *recipes[:6], context=512)
        long = run(lambda r: 0.2 * gap_of(r), *recipes[:6], context=2048)
        scoped = [
            cell(r, [320.0] * WINDOWS, max_abs_dlog=STEP * gap_of(r) / 2) for r in recipes[6:]
        ]
        found = power_law([*short, *long, *scoped])
        assert [(f.context, f.family.split(",")[1]) for f in found] == [
            (512, "at=0"), (512, "at=8"), (512, "at=0"), (2048, "at=0"), (2048, "at=8"),
        ]  # fmt: skip
        assert found[2].family.endswith("@full")

    def test_two_distances_are_no_fit(self) -> None:
        assert power_law(run(lambda r: 0.1, merge(1), merge(2), "int8:sym")) == ()
        assert power_law([]) == ()
        assert power_law([cell(merge(g), [1.0], max_abs_dlog=0.1 * g) for g in (1, 2, 3)]) == ()

    def test_higher_codimensions_and_wandering_targets_are_left_out(self) -> None:
        recipes = [f"cluster:at=0,codim=3,gap={g},to=gm" for g in (1, 2, 3)]
        recipes += [merge(g, to="0.5") for g in (1, 2, 3)]
        assert power_law(run(lambda r: 0.1, *recipes)) == ()

    def test_one_window_gives_the_fit_without_intervals(self) -> None:
        cells = [cell(None, [300.0])] + [
            cell(merge(g), [300.0 + 10 * g], max_abs_dlog=0.2 * g) for g in (1, 2, 3)
        ]
        (found,) = power_law(cells)
        assert found.slope == pytest.approx(0.1 / 0.4)
        assert (found.slope_ci95, found.intercept_ci95, found.r_ci95) == (None, None, None)

    def test_a_cell_that_stopped_early_limits_the_windows(self) -> None:
        cells = run(lambda r: 0.6 * STEP * gap_of(r), merge(1), merge(2), merge(3))
        stopped = cell(merge(4), [400.0] * 5, max_abs_dlog=2 * STEP)
        (found,) = power_law([*cells, stopped])
        assert found.windows == 5

    def test_pearson_of_what_does_not_vary(self) -> None:
        assert pearson([1.0, 2.0, 3.0], [5.0, 5.0, 5.0]) == 0.0


class TestPosition:
    def test_the_higher_place_is_twice_as_bad(self) -> None:
        def losses(recipe: str) -> list[float]:
            size = 0.4 if "at=0" in recipe else 0.2
            return [size * (1 + w) for w in wobble(1, 0.1)]

        (found,) = position(run(losses, merge(3, 0), merge(3, 16)))
        assert (found.high, found.low) == (merge(3, 0), merge(3, 16))
        assert found.ratio == pytest.approx(2)
        assert found.ratio_ci95 == pytest.approx((2, 2), abs=1e-6)  # the same windows wobble alike
        assert found.difference == pytest.approx(0.2)
        assert found.displacement == pytest.approx(1.5 * STEP, rel=1e-5)
        assert found.verdict.startswith("the higher place is worse: log inflation")

    def test_every_lower_place_is_compared_with_the_highest(self) -> None:
        cells = run(lambda r: 0.1, merge(3, "mid"), merge(3, "low"), merge(3, "high"))
        found = position(cells)
        assert [(f.high.split(",")[0], f.low.split(",")[0]) for f in found] == [
            ("cluster:at=high", "cluster:at=mid"), ("cluster:at=high", "cluster:at=low"),
        ]  # fmt: skip
        assert {f.verdict for f in found} == {
            "undecided: neither place is worse beyond the interval"
        }

    def test_a_lower_place_without_effect_leaves_no_ratio(self) -> None:
        def losses(recipe: str) -> list[float]:
            return [(0.3 if "at=0" in recipe else 0.0) + w for w in wobble(len(recipe), 0.01)]

        (found,) = position(run(losses, merge(3, 0), merge(3, 16)))
        assert (found.ratio, found.ratio_ci95) == (None, None)
        assert found.verdict == "the higher place is worse"
        assert found.difference_ci95 is not None
        assert found.difference_ci95[0] < 0.3 < found.difference_ci95[1]

    def test_a_lower_place_can_be_the_worse_one(self) -> None:
        (found,) = position(run(lambda r: 0.1 if "at=0" in r else 0.3, merge(3, 0), merge(3, 16)))
        assert found.verdict.startswith("the lower place is worse: log inflation at the higher")
        assert found.ratio == pytest.approx(1 / 3)

    def test_places_that_moved_unequally_are_not_compared(self) -> None:
        cells = run(lambda r: 0.1, merge(3, 0), merge(3, 16))
        cells[2] = cell(merge(3, 16), [310.0] * WINDOWS, max_abs_dlog=1.2 * STEP)
        assert position(cells) == ()

    def test_one_window_decides_nothing(self) -> None:
        cells = [cell(None, [300.0])] + [
            cell(merge(3, at), [320.0 - at], max_abs_dlog=0.5) for at in (0, 9)
        ]
        (found,) = position(cells)
        assert found.difference == pytest.approx(0.09)
        assert found.ratio is None
        assert found.verdict.startswith("undecided: one window")


class TestControls:
    def test_each_kind_finds_its_merge(self) -> None:
        recipes = [
            merge(3), merge(5), merge(6), f"{merge(3)}+jitter:eps=1e-6",
            "apart:at=0,gap=3", "apart:at=0,gap=3,match=phase", "shift:at=0,gap=5,dir=up",
            "shift:at=0,gap=5,dir=down", "swap:at=0,gap=3", "int8:sym",
            "int8:sym+jitter:eps=1e-7",
        ]  # fmt: skip
        found = controls(run(lambda r: 0.1, *recipes))
        assert {(f.kind, f.coincident, f.control) for f in found} == {
            ("jitter", recipes[0], recipes[3]),
            ("apart, matched in log", recipes[0], recipes[4]),
            ("apart, matched in phase", recipes[0], recipes[5]),
            ("shift up", recipes[1], recipes[6]),
            ("shift down", recipes[1], recipes[7]),
            ("swap", recipes[2], recipes[8]),
            ("jitter", recipes[9], recipes[10]),
        }
        for control in found:
            if control.kind == "apart, matched in phase":
                assert control.displacement[1] > 2 * control.displacement[0]
            elif control.kind != "jitter":  # whose steps are large in log where channels are slow
                assert control.displacement[0] == pytest.approx(control.displacement[1], rel=0.05)
        assert found[-1].displacement[0] == math.inf  # int8 sets channels to 0

    def test_a_swap_stands_beside_the_merge_at_an_end_too(self) -> None:
        recipes = [merge(2, to="first"), "swap:at=0,gap=2", "apart:at=0,gap=4"]
        (found,) = controls(run(lambda r: 0.1, *recipes))
        assert (found.kind, found.coincident) == ("swap", recipes[0])
        assert found.displacement[0] == pytest.approx(found.displacement[1])

    def test_a_control_in_phase_is_held_against_its_own_gap(self) -> None:
        recipes = [merge(1), merge(2), "apart:at=0,gap=2,match=phase"]
        (found,) = controls(run(lambda r: 0.1, *recipes))
        assert found.coincident == merge(2)
        assert found.phase_drift == pytest.approx((math.pi, math.pi))

    @pytest.mark.parametrize(
        ("merged", "control", "spread", "verdict"),
        [
            (0.300, 0.301, 0.001, "coincidence adds nothing beyond 1%: 0.9990 times"),
            (0.300, 0.100, 0.001, "coincidence is worse than the same displacement without it"),
            (0.100, 0.300, 0.001, "coincidence is less harmful than its control: 0.8187 times"),
            (0.300, 0.280, 0.300, "undecided: 1.0202 times"),
        ],
    )
    def test_the_verdict(self, merged: float, control: float, spread: float, verdict: str) -> None:
        def losses(recipe: str) -> list[float]:
            value = control if "jitter" in recipe else merged
            return [value + w for w in wobble(len(recipe), spread)]

        (found,) = controls(run(losses, merge(3), f"{merge(3)}+jitter:eps=1e-6"))
        assert found.verdict.startswith(verdict)
        assert found.ratio == pytest.approx(math.exp(merged - control))
        assert found.ratio_ci95 is not None
        assert found.ratio_ci95[0] < found.ratio < found.ratio_ci95[1]
        assert found.windows == WINDOWS

    def test_the_margin_is_the_callers(self) -> None:
        cells = run(
            lambda r: 0.05 if "jitter" in r else 0.07, merge(3), merge(3) + "+jitter:eps=1e-6"
        )
        assert "is worse" in controls(cells)[0].verdict
        assert "nothing beyond 5%" in controls(cells, margin=0.05)[0].verdict

    def test_controls_without_their_merge_are_not_compared(self) -> None:
        alone = [
            "apart:at=0,gap=3", "swap:at=0,gap=3", merge(5), f"{merge(3)}+jitter:eps=1e-6",
            "noise:eps=0.01,seed=0", "noise:eps=0.01,seed=0+jitter:eps=1e-7",
        ]  # fmt: skip
        assert controls(run(lambda r: 0.1, *alone)) == ()

    def test_scopes_and_places_must_agree(self) -> None:
        cells = run(lambda r: 0.1, merge(3), "apart:at=8,gap=3")
        cells.append(cell("apart:at=0,gap=3@full", [310.0] * WINDOWS, max_abs_dlog=1.5 * STEP))
        assert controls(cells) == ()

    def test_one_window_is_undecided(self) -> None:
        cells = [cell(None, [300.0]), cell(merge(3), [310.0]),
                 cell(merge(3) + "+jitter:eps=1e-6", [309.0])]  # fmt: skip
        (found,) = controls(cells)
        assert found.ratio_ci95 is None
        assert found.verdict == "undecided: 1.0101 times the control's perplexity, on one window"


def test_a_recipe_that_cannot_be_read_is_an_error() -> None:
    with pytest.raises(UsageError, match="no perturbation"):
        controls([cell(None, [1.0]), cell("clutser:at=0", [1.0])])


def test_cells_of_different_windows_cannot_be_compared() -> None:
    cells = [cell(None, [300.0, 300.0]), cell(merge(3), [310.0, 310.0], tokens=99),
             cell(merge(3) + "+jitter:eps=1e-6", [310.0, 310.0])]  # fmt: skip
    with pytest.raises(InvalidValue, match="99 and 100 targets"):
        controls(cells)
