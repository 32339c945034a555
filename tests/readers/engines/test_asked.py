"""Readers against what each engine built of the same random configs, as kept in fixtures/readers.

``tests/oracles/readers.py`` measures them anew where the engines are.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from ropeaudit.readers.engines.interface import Engine
from ropeaudit.readers.engines.known import engines, find, names
from tests.asked import FOLDER, stored
from tests.engine_live import KEPT, verdict
from tests.engine_vectors import vectors
from tests.oracles.engines.places import LIVE

LEAST = {"exllamav2-0.3": 15, "transformers-4.46": 30}
"""Rows with a table, where an engine refuses or does not have most of the families."""


def made() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "made.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("release", LIVE)
def test_every_config_is_read_as_the_engine_read_it(release: str) -> None:
    told: Counter[str] = Counter()
    for name, config, answer in stored(release):
        said, why = verdict(release, config, answer)
        assert said != "differs", f"{name}: {why}"
        told[said] += 1
    assert told["same"] >= LEAST.get(release, 40), told


@pytest.mark.parametrize("release", sorted(set(names()) - {"deepspeed-0.19"}))
def test_versions_and_commands_are_kept_of_every_release_that_was_run(release: str) -> None:
    (chosen,) = find([release])
    versions, commands = made()[release]["versions"], made()[release]["commands"]
    # The release itself, or the version of its package, is among what was recorded.
    wanted = chosen.release.version.split()[0]
    assert commands
    assert wanted in versions.values() or release.startswith(("llama.cpp", "tgi")), versions


def test_what_is_kept_against_the_source_is_told() -> None:
    assert {release for release, _ in KEPT} <= set(names())


def test_goldens_are_small() -> None:
    for path in FOLDER.glob("*.json"):
        most = {"vectors.json": 400_000, "transformers_4x.json": 250_000}.get(path.name, 100_000)
        assert path.stat().st_size < most, path.name


def test_every_measured_release_has_a_reader_and_the_reverse() -> None:
    assert set(vectors()["engines"]) == set(names())


@pytest.mark.parametrize("engine", engines(), ids=lambda e: e.RELEASES[0].engine)
def test_every_engine_cites_its_source(engine: Engine) -> None:
    text = f"{engine.__doc__} {' '.join(r.source for r in engine.RELEASES)}"
    assert re.search(r"\w+\.(py|cpp|cc|c) ?(``)? ?\d+", text), "no file with lines"
