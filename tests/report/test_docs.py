"""Made pages are up to date, links lead somewhere, and docstrings have their sections."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ropeaudit.checks.interface import slugs
from ropeaudit.config import _PARSERS
from ropeaudit.errors import UsageError
from ropeaudit.explain import SECTIONS, catalogue, documentation, explain
from ropeaudit.packs import load_pack, shipped

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def test_made_pages_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "--check"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("check", slugs())
def test_every_check_is_documented(check: str) -> None:
    title, sections = documentation(check)
    assert title.endswith(".")
    assert tuple(sections) == SECTIONS
    assert all(text.strip() for text in sections.values())


def test_every_rule_has_words() -> None:
    entries = catalogue(load_pack(name) for name in shipped())
    assert len(entries) >= 21
    for entry in entries:
        assert entry.why, entry.id
        assert entry.fix, entry.id
        assert re.fullmatch(r"\d+\.\d+\.\d+", entry.since), entry.id
        assert re.fullmatch(r"RA\d{3}", entry.id), entry.id
        assert explain(entry.id) == explain(entry.name)


def test_unknown_rules_get_a_hint() -> None:
    with pytest.raises(UsageError, match="did you mean RA101"):
        explain("ra1011")
    with pytest.raises(UsageError, match="lists them all"):
        explain("something else")


def test_settings_page_names_every_setting() -> None:
    page = (ROOT / "docs" / "usage.md").read_text()
    for name in _PARSERS:
        assert f"`{name.replace('_', '-')}`" in page
        assert f"`ROPEAUDIT_{name.upper()}`" in page
