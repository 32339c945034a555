"""Pages and JSON of variants: the keys that were promised, widths, hostile names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from ropeaudit.errors import UsageError
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.report._terminal import View, width_of
from ropeaudit.report._variants import Made, Output, check_format, render
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from tests.report import canned
from tests.report.golden import same_as_golden
from tests.report.test_schemas import _closed
from tests.schedules import plain, raw, subject

ROOT = Path(__file__).parents[2]
SMOLLM = plain(1e5, 64, trained=8192, layers=tuple(range(30)))
OUTPUT = Output("hf", "variant", 2, ("vLLM needs two more keys, which are written",))


def page(name: str, recipes: list[str], view: View | None = None, **kw: Any) -> str:
    schedules: tuple[Schedule, ...] = kw.pop("schedules", (SMOLLM,))
    target = subject(*schedules, **kw)
    made = [Made(make(schedules, r), (OUTPUT,) if len(recipes) == 1 else ()) for r in recipes]
    return render(name, target, made, view or View(), several=len(recipes) > 1)


def test_golden_pages() -> None:
    one = ["cluster:at=4,codim=2,gap=2,to=gm+int8:sym@layers=0-9"]
    same_as_golden("variant-plain.txt", page("console", one))
    same_as_golden("variant-json.txt", page("json", one))
    sweep = ["int8:sym", "log8", "noise:eps=1e-3,seed=0", "shift:at=8,gap=2,dir=up"]
    same_as_golden("variants-plain.txt", page("console", sweep))


def test_json_follows_its_schema() -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / "variant-1.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(_closed(schema))
    for name, recipes in (
        ("google__gemma-3-1b-it", ["int8:sym@sliding_attention@layers=0-4"]),
        ("google__gemma-3-1b-it", ["cluster:at=0,codim=2,gap=2+yarn:factor=2,original=4096"]),
        ("google__gemma-3-1b-it", ["identity", "apart:at=8,gap=2", "zero:from=0,to=3"]),
        ("google__gemma-4-26B-A4B", ["int4:sym@full_attention"]),
        ("microsoft__Phi-4-multimodal-instruct", ["zero:from=0,to=3+log8"]),
        ("Qwen__Qwen2.5-VL-7B-Instruct", ["cast:fp16@vision"]),  # axes of coordinates
        ("internlm__internlm2_5-7b-chat", ["dynamic:factor=2,length=99999"]),
    ):
        model = resolve(str(ROOT / f"fixtures/zoo/{name}/config.json"), offline=True)
        made = [Made(make(model.schedules, r), (OUTPUT,)) for r in recipes]
        text = render("json", model, made, View(), several=len(recipes) > 1)
        validator.validate(json.loads(text))
        assert "NaN" not in text
        assert "Infinity" not in text


def test_numbers_read_back_to_the_bit() -> None:
    made = make([SMOLLM], "noise:eps=0.01,seed=4").schedules[0]
    found = json.loads(page("json", ["noise:eps=0.01,seed=4"]))["schedules"][0]["inv_freq"]
    back = raw(found)
    assert make([back], "linear:factor=1").schedules[0].inv_freq == made.inv_freq


@pytest.mark.parametrize("width", [40, 100])
def test_pages_in_every_view(width: int) -> None:
    for view in (
        View(width=width),
        View(width=width, color=True),
        View(width=width, unicode=False, verbose=True),
    ):
        text = page("console", ["int8:sym"], view)
        assert view.color or "\x1b" not in text
        assert view.unicode or text.isascii()
        assert "\n\n\n" not in text
        assert all(line == line.rstrip() for line in text.splitlines())
    assert max(map(width_of, page("console", ["int8:sym"]).splitlines())) <= 110


def test_hostile_names_stay_text() -> None:
    strange = replace(SMOLLM, layer_type=canned.HOSTILE)
    for name in ("console", "json"):
        text = page(name, ["log4"], schedules=(strange,), target=canned.HOSTILE)
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_many_tables_are_not_all_drawn() -> None:
    many = tuple(replace(SMOLLM, layer_type=f"kind_{n}") for n in range(6))
    text = page("console", ["log4"], schedules=many)
    assert text.count(" before") == 4
    assert "2 more changed tables" in text
    text = page("console", ["log4"], View(verbose=True), schedules=many)
    assert text.count(" before") >= 6


def test_other_formats_are_refused() -> None:
    check_format("json-v1")
    with pytest.raises(UsageError, match="variants come as console or json"):
        check_format("markdown")
