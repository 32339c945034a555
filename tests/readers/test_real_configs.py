"""Every real model of ``fixtures/zoo`` gives the schedules that were worked out by hand.

The expectations (``tests/oracles/zoo_table.py``) share no code with the package: closed forms in
float64 on numbers read from each model's config, card and modelling code.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import Options, audit_targets
from ropeaudit.facts import Oddity
from ropeaudit.findings import Severity, Status, Verdict
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
MODELS: dict[str, Any] = json.loads((ZOO / "index.json").read_text(encoding="utf-8"))["models"]

ENCODED = {"mosaicml__mpt-7b"}
"""Models that do not turn, and add ALiBi to the score instead."""

TOLERANCE = 2e-6
"""float64 closed form against the engine: 5 ulp of float32 (6e-7), a few more in a ramp."""


def close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=0.0)


def subject(model: str) -> Subject:
    return resolve(str(ZOO / model / "config.json"), offline=True)


def differences(found: Subject, entry: dict[str, Any]) -> list[str]:
    """Everything in which ``found`` is not what the entry says, one line each."""
    if found.error is not None:
        return [f"error: {found.error.message}"]
    got = {s.name: s for s in found.schedules}
    wanted = {s["name"]: s for s in entry["schedules"]}
    out = [f"{name}: missing" for name in sorted(set(wanted) - set(got))]
    out += [f"{name}: not expected" for name in sorted(set(got) - set(wanted))]
    for name in sorted(set(got) & set(wanted)):
        out += [f"{name}.{what}" for what in compare(got[name], wanted[name])]
    if "no_rotary" in entry and "no_rotary" not in {n.kind for n in found.notes}:
        out.append(f"no note no_rotary, but {[n.kind for n in found.notes]}")
    return out


def compare(got: Schedule, want: dict[str, Any]) -> list[str]:
    table = got.inv_freq
    numbers = {
        "rope_theta": got.rope_theta,
        "first": table[0],
        "second": table[1],
        "last": table[-1],
        "attention_scaling": got.attention_scaling,
        "softmax_scale": got.softmax_scale,
    }
    exact: dict[str, Any] = {
        "rotary_dim": got.rotary_dim,
        "channels": len(table),
        "pairing": got.pairing,
        "layers": list(got.layers) if got.layers is not None else None,
        "axes": len({a.axis for a in got.axes}) if got.axes else None,
    }
    out = [
        f"{key} is {value!r}, expected {want[key]!r}"
        for key, value in numbers.items()
        if value is None or not close(value, want[key])
    ]
    return out + [
        f"{key} is {value!r}, expected {want[key]!r}"
        for key, value in exact.items()
        if key in want and value != want[key]
    ]


@pytest.mark.parametrize("model", sorted(MODELS))
def test_the_schedules_are_the_models_own(model: str) -> None:
    entry = MODELS[model]
    found = differences(subject(model), entry)
    assert [line for line in found if line not in entry.get("explained", {})] == []


def test_the_index_is_what_the_hand_made_table_gives() -> None:
    script = ZOO.parents[1] / "tests" / "oracles" / "zoo_expectations.py"
    run = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_folder_is_in_the_index_and_the_other_way_round() -> None:
    assert {p.parent.name for p in ZOO.glob("*/config.json")} == set(MODELS)


def test_no_explanation_outlives_its_difference() -> None:
    for model, entry in MODELS.items():
        if "explained" in entry:
            assert set(entry["explained"]) <= set(differences(subject(model), entry)), model


def test_the_comparison_notices_a_wrong_number() -> None:
    model = "google__gemma-3-1b-it"
    for key, wrong in (("rope_theta", 1e4), ("last", 1e-3), ("channels", 64), ("layers", [1])):
        entry = json.loads(json.dumps(MODELS[model]))
        entry["schedules"][0][key] = wrong
        assert any(f".{key} " in line for line in differences(subject(model), entry)), key
    entry = {**MODELS[model], "schedules": MODELS[model]["schedules"][:1]}
    assert differences(subject(model), entry) == ["text/sliding_attention: not expected"]


@pytest.mark.parametrize(
    "model",
    sorted(
        [
            "Alibaba-NLP__gte-large-en-v1.5",
            "THUDM__glm-4-9b-chat-1m",
            "baichuan-inc__Baichuan2-7B-Chat",
            "jinaai__jina-embeddings-v3",
            "microsoft__Phi-3-small-8k-instruct",
            "OrionStarAI__Orion-14B-Chat",
            "internlm__internlm2_5-7b-chat",
            "deepseek-ai__deepseek-moe-16b-chat",
            "databricks__dbrx-base",
            "Qwen__Qwen-Image",
        ]
    ),
)
def test_what_rests_on_code_outside_the_file_is_said(model: str) -> None:
    kinds = {o.kind for o in subject(model).observations}
    assert kinds & {Oddity.MODEL_SPECIFIC, Oddity.GENERIC_READING}


def test_no_real_model_is_said_to_lose_its_scaling() -> None:
    lost = {
        model: [o.message for o in subject(model).observations if o.kind is Oddity.NOT_APPLIED]
        for model in MODELS
    }
    assert {model: messages for model, messages in lost.items() if messages} == {}


@pytest.mark.parametrize("pack", ["core", "deploy"])
def test_healthy_models_have_no_error_and_nothing_undecided(pack: str) -> None:
    targets = [str(ZOO / model) for model in sorted(MODELS)]
    report = audit_targets(targets, Options(packs=(pack,), offline=True, jobs=1))
    loud = [
        (Path(subject.subject.target).name, finding.rule, finding.message)
        for subject in report.subjects
        for finding in subject.findings
        if finding.severity is Severity.ERROR or finding.status is Status.UNKNOWN
    ]
    assert loud == []
    silent = {Path(s.subject.target).name for s in report.subjects if s.verdict is Verdict.UNKNOWN}
    without = {model for model, entry in MODELS.items() if "no_rotary" in entry}
    assert silent == without - ENCODED
