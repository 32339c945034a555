"""Pictures are drawn from what a run holds, the same twice, and hostile names stay text."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ropeaudit.errors import MissingDependency, UsageError
from ropeaudit.perplexity.records import Result
from ropeaudit.records import replace
from ropeaudit.report import _plots
from ropeaudit.report._terminal import safe
from tests.report import canned, measured

pytest.importorskip("matplotlib")


def words(path: Path) -> str:
    return " ".join(t for e in ET.parse(path).getroot().iter() for t in (e.text or "",))


def drawn(folder: Path, *results: Result) -> dict[str, Path]:
    return {Path(p).name: Path(p) for p in _plots.write(results, str(folder))}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One picture in one format: drawing is what takes the time."""
    monkeypatch.setattr(_plots, "PICTURES", {"heat-map": _plots.heat_map})
    monkeypatch.setattr(_plots, "SUFFIXES", ("svg",))


def test_every_picture_in_both_formats(tmp_path: Path) -> None:
    found = drawn(tmp_path / "new", measured.result())
    names = ("heat-map", "power-law", "loss-by-position", "displacement")
    assert list(found) == [f"{n}.{s}" for n in names for s in ("png", "svg")]
    assert sorted(p.name for p in (tmp_path / "new").iterdir()) == sorted(found)
    for path in found.values():
        if path.suffix == ".png":
            assert path.read_bytes().startswith(b"\x89PNG")
            assert path.stat().st_size > 5000
    heat = words(found["heat-map.svg"])
    for said in ("models/small", "int8:sym", "1.186*", "1,024", "ln inflation"):
        assert said in heat
    assert "slope 0.342" in words(found["power-law.svg"])
    assert "256–1,023" in words(found["loss-by-position.svg"])
    assert "1,024 tokens" in words(found["displacement.svg"])


@pytest.mark.slow
def test_the_same_picture_twice(tmp_path: Path) -> None:
    first, second = (drawn(tmp_path / n, measured.result()) for n in ("a", "b"))
    for name, path in first.items():
        assert path.read_bytes() == second[name].read_bytes(), name


@pytest.mark.slow
def test_what_a_run_does_not_hold_is_not_drawn(tmp_path: Path) -> None:
    whole = measured.result()
    assert drawn(tmp_path, replace(whole, cells=whole.cells[:1])) == {}
    alone = replace(whole, cells=whole.cells[:3], failures=())
    found = drawn(tmp_path, alone)
    assert {p.partition(".")[0] for p in found} == {"heat-map", "loss-by-position", "displacement"}
    still = replace(measured.cell("identity", 256, 0.0), max_phase_drift=0.0)
    assert "displacement.svg" in drawn(tmp_path, replace(whole, cells=(measured.base(256), still)))


@pytest.mark.usefixtures("quick")
def test_several_runs_are_numbered(tmp_path: Path) -> None:
    found = drawn(tmp_path, measured.result(), measured.result(model="other"))
    assert set(found) == {"1-heat-map.svg", "2-heat-map.svg"}
    assert "other" in words(found["2-heat-map.svg"])


@pytest.mark.usefixtures("quick")
def test_hostile_names_stay_text(tmp_path: Path) -> None:
    for name in ("$\\frac{1}{$ 漢字", canned.HOSTILE, "long/" * 40 + "name"):
        found = drawn(tmp_path, measured.result(model=name))
        assert safe(name)[-47:] in words(found["heat-map.svg"])


@pytest.mark.slow
def test_infinite_inflation_has_no_point(tmp_path: Path) -> None:
    infinite = measured.cell("int4:sym", 256, 0.5, inflation=float("inf"), inflation_ci95=None)
    cells = (measured.base(256), infinite, measured.cell("log8", 256, 0.1, max_abs_dlog=0.01))
    found = drawn(tmp_path, measured.result(cells=cells))
    assert "inf" in words(found["heat-map.svg"])


@pytest.mark.slow
def test_no_global_state_is_touched(tmp_path: Path) -> None:
    code = (
        "import sys, matplotlib; before = matplotlib.rcParams.copy()\n"
        "from ropeaudit.report import _plots\nfrom tests.report import measured\n"
        f"_plots.write([measured.result()], {str(tmp_path)!r})\n"
        "print('matplotlib.pyplot' in sys.modules, matplotlib.rcParams.copy() == before)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=120
    )
    assert done.stdout == "False True\n", done.stderr


@pytest.mark.usefixtures("quick")
def test_folders_that_cannot_be(tmp_path: Path) -> None:
    _plots.require(str(tmp_path))
    _plots.require(str(tmp_path / "new"))
    with pytest.raises(UsageError, match="lies in a folder that does not exist"):
        _plots.require(str(tmp_path / "no" / "new"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="is a file; give a folder"):
        _plots.require(str(tmp_path / "file"))
    (tmp_path / "taken" / "heat-map.svg").mkdir(parents=True)
    with pytest.raises(UsageError, match=r"cannot write .*heat-map\.svg"):
        drawn(tmp_path / "taken", measured.result())
    assert [p.name for p in (tmp_path / "taken").iterdir()] == ["heat-map.svg"]


def test_without_matplotlib_the_install_line_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_plots, "find_spec", lambda name: None)
    with pytest.raises(MissingDependency, match=r"pip install 'ropeaudit\[plot\]'"):
        _plots.require("pictures")
