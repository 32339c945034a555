"""RA204: tables and lists of the wrong length."""

from __future__ import annotations

import pytest

from ropeaudit.checks import wrong_length as check
from ropeaudit.facts import Location, Observation, Oddity
from ropeaudit.findings import Severity, Status
from ropeaudit.schedule.core import Axis
from tests.schedules import outcomes, plain, proportional, raw, stored

PLACE = Location(file="config.json", pointer="/rope_scaling/short_factor")


def observed(kind: Oddity, schedule: str | None = None) -> Observation:
    return Observation(
        kind=kind,
        message="short_factor has 64 entries, rotary_dim/2 is 48",
        location=PLACE,
        schedule=schedule,
        evidence={"expected": 48, "found": 64},
    )


def test_what_the_reader_saw_is_a_finding_even_without_a_schedule() -> None:
    (found,) = outcomes(check, observations=[observed(Oddity.LENGTH_MISMATCH)])
    assert (found.status, found.severity, found.location) == (Status.FAIL, None, PLACE)
    assert found.evidence == {"expected": 48, "found": 64}
    assert found.message == "short_factor has 64 entries, rotary_dim/2 is 48."


def test_an_odd_split_is_a_warning() -> None:
    (found,) = outcomes(check, observations=[observed(Oddity.ODD_SPLIT)])
    assert found.severity is Severity.WARNING


def test_one_mistake_is_one_finding() -> None:
    sections = (Axis("t", (0, 15)), Axis("h", (16, 39)), Axis("w", (40, 59)))
    schedule = plain(1e6, axes=sections)
    (alone,) = outcomes(check, schedule)
    assert alone.evidence == {"expected": 64, "found": 60}
    assert "Channels 60-63 belong to no axis" in alone.message
    seen = [observed(Oddity.LENGTH_MISMATCH, "text")]
    assert len(outcomes(check, schedule, observations=seen)) == 1


def test_sections_that_add_up_pass() -> None:
    sections = (Axis("t", (0, 15)), Axis("h", (16, 39)), Axis("w", (40, 63)))
    assert [o.status for o in outcomes(check, plain(1e6, axes=sections))] == [Status.PASS]


def test_a_stored_table_of_half_the_length() -> None:
    built, found = outcomes(check, plain(5e5, 128), stored(plain(5e5, 64)))
    assert built.status is Status.PASS
    assert found.status is Status.FAIL
    assert found.evidence == {"expected": 64, "found": 32}
    assert found.location is not None
    assert found.location.tensor == "model.rotary_emb.inv_freq"


def test_a_stored_table_is_held_against_its_own_layer_type() -> None:
    full = proportional(layer_type="full_attention")
    sliding = plain(1e4, 256, layer_type="sliding_attention")
    good = stored(sliding)
    bad = stored(full, plain(1e6, 128).inv_freq)
    found = outcomes(check, full, sliding, good, bad)
    assert [o.status for o in found] == [Status.PASS] * 3 + [Status.FAIL]
    assert found[3].evidence == {"expected": 256, "found": 64}


def test_a_stored_table_without_a_layer_type_may_be_any() -> None:
    full, sliding = plain(1e6, 512, layer_type="full"), plain(1e4, 256, layer_type="sliding")
    ok = outcomes(check, full, sliding, stored(sliding, layer_type=None))
    assert ok[-1].status is Status.PASS
    odd = outcomes(check, full, sliding, raw(plain(1e4, 64).inv_freq))
    assert odd[-1].evidence == {"expected": [128, 256], "found": 32}


def test_other_components_are_no_measure() -> None:
    image = plain(1e4, 32, component="vision")
    assert outcomes(check, image, stored(plain(1e6)))[-1].status is Status.PASS


@pytest.mark.parametrize("kind", [Oddity.TYPE_UNKNOWN, Oddity.MODEL_SPECIFIC])
def test_unknown_beside_a_config_that_gives_no_table(kind: Oddity) -> None:
    (found,) = outcomes(check, stored(plain(1e6)), observations=[observed(kind)])
    assert found.status is Status.UNKNOWN


def test_a_bare_table_has_nothing_to_be_held_against() -> None:
    (found,) = outcomes(check, raw(plain(1e6).inv_freq))
    assert found.status is Status.SKIP
    (empty,) = outcomes(check)
    assert empty.status is Status.SKIP
