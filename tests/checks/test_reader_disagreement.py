"""RA406: severities, groups and numbers of engines that build another schedule."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.audit import audit_subject, bind, resolve
from ropeaudit.checks import reader_disagreement as check
from ropeaudit.findings import Severity, Status, Verdict
from ropeaudit.packs import load_pack
from ropeaudit.perturb.beside import apply
from ropeaudit.readers.engines.known import names
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.checks.engines import case, findings, said, view
from tests.engine_vectors import vectors
from tests.schedules import llama3, plain, with_values

LLAMA = llama3(declared=131072, layers=(0, 1))
LOST = plain(5e5, layers=(0, 1), trained=131072)
ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"


def test_the_same_schedule_passes() -> None:
    same = view("vllm-1", LLAMA, against=[LLAMA])
    assert [o.status for o in said(check, case(LLAMA, same))] == [Status.PASS]


def test_an_engine_that_was_asked_for_is_an_error() -> None:
    lost = view("vllm-1", LOST, against=[LLAMA])
    (found,) = said(check, case(LLAMA, lost, asked=["vllm-1"]))
    assert (found.status, found.severity) == (Status.FAIL, None)
    assert "vllm-1 builds another schedule from this file than the reference" in found.message
    assert "llama3 scaling by 8 lost; phases part by half a turn or more." in found.message
    assert found.evidence["max_abs_dlog"] == pytest.approx(math.log(8))
    assert found.evidence["max_phase_drift"] == math.pi
    assert found.evidence["found"] / found.evidence["expected"] == pytest.approx(8)
    assert found.evidence["readers"] == ["vllm-1"]


def test_engines_that_nobody_asked_for_are_grouped_by_what_they_do() -> None:
    views = [view(f"{n}-1", LOST, against=[LLAMA]) for n in ("vllm", "tgi")]
    other = view("mlx-1", plain(1e4, layers=(0, 1), trained=131072), against=[LLAMA])
    found = said(check, case(LLAMA, *views, other))
    assert [o.evidence["readers"] for o in found] == [["vllm-1", "tgi-1"], ["mlx-1"]]
    assert "vllm-1 and tgi-1 build another" in found[0].message
    assert {o.severity for o in found} == {Severity.INFO}
    asked = said(check, case(LLAMA, *views, asked=["vllm-1", "tgi-1"]))
    assert [o.evidence["readers"] for o in asked] == [["vllm-1"], ["tgi-1"]]


@pytest.mark.parametrize(
    ("error", "severity"), [(1e-8, Severity.INFO), (2e-6, Severity.WARNING), (1e-4, None)]
)
def test_severity_follows_the_phase(error: float, severity: Severity | None) -> None:
    near = with_values(LLAMA, lambda k, v: v + (error if k == 50 else 0.0))
    (found,) = said(check, case(LLAMA, view("a-1", near, against=[LLAMA]), asked=["a-1"]))
    assert found.severity is severity


@given(st.sampled_from(["attention_scaling", "softmax_scale"]), st.floats(0.3, 3.0))
def test_factors_alone_are_grave(field: str, factor: float) -> None:
    other = replace(LLAMA, **{field: factor})
    found = said(check, case(LLAMA, view("a-1", other, against=[LLAMA]), asked=["a-1"]))
    off = abs(factor - 1)
    if off <= 1e-4:
        assert found[0].status is Status.PASS
    else:
        assert found[0].severity is (None if off > check.FACTOR else Severity.INFO)
        assert found[0].evidence["max_abs_dlog"] == 0


@pytest.mark.parametrize(
    "other",
    [
        plain(5e5, 64, layers=(0, 1), trained=131072),
        replace(LLAMA, layers=(0,)),
        replace(LLAMA, pairing="interleaved"),
    ],
    ids=["width", "layers", "pairing"],
)
def test_other_widths_layers_and_pairings_are_errors(other: Schedule) -> None:
    (found,) = said(check, case(LLAMA, view("a-1", other, against=[LLAMA]), asked=["a-1"]))
    assert found.severity is None


def test_a_refusal_is_information_and_only_for_who_asked() -> None:
    stops = view("ds-1", against=[LLAMA], status="refuses", reason="it serves no llama3")
    (found,) = said(check, case(LLAMA, stops, asked=["ds-1"]))
    assert (found.severity, found.status) == (Severity.INFO, Status.FAIL)
    assert found.message == "ds-1 does not load this file: it serves no llama3."
    assert [o.status for o in said(check, case(LLAMA, stops))] == [Status.PASS]


def test_what_is_not_covered_is_unknown_and_with_all_no_more_than_skipped() -> None:
    dark = view("x-1", against=[LLAMA], status="not_covered", reason="nobody looked")
    (found,) = said(check, case(LLAMA, dark, asked=["x-1"]))
    assert found.status is Status.UNKNOWN
    assert found.message == "x-1 cannot be judged: nobody looked."
    assert found.fix is not None
    assert "normalise" not in found.fix
    (skipped,) = said(check, case(LLAMA, dark, asked=["x-1"], singled=[]))
    assert (skipped.status, skipped.message) == (Status.SKIP, "x-1: nobody looked")


def test_with_all_every_engine_is_judged_as_one_that_nobody_named() -> None:
    views = [view(f"{n}-1", LOST, against=[LLAMA]) for n in ("vllm", "tgi")]
    for singled in ([], ["tgi-1"]):
        found = said(check, case(LLAMA, *views, asked=["vllm-1", "tgi-1"], singled=singled))
        told = {tuple(o.evidence["readers"]): (o.severity, o.evidence["asked"]) for o in found}
        both = {("vllm-1", "tgi-1"): (Severity.INFO, False)}
        one = {("vllm-1",): (Severity.INFO, False), ("tgi-1",): (None, True)}
        assert told == (one if singled else both)


def test_without_engines_it_is_skipped() -> None:
    assert [o.status for o in said(check, case(LLAMA))] == [Status.SKIP]


MEASURED = sorted(
    name for name, c in vectors()["cases"].items() if c["reference"] == "transformers-5.24"
)


@pytest.mark.parametrize("name", MEASURED)
def test_every_measured_misreading_of_an_engine_that_is_asked_for_is_found(
    name: str, tmp_path: Path
) -> None:
    measured = vectors()["cases"][name]
    found = {
        reader: f
        for f in findings(tmp_path, name, *names(), rule="RA406")
        for reader in f.evidence.get("readers", ())
        if f.status is Status.FAIL
    }
    for reader, row in measured["readers"].items():
        if (reader, name) == ("tgi-2026.01", "dynamic_old"):
            continue  # measured as the engine starts; it makes the table anew for longer texts
        if row["status"] == "ok" and row["against_reference"]["verdict"] != "same":
            assert found[reader].severity is Severity.ERROR, reader
        elif row["status"] == "ok":
            assert reader not in found
        elif reader in found:
            assert found[reader].severity is Severity.INFO, reader


def test_healthy_models_have_no_error_and_few_warnings() -> None:
    rules = bind([load_pack("core")])
    rules = [b for b in rules if b.rule.id in ("RA406", "RA407", "RA408", "RA409")]
    warned = set()
    for path in sorted(ZOO.iterdir()):
        report = audit_subject(resolve(str(path)), rules)
        assert all(f.severity < Severity.ERROR for f in report.findings), path
        assert all(f.status is Status.FAIL for f in report.findings), path
        if any(f.severity is Severity.WARNING for f in report.findings):
            warned.add(path.name)
    # Saved by transformers 5, in its schema alone.
    assert warned == {"mistralai__Ministral-3-3B-Instruct-2512", "nvidia__Kimi-K2.7-Code-NVFP4"}


def test_the_engines_of_the_audit_count_and_not_those_of_the_reading(tmp_path: Path) -> None:
    config = json.dumps(vectors()["cases"]["phi3_longrope_old"]["config"])
    (tmp_path / "config.json").write_text(config)
    rules = bind([load_pack("core")])
    read = resolve(str(tmp_path), readers=("all",))
    report = audit_subject(read, rules, readers=("vllm",))
    assert [v.reader for v in report.subject.views] == ["vllm-0.33"]
    assert [n.kind for n in report.subject.notes].count("run_time") == 1
    assert not [f for f in report.findings if f.severity is Severity.ERROR]
    usual = audit_subject(read, rules)
    named = {n for f in usual.findings if f.rule == "RA406" for n in f.evidence["readers"]}
    assert named == {"mlx-lm-0.32", "exllamav2-0.3"}


def test_a_variant_is_not_read_from_the_config(tmp_path: Path) -> None:
    target = str(ZOO / "meta-llama__Meta-Llama-3.1-70B")
    report = audit_subject(apply(resolve(target), "int8:sym"), bind([load_pack("core")]))
    assert not [f for f in report.findings if f.rule == "RA406"]
    assert any(s.rule == "RA406" and "variant" in s.reason for s in report.skipped)


def test_a_pack_names_engines(tmp_path: Path) -> None:
    pack = tmp_path / "mine.yaml"
    pack.write_text(
        "name: mine\nversion: 1\nextends: [core]\n"
        "override:\n  reader-disagreement: {with: {readers: [mlx-lm, vllm]}}\n"
    )
    rules = bind([load_pack(str(pack))])
    config = json.dumps(vectors()["cases"]["gpt_oss_new"]["config"])
    (tmp_path / "config.json").write_text(config)
    report = audit_subject(resolve(str(tmp_path)), rules)
    assert report.verdict is Verdict.FAIL
    (error,) = [f for f in report.findings if f.severity is Severity.ERROR]
    assert error.evidence["readers"] == ["mlx-lm-0.32"]
    assert [v.reader for v in report.subject.views] == ["mlx-lm-0.32", "vllm-0.33"]
    assert {v.reader for v in report.subject.views} < set(names())
