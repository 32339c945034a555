"""Tables and checkpoints that hold anything but a spectrum, from the file to every report."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ropeaudit.api import assert_safe, read
from ropeaudit.audit import audit_subject, bind
from ropeaudit.errors import UnsafeScheduleError
from ropeaudit.findings import Verdict
from ropeaudit.packs import load_pack, shipped
from ropeaudit.report import console, github, json_v1, markdown
from ropeaudit.report._terminal import View
from ropeaudit.resolve import resolve
from ropeaudit.verdict import Report, SubjectReport

PACKS = {name: load_pack(name) for name in shipped()}
RULES = {name: bind([pack]) for name, pack in PACKS.items()}
BASE = 10000.0 ** (-np.arange(32) / 32)


def judged(path: Path) -> list[SubjectReport]:
    """Reports by every shipped pack, each written in every format."""
    subject = resolve(str(path))
    assert subject.error is None or subject.error.kind != "internal"
    found = []
    for name, pack in PACKS.items():
        report = audit_subject(subject, RULES[name], contexts=(10**12,))
        whole = Report(packs=(pack,), subjects=(report,))
        json.loads(json_v1.render(whole), parse_constant=lambda word: pytest.fail(word))
        pages = [console.render(whole, View(verbose=v, unicode=v)) for v in (True, False)]
        for page in (*pages, github.render(whole), markdown.render(whole)):
            assert page.replace("\n", "").replace("@\u200b", "").isprintable()
        found.append(report)
    return found


BROKEN: dict[str, Any] = {
    "zeros": np.zeros(32, "f4"),
    "nan": np.full(32, np.nan, "f4"),
    "infinite": np.full(32, np.inf, "f4"),
    "negative": -BASE,
    "everything": np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 5e-324, -1.0]),
    "float64 extremes": np.array([1.7e308, 1.0, 5e-324]),
    "denormal": np.full(32, 1e-40, "f4"),
    "largest": np.full(32, 3.4e38, "f4"),
    "large": np.full(32, 1e308),
    "equal": np.ones(4096, "f4"),
    "integers": np.full(32, 2**63 - 1),
    "noise": np.random.default_rng(0).random(4096),
    "rows": np.ones((32, 32), "f4"),
}


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_no_table_of_these_passes(tmp_path: Path, name: str) -> None:
    np.save(tmp_path / "x.npy", BROKEN[name])
    assert all(r.verdict is not Verdict.PASS for r in judged(tmp_path / "x.npy"))


def test_a_tensor_name_is_only_text(tmp_path: Path) -> None:
    table = torch.tensor(BASE, dtype=torch.float32)
    names = ("\x1b[31m[b]\u202e\n::error::.inv_freq", "`|<b>.layers.1.inv_freq")
    torch.save({name: table * k for k, name in enumerate(names, 1)}, tmp_path / "x.pt")
    assert all(r.subject.schedules for r in judged(tmp_path / "x.pt"))


@pytest.mark.parametrize("content", [None, 5, "text", 1.5, b"bytes", {1, 2}])
def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path, content: Any) -> None:
    torch.save(content, tmp_path / "x.pt")
    (error,) = {r.subject.error for r in judged(tmp_path / "x.pt")}
    assert error is not None
    assert "expected a state dict" in error.message or "running code" in error.message


@pytest.mark.filterwarnings("ignore:Sparse")
def test_a_sparse_table_is_said_to_be_there(tmp_path: Path) -> None:
    table = torch.tensor(BASE)
    torch.save({"m.inv_freq": table.to_sparse()}, tmp_path / "x.pt")
    for report in judged(tmp_path / "x.pt"):
        assert report.verdict is Verdict.UNKNOWN
        assert "torch.sparse" in report.subject.notes[0].message


def test_an_archive_of_many_arrays_says_how_many(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", BASE)
    data = (tmp_path / "a.npy").read_bytes()
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        for number in range(5000):
            archive.writestr(f"{number}.npy", data)
    (error,) = {r.subject.error for r in judged(tmp_path / "x.npz")}
    assert error is not None
    assert "holds 5000 arrays" in error.message


def test_a_wavelength_beyond_float64_is_infinite(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([1.0, 5e-324]))
    subject = resolve(str(tmp_path / "x.npy"))
    assert math.log(2 * math.pi) - math.log(subject.schedules[0].inv_freq[1]) > 709
    assert " inf" in console.render_schedules([subject], View())


class _Unwilling:
    """A config of which nothing can be asked."""

    def __getattr__(self, name: str) -> Any:
        raise ValueError(f"no {name}")


class _Failing:
    def to_dict(self) -> dict[str, Any]:
        raise RuntimeError("\x1b[31m")


@pytest.mark.parametrize(
    "table", [torch.ones(4).to(torch.complex64), torch.ones(4).int(), torch.ones(0), torch.ones(())]
)
def test_a_live_buffer_that_is_no_table_is_no_pass(table: torch.Tensor) -> None:
    model = torch.nn.Module()
    model.register_buffer("inv_freq", table)
    model.config = {"model_type": "llama", "head_dim": 8, "max_position_embeddings": 4096}  # type: ignore[assignment]
    with pytest.raises(UnsafeScheduleError, match="could not be judged"):
        assert_safe(model)


@pytest.mark.parametrize("config", [_Unwilling, _Failing, lambda: 5, str, object])
def test_configs_whose_code_fails_stop_no_audit(config: Callable[[], Any]) -> None:
    model = torch.nn.Module()
    model.register_buffer("inv_freq", torch.tensor(BASE, dtype=torch.float32))
    model.config = config()
    subject = read(model)
    assert subject.error is None
    assert [s.variant for s in subject.schedules] == ["stored"]
    assert all(note.message.isprintable() for note in subject.notes)
