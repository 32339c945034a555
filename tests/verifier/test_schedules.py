"""Schedules that are not as a schedule has to be are refused, with the place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ropeaudit.verifier import distance, verify
from ropeaudit.verifier.reading import Refused
from ropeaudit.verifier.schedules import schedules
from tests.verifier.certificates import certificate, hashed


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The schedules of two models: one with a form, one bare table."""
    folder = tmp_path_factory.mktemp("models")
    return {
        name: certificate(name, folder)["schedules"][0]
        for name in ("odd_base", "quantised", "yarn", "longrope")
    }


def refusal(*given: Any) -> str:
    with pytest.raises(Refused) as error:
        schedules(list(given), {})
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dtype": "float128"}, "/schedules/0/dtype: expected float64 or float32"),
        ({"dtype": ["float32"]}, "/schedules/0/dtype"),
        ({"dtype": "bfloat16"}, "/schedules/0/table/1: expected a number that bfloat16 holds"),
        ({"table": []}, "/schedules/0/table: expected 1 to 65536 values"),
        ({"table": ["1", "1/2", "1/4", 0.125]}, "/schedules/0/table/3: expected an exact number"),
        ({"table": ["1", "1/2"]}, "the law gives 4 channels, and the table has 2"),
        ({"groups": []}, "every channel in a group, found none with 0"),
        ({"groups": [[0, 1, 3]]}, "every channel in a group, found none with 2"),
        ({"groups": [[0, 2, 1, 3]]}, "/groups/0/2: expected an integer from 3 to 3"),
        ({"groups": [[0, 1, 2, 3, 4]]}, "/groups/0/4"),
        ({"groups": [[2, 3], [0, 1]]}, "/groups/1: expected channels, after those"),
        ({"groups": [[0, 1, 2, 3], []]}, "/groups/1: expected channels"),
        ({"groups": [[0, 1, 2, 3]] * 2}, "/groups/1: expected channels"),
        ({"groups": [[0, 1, 2, True]]}, "/groups/0/3"),
        ({"groups": [[0]] * 5}, "at most 4 groups"),
        ({"static": [3]}, "/static: expected 0 entries"),
        ({"tolerance": 8.0}, "/tolerance: expected an integer"),
        ({"tolerance": -1}, "/tolerance"),
        ({"why_not": "it is odd"}, "/why_not: expected null"),
        ({"form": None}, "/why_not: expected text"),
        ({"name": ""}, "/name: expected text"),
        ({"target": None}, "/target: expected text"),
    ],
)
def test_shapes(made: dict[str, Any], change: dict[str, Any], said: str) -> None:
    assert said in refusal(made["odd_base"] | change)


def test_a_law_that_nobody_knows(made: dict[str, Any]) -> None:
    form = made["odd_base"]["form"]
    assert "a known law" in refusal(made["odd_base"] | {"form": form | {"law": "mystery"}})
    assert "a known law" in refusal(made["odd_base"] | {"form": form | {"law": ["default"]}})


def test_static_channels_of_a_bare_table_hold_zeros(made: dict[str, Any]) -> None:
    bare = made["quantised"]
    assert schedules([bare | {"static": [2, 3]}], {})[0].turning == [[0, 1]]
    assert "/static/0: expected a channel whose value is 0" in refusal(bare | {"static": [1, 2]})


def test_one_name_is_one_schedule(made: dict[str, Any]) -> None:
    one = made["odd_base"]
    assert len(schedules([one, one], {})) == 2
    assert "another one called" in refusal(one, one | {"tolerance": 4})


def test_channels_are_counted_over_all_schedules(made: dict[str, Any]) -> None:
    wide = made["quantised"] | {
        "table": ["0"] * 40_000,
        "groups": [[*range(40_000)]],
        "static": [],
    }
    assert "more than 65536 channels" in refusal(wide, wide | {"name": "other"})


@pytest.mark.parametrize(
    ("name", "parameter", "text"),
    [
        ("odd_base", "rope_theta", "10000.50"),
        ("odd_base", "rope_theta", "1.00005e4"),
        ("odd_base", "rope_theta", "1.00005e+0000004"),
        ("odd_base", "rope_theta", "100005e-01"),
        ("longrope", "factors", "[1.0,1.1,1.5,2.0]"),
        ("yarn", "factor", "4"),
    ],
)
def test_a_parameter_has_many_spellings(
    made: dict[str, Any], name: str, parameter: str, text: str
) -> None:
    schedules([_with_source(made[name], parameter, {"text": text})], {})


@pytest.mark.parametrize(
    ("name", "parameter", "change"),
    [
        ("odd_base", "rope_theta", {"text": "10000"}),
        ("odd_base", "rope_theta", {"text": " 10000.5"}),
        ("odd_base", "rope_theta", {"text": '"10000.5"'}),
        ("odd_base", "rope_theta", {"text": "NaN"}),
        ("odd_base", "rope_theta", {"key": "rope.freq_base"}),
        ("odd_base", "rope_theta", {"file": None}),
        ("odd_base", "rope_theta", {"text": "\uff11\uff10\uff10\uff10\uff10.5"}),
        ("odd_base", "rope_theta", {"text": "10_000.5"}),
        ("longrope", "factors", {"text": '["1.0","1.1","1.5","2.0"]'}),
        ("longrope", "factors", {"text": "[1.0,1.1,1.5,NaN]"}),
        ("longrope", "factors", {"text": "[1.0,1.1,1.5]"}),
        ("longrope", "factors", {"text": "[1.0,1.1,1.5,[2.0]]"}),
        ("longrope", "factors", {"text": "[1.0,1.1,1.5,2.0"}),
        ("longrope", "factors", {"text": "[" * 50_000}),
    ],
)
def test_and_many_that_are_not_its_own(
    made: dict[str, Any], name: str, parameter: str, change: dict[str, Any]
) -> None:
    place = f"/schedules/0/form/sources/{parameter}"
    assert refusal(_with_source(made[name], parameter, change)).startswith(place)


def test_flags_are_spelled_as_json_spells_them(made: dict[str, Any]) -> None:
    source = {"file": "config.json", "pointer": "/truncate"}
    given = made["yarn"]
    for text in ("true", "1"):
        schedules([_with_source(given, "truncate", source | {"text": text})], {})
    assert "spells" in refusal(_with_source(given, "truncate", source | {"text": "false"}))
    assert "another name" in refusal(_with_source(given, "alpha", source | {"text": "1"}))


def _with_source(schedule: dict[str, Any], name: str, change: dict[str, Any]) -> dict[str, Any]:
    form = schedule["form"]
    sources = form["sources"] | {name: form["sources"].get(name, {}) | change}
    return schedule | {"form": form | {"sources": sources}}


def test_distances_beyond_numbers(made: dict[str, Any]) -> None:
    """What is no number is infinitely far, and what float64 cannot count is too."""
    given = made["odd_base"]
    table = ["nan", "inf", "0", given["table"][3]]
    status, evidence = distance.form(schedules([given | {"table": table}], {})[0])
    assert (status, evidence["max_ulp"], evidence["channel"]) == ("refuted", "inf", 0)
    assert evidence["witness"]["stored"] == "nan"
    assert evidence["ulp"][3] < 2
    huge = [str(2**1023), *given["table"][1:]]
    far = given | {"table": huge, "dtype": "float64"}
    assert distance.form(schedules([far], {})[0])[1]["max_ulp"] == "inf"


def test_claims_are_complete_and_in_order(tmp_path: Path) -> None:
    document = certificate("default", tmp_path)
    claims = document["claims"]
    for wrong in (claims[1:], claims[:-1], [*claims, claims[-1]], [], claims[::-1], [None]):
        result = verify(hashed({**document, "claims": wrong}))
        assert result.kind == "refused"
        assert result.message.startswith("/claims")
