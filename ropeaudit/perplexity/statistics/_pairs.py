"""Which cells can be compared: told from their recipes and from how far their tables moved."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ropeaudit.perplexity.records import Cell
from ropeaudit.perturb.recipe import Recipe, Step, parse
from ropeaudit.records import record

TOLERANCE = 0.05
"""Displacements closer than this, relative to the larger one, are matched."""

_PLACES = {"high": 0, "mid": 1, "low": 2}


@record()
class Comparable:
    """A measured variant with its recipe read."""

    cell: Cell
    recipe: Recipe

    @property
    def text(self) -> str:
        return self.recipe.text

    @property
    def step(self) -> Step | None:
        """The only step; None where there are several."""
        return self.recipe.steps[0] if len(self.recipe.steps) == 1 else None

    def value(self, parameter: str) -> Any:
        """A parameter of the only step, None where there is none such."""
        return None if self.step is None else self.step.parameters().get(parameter)


def comparable(cells: Sequence[Cell]) -> Iterator[tuple[Cell, list[Comparable]]]:
    """(base, variants) of each context length that has a base; a recipe counts once.

    Raises UsageError for a recipe that cannot be read.
    """
    for context in sorted({c.context for c in cells}):
        here = [c for c in cells if c.context == context]
        base = next((c for c in here if c.recipe is None), None)
        found: dict[str, Comparable] = {}
        for cell in here:
            if cell.recipe is not None:
                variant = Comparable(cell, parse(cell.recipe))
                found.setdefault(variant.text, variant)
        if base is not None:
            yield base, list(found.values())


def families(
    cells: Sequence[Cell], *, without: Sequence[str]
) -> Iterator[tuple[Cell, str, list[Comparable]]]:
    """Variants of one step that differ in nothing but the parameters ``without``.

    Each with the base of its context and a name: the recipe with ``*`` for what varies. Places
    given by word and by index are families apart.
    """
    for base, variants in comparable(cells):
        found: dict[tuple[str, bool], list[Comparable]] = {}
        for variant in variants:
            step = variant.step
            if step is not None and any(variant.value(name) is not None for name in without):
                key = (_family(step, without), isinstance(variant.value("at"), str))
                found.setdefault(key, []).append(variant)
        for (name, _), members in found.items():
            yield base, name, members


def _family(step: Step, without: Sequence[str]) -> str:
    said = {k: v for k, v in step.parameters().items() if v is not None and k not in without}
    kept = (f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in said.items())
    return f"{step.head}:{','.join((f'{without[0]}=*', *kept))}{step.scope.text}"


def log_distance(variant: Comparable) -> float | None:
    """How far apart in log a merged pair lay, in nats; None for anything but a pair that met.

    A pair that meets at its geometric mean moves by half its distance, one that meets at its first
    or last channel by all of it. Where several tables moved, the one that moved most counts.
    """
    moved = variant.cell.max_abs_dlog
    times = {"gm": 2, "first": 1, "last": 1}.get(str(variant.value("to")))
    if not _is_pair(variant) or times is None or not 0 < moved < math.inf:
        return None
    return times * moved


def _is_pair(variant: Comparable) -> bool:
    step = variant.step
    return step is not None and step.head == "cluster" and step.params.codim == 2


def place(variant: Comparable) -> int:
    """Order along the spectrum, fast channels first."""
    at = variant.value("at")
    return _PLACES[at] if isinstance(at, str) else int(at)


def matched(a: Cell, b: Cell) -> bool:
    """Whether the tables of two cells moved equally far in log."""
    return _mismatch(a, b) <= TOLERANCE


def _mismatch(a: Cell, b: Cell) -> float:
    x, y = a.max_abs_dlog, b.max_abs_dlog
    if x == y:
        return 0.0
    larger = max(x, y)
    return abs(x - y) / larger if math.isfinite(larger) else math.inf


def controlled(
    variants: Sequence[Comparable],
) -> Iterator[tuple[str, Comparable, Comparable]]:
    """(kind, coincident, control) of all that stand beside their control."""
    by_text = {v.text: v for v in variants}
    pairs = [v for v in variants if log_distance(v) is not None]
    for control in variants:
        *before, last = control.recipe.steps
        merged = None
        if last.head == "jitter" and any(map(_coincides, before)):
            merged = by_text.get(Recipe(tuple(before)).text)
        elif not before and last.head in ("apart", "shift", "swap"):
            merged = min(
                (p for p in pairs if _same_place(p, control) and _as_far(p, control)),
                key=lambda p: _mismatch(p.cell, control.cell),
                default=None,
            )
        if merged is not None:
            yield _kind(last), merged, control


def _same_place(a: Comparable, b: Comparable) -> bool:
    return a.value("at") == b.value("at") and a.recipe.steps[0].scope == b.recipe.steps[0].scope


def _as_far(merged: Comparable, control: Comparable) -> bool:
    """By the measured displacement in log; a control in phase by its recipe.

    The drift in phase cannot tell: it ends at pi, which fast channels reach within a few tokens.
    Only a swap has merges at an end (``to=first``) beside it: there too one channel goes all the
    way to another's place.
    """
    if control.recipe.steps[0].head != "swap" and merged.value("to") != "gm":
        return False
    if control.value("match") == "phase":
        return all(merged.value(k) == control.value(k) for k in ("gap", "dlog"))
    return matched(merged.cell, control.cell)


def _coincides(step: Step) -> bool:
    """Steps that leave channels equal on any real spectrum."""
    return step.head == "cluster" or (
        step.head.startswith("int") and int(step.parameters()["bits"]) <= 8
    )


def _kind(step: Step) -> str:
    if step.head == "apart":
        return f"apart, matched in {step.params.match}"
    return f"shift {step.params.dir}" if step.head == "shift" else step.head
