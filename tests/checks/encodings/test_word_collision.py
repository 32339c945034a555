"""RA718: paths with one map."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.checks.encodings import word_collision as check
from ropeaudit.findings import Status
from tests.checks.encodings import by_hand as make


def test_commuting_branches_collide_at_the_shortest_words() -> None:
    same = make.generator([0.7, 0.2], 1), make.generator([0.3, 0.9], 1)
    found = make.only(check, make.ape(*same, branches=2))
    assert found.evidence["paths"] == [[0, 1], [1, 0]]
    assert found.evidence["distance"] == 0.0


def test_a_branch_of_finite_order_comes_back_to_the_root() -> None:
    third = 2 * np.pi / 3
    branches = make.generator([third, third], 1), make.generator([0.7, 0.2], 2)
    found = make.only(check, make.ape(*branches, branches=2))
    assert found.evidence["paths"] == [[], [0, 0, 0]]
    assert "(root) and 0-0-0" in found.message
    shallow = check.Params(depth=2)
    assert make.only(check, make.ape(*branches, branches=2), params=shallow).status is Status.PASS


@pytest.mark.parametrize(("branches", "depth"), [(2, 4), (3, 4), (8, 2), (40, 1)])
def test_the_depth_gives_way_to_the_number_of_branches(branches: int, depth: int) -> None:
    paths = check.listed(branches, 4)
    assert len(paths[-1]) == depth
    assert len(set(paths)) == len(paths) <= check.MAX_PATHS or depth == 1


def test_the_nearest_pair_is_that_of_all_pairs() -> None:
    maps = np.random.default_rng(0).standard_normal((9, 1, 3, 4, 4))
    apart, first, second = check.nearest(maps)
    each = {
        (i, j): np.linalg.norm(maps[i] - maps[j], axis=(-1, -2)).max() / np.sqrt(8)
        for i in range(9) for j in range(i + 1, 9)
    }  # fmt: skip
    assert (first, second) == min(each, key=each.__getitem__)
    assert apart == pytest.approx(min(each.values()))


def test_healthy_trees_and_others() -> None:
    tree = make.ape(make.generator([0.7, 0.2], 1), make.generator([0.3, 0.9], 2), branches=2)
    assert make.only(check, tree).status is Status.PASS
    assert make.only(check, make.alibi()).status is Status.SKIP
