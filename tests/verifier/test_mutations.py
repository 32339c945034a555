"""No change of a certificate passes: not without a new digest, and hardly one with it.

Certificates are those of real models with four channels. Every value of the tree is replaced by
others (another type, sign, digit, order, a key more or less, an entry twice or gone).
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import FORMATS, round_to
from ropeaudit.verifier import verify
from tests.verifier.certificates import CONFIGS, Json, Path_, certificate, hashed, mutations

ALL = (*CONFIGS, "quantised")


def is_free(path: Path_, how: str, changed: Json) -> bool:
    """Whether the certificate is still true after a change that was hashed again.

    Names of places in files are no mathematics. A table that nothing states a form of is what was
    read, and no statement. Recovery may name other parameters or fewer alternatives, as long as
    the engine's table is as near to them as is said. Candidates may be left out altogether.
    """
    match path:
        case ("schedules", _, "form", "sources", *_):
            return True
        case ("schedules", int(place), "table" | "tolerance", *_):
            return changed["schedules"][place]["form"] is None
        case ("claims", int(place), "evidence", *rest):
            claim = changed["claims"][place]
            return claim["claim"] == "recovery" and (rest == ["reason"] or engine_agrees(changed))
        case ("claims",):
            claims = [claim["claim"] for claim in changed["claims"]]
            return how == f"without {len(claims)}" and "candidates" not in claims
    return False


def engine_agrees(document: Json) -> bool:
    """Whether every ``max_ulp`` of a recovery is what the laws of ``schedule.families`` give."""
    tables = {s["name"]: [float(Fraction(v)) for v in s["table"]] for s in document["schedules"]}
    for claim in document["claims"]:
        found = claim["evidence"]
        if claim["claim"] != "recovery" or "rope_theta" not in found:
            continue
        for fit in (found, *found["ambiguous"], *([found["next"]] if found["next"] else [])):
            law = family(fit["rope_type"])
            assert law is not None
            width, scaling = fit["rotary_dim"], fit["parameters"]
            inputs = Inputs(
                rope_theta=fit["rope_theta"], rotary_dim=width, head_dim=width, scaling=scaling
            )
            built = law.build(inputs).inv_freq
            held, dtype = tables[claim["schedule"]], found["dtype"]
            pairs = zip(built, held, strict=True)
            if fit["max_ulp"] != max(abs(rank(a, dtype) - rank(b, dtype)) for a, b in pairs):
                return False
    return True


def rank(value: float, dtype: str) -> int:
    """The place of a value, rounded to ``dtype``, among the numbers of that format."""
    near, form = round_to(value, dtype), FORMATS[dtype]
    exponent = max(math.frexp(near)[1] - 1, form.min_exponent) if near else form.min_exponent
    steps = ((exponent - form.min_exponent) << (form.precision - 1)) + near / form.spacing(near)
    return round(steps)


@pytest.mark.parametrize("name", ALL)
def test_certificates_of_real_models_are_verified(name: str, tmp_path: Path) -> None:
    document = certificate(name, tmp_path)
    result = verify(json.dumps(document))
    assert result.kind == "verified", result
    statuses = [claim["status"] for claim in document["claims"]]
    assert result.proved == statuses.count("proved")
    assert result.refuted == statuses.count("refuted")
    assert result.undecided == statuses.count("undecided")
    assert verify(json.dumps(document, indent=3, sort_keys=True)) == result


@pytest.mark.parametrize(
    "name", [n if n == "yarn" else pytest.param(n, marks=pytest.mark.slow) for n in ALL]
)
def test_without_a_new_digest_every_change_is_refused(name: str, tmp_path: Path) -> None:
    document = certificate(name, tmp_path)
    passed = [
        (path, how)
        for path, how, changed in mutations(document)
        if path[0] != "sha256" and verify(json.dumps(changed)).kind == "verified"
    ]
    assert passed == []


def survivors(document: Json, step: int = 1) -> tuple[int, list[tuple[Path_, str]]]:
    """How many mathematical fields were changed and hashed again, and which changes passed."""
    mathematical = [m for m in mutations(document) if m[0][0] in ("schedules", "claims")]
    chosen = mathematical[::step]
    passed = [
        (path, how)
        for path, how, changed in chosen
        if verify(hashed(changed)).kind == "verified" and not is_free(path, how, changed)
    ]
    return len(chosen), passed


def test_hashed_again_no_change_of_the_mathematics_passes(tmp_path: Path) -> None:
    tried, passed = survivors(certificate("yarn", tmp_path), step=5)
    assert tried > 250
    assert passed == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_hashed_again_no_change_passes_anywhere(name: str, tmp_path: Path) -> None:
    tried, passed = survivors(certificate(name, tmp_path, candidates=name == "quantised"))
    assert tried > 800
    assert passed == []


@pytest.mark.parametrize("name", ["default", "quantised"])
def test_frames_are_checked_too(name: str, tmp_path: Path) -> None:
    """Outside the mathematics: a shape that is not as it should be is refused."""
    document = certificate(name, tmp_path)
    for change in (
        {"tool": {"name": "another", "version": "1"}},
        {"tool": {"name": "ropeaudit", "version": ""}},
        {"inputs": [{**document["inputs"][0], "sha256": "ab"}]},
        {"inputs": [{**document["inputs"][0], "bytes": -1}]},
        {"inputs": [{**document["inputs"][0], "part": "tail"}]},
        {"inputs": {}},
        {"more": 1},
    ):
        assert verify(hashed({**document, **change})).kind == "refused", change
    if name == "default":
        elsewhere = [{**document["inputs"][0], "file": "other.json"}]
        result = verify(hashed({**document, "inputs": elsewhere}))
        assert result.message.startswith("/schedules/0/form/sources/rope_theta/file: expected")
