"""The pipeline: verdicts, exit codes, independence of targets, fingerprints."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import Options, audit_subject, audit_targets, bind, resolve
from ropeaudit.errors import PackError, UsageError
from ropeaudit.findings import Severity, Status, Verdict
from ropeaudit.packs import load_pack

# The package's public function of the same name hides the module from plain import.
pipeline = importlib.import_module("ropeaudit.audit")

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
DEAD_FACTOR = {**LLAMA, "rope_scaling": {"factor": 4.0}}
BERT = {"model_type": "bert", "hidden_size": 768, "num_attention_heads": 12}
BROKEN = "{"
LONG = {**LLAMA, "max_position_embeddings": 131072, "rope_theta": 500000.0}


@pytest.fixture
def target(tmp_path: Path) -> Any:
    def write(content: dict[str, Any] | str, name: str = "config.json") -> str:
        path = tmp_path / name
        path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return str(path)

    return write


@pytest.mark.parametrize(
    ("content", "verdict", "code"),
    [
        (LLAMA, Verdict.PASS, 0),
        (LONG, Verdict.WARN, 0),
        (DEAD_FACTOR, Verdict.FAIL, 1),
        (BERT, Verdict.UNKNOWN, 3),
        ({**LLAMA, "model_type": "nobody_knows"}, Verdict.UNKNOWN, 3),
        ({**DEAD_FACTOR, "model_type": "nobody_knows"}, Verdict.FAIL, 1),
        (BROKEN, Verdict.UNKNOWN, 2),
        ({**LLAMA, "rope_theta": -1.0}, Verdict.UNKNOWN, 2),
    ],
)
def test_verdict_and_exit_code(target: Any, content: Any, verdict: Verdict, code: int) -> None:
    report = audit_targets([target(content)])
    assert report.verdict is verdict
    assert report.exit_code == code


def test_fail_on_moves_the_gate(target: Any) -> None:
    path = target(LONG)
    assert audit_targets([path], Options(fail_on=Severity.WARNING)).exit_code == 1
    assert audit_targets([path], Options(fail_on=Severity.INFO)).exit_code == 1
    assert audit_targets([path], Options(fail_on=Severity.ERROR)).exit_code == 0


@pytest.mark.parametrize(
    ("contents", "code"),
    [
        ([LLAMA, BROKEN, DEAD_FACTOR], 2),
        ([LLAMA, DEAD_FACTOR, BERT], 1),
        ([LLAMA, BERT], 3),
        ([LLAMA, LONG], 0),
    ],
)
def test_worst_target_decides_and_none_is_skipped(target: Any, contents: Any, code: int) -> None:
    paths = [target(c, f"{i}.json") for i, c in enumerate(contents)]
    report = audit_targets(paths)
    assert report.exit_code == code
    assert [r.subject.target for r in report.subjects] == paths


def test_allow_unknown_forgives_unknown_but_not_unreadable(target: Any) -> None:
    allowed = Options(allow_unknown=True)
    mixed = [target(LLAMA, "a.json"), target(BERT, "b.json")]
    assert audit_targets(mixed, allowed).exit_code == 0
    assert audit_targets([target(BROKEN)], allowed).exit_code == 2


def test_pool_and_single_process_agree(target: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = [LLAMA, DEAD_FACTOR, BERT, BROKEN, LONG]
    paths = [target(contents[i % 5], f"{i:02}.json") for i in range(60)]
    alone = audit_targets(paths, Options(jobs=1))
    pooled = audit_targets(paths, Options(jobs=2))

    def outcome(report: Any) -> list[Any]:
        return [
            (r.subject.target, r.verdict, r.findings, r.skipped, r.subject.error)
            for r in report.subjects
        ]

    assert outcome(alone) == outcome(pooled)
    assert alone.exit_code == pooled.exit_code == 2


def test_our_own_fault_in_one_target_leaves_the_others(
    target: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pipeline.resolve

    def faulty(path: str, **options: Any) -> Any:
        if path.endswith("bad.json"):
            raise ZeroDivisionError("x")
        return real(path, **options)

    monkeypatch.setattr(pipeline, "resolve", faulty)
    report = audit_targets([target(LLAMA, "bad.json"), target(LLAMA, "good.json")])
    assert report.exit_code == 2
    assert report.subjects[0].subject.error is not None
    assert report.subjects[0].subject.error.kind == "internal"
    assert report.subjects[1].verdict is Verdict.PASS
    monkeypatch.setenv("ROPEAUDIT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        audit_targets([target(LLAMA, "bad.json")])


def test_unknown_pack_and_override_stop_before_reading(target: Any) -> None:
    with pytest.raises(PackError):
        audit_targets([target(LLAMA)], Options(packs=("cor",)))
    with pytest.raises(UsageError):
        audit_targets([target(LLAMA)], Options(overrides=("nonsense",)))


def test_overrides_change_the_schedule_and_say_so(target: Any) -> None:
    subject = resolve(target(LLAMA), overrides=("rope_theta=1e6",))
    (schedule,) = subject.schedules
    assert schedule.rope_theta == 1e6
    fact = schedule.fact("rope_theta")
    assert fact is not None
    assert fact.origin == "override"


def test_findings_say_the_line(target: Any) -> None:
    subject = resolve(target(DEAD_FACTOR))
    report = audit_subject(subject, bind([load_pack("core")]))
    places = [f.location for f in report.findings if f.status is Status.FAIL and f.location]
    assert places
    assert all(p.line is not None for p in places if p.pointer)


def test_fingerprint_ignores_line_and_message_but_not_place(target: Any, tmp_path: Path) -> None:
    rules = bind([load_pack("core")])

    def prints(text: str) -> list[str]:
        path = tmp_path / "config.json"
        path.write_text(text)
        return [f.fingerprint for f in audit_subject(resolve(str(path)), rules).findings]

    compact, spread = json.dumps(DEAD_FACTOR), json.dumps(DEAD_FACTOR, indent=4)
    assert prints(compact) == prints(spread)
    assert len(set(prints(compact))) == len(prints(compact))
