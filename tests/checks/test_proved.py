"""Claims as rules: the error that a pack asks for, silence where the law is why, never a guess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import audit_subject, bind, resolve
from ropeaudit.checks import proved
from ropeaudit.errors import UsageError
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.packs import load_pack
from tests.schedules import case, plain, raw, stored

ROOT = Path(__file__).parents[2]
BASE = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}


def told(folder: Path, claim: str, ulp: int = 8, **changes: Any) -> list[Outcome]:
    """What the check says of a config."""
    path = folder / "config.json"
    path.write_text(json.dumps(BASE | changes))
    subject = resolve(str(path), offline=True)
    assert subject.error is None, subject.error
    found = case()
    return list(
        proved.run(type(found)(subject, (), found.memo), proved.Params(claim=claim, ulp=ulp))
    )


@pytest.mark.parametrize("claim", ["form", "distinct", "relations", "geometric", "aliasing"])
def test_a_plain_schedule_passes(tmp_path: Path, claim: str) -> None:
    assert [o.status for o in told(tmp_path, claim)] == [Status.PASS]


def test_equal_channels_fail_whatever_the_claim_says_of_them(tmp_path: Path) -> None:
    (same,) = told(tmp_path, "distinct", rope_theta=1)
    assert (same.status, same.severity) == (Status.FAIL, None)
    assert "closed forms of channels 0-31 are equal" in same.message
    assert same.evidence == {"duplicates": [list(range(32))]}
    assert same.location is not None
    assert same.location.pointer == "/rope_theta"
    (alias,) = told(tmp_path, "aliasing", rope_theta=1)
    assert (
        alias.message
        == "Channels 0 and 1 agree at every integer position, and 495 more such pairs."
    )
    (held,) = told(tmp_path, "distinct:bf16", rope_theta=1)
    assert held.message == "In bf16 channels 0-31 hold one value."


def test_a_law_that_bends_the_table_is_no_error(tmp_path: Path) -> None:
    (bent,) = told(tmp_path, "geometric", rope_scaling=YARN)
    assert (bent.status, bent.severity) == (Status.FAIL, Severity.INFO)
    assert "ratio to the next changes first at channel" in bent.message


def test_the_tolerance_is_the_packs(tmp_path: Path) -> None:
    assert [o.status for o in told(tmp_path, "form", ulp=2)] == [Status.PASS]
    (off,) = told(tmp_path, "form", ulp=0)
    assert off.status is Status.FAIL
    assert "float32 steps off the closed form, the most by 1." in off.message
    assert "ulp" not in off.evidence
    assert off.evidence["witness"]["channel"] == off.evidence["channel"]


def test_a_table_without_a_form_is_unknown_and_never_passes() -> None:
    for claim in ("form", "distinct", "relations", "geometric", "aliasing"):
        for table in ([1.0, 0.5, 0.25], [1.0, 0.5, 0.5], [1.0, float("nan")]):
            found = list(proved.run(case(raw(table)), proved.Params(claim=claim)))
            assert [o.status for o in found] == [Status.UNKNOWN]
            assert found[0].message.startswith(f"The claim '{claim}' is undecided: no config")


def test_learned_tables_are_left_out() -> None:
    learned = stored(plain(), rope_type="learned", parameters={"shape": [2, 64]})
    (found,) = proved.run(case(learned), proved.Params())
    assert found.status is Status.SKIP


def test_a_claim_that_nobody_makes_is_a_mistake_of_the_pack() -> None:
    with pytest.raises(UsageError, match="no claim fom; .*did you mean form"):
        list(proved.run(case(plain()), proved.Params(claim="fom")))


def test_exact_forms_are_made_once_for_all_rules(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(BASE))
    subject = resolve(str(path), offline=True)
    found = case()
    one = type(found)(subject, (), found.memo)
    for claim in ("form", "distinct"):
        list(proved.run(one, proved.Params(claim=claim)))
    assert sum(key[0] == "exhibits" for key in one.memo if isinstance(key, tuple)) == 1


@pytest.mark.parametrize(
    "model",
    [
        "google__gemma-3-27b-it", "deepseek-ai__DeepSeek-V3", "meta-llama__Meta-Llama-3.1-70B",
        "microsoft__Phi-4-mini-reasoning", "openai__gpt-oss-120b", "google__gemma-4-26B-A4B",
        "Qwen__Qwen3-VL-4B-Instruct",
    ],
)  # fmt: skip
def test_real_configs_are_proved_under_strict(model: str) -> None:
    rules = [b for b in bind([load_pack("strict")]) if b.rule.check == "proved"]
    assert [b.rule.id for b in rules] == ["RA601", "RA602"]
    subject = resolve(str(ROOT / "fixtures" / "zoo" / model), offline=True)
    assert audit_subject(subject, rules).findings == ()


@pytest.mark.slow
def test_every_real_config_is_proved_under_strict() -> None:
    rules = [b for b in bind([load_pack("strict")]) if b.rule.check == "proved"]
    count = 0
    for folder in sorted((ROOT / "fixtures" / "zoo").iterdir()):
        if folder.is_dir():
            subject = resolve(str(folder), offline=True)
            assert audit_subject(subject, rules).findings == (), folder.name
            count += len(subject.schedules)
    assert count > 170
