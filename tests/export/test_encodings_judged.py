"""What ``audit --apply`` says of a variant is what it says of the file that ``perturb`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.audit import audit_subject, bind
from ropeaudit.diff.compare import compare
from ropeaudit.encodings.interface import of
from ropeaudit.export.writing import write
from ropeaudit.packs import load_pack
from ropeaudit.perturb.beside import apply
from ropeaudit.perturb.variant import make
from ropeaudit.resolve import resolve
from ropeaudit.schedule.subject import Subject
from tests.encodings import every_kind, layouts_ape, layouts_rope_vit
from tests.encodings import make as files

DENSE = ["ape-sequence", "ape-grid", "liere-8", "rope-mixed"]
FITTED = Path(__file__).parents[2] / "fixtures" / "encodings" / "ape_sequence_fitted.safetensors"


def judged(subject: Subject) -> list[Any]:
    """Rule, severity and every count of the findings about encodings."""
    report = audit_subject(subject, bind([load_pack("research")]))
    return [
        (f.rule, f.severity, {k: v for k, v in f.evidence.items() if isinstance(v, int | list)})
        for f in report.findings
    ]


def both(source: Subject, recipe: str, path: Path, **options: Any) -> tuple[Subject, Subject]:
    """The variant in memory, and its file read back."""
    variant = make(source.schedules, recipe, source.encodings)
    write(variant, str(path), source=source)
    again = resolve(str(path), **options)
    assert again.error is None, again.error
    return apply(source, recipe), again


@pytest.mark.parametrize("recipe", ["int4:sym", "int8:sym", "zero:from=1,to=2"])
@pytest.mark.parametrize(
    "name", [n for n in every_kind.CASES if any(n.startswith(d) for d in DENSE)]
)
def test_of_every_kind(name: str, recipe: str, tmp_path: Path) -> None:
    source = every_kind.subject(name, tmp_path)
    stated = every_kind.options(name)
    made, again = both(source, recipe, tmp_path / "v.safetensors", encoding=stated)
    for a, b in zip(made.encodings, again.encodings, strict=True):
        assert a.parameters.keys() == b.parameters.keys()
        for key, values in a.parameters.items():
            assert (values == b.parameters[key]).all(), key
    assert judged(made) == judged(again)


def test_planes_of_one_direction_that_meet(tmp_path: Path) -> None:
    files.write(tmp_path / "m.safetensors", layouts_rope_vit.deit(depth=2, heads=3))
    source = resolve(str(tmp_path / "m.safetensors"))
    made, again = both(source, "int4:sym", tmp_path / "v.safetensors")
    (found,) = [f for f in judged(made) if f[0] == "RA702"]
    assert found in judged(again)


def test_zeros_that_came_through_a_matrix(tmp_path: Path) -> None:
    source = resolve(str(FITTED))
    made, again = both(source, "int8:sym", tmp_path / "v.safetensors")
    (found,) = [f for f in judged(made) if f[0] == "RA719"]
    assert found[2]["planes"] == 12
    assert judged(made) == judged(again)
    (pair,) = compare(source, again).encodings
    (quantity,) = pair.quantities
    assert quantity.max_abs_dlog == np.inf


@pytest.mark.parametrize("base", [1e4, 1e6, 1e7])
def test_a_slow_plane_is_no_zero(base: float, tmp_path: Path) -> None:
    """In a dense float32 generator, in a random basis."""
    rng = np.random.default_rng(5)
    for planes in (4, 16, 32, 64):
        w = base ** (-np.arange(planes) / planes)
        q, _ = np.linalg.qr(rng.standard_normal((2 * planes, 2 * planes)))
        turn = np.kron(np.diag(w), np.array([[0.0, -1.0], [1.0, 0.0]]))
        b = q @ turn @ q.T
        a = np.triu(b - b.T, 1)[None] / 2
        files.write(tmp_path / "a.safetensors", layouts_ape.sequential(a.astype(np.float32)))
        assert not [f for f in judged(resolve(str(tmp_path / "a.safetensors"))) if f[0] == "RA719"]


def test_stored_planes_have_no_floor(tmp_path: Path) -> None:
    """Blocks of two hold their values as they are, down to a base of 1e11."""
    w = (1e11 ** (-np.arange(32) / 32)).astype(np.float32)
    a = np.zeros((1, 64, 64), dtype=np.float32)
    a[0, np.arange(0, 64, 2), np.arange(1, 64, 2)] = -w
    files.write(tmp_path / "a.safetensors", layouts_ape.sequential(a))
    found = resolve(str(tmp_path / "a.safetensors"))
    assert not [f for f in judged(found) if f[0] == "RA719"]
    assert not np.asarray(of(found.encodings[0]).spectrum(found.encodings[0]).rest).any()
    a[0, 62, 63] = 0.0
    files.write(tmp_path / "a.safetensors", layouts_ape.sequential(a))
    (still,) = [f for f in judged(resolve(str(tmp_path / "a.safetensors"))) if f[0] == "RA719"]
    assert still[2]["planes"] == 1
