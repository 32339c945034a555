"""Every number of every law replaced by every odd value: a certificate that checks, or no schedule.

The prover and the verifier read the same file's numbers by code that shares nothing, so wherever
one of them takes an odd value otherwise, the certificate is refused here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from ropeaudit.errors import SourceError
from ropeaudit.proofs._claims import selected
from ropeaudit.proofs.certificate import assemble, prove
from ropeaudit.proofs.interface import Status
from ropeaudit.resolve import build
from ropeaudit.schedule.subject import Subject
from ropeaudit.sources.opening import open_target
from ropeaudit.verifier import verify
from tests.test_hostile_values import CONFIG, EXTREME, LAWS

OUTSIDE = ("rope_theta", "head_dim", "max_position_embeddings", "partial_rotary_factor")
INSIDE = ("beta_fast", "beta_slow", "truncate", "attention_factor")


def subject(law: str, key: str, value: Any) -> Subject | None:
    """What the config with one odd value means; None where that is nothing."""
    data: dict[str, Any] = {**CONFIG, "model_type": "llama", "rope_theta": 10000.0}
    data["rope_scaling"] = {"rope_type": law, **LAWS[law]}
    (data if key in OUTSIDE else data["rope_scaling"])[key] = value
    try:
        return build(open_target("-", stdin=json.dumps(data).encode()))
    except SourceError:
        return None


def checked(law: str, values: tuple[Any, ...]) -> int:
    """How many of the odd configs mean a schedule; each of their certificates has to check."""
    count = 0
    for key in (*OUTSIDE, *INSIDE, *LAWS[law]):
        for value in values:
            found = subject(law, key, value)
            if found is None:
                continue
            part = prove(found, selected())
            result = verify(assemble([part], []).to_json())
            assert result.kind == "verified", (key, value, result.message)
            bare = {e.schedule.name for e in part.exhibits if e.form is None}
            for claim in part.claims:
                if claim.claim == "distinct" and claim.schedule in bare:
                    assert claim.status is Status.UNDECIDED
            count += 1
    return count


@pytest.mark.parametrize("law", sorted(LAWS))
def test_odd_values_make_certificates_that_check(law: str) -> None:
    assert checked(law, (0, 1e-45)) > 5


@pytest.mark.slow
@pytest.mark.parametrize("law", sorted(LAWS))
def test_all_odd_values_make_certificates_that_check(law: str) -> None:
    assert checked(law, EXTREME) > 40
