"""The tables of docs/replication.md, made from what was measured.

python -m tests.perplexity.replication_page   rewrite them
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from ropeaudit.perplexity.records import Cell
from ropeaudit.perplexity.statistics import fits
from ropeaudit.perplexity.statistics.paired import inflation
from ropeaudit.perturb.variant import make
from ropeaudit.schedule.geometry import max_cluster
from tests.perplexity.replication import ROOT, TABLES, by_position, cells, perplexity

PAGE = ROOT / "docs" / "replication.md"
_TABLE = re.compile(r"(<!-- table: (\S+) -->\n).*?(<!-- end -->)", re.S)


def table(head: str, rows: Iterable[Iterable[str]]) -> str:
    """A table of Markdown; ``head`` names the columns, separated by bars."""
    titles = [t.strip() for t in head.split("|")]
    lines = [titles, ["---"] * len(titles), *map(list, rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def clusters(name: str, recipe: str | None) -> str:
    """Largest set of equal frequencies; for several tables that of each."""
    found = TABLES[name.partition("-")[0]]
    if recipe is not None:
        found = list(make(found, recipe).schedules)
    return ", ".join(str(max_cluster(s)) for s in found)


def interval(found: tuple[float, float] | None, digits: int = 3) -> str:
    return "–" if found is None else f"{found[0]:.{digits}f} to {found[1]:.{digits}f}"


def _headline() -> str:
    return table(
        "variant | max_cluster | perplexity | inflation",
        (
            [_said(c), clusters("smollm2", c.recipe), f"{perplexity(c):.4g}", _ratio(c.inflation)]
            for c in sorted(cells("smollm2-2048"), key=_order)
        ),
    )


def _inflations(name: str) -> str:
    return table(
        "variant | max_cluster | largest shift of ln θ | perplexity | inflation | 95 % interval",
        (
            [
                _said(c),
                clusters(name, c.recipe),
                f"{c.max_abs_dlog:.3g}" if math.isfinite(c.max_abs_dlog) else "a zero",
                f"{perplexity(c):.4g}",
                f"{c.inflation:.4f}",
                "–" if c.recipe is None else interval(c.inflation_ci95, 4),
            ]
            for c in sorted(cells(name), key=_order)
        ),
    )


def _order(cell: Cell) -> tuple[int, str]:
    """The base, then quantisers, noise, merges and what moves channels without merging them."""
    heads = ("int8", "int4", "log", "noise", "cluster", "apart", "shift", "swap")
    recipe = cell.recipe or ""
    return next((n for n, h in enumerate(heads) if recipe.startswith(h)), -1), recipe


def _said(cell: Cell) -> str:
    return "unchanged" if cell.recipe is None else f"`{cell.recipe}`"


def _ratio(value: float) -> str:
    return f"{value:.4f}" if value < 1.1 else f"{value:.4g}"


def _controls() -> str:
    """Merges beside their controls, and the one that noise has split."""
    found = cells("smollm2-512")
    rows = [
        _control(c.coincident, c.control, c.kind, c.ratio, c.ratio_ci95, c.verdict)
        for c in fits.controls(found)
    ]
    by_recipe = {c.recipe: c for c in found}
    merge = "cluster:at=high,codim=2,gap=3,to=gm"
    noise = f"{merge}+noise:eps=0.01,seed=0"
    split = inflation(by_recipe[noise].scores, by_recipe[merge].scores)
    within = split.low is not None and split.low > 1 / 1.01 and (split.high or 2) < 1.01
    verdict = "coincidence adds nothing beyond 1%" if within else "undecided"
    rows.append(_control(merge, noise, "split by noise of 1%", split.ratio, split.ci95, verdict))
    return table("merge | control | kind | merge / control | 95 % interval | verdict", rows)


def _control(
    merge: str,
    control: str,
    kind: str,
    ratio: float,
    ci95: tuple[float, float] | None,
    verdict: str,
) -> list[str]:
    said = verdict.partition(":")[0]
    return [f"`{merge}`", f"`{control}`", kind, f"{ratio:.4f}", interval(ci95, 4), said]


def _power_law() -> str:
    rows = []
    for fit in (f for n in ("smollm2-2048", "smollm2-512") for f in fits.power_law(cells(n))):
        if "at=0" in fit.family or "at=high" in fit.family:
            wide = fit.windows >= 8
            rows.append(
                [
                    f"{fit.windows} of {fit.context}",
                    ", ".join(f"({x:.2f}, {y:.3f})" for x, y in fit.points),
                    f"{fit.slope:.3f}",
                    interval(fit.slope_ci95) if wide else "–",
                    f"{fit.intercept:.3f}",
                    f"{fit.r:.4f}",
                    interval(fit.r_ci95, 4) if wide else "–",
                ]
            )
    return table(
        "windows | (log distance, log inflation) | slope | 95 % | intercept | r | 95 %", rows
    )


def _positions() -> str:
    return table(
        "higher place | lower place | difference of log inflation | 95 % interval | ratio",
        (
            [
                f"`{p.high}`",
                f"`{p.low}`",
                f"{p.difference:.4f}",
                interval(p.difference_ci95, 4),
                "–" if p.ratio is None else f"{p.ratio:.3g} ({interval(p.ratio_ci95, 1)})",
            ]
            for p in fits.position(cells("smollm2-512"))
        ),
    )


def _buckets() -> str:
    name, recipes = "smollm2-2048", ("int8:sym", "int4:sym", "cluster:at=0,codim=2,gap=3,to=gm")
    base = by_position(name, None)
    columns = [by_position(name, recipe) for recipe in recipes]
    edges = [edge for edge, _ in base] + [2048]
    return table(
        "targets | unchanged | " + " | ".join(f"`{r}`" for r in recipes),
        (
            [
                f"{edges[n]} to {edges[n + 1] - 1}",
                f"{base[n][1]:.3f}",
                *(f"{column[n][1] - base[n][1]:+.3f}" for column in columns),
            ]
            for n in range(len(base))
        ),
    )


@lru_cache(maxsize=1)
def tables() -> dict[str, str]:
    """Every table of the page by the name in its marker."""
    return {
        "headline": _headline(),
        "windows-512": _inflations("smollm2-512"),
        "controls": _controls(),
        "power-law": _power_law(),
        "position": _positions(),
        "by-position": _buckets(),
        "gemma3-bos": _inflations("gemma3-512-bos"),
        "gemma3": _inflations("gemma3-512"),
    }


def page() -> str:
    """The page with its tables made anew; raises KeyError for a table that is not known."""
    made = tables()
    text = PAGE.read_text("utf-8")
    return _TABLE.sub(lambda m: f"{m[1]}\n{made[m[2]]}\n{m[3]}", text)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
