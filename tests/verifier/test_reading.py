"""Files that are no certificates, and hostile ones: one sentence, soon."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ropeaudit.verifier import verify
from tests.verifier.certificates import Json, certificate, hashed


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Json:
    return certificate("default", tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "cut off or empty"),
        ("hello", "not JSON"),
        ("[]", "no JSON object"),
        ("{}", "/schema: expected ropeaudit/certificate/1, found null"),
        ('{"schema": "ropeaudit/report/1"}', "expected ropeaudit/certificate/1"),
        ('{"schema": "ropeaudit/certificate/2"}', "version 2, and this ropeaudit reads version 1"),
        ('{"schema": 1}', "found 1"),
        ('{"schema": "ropeaudit/certificate/1', "cut off"),
        ('{"schema": "ropeaudit/certificate/1", "claims": nul', "cut off"),
        ('{"schema": "ropeaudit/certificate/1", "claims": none, "inputs": []}', "not JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_certificate_is_unreadable(text: str, said: str) -> None:
    result = verify(text)
    assert result.kind == "unreadable"
    assert said in result.message
    assert "\n" not in result.message


def test_a_file_cut_off_anywhere_is_unreadable(document: Json) -> None:
    text = json.dumps(document)
    for end in [*range(0, len(text) - 1, 97), len(text) - 1]:
        assert verify(text[:end]).kind == "unreadable", end


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('"tool":', '"tool": {}, "tool":', 'the key "tool" twice'),
        ('"bytes":', '"bytes": NaN, "more":', "NaN"),
        ('"bytes":', '"bytes": 1e999, "more":', '"1e999"'),
        ('"bytes":', f'"bytes": {"9" * 10_000_000}, "more":', "10000000 digits"),
        ('"bytes":', f'"bytes": 0.{"9" * 5000}, "more":', "float64 cannot"),
        ('"bytes":', '"bytes": "\\ud800", "more":', "UTF-8"),
        ('"inputs":', f'"inputs": {"[" * 30}{"]" * 30}, "more":', "levels deep"),
    ],
)
def test_json_that_is_not_strict_is_refused(document: Json, old: str, new: str, said: str) -> None:
    text = json.dumps(document)
    assert text.count(old) == 1
    started = time.perf_counter()
    result = verify(text.replace(old, new))
    assert result.kind == "refused"
    assert said in result.message
    assert len(result.message) < 400
    assert time.perf_counter() - started < 2


def test_a_wrong_digest_says_the_right_one(document: Json) -> None:
    wrong = {**document, "sha256": "0" * 64}
    result = verify(json.dumps(wrong))
    assert result.kind == "refused"
    assert result.message.startswith("/sha256: expected the digest of the canonical form")
    assert document["sha256"] in result.message


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"rope_theta": "1" + "0" * 2000}, "/parameters/rope_theta"),
        ({"rope_theta": "0"}, "/parameters/rope_theta"),
        ({"rope_theta": "-10000"}, "/parameters/rope_theta"),
        ({"rope_theta": 10000}, "/parameters/rope_theta"),
        ({"rotary_dim": 10**9}, "/parameters/rotary_dim"),
        ({"rotary_dim": 10}, "the law gives 5 channels"),
        ({"rotary_dim": 8.0}, "/parameters/rotary_dim"),
        ({"rope_theta": "10001"}, "/sources/rope_theta/text"),
    ],
)
def test_parameters_out_of_range_are_refused(document: Json, change: Json, where: str) -> None:
    schedule = document["schedules"][0]
    form = {**schedule["form"], "parameters": {**schedule["form"]["parameters"], **change}}
    result = verify(hashed({**document, "schedules": [{**schedule, "form": form}]}))
    assert result.kind == "refused"
    assert where in result.message


def test_controls_in_a_file_do_not_reach_the_message(document: Json) -> None:
    result = verify(hashed({**document, "a\x1b[31m\nb": 1}))
    assert result.kind == "refused"
    assert result.message.isprintable()


def test_long_enclosures_end(tmp_path: Path) -> None:
    """A base that is 1 to a thousand digits, with a ramp: refused or verified, but soon."""
    document = certificate("yarn_logarithms", tmp_path)
    schedule = document["schedules"][0]
    parameters = {**schedule["form"]["parameters"], "rope_theta": f"{10**1300 + 1}/{10**1300}"}
    form = {**schedule["form"], "parameters": parameters, "sources": {}}
    started = time.perf_counter()
    result = verify(hashed({**document, "schedules": [{**schedule, "form": form}]}))
    assert result.kind == "refused"
    assert time.perf_counter() - started < 5
