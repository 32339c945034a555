"""Real accidents from public reports: each must be said, and correct files must stay unsaid.

``fixtures/accidents/accidents.json`` holds, per report, the input as the auditor gets it, numbers
of the schedule, and the findings that must appear, with the engines (``readers``) that they must
name where an engine misreads a file that is right. No finding may be graver than the gravest that
is expected, so every entry is also a guard against false alarms.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import audit_subject, bind, resolve
from ropeaudit.findings import Finding, Severity, Status
from ropeaudit.packs import load_pack
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import round_to
from ropeaudit.schedule.subject import Subject

ACCIDENTS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "fixtures/accidents/accidents.json").read_text()
)
JUDGED = [a for a in ACCIDENTS if "not_judged" not in a["expect"]]


def table(spec: dict[str, Any]) -> list[float]:
    """The frequencies that a fixture's ``table`` describes."""
    if "memory" in spec:
        return uninitialised(spec["memory"], spec["dim"] // 2)
    law = family(spec["rope_type"])
    assert law is not None
    inputs = Inputs(
        rope_theta=spec["rope_theta"], rotary_dim=spec["dim"], head_dim=spec["dim"], scaling=spec
    )
    values = list(law.build(inputs).inv_freq)
    if spec.get("as") == "factors":
        plain = family("default")
        assert plain is not None
        values = [p / v for p, v in zip(plain.build(inputs).inv_freq, values, strict=True)]
    if "cast" in spec:
        values = [round_to(v, spec["cast"]) for v in values]
    values = [v * spec.get("scale", 1.0) for v in values]
    for k, value in spec.get("set", {}).items():
        values[int(k)] = float(value)
    return [round_to(v, spec["dtype"]) for v in values] if "dtype" in spec else values


def uninitialised(seed: int, count: int) -> list[float]:
    """What fresh memory looks like as float32: mostly zeros, pointers' halves and old weights."""
    draw = random.Random(seed)
    pool = (0.0, 4.5916e-41, 7.0065e-45, 1.0, 0.0132, -0.2251, 3.0931e20)
    return [draw.choice(pool) for _ in range(count)]


def subject_of(accident: dict[str, Any], folder: Path) -> Subject:
    given = accident["input"]
    kind = given["kind"]
    overrides = (given["override"],) if "override" in given else ()
    if kind == "module":
        return resolve(module(given))
    if kind == "gguf":
        path = write_gguf(given, folder / "model.gguf")
    elif kind == "params.json":
        path = folder / "params.json"
        path.write_text(json.dumps(given["config"]))
    else:
        path = folder
        if "config" in given:
            (folder / "config.json").write_text(json.dumps(given["config"], indent=1))
        if "table" in given:
            write_safetensors(given["table"], folder / "model.safetensors")
            if "config" not in given:
                path = folder / "model.safetensors"
    return resolve(str(path), overrides=overrides)


def write_safetensors(spec: dict[str, Any], path: Path) -> None:
    torch = pytest.importorskip("torch")
    from safetensors.torch import save_file

    kind = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(
        spec.get("dtype", ""), torch.float32
    )
    save_file({spec["name"]: torch.tensor(table(spec), dtype=torch.float64).to(kind)}, path)


def write_gguf(given: dict[str, Any], path: Path) -> Path:
    gguf = pytest.importorskip("gguf")
    import numpy as np

    keys = dict(given["kv"])
    writer = gguf.GGUFWriter(path, keys.pop("general.architecture"))
    for key, value in keys.items():
        add = {str: writer.add_string, int: writer.add_uint32, float: writer.add_float32}
        add[type(value)](key, value)
    if "table" in given:
        writer.add_tensor(given["table"]["name"], np.array(table(given["table"]), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def module(given: dict[str, Any]) -> Any:
    """A live model whose rotary buffer is what the fixture says."""
    torch = pytest.importorskip("torch")

    class Config:
        def to_dict(self) -> dict[str, Any]:
            return dict(given["config"])

    spec = given["table"]
    kind = {"bfloat16": torch.bfloat16}.get(spec.get("dtype", ""), torch.float32)
    root = torch.nn.Module()
    root.config = Config()
    *path, leaf = spec["name"].split(".")
    at = root
    for step in path:
        at.add_module(step, torch.nn.Module())
        at = at.get_submodule(step)
    values = torch.tensor(table(spec), dtype=torch.float64).to(kind)
    at.register_buffer(leaf, values, persistent=False)
    return root


@pytest.mark.parametrize("accident", JUDGED, ids=lambda a: f"{a['id']}-{a['family']}")
def test_accident_is_said(accident: dict[str, Any], tmp_path: Path) -> None:
    subject = subject_of(accident, tmp_path)
    expect = accident["expect"]
    if expect.get("unreadable"):
        assert subject.error is not None
        return
    assert subject.error is None, subject.error
    report = audit_subject(subject, bind([load_pack("core")]))
    found = [(f.rule, f.severity) for f in report.findings if f.status is Status.FAIL]
    said = [f"{f.rule} {f.severity.label}: {f.message}" for f in report.findings]
    allowed = Severity.INFO
    for wanted in expect["findings"]:
        severity = Severity.parse(wanted["severity"])
        allowed = max(allowed, severity)
        assert (wanted["rule"], severity) in found, said
        named = {n for f in report.findings if f.rule == wanted["rule"] for n in _readers(f)}
        assert named >= set(wanted.get("readers", ())), said
    # A file that is expected clean may draw a warning (a length without scaling, say), no error.
    gravest = max((s for _, s in found), default=Severity.INFO)
    assert gravest <= max(allowed, Severity.WARNING), said


def _readers(finding: Finding) -> list[str]:
    """Engines that a finding is about."""
    named: list[str] = finding.evidence.get("readers", [])
    return named


FACTS = [a for a in JUDGED if "inv_freq_last" in a.get("facts", {}) and "kv" not in a["input"]]


@pytest.mark.parametrize("accident", FACTS, ids=lambda a: a["id"])
def test_numbers_of_the_schedule(accident: dict[str, Any], tmp_path: Path) -> None:
    facts = accident["facts"]
    built = subject_of(accident, tmp_path).built()
    if accident["expect"].get("unreadable") or not built:
        assert "model_type" not in accident["input"].get("config", {}) or not built
        return
    schedule = next((s for s in built if s.variant in {None, "short"}), built[0])
    table_ = schedule.inv_freq
    assert len(table_) == facts["n"]
    for at, key in ((0, "inv_freq_first"), (1, "inv_freq_second"), (-1, "inv_freq_last")):
        assert math.isclose(table_[at], facts[key], rel_tol=2e-6), (key, table_[at])
    if "attention_factor" in facts:
        assert math.isclose(schedule.attention_scaling, facts["attention_factor"], rel_tol=1e-6)
