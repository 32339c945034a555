"""Each engine against what was measured of it: 52 configs, every release that has a module."""

from __future__ import annotations

import pytest

from ropeaudit.readers.engines.interface import Engine, Release
from ropeaudit.readers.engines.known import releases
from tests.engine_vectors import outcome, problems, request, vectors

KNOWN = [(e, r) for e, r in releases() if r.name in vectors()["engines"]]
PAIRS = [
    pytest.param(engine, release, name, id=f"{release.name}:{name}")
    for engine, release in KNOWN
    for name in vectors()["cases"]
]


@pytest.mark.parametrize(("engine", "release", "name"), PAIRS)
def test_agrees_with_what_was_measured(engine: Engine, release: Release, name: str) -> None:
    case = vectors()["cases"][name]
    wanted = case["readers"][release.name]["status"]
    status, built, reason = outcome(engine, request(case), release)
    if wanted == "unknown":
        return
    if wanted == "not_covered":
        # What was not measured may be known from the source to be refused; it is never a table.
        assert status in ("not_covered", "refuses"), reason
        return
    assert status == wanted, reason
    assert reason == "" or not reason.endswith("."), "the reason is a clause"
    if built is not None:
        assert list(problems(case, release, built)) == []
