"""SmolLM2-135M: the figures that were measured for this project, and a plain loop beside them."""

from __future__ import annotations

import math
from typing import Any

import pytest

from ropeaudit.perplexity import corpora
from ropeaudit.perplexity.records import Cell, Settings, Window
from ropeaudit.perplexity.run import Request, run
from tests.models import smollm2

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

MEASURED = {
    "int8:sym": 4.46,
    "int8:sym+jitter:eps=1e-7": 4.34,
    "int4:sym": 18.4,
    "log8": 0.999,
    "cluster:at=0,codim=2,gap=3,to=gm": 1.297,
    "apart:at=0,gap=3": 1.520,
}
"""Inflation in two windows of 2048 tokens from token 10,000 on, by a plain loop over the text of
CPython 3.11.7; the perplexity of the base is 12.94."""

BASE = 12.94

TEXT = "71f2ff5d99bdc1f9"
"""How the SHA-256 of that text begins."""

OFFSET = 10_000


@pytest.fixture(scope="module")
def loaded() -> Any:
    from ropeaudit.perplexity.loading import load

    return load(str(smollm2()), device="cpu", dtype="float32")


@pytest.fixture(scope="module")
def ids(loaded: Any) -> list[int]:
    found: list[int] = loaded.encode(corpora.load("pydoc_topics", offline=True).text)
    return found


def test_the_figures_of_two_windows(loaded: Any) -> None:
    text = corpora.load("pydoc_topics", offline=True)
    if not text.sha256.startswith(TEXT):
        pytest.skip(f"the figures are of CPython 3.11.7's text, not of {text.source}")
    settings = Settings(contexts=(2048,), windows=2, offset=OFFSET)
    result = run(Request(model=loaded, corpus=text, settings=settings, recipes=tuple(MEASURED)))
    assert not result.failures
    base, *others = result.cells
    assert base.tokens == 2 * 2047
    assert perplexity(base) == pytest.approx(BASE, rel=0.01)
    found = {cell.recipe: cell.inflation for cell in others}
    assert found == {recipe: pytest.approx(x, rel=0.01) for recipe, x in MEASURED.items()}


def perplexity(cell: Cell) -> float:
    return math.exp(cell.nll_sum / cell.tokens)


LENGTH = 1024


def by_plain_loop(model: Any, ids: list[int], table: Any) -> float:
    """The recipe of the transformers documentation for one window, with a table of our choice."""
    buffer = model.model.rotary_emb.inv_freq
    kept = buffer.clone()
    tokens = torch.tensor([ids[OFFSET : OFFSET + LENGTH]])
    try:
        with torch.no_grad():
            buffer.copy_(table)
            return float(model(tokens, labels=tokens).loss)
    finally:
        buffer.copy_(kept)


def tables(inv_freq: Any) -> dict[str | None, Any]:
    """Tables by the formulas, without this package."""
    step = inv_freq.double().max() / 127
    merged = inv_freq.double().clone()
    merged[[0, 3]] = (merged[0] * merged[3]).sqrt()
    return {
        None: inv_freq.double(),
        "int8:sym": (inv_freq.double() / step).round() * step,
        "cluster:at=0,codim=2,gap=3,to=gm": merged,
    }


def test_a_plain_loop_gives_the_same_on_any_text(loaded: Any, ids: list[int]) -> None:
    from ropeaudit.perplexity.evaluate import score
    from ropeaudit.perplexity.patch import swapped
    from ropeaudit.perturb.variant import make

    window = Window(index=0, start=OFFSET, length=LENGTH)
    for recipe, table in tables(loaded.model.model.rotary_emb.inv_freq.clone()).items():
        variant = None if recipe is None else make(loaded.schedules, recipe)
        with swapped(loaded, variant):
            (found,) = score(loaded, ids, [window])
        assert found.tokens == LENGTH - 1
        peer = by_plain_loop(loaded.model, ids, table.float())
        assert found.nll / found.tokens == pytest.approx(peer, abs=1e-4), recipe


def test_windows_of_512_are_those_that_were_measured_by_overwriting_the_table(
    loaded: Any, ids: list[int]
) -> None:
    """The differences that the statistics are tried on came from a loop that is not this one."""
    from ropeaudit.perplexity.evaluate import score
    from tests.perplexity.scores import measured

    if not corpora.load("pydoc_topics", offline=True).sha256.startswith(TEXT):
        pytest.skip("those windows are of CPython 3.11.7's text")
    windows = [Window(index=n, start=OFFSET + 512 * n, length=512) for n in range(2)]
    found = [s.nll for s in score(loaded, ids, windows)]
    assert found == pytest.approx([s.nll for s in measured()["base"][:2]], rel=1e-5)
