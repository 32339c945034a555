"""A written folder is a subject like any other: audited, compared, and varied again."""

from __future__ import annotations

import math
from pathlib import Path

from ropeaudit.api import audit, diff
from ropeaudit.export.writing import write
from tests.export.configs import CONFIGS, LLAMA
from tests.export.variants import exported, variant


def test_the_written_folder_can_be_audited(tmp_path: Path) -> None:
    """Base 1, clusters and a file of tables beside the config are nothing to stumble over."""
    exported(tmp_path, LLAMA, "int8:affine")
    (report,) = audit(tmp_path / "out", rules="strict").subjects
    assert report.subject.error is None
    assert {f.rule for f in report.findings} >= {"RA101"}


def test_a_variant_of_a_variant_has_one_table(tmp_path: Path) -> None:
    """Read back it has a short and a long one, which are equal: nothing depends on the length."""
    exported(tmp_path, LLAMA, "int8:sym")
    subject, made = variant(tmp_path / "out", "int4:sym")
    assert [s.variant for s in made.schedules] == ["short", "long"]
    written = write(made, f"hf={tmp_path / 'second'}", source=subject)
    assert not any("two tables by length" in n for n in written.notes)


def test_diff_names_what_the_recipe_did(tmp_path: Path) -> None:
    exported(tmp_path, LLAMA, "zero:from=60,to=63")
    found = diff(str(tmp_path / "model"), str(tmp_path / "out"))
    assert len(found.pairs) == 2, "the short and the long table"
    for pair in found.pairs:
        assert [c.k for c in pair.channels if c.b == 0] == [60, 61, 62, 63]
        assert pair.max_abs_dlog == math.inf
        assert [tuple(c) for c in pair.new_clusters] == [(60, 61, 62, 63)]
    same, _ = exported(tmp_path / "same", LLAMA, "identity")
    assert diff(str(tmp_path / "model"), same.path).verdict.value == "same"


def test_identity_adds_no_finding(tmp_path: Path) -> None:
    exported(tmp_path, CONFIGS["llama3-old"], "identity")
    rules = [
        {(f.rule, f.schedule) for f in audit(tmp_path / n, rules="strict").subjects[0].findings}
        for n in ("model", "out")
    ]
    assert rules[0] == rules[1]
