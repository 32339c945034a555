"""Pages of comparisons: golden files, the picture, the schema, and foreign text kept harmless."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.losses import kinds
from ropeaudit.facts import Note
from ropeaudit.findings import Severity
from ropeaudit.records import replace
from ropeaudit.report import _diff
from ropeaudit.report._displacement import displacement
from ropeaudit.report._numbers import short
from ropeaudit.report._terminal import View, width_of
from ropeaudit.schedule.subject import Problem
from tests.report.golden import same_as_golden
from tests.report.test_schemas import _closed, _schema
from tests.schedules import llama3, plain, raw, stored, subject, with_values, yarn

DOCS = Path(__file__).parents[2] / "docs"


def dropped(**options: Any) -> Comparison:
    """Llama 3.1 and what became of it: no scaling, and an image tower less."""
    tower = replace(plain(1e4, 40), component="vision")
    a = subject(llama3(layers=tuple(range(32))), tower, target="llama", model_type="llama")
    b = subject(plain(5e5, layers=tuple(range(32))), target="llama.gguf", format="gguf")
    options = {"overrides": ("b:max_model_len=8192",)} | options
    return compare(a, b, Options(**options))


def several() -> Comparison:
    """Something of everything: same, equivalent, merged and stopped channels, another width."""
    full = plain(1e6, layer_type="full_attention", layers=(5,), trained=32768)
    sliding = plain(1e4, layer_type="sliding_attention", layers=(0, 1, 2, 3, 4), trained=512)
    head = plain(1e4, 64, component="talker", head_dim=128)
    merged = with_values(
        full, lambda k, v: {20: full.inv_freq[21], 60: 0.0, 61: math.inf}.get(k, v)
    )
    nudged = with_values(sliding, lambda k, v: v * (1 + 1e-7))
    a = subject(full, sliding, head, yarn(component="audio"), target="A")
    b = subject(merged, nudged, plain(1e4, component="talker"), yarn(component="audio"), target="B")
    return compare(a, b, Options(contexts=(4096, 131072)))


def unreadable() -> Comparison:
    gone = replace(
        subject(target="gone.gguf", format="unknown"),
        error=Problem("truncated", "gone.gguf ends in the middle of its header"),
    )
    return compare(subject(llama3(), target="llama"), gone)


def nothing() -> Comparison:
    silent = subject(target="bert", notes=(Note("no_rotary", "bert has no rotary encoding"),))
    return compare(silent, subject(plain(), target="llama"))


CASES = {
    "dropped": dropped,
    "several": several,
    "unreadable": unreadable,
    "nothing": nothing,
}
VIEWS = {
    "plain": View(),
    "color": View(color=True),
    "ascii": View(unicode=False),
    "narrow": View(width=60),
}


@pytest.mark.parametrize("case", CASES)
def test_pages(case: str) -> None:
    same_as_golden(f"diff-{case}.txt", _diff.render("console", CASES[case](), View()))


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    page = _diff.render("console", dropped(), VIEWS[view])
    if view != "plain":
        same_as_golden(f"diff-{view}.txt", page)
    if view == "ascii":
        assert page.isascii()
    if view == "narrow":
        # Tables and pictures are not wrapped; sentences are.
        lines = [x for x in page.splitlines() if "llama3  " not in x and "default  " not in x]
        assert all(width_of(x) <= 80 for x in lines)


def test_every_channel_with_v() -> None:
    page = _diff.render("console", dropped(), View(verbose=True))
    same_as_golden("diff-verbose.txt", page)
    rows = re.findall(r"^ +(\d+) +[\d.e-]+ +[\d.e-]+ +\d+ +\S+  \S+$", page, re.MULTILINE)
    assert len(rows) == 64


@pytest.mark.parametrize("case", CASES)
def test_markdown(case: str) -> None:
    page = _diff.render("markdown", CASES[case](), View())
    same_as_golden(f"diff-{case}.md", page)
    assert page.startswith("## ropeaudit diff: ")
    assert "\n\n\n" not in page


@pytest.mark.parametrize("case", CASES)
def test_json_follows_its_schema(case: str) -> None:
    found = CASES[case]()
    text = _diff.render("json", found, View())
    assert text == _diff.render("json-v1", found, View())
    document = json.loads(text)
    Draft202012Validator(_closed(_schema("diff-1.json"))).validate(document)
    assert document["verdict"] == found.verdict.value
    assert document["exit_code"] == found.exit_code
    for pair, told in zip(found.pairs, document["pairs"], strict=True):
        assert [c["k"] for c in told["channels"]] == [c.k for c in pair.channels]
        assert told["lost"] == [x.text for x in pair.lost]
        for c, row in zip(pair.channels, told["channels"], strict=True):
            assert row["ulp"] == c.ulp
            if c.dlog == -math.inf:
                assert row["dlog"] == "-inf"
    document["verdict"] = "equal"
    with pytest.raises(ValidationError):
        Draft202012Validator(_schema("diff-1.json")).validate(document)


def test_json_of_a_small_pair() -> None:
    same_as_golden(
        "diff-json.txt",
        _diff.render("json", compare(subject(plain(dim=8)), subject(plain(1e5, 8))), View()),
    )


def test_no_other_format() -> None:
    from ropeaudit.errors import UsageError

    for name in _diff.FORMATS:
        _diff.check_format(name)
    with pytest.raises(UsageError, match="console, json or markdown"):
        _diff.check_format("github")


def test_what_passes_below_the_gate_says_so() -> None:
    a = plain(trained=4096)
    b = with_values(a, lambda k, v: v + 0.05 / 4096 if k == 20 else v)
    found = compare(subject(a), subject(b), Options(fail_on=Severity.ERROR))
    page = _diff.render("console", found, View())
    assert "below --fail-on error" in page
    assert "below --fail-on error" in _diff.render("markdown", found, View())


def test_foreign_text_stays_text() -> None:
    evil = "\x1b[31m|`<b>@x\n"
    a = subject(plain(layer_type=evil), target=evil, model_type=evil)
    b = subject(plain(1e6, layer_type=evil), target=evil, format="gguf")
    for name in ("console", "markdown"):
        page = _diff.render(name, compare(a, b), View())
        assert "\x1b" not in page
        assert "<b>" not in page.replace("`<b>", "") or name == "console"


@given(
    st.lists(st.floats(1e-9, 10.0), min_size=1, max_size=80),
    st.integers(8, 90),
    st.integers(1, 10**7),
    st.booleans(),
)
def test_the_picture_has_a_block_a_cell(
    values: list[float], cells: int, length: int, unicode: bool
) -> None:
    pair = compare(subject(raw(values)), subject(raw(v / 2 for v in values))).pairs[0]
    found = displacement(pair.channels, length, cells, short, unicode=unicode)
    assert found is not None
    blocks = "▁▂▃▄▅▆▇█" if unicode else ".:-=+*#@"
    assert len(found.log) == len(found.drift) == cells
    assert set(found.log) | set(found.drift) <= set(blocks)
    # Everything moved by the same factor: a full band.
    assert set(found.log) == {blocks[-1]}


def test_the_picture_shows_the_place() -> None:
    a = plain(trained=4096)
    b = with_values(a, lambda k, v: v / 8 if k >= 48 else v)
    pair = compare(subject(a), subject(b)).pairs[0]
    found = displacement(pair.channels, 4096, 64, short)
    assert found is not None
    assert found.log == "▁" * 48 + "█" * 16
    assert found.drift[:48] == "▁" * 48
    assert found.drift[48] > found.drift[63] > "▁"
    # 4,096 positions are a full turn of channel 45.
    assert found.axis.index("│") == 45
    assert found.axis.startswith("6.28 ")
    assert found.axis.endswith(" 54.4k")


def test_the_picture_of_nothing() -> None:
    pair = compare(subject(raw([0.0, 0.0])), subject(raw([0.0, math.nan]))).pairs[0]
    assert displacement(pair.channels, 100, 64, short) is None
    assert "up to" not in _diff.render("console", compare(subject(pair.a), subject(pair.b)), View())


def test_stopped_channels_fill_their_block_and_are_counted() -> None:
    a = plain(trained=4096)
    b = stored(a, [0.0 if k == 20 else v for k, v in enumerate(a.inv_freq)])
    pair = compare(subject(a), subject(b)).pairs[0]
    found = displacement(pair.channels, 4096, 64, short)
    assert found is not None
    assert found.log.index("█") == 20
    assert found.log.count("█") == 1


def test_every_kind_of_loss_is_on_the_page() -> None:
    page = (DOCS / "diff.md").read_text()
    for kind in kinds():
        assert f"| {kind.NAME} |" in page, kind.NAME
    listed = re.findall(r"^\| ([a-z][a-z -]+) \| (yes|no) \|", page, re.MULTILINE)
    assert dict(listed) == {k.NAME: "yes" if k.GRAVE else "no" for k in kinds()}
