"""Two different paths of a tree have the same map.

What it checks
    The smallest ``||M_u - M_v||_F / sqrt(2 n)`` over all different paths u, v of up to a depth, in
    each head. 1 is the distance of two unrelated maps.

Why it matters
    Two nodes with one map are one place for the model.

Passes when
    All paths up to the depth are further apart.

Fails when
    Two are not, in every head: some head tells them apart otherwise.

Exactness
    float64, by enumeration. Deeper paths are not looked at; the evidence says how deep it went.

Options
    depth: longest path (default 4; less for many branches, so that at most 400 paths are compared).
    tolerance: smallest distance (default 1e-3).

References
    Kogkalidis et al., 2312.16045, section 3.2.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.checks.encodings._look import Look, each, passed, place, rounded, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.encodings._paths import padded, words
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

SLUG = "word-collision"
NEEDS = "encoding"

MAX_PATHS = 400
_ROUNDING = 1e-6
Path = tuple[int, ...]


@record()
class Params:
    depth: int = 4
    tolerance: float = 1e-3


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda look: _judge(look, params))


def _judge(look: Look, params: Params) -> Outcome:
    if not look.is_tree:
        return skipped(look, "it has no branches")
    paths = listed(len(look.encoding.axes), params.depth)
    maps, _ = look.module.operators(look.encoding, padded(paths))
    apart, first, second = nearest(maps)
    if apart > params.tolerance:
        return passed(look)
    u, v = (_word(look, paths[n]) for n in (first, second))
    same = apart < _ROUNDING
    about = "" if same else f", to {apart:.2g} of the distance of unrelated maps"
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"The paths {u} and {v} have the same map in every head{about}.",
        evidence={
            "distance": 0.0 if same else rounded(apart, 3),
            "paths": [list(paths[first]), list(paths[second])],
            "depth": len(paths[-1]),
        },
        location=place(look),
    )


def listed(branches: int, depth: int) -> list[Path]:
    """All paths up to ``depth``, the root first, as deep as their number allows."""
    while depth > 1 and sum(branches**n for n in range(depth + 1)) > MAX_PATHS:
        depth -= 1
    return list(words(branches, depth))


def nearest(maps: Array) -> tuple[float, int, int]:
    """The two paths whose best head tells them apart least: distance and their indices."""
    import numpy as np

    count, n = len(maps), maps.shape[-1]
    rows = np.moveaxis(maps.reshape(count, -1, n * n), 0, 1)
    square = (rows**2).sum(-1)
    gram = rows @ np.swapaxes(rows, -1, -2)
    apart = (square[:, :, None] + square[:, None, :] - 2 * gram).max(0)
    apart[np.tril_indices(count)] = np.inf
    # Of pairs that are equal up to rounding the shortest paths, which stand first.
    closest = apart <= max(float(apart.min()), _ROUNDING**2)
    first, second = np.unravel_index(int(closest.argmax()), apart.shape)
    found = np.linalg.norm((rows[:, first] - rows[:, second]), axis=-1).max() / np.sqrt(2 * n)
    return float(found), int(first), int(second)


def _word(look: Look, path: Path) -> str:
    return "-".join(look.encoding.axes[b].removeprefix("branch ") for b in path) or "(root)"
