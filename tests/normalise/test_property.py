"""Laws of proposals, on random configs in random layouts and on real ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import SourceError
from ropeaudit.normalise.interface import Normalised
from tests.normalise.configs import broken, sound
from tests.normalise.judged import proposal, require_sound

ZOO = sorted((Path(__file__).parents[2] / "fixtures" / "zoo").glob("*/config.json"))
LAYOUTS = st.sampled_from(
    [
        {"indent": 2, "sort_keys": True},
        {"indent": 2},
        {"indent": "\t"},
        {"indent": 1, "separators": (",", " : ")},
        {},
        {"separators": (",", ":")},
    ]
)
ENDS = st.sampled_from(["\n", "\r\n"])
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
MANY = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])


def laid_out(config: dict[str, Any], layout: dict[str, Any], end: str) -> str:
    text = json.dumps(config, **layout) + "\n"
    return text.replace("\n", end)


def hold(found: Normalised, folder: Path) -> None:
    """All laws; a file without anything to normalise has none."""
    if found.status == "nothing":
        assert found.reason
        return
    require_sound(found)
    if "\r\n" in found.before and found.before.startswith("{\r"):
        assert found.after.count("\n") == found.after.count("\r\n")
    again = proposal(folder, found.after)
    assert (again.status, again.after) == ("normal", found.after)


def survive(config: dict[str, Any] | str, folder: Path) -> None:
    """A config that the reference cannot build is refused with a sentence; else all laws hold."""
    try:
        found = proposal(folder, config)
    except SourceError as error:
        assert str(error)
        return
    hold(found, folder)


@FEW
@given(config=sound(), layout=LAYOUTS, end=ENDS)
def test_laws(config: dict[str, Any], layout: dict[str, Any], end: str, tmp_path: Path) -> None:
    survive(laid_out(config, layout, end), tmp_path)


@FEW
@given(config=broken())
def test_laws_of_what_is_broken(config: dict[str, Any], tmp_path: Path) -> None:
    survive(config, tmp_path)


@pytest.mark.slow
@MANY
@given(config=sound(), layout=LAYOUTS, end=ENDS)
def test_laws_on_many(
    config: dict[str, Any], layout: dict[str, Any], end: str, tmp_path: Path
) -> None:
    survive(laid_out(config, layout, end), tmp_path)


@pytest.mark.slow
@MANY
@given(config=broken())
def test_laws_of_many_broken(config: dict[str, Any], tmp_path: Path) -> None:
    survive(config, tmp_path)


@pytest.mark.parametrize("path", ZOO[::24], ids=lambda p: p.parent.name)
def test_laws_on_real_configs(path: Path, tmp_path: Path) -> None:
    hold(proposal(tmp_path, path.read_text(encoding="utf-8")), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("path", ZOO, ids=lambda p: p.parent.name)
def test_laws_on_all_real_configs(path: Path, tmp_path: Path) -> None:
    hold(proposal(tmp_path, path.read_text(encoding="utf-8")), tmp_path)
