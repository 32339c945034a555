"""RA407 to RA409: which spelling is the cause, and which engines it concerns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.checks import conflicting_spellings, one_schema, unread_spelling
from ropeaudit.checks._engines import Cause, listed, misreadings
from ropeaudit.findings import Severity, Status
from ropeaudit.normalise.run import normalise
from tests.checks.engines import case, findings, said, view
from tests.schedules import llama3, plain

OLD = ("transformers-4.57", "mlx-lm-0.32", "exllamav2-0.3", "tgi-2026.01", "ctranslate2+tf4.57")
LLAMA: dict[str, Any] = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096,
    "num_attention_heads": 32, "num_hidden_layers": 32, "max_position_embeddings": 8192,
}  # fmt: skip


@pytest.mark.parametrize("check", [one_schema, conflicting_spellings, unread_spelling])
def test_no_engine_no_judgement(check: Any) -> None:
    assert [o.status for o in said(check, case(plain(trained=4096)))] == [Status.SKIP]


@pytest.mark.parametrize("check", [one_schema, conflicting_spellings, unread_spelling])
def test_agreement_passes(check: Any) -> None:
    table = plain(trained=4096)
    agreed = case(table, view("a-1", table, against=[table]))
    assert [o.status for o in said(check, agreed)] == [Status.PASS]


def test_the_new_schema_alone_is_lost_by_engines_of_the_old(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "plain_new", rule="RA407")
    assert found.severity is Severity.WARNING
    assert set(found.evidence["readers"]) == set(OLD)
    assert found.location is not None
    assert found.location.pointer == "/rope_parameters"
    assert "normalise" in (found.fix or "")


@pytest.mark.parametrize("name", ["plain_old", "both_agree", "llama3_both", "rec_llama3"])
def test_both_schemas_lose_nothing(name: str, tmp_path: Path) -> None:
    assert findings(tmp_path, name, rule="RA407") == []
    assert findings(tmp_path, name, rule="RA408") == []


def test_the_old_schema_alone_loses_the_base_in_one_engine(tmp_path: Path) -> None:
    scaling = {"rope_type": "linear", "factor": 4.0}
    config = {**LLAMA, "rope_theta": 1e5, "rope_scaling": scaling}
    (found,) = findings(tmp_path, config, rule="RA407")
    assert (found.severity, found.evidence["readers"]) == (Severity.INFO, ["ctranslate2+tf4.57"])
    (asked,) = findings(tmp_path, config, "ctranslate2+tf4.57", rule="RA407")
    assert asked.severity is Severity.WARNING
    inside = {**config, "rope_scaling": {**scaling, "rope_theta": 1e5}}
    assert findings(tmp_path, inside, "ctranslate2+tf4.57") == []


def test_sides_of_a_conflict_that_is_reported_already_are_information(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "both_conflict_theta", rule="RA408")
    assert found.severity is Severity.INFO
    assert {*OLD, "exllamav3-1.6"} == set(found.evidence["readers"])
    assert "build base 10000 instead of 500000" in found.message
    (asked,) = findings(tmp_path, "both_conflict_theta", "mlx-lm", rule="RA408")
    assert asked.severity is Severity.WARNING


def test_a_schema_that_is_null(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "params_null_scaling_set", rule="RA408")
    assert found.severity is Severity.WARNING
    assert found.evidence["readers"] == ["llama.cpp+tf4.57"]
    assert found.location is not None
    assert found.location.pointer == "/rope_parameters"


def test_two_types(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "type_vs_rope_type", rule="RA408")
    assert "transformers-4.57" in found.evidence["readers"]
    assert "llama.cpp+tf5" not in found.evidence["readers"]  # it drops the kind that both name
    assert found.location is not None
    assert found.location.pointer == "/rope_scaling/type"


@pytest.mark.parametrize(
    ("name", "key", "readers"),
    [
        ("rec_gpt_oss", "truncate", {"mlx-lm-0.32", "llama.cpp+tf5", "llama.cpp+tf4.57"}),
        ("yarn_betas", "beta_fast", {"llama.cpp+tf5", "llama.cpp+tf4.57", "tgi-2026.01"}),
        ("dynamic_old", "dynamic scaling", {"llama.cpp+tf5", "llama.cpp+tf4.57"}),
        ("llama_longrope_af", "attention_factor", {"vllm-0.33", "sglang-0.5.23"}),
        ("rec_llama3", "llama3 scaling", {"ctranslate2+tf5.20", "ctranslate2+tf4.57"}),
        ("linear_old", "linear scaling", {"tgi-2026.01"}),
    ],
)
def test_what_no_spelling_helps(name: str, key: str, readers: set[str], tmp_path: Path) -> None:
    found = findings(tmp_path, name, rule="RA409")
    about = [f for f in found if f" read {key} here" in f.message]
    assert about, [f.message for f in found]
    assert readers <= set(about[0].evidence["readers"])
    assert {f.severity for f in found} == {Severity.INFO}
    asked = findings(tmp_path, name, *readers, rule="RA409")
    assert {f.severity for f in asked if f" read {key} here" in f.message} == {Severity.WARNING}


@pytest.mark.parametrize(
    ("name", "reader"),
    [("type_vs_rope_type", "tgi-2026.01"), ("yarn_mscale_eq", "exllamav3-1.6")],
)
def test_where_another_spelling_helps_the_advice_begins_with_it(
    name: str, reader: str, tmp_path: Path
) -> None:
    """Such a fault is one of spelling, and normalise mends it: another engine is no first step."""
    (found,) = findings(tmp_path, name, reader, rule="RA406")
    assert found.evidence["cause"] == "spelling"
    for each in (found, *findings(tmp_path, name, reader, rule="RA409")):
        assert each.fix is not None
        assert each.fix.startswith("Try ropeaudit normalise")
    mended = normalise(str(tmp_path / "config.json"))
    assert findings(tmp_path, json.loads(mended.after), reader, rule="RA406") == []


def test_engines_that_stop_are_named_once(tmp_path: Path) -> None:
    config = {**LLAMA, "rope_theta": 5e5, "rope_scaling": {"rope_type": "linear", "factor": 4}}
    stops = [f for f in findings(tmp_path, config, rule="RA409") if "stop" in f.message]
    assert ["vllm-0.33", "sglang-0.5.23"] in [f.evidence["readers"] for f in stops]
    # For an engine that was asked for, reader-disagreement says it.
    asked = findings(tmp_path, config, "vllm")
    assert [(f.rule, f.severity) for f in asked] == [("RA406", Severity.INFO)]


def test_a_number_left_to_defaults_is_a_cause_of_its_own(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, "yarn_no_orig", rule="RA406")
    assert found.evidence["cause"] == Cause.DEFAULT
    assert found.severity is Severity.WARNING
    assert not [f for f in findings(tmp_path, "yarn_no_orig") if f.rule in ("RA407", "RA408")]


@pytest.mark.parametrize(
    ("name", "reader", "cause"),
    [
        ("plain_new", "mlx-lm-0.32", Cause.SCHEMA),
        ("both_conflict_theta", "exllamav3-1.6", Cause.CONFLICT),
        ("params_null_scaling_set", "llama.cpp+tf4.57", Cause.CONFLICT),
        ("llama3_no_orig", "exllamav3-1.6", Cause.DEFAULT),
        ("glm4_no_prf", "exllamav3-1.6", Cause.DEFAULT),
        ("llama_partial", "vllm-0.33", Cause.DEAD),
        ("gemma3_flat", "llama.cpp+tf4.57", Cause.DEAD),
        ("llama_longrope_af", "transformers-4.57", Cause.PLACE),
        ("llama3_old", "ctranslate2+tf5.20", Cause.SPELLING),
        ("rec_gpt_oss", "mlx-lm-0.32", Cause.SPELLING),
        ("dynamic_old", "llama.cpp+tf5", Cause.SPELLING),
    ],
)
def test_normalising_mends_every_cause_but_the_last(
    name: str, reader: str, cause: Cause, tmp_path: Path
) -> None:
    (found,) = [f for f in findings(tmp_path, name, reader) if f.rule == "RA406"]
    assert found.evidence["cause"] == cause
    proposed = normalise(str(tmp_path), offline=True)
    (engine,) = [e for e in proposed.engines if e.name == reader]
    assert not engine.agreed
    assert engine.agrees == (cause is not Cause.SPELLING)


def test_misreadings_are_found_once_for_all_checks() -> None:
    table = llama3(declared=131072)
    found = case(table, view("a-1", plain(5e5, trained=131072), against=[table]))
    assert misreadings(found) is misreadings(found)


def test_lists_in_words() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed("abc")] == ["a", "a and b", "a, b and c"]
