"""How often the intervals are right, on texts made from measured differences.

Each simulated text is a long series of per-window differences: stretches of what SmolLM2-135M
really showed (moving blocks of 5 neighbours, so that their correlation stays), or a process with
heavier tails, more skew and more correlation than was measured. Seeds are fixed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean, pstdev

import pytest

from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perplexity.statistics.sequence import LEAST, Sequential
from tests.perplexity import betting
from tests.perplexity.scores import measured, measured_differences, scores

BLOCK = 5
TARGETS = 511
RECIPES = sorted(set(measured()) - {"base"})


def from_measured(recipe: str, windows: int, random: Random) -> list[float]:
    """Blocks of neighbours, wrapped around, drawn with replacement."""
    seen = measured_differences(recipe)
    found: list[float] = []
    while len(found) < windows:
        start = random.randrange(len(seen))
        found += [seen[(start + i) % len(seen)] for i in range(BLOCK)]
    return found[:windows]


def student(windows: int, random: Random) -> list[float]:
    """Student's t with 3 degrees of freedom, neighbours correlated by 0.3."""
    return correlated(
        windows, 0.3, random, lambda z: z / math.sqrt(random.gammavariate(1.5, 2 / 3))
    )


def skewed(windows: int, random: Random) -> list[float]:
    """Lognormal, skewness 1.7 (1.1 is the most that was measured), neighbours correlated by 0.3."""
    return correlated(windows, 0.3, random, lambda z: math.exp(z / 2))


def correlated(
    windows: int, rho: float, random: Random, shape: Callable[[float], float]
) -> list[float]:
    z, found = random.gauss(0, 1), []
    for _ in range(windows):
        z = rho * z + math.sqrt(1 - rho**2) * random.gauss(0, 1)
        found.append(shape(z))
    return found


def misses_at_any_look(text: Sequence[float], random: Random) -> bool:
    """Whether the text's own mean was outside the interval after any number of windows."""
    mean = math.fsum(text) / len(text)
    order = list(text)
    random.shuffle(order)
    sequence = Sequential(None, population=len(text))
    for x in order[:-1]:
        sequence.add(TARGETS * x, TARGETS)
        if sequence.n >= LEAST and abs(sequence.log_ratio - mean) > sequence.half_width:
            return True
    return False


def stopped(text: Sequence[float], random: Random, **wish: float) -> Sequential:
    order = list(text)
    random.shuffle(order)
    sequence = Sequential(wish.get("precision"), wish.get("threshold"), population=len(text))
    for x in order:
        sequence.add(TARGETS * x, TARGETS)
        if sequence.done:
            break
    return sequence


def covers(text: Sequence[float], mean: float) -> bool:
    """Whether the paired interval of a text holds the mean of the source it was drawn from."""
    base = scores([0.0] * len(text), TARGETS)
    low, high = inflation(base, scores([TARGETS * x for x in text], TARGETS)).ci95 or (0.0, 0.0)
    return low <= math.exp(mean) <= high


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_look_is_wrong_too_often(recipe: str) -> None:
    random, texts = Random(11), 600
    wrong = sum(misses_at_any_look(from_measured(recipe, 55, random), random) for _ in range(texts))
    assert wrong <= 0.05 * texts


def test_the_paired_interval_of_measured_differences_is_right() -> None:
    random = Random(13)
    recipe = "cluster:at=0,codim=2,gap=3,to=gm"
    mean = math.fsum(measured_differences(recipe)) / len(measured_differences(recipe))
    right = sum(covers(from_measured(recipe, 40, random), mean) for _ in range(400))
    assert right >= 0.92 * 400


@pytest.mark.parametrize("recipe", RECIPES)
def test_no_order_of_the_measured_text_is_wrong_too_often(recipe: str) -> None:
    random, orders, text = Random(29), 400, measured_differences(recipe)
    assert sum(misses_at_any_look(text, random) for _ in range(orders)) <= 0.05 * orders
    exact = math.exp(math.fsum(text) / len(text))
    for _ in range(50):
        low, high = stopped(text, random, threshold=1.05).interval() or (0.0, math.inf)
        assert (low > 1.05) == (exact > 1.05) or low == high == pytest.approx(exact)


@pytest.mark.slow
@pytest.mark.parametrize("windows", [27, 55, 220])
@pytest.mark.parametrize("source", [*RECIPES, "student", "skewed"])
def test_the_rate_of_misses_at_any_look(
    source: str, windows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    random, texts = Random(17), 2000
    make = {"student": student, "skewed": skewed}.get(source)
    wrong = 0
    for _ in range(texts):
        text = make(windows, random) if make else from_measured(source, windows, random)
        wrong += misses_at_any_look(text, random)
    with capsys.disabled():
        print(f"\n{source}, {windows} windows: wrong at any look in {wrong / texts:.2%}")
    assert wrong / texts <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("wish", [{"precision": 0.005}, {"threshold": 1.05}])
def test_where_it_stops_it_is_right(
    recipe: str, wish: dict[str, float], capsys: pytest.CaptureFixture[str]
) -> None:
    random, texts, windows = Random(19), 1000, 220
    wrong = false_verdicts = used = 0
    for _ in range(texts):
        text = from_measured(recipe, windows, random)
        exact = math.exp(math.fsum(text) / windows)
        sequence = stopped(text, random, **wish)
        low, high = sequence.interval() or (0.0, math.inf)
        used += sequence.n
        wrong += not low * (1 - 1e-12) <= exact <= high * (1 + 1e-12)
        false_verdicts += (low > 1.05 and exact < 1.05) or (high < 1.05 and exact > 1.05)
    with capsys.disabled():
        print(
            f"\n{recipe}, {wish}: {used / texts:.1f} of {windows} windows, interval wrong in "
            f"{wrong / texts:.2%}, verdict in {false_verdicts / texts:.2%}"
        )
    assert wrong / texts <= 0.05
    assert false_verdicts <= wrong


@pytest.mark.slow
@pytest.mark.parametrize("windows", [2, 3, 5, 8, 16, 32, 55, 220])
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_rate_at_which_the_paired_interval_is_right(
    recipe: str, windows: int, capsys: pytest.CaptureFixture[str]
) -> None:
    random, texts = Random(23), 2000
    seen = measured_differences(recipe)
    mean = math.fsum(seen) / len(seen)
    right = sum(covers(from_measured(recipe, windows, random), mean) for _ in range(texts))
    with capsys.disabled():
        print(f"\n{recipe}, {windows} windows: paired interval right in {right / texts:.2%}")
    # Of few skewed, correlated sums it falls short; docs/perplexity.md says how far.
    assert right / texts >= (0.92 if windows >= 16 else 0.84)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", [r for r in RECIPES if not r.startswith("noise")])
def test_a_betting_interval_needs_more_windows(
    recipe: str, capsys: pytest.CaptureFixture[str]
) -> None:
    random, texts, windows, limit = Random(31), 20, 220, math.log(1.05)
    ours = theirs = 0
    for _ in range(texts):
        text = from_measured(recipe, windows, random)
        centre, wide = fmean(text), 10 * pstdev(text)  # more than anybody knows beforehand
        ours += stopped(text, random, threshold=1.05).n
        random.shuffle(text)
        looks = enumerate(betting.intervals(text, centre - wide, centre + wide), 1)
        theirs += next((n for n, (a, b) in looks if not a <= limit <= b), windows)
    with capsys.disabled():
        print(f"\n{recipe}: verdict after {ours / texts:.1f}, by betting {theirs / texts:.1f}")
    assert ours < theirs
