"""Certificates: the document, its digest, what it pins, and who may claim what."""

from __future__ import annotations

import json
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ropeaudit
from ropeaudit.certify import _apart, certify, required_claims
from ropeaudit.errors import UsageError
from ropeaudit.proofs import _claims
from ropeaudit.proofs.certificate import Certificate, Part, assemble, canonical
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.schedule.subject import Subject
from ropeaudit.verifier import verify
from tests.schedules import llama3, plain, raw, subject

ROOT = Path(__file__).parents[2]
ZOO = ROOT / "fixtures" / "zoo"
CONFIG = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 1000000.0,
}
ORDER = [
    "form", "recovery", "distinct", "distinct:bf16", "distinct:float32", "distinct:fp16",
    "distinct:fp8_e4m3", "distinct:fp8_e5m2", "relations", "geometric", "aliasing",
]  # fmt: skip


def written(folder: Path, text: str | None = None, **changes: Any) -> str:
    path = folder / "config.json"
    path.write_text(json.dumps(CONFIG | changes) if text is None else text)
    return str(path)


def rows(certificate: Certificate, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = certificate.document[name]
    return found


def test_claims_are_found_by_folder_in_the_order_of_the_format() -> None:
    assert list(_claims.provers()) == [*ORDER, "candidates"]
    assert list(_claims.selected()) == ORDER
    assert list(_claims.selected(candidates=True)) == [*ORDER, "candidates"]
    assert list(_claims.selected(["candidates"])) == [*ORDER, "candidates"]
    for module in set(_claims.provers().values()):
        assert module.__doc__
        assert callable(module.prove)


def test_required_claims_come_from_lists() -> None:
    assert required_claims([]) == ("form", "distinct")
    assert required_claims(["form, relations", "form"]) == ("form", "relations")
    with pytest.raises(UsageError, match="did you mean aliasing"):
        required_claims(["form,aliassing"])
    with pytest.raises(UsageError, match="names no claim"):
        required_claims([""])


def test_the_digest_is_that_of_the_canonical_form(tmp_path: Path) -> None:
    found = certify([written(tmp_path)])
    document = json.loads(found.to_json())
    bare = {k: v for k, v in document.items() if k != "sha256"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert document["sha256"] == found.sha256 == sha256(text.encode()).hexdigest()
    assert canonical(document) == text.encode()
    assert list(document) == ["schema", "sha256", "tool", "inputs", "schedules", "claims"]
    assert verify(found.to_json()).kind == "verified"


def test_numbers_are_those_that_the_file_spells(tmp_path: Path) -> None:
    text = json.dumps(CONFIG | {"rope_theta": 0, "rope_scaling": {"type": "linear", "factor": 1}})
    text = text.replace('"rope_theta": 0', '"rope_theta": 1.5e5').replace(
        '"factor": 1', '"factor": 2.1'
    )
    found = certify([written(tmp_path, text)])
    (schedule,) = rows(found, "schedules")
    form = schedule["form"]
    assert form["parameters"] == {"rope_theta": "150000", "rotary_dim": 64, "factor": "21/10"}
    assert form["sources"]["factor"] == {
        "file": "config.json", "pointer": "/rope_scaling/factor", "text": "2.1",
    }  # fmt: skip
    assert form["terms"][1] == {"coefficient": "10/21", "factors": [["150000", "-1/32"]]}
    held = found.parts[0].exhibits[0].schedule.inv_freq
    assert [Fraction(v) for v in schedule["table"]] == [Fraction(v) for v in held]


@pytest.mark.parametrize(("beta", "spelled"), [("0", False), ("-0.0", False), ("32", True)])
def test_a_value_that_the_law_ignores_is_no_source(
    tmp_path: Path, beta: str, spelled: bool
) -> None:
    """The engine takes ``beta_fast`` 0 for absent, so the parameter is the default 32."""
    scaling = '{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 1024'
    text = f'{json.dumps(CONFIG)[:-1]}, "rope_scaling": {scaling}, "beta_fast": {beta}}}}}'
    found = certify([written(tmp_path, text)])
    form = rows(found, "schedules")[0]["form"]
    assert form["parameters"]["beta_fast"] == "32"
    assert ("beta_fast" in form["sources"]) is spelled
    assert verify(found.to_json()).kind == "verified"


def test_inputs_are_pinned_by_what_was_read(tmp_path: Path) -> None:
    folder = ROOT / "fixtures" / "rules" / "RA601" / "pass" / "stored"
    config, weights = rows(certify([str(folder)]), "inputs")
    data = (folder / "config.json").read_bytes()
    assert config == {
        "target": str(folder), "file": "config.json", "sha256": sha256(data).hexdigest(),
        "bytes": len(data),
    }  # fmt: skip
    data = (folder / "model.safetensors").read_bytes()
    size = 8 + int.from_bytes(data[:8], "little")
    assert weights["part"] == "header"
    assert (weights["bytes"], weights["sha256"]) == (size, sha256(data[:size]).hexdigest())


def test_unreadable_targets_stand_beside_the_others(tmp_path: Path) -> None:
    found = certify([str(tmp_path / "no.json"), written(tmp_path)])
    assert [p.subject.error is None for p in found.parts] == [False, True]
    assert {r["target"] for r in rows(found, "inputs")} == {str(tmp_path / "config.json")}
    assert verify(found.to_json()).kind == "verified"
    assert found.exit_code() == 2


def test_a_fault_of_ours_is_the_targets_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("inside")

    monkeypatch.setattr("ropeaudit.proofs.distinct.prove", broken)
    found = certify([written(tmp_path)])
    error = found.parts[0].subject.error
    assert error is not None
    assert (error.kind, found.exit_code(), found.claims) == ("internal", 2, ())
    assert "ZeroDivisionError" in error.message


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ({"form": "proved", "distinct": "proved", "geometric": "refuted"}, 0),
        ({"form": "proved", "distinct": "refuted"}, 1),
        ({"form": "undecided", "distinct": "refuted"}, 1),
        ({"form": "undecided", "distinct": "proved"}, 3),
        ({"form": "proved"}, 3),
        ({}, 3),
    ],
)
def test_exit_codes(statuses: dict[str, str], code: int) -> None:
    claims = tuple(
        Claim(claim=name, schedule="text", status=Status(status), method="-")
        for name, status in statuses.items()
    )
    exhibit = Exhibit(schedule=plain(), form=None)
    part = Part(subject=subject(plain()), exhibits=(exhibit,), claims=claims)
    assert Certificate(document={}, parts=(part,)).exit_code() == code
    assert Certificate(document={}, parts=()).exit_code() == 3


def test_names_that_are_no_text_do_not_break_the_digest() -> None:
    evil = "dir/\udcff\ud800.json"
    part = Part(subject=subject(target=evil))
    found = assemble([part], [{"target": evil, "file": evil, "sha256": "0" * 64, "bytes": 1}])
    assert rows(found, "inputs")[0]["file"] == "dir/\\udcff\\ud800.json"
    assert verify(found.to_json()).kind == "verified"


finite = st.floats(width=32, min_value=2.0**-126, max_value=8.0)
odd = st.sampled_from([0.0, float("nan"), float("inf"), -0.5, 2.0**-140])


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(finite | odd, min_size=1, max_size=9))
def test_any_table_makes_a_certificate_that_checks(values: list[float]) -> None:
    found = assemble([_proved(raw(values))], [])
    result = verify(found.to_json())
    assert result.kind == "verified", result.message
    status = {c.claim: c.status for c in found.claims}
    assert status["distinct"] is Status.UNDECIDED


def _proved(schedule: Any) -> Part:
    from ropeaudit.proofs.certificate import prove

    return prove(subject(schedule), _claims.selected())


def test_a_schedule_that_was_built_by_hand_states_no_form() -> None:
    part = _proved(llama3())
    assert part.exhibits[0].form is None
    assert verify(assemble([part], []).to_json()).kind == "verified"


def test_the_public_function(tmp_path: Path) -> None:
    found = ropeaudit.prove(written(tmp_path), require="candidates")
    assert isinstance(found, ropeaudit.Certificate)
    assert [c.claim for c in found.claims] == [*ORDER, "candidates"]
    assert {c.target for c in found.claims} == {str(tmp_path / "config.json")}
    assert ropeaudit.prove(tmp_path / "config.json", overrides="rope_theta=1").exit_code() == 1
    assert ropeaudit.prove().exit_code() == 3
    for wrong in (-1, 1.5, True, "8"):
        with pytest.raises(UsageError, match="whole number of steps"):
            ropeaudit.prove(ulp=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="names of claims"):
        ropeaudit.prove(require=[1])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "model",
    [
        "google__gemma-3-27b-it", "deepseek-ai__DeepSeek-V3", "meta-llama__Llama-3.2-3B-Instruct",
        "openai__gpt-oss-120b", "microsoft__Phi-4-mini-reasoning", "google__gemma-4-26B-A4B",
        "Qwen__Qwen2.5-VL-7B-Instruct",
    ],
)  # fmt: skip
def test_real_configs_are_proved_and_verified(model: str) -> None:
    found = certify([str(ZOO / model)], offline=True)
    assert found.exit_code() == 0
    result = verify(found.to_json())
    assert (result.kind, result.proved) == (
        "verified", sum(c.status is Status.PROVED for c in found.claims),
    )  # fmt: skip


@pytest.mark.slow
def test_every_real_config_is_proved_and_verified() -> None:
    folders = sorted(str(p) for p in ZOO.iterdir() if p.is_dir())
    found = certify(folders, offline=True)
    assert [p.subject.target for p in found.parts if p.subject.error] == []
    open_ = [
        (c.target, c.claim)
        for c in found.claims
        if c.claim in ("form", "distinct", "aliasing") and c.status is not Status.PROVED
    ]
    assert open_ == []
    assert verify(found.to_json()).kind == "verified"


def test_a_target_named_twice_is_one_and_two_of_one_name_are_two(tmp_path: Path) -> None:
    path = written(tmp_path)
    found = certify([path, path])
    assert len(found.parts) == 1
    assert verify(found.to_json()).kind == "verified"
    held = [Subject(target="LlamaModel", format="module") for _ in range(3)]
    assert [s.target for s in _apart(held)] == ["LlamaModel", "LlamaModel #2", "LlamaModel #3"]
