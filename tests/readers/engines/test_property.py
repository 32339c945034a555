"""Random configs, engine against reader: every engine that is on this machine is asked itself.

transformers 5.24 is part of what the tests install and is asked in every run. The others are
opt-in (``-m slow``): environment variables name where they are (``tests/oracles/engines/places``).
Tables must agree within 2e-5 in log, factors within 1e-4, layers, widths and pairing exactly, and
what an engine refuses must be refused.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.engine_live import Here, Live, verdict
from tests.oracles.engines import places
from tests.oracles.engines.any_configs import config_of, drawn, families

INSTALLED = "transformers-5.24"
OTHERS = [r for r in places.LIVE if r != INSTALLED]
FAMILIES = sorted(families())


def live(release: str) -> Live:
    why = places.absent(release)
    if why is not None:
        pytest.skip(why)
    return Live(release)


@pytest.fixture(scope="module")
def installed() -> Here:
    if why := places.absent(INSTALLED):
        pytest.skip(why)
    return Here()


@settings(max_examples=60)
@given(st.sampled_from(FAMILIES), st.randoms(use_true_random=False))
def test_the_installed_transformers_builds_what_its_reader_says(
    installed: Here, family: str, dice: object
) -> None:
    config = config_of(family, dice)  # type: ignore[arg-type]
    said, why = verdict(INSTALLED, config, installed.ask(config))
    assert said in ("same", "both refuse"), why


@pytest.mark.slow
@pytest.mark.parametrize("release", OTHERS)
def test_other_engines_build_what_their_readers_say(release: str) -> None:
    with live(release) as engine:

        @settings(max_examples=300, suppress_health_check=list(HealthCheck))
        @given(st.sampled_from(FAMILIES), st.randoms(use_true_random=False))
        def ask(family: str, dice: object) -> None:
            config = config_of(family, dice)  # type: ignore[arg-type]
            said, why = verdict(release, config, engine.ask(config))
            assume(said != "skipped")
            assert said != "differs", why

        ask()


@pytest.mark.slow
@pytest.mark.parametrize("release", places.LIVE)
def test_most_of_what_is_covered_is_built_by_both(release: str) -> None:
    """The property above says little if an engine refused everything."""
    with live(release) as engine:
        told = Counter(verdict(release, c, engine.ask(c))[0] for _, c in drawn(330, 5))
    print(release, dict(told))
    assert not told["differs"]
    assert told["same"] >= (60 if release.startswith("exllamav2") else 100)
