"""Checks of encodings cost nothing where a target has none, and keep the rules of packs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ropeaudit.audit import Options, audit_subject, audit_targets, bind
from ropeaudit.checks.interface import is_of_encodings, load, module_name, slugs
from ropeaudit.errors import PackError
from ropeaudit.packs import load_pack
from ropeaudit.schedule.subject import Subject
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere

ROOT = Path(__file__).parents[3]
IMPORTED = """
import sys
from ropeaudit.audit import audit_targets
audit_targets([sys.argv[1]])
print(*(m for m in sys.modules if ".encodings" in m or m == "numpy"))
"""


def test_a_plain_config_imports_none_of_them() -> None:
    config = next(p for p in (ROOT / "fixtures" / "zoo").iterdir() if "Llama-3.1" in p.name)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED, str(config)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) <= {"ropeaudit.encodings", "ropeaudit.encodings._hints"}


def test_needs_says_what_the_folder_says() -> None:
    for slug in slugs():
        assert (load(slug).NEEDS == "encoding") == is_of_encodings(slug), slug
        assert module_name(slug) == load(slug).__name__  # type: ignore[attr-defined]


def pack(folder: Path, text: str) -> str:
    path = folder / "mine.yaml"
    path.write_text(f"name: mine\nextends: [core]\noverride:\n  RA707: {{with: {{{text}}}}}\n")
    return str(path)


def test_options_of_a_pack_reach_the_check(tmp_path: Path) -> None:
    rules = bind([load_pack(pack(tmp_path, "grid: 3"))])
    raw = layouts_liere.initial(8, layers=1, heads=1)
    subject = Subject(target="x", format="torch", encodings=(make.liere(raw),))
    found = [f for f in audit_subject(subject, rules).findings if f.rule == "RA707"]
    assert [f.evidence["grid"] for f in found] == [[3, 3]]


@pytest.mark.parametrize("text", ["gird: 3", "grid: many"])
def test_bad_options_stop_the_run_before_any_target(text: str, tmp_path: Path) -> None:
    with pytest.raises(PackError):
        bind([load_pack(pack(tmp_path, text))])


def test_worker_processes_hand_encodings_back(tmp_path: Path) -> None:
    example = ROOT / "fixtures" / "rules" / "RA702" / "fail" / "rope-mixed-equal.safetensors"
    report = audit_targets([str(example)] * 48, Options(jobs=2))
    assert report.counts["error"] == 48
    assert all(s.subject.encodings for s in report.subjects)
