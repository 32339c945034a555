"""Rescalings: transformers' own tables, what they keep, and what a moved value becomes."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import f32, ulp_distance
from tests.schedules import llama3, plain, proportional, raw, yarn

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
BASE: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "max_position_embeddings": 8192,
    "rope_theta": 10000.0,
}


def one(schedule: Schedule, recipe: str) -> Schedule:
    (made,) = make([schedule], recipe).schedules
    return made


def read(config: dict[str, Any], folder: Path) -> tuple[Schedule, ...]:
    path = folder / "config.json"
    path.write_text(json.dumps(config))
    return resolve(str(path), offline=True).schedules


def near(made: tuple[float, ...], wanted: list[float], ulp: int) -> bool:
    pairs = zip(made, wanted, strict=True)
    return all((ulp_distance(a, b) or 0) <= ulp for a, b in pairs)


@pytest.mark.parametrize(
    ("recipe", "change"),
    [
        ("base:500000", {"rope_theta": 500000.0}),
        ("linear:factor=4", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
        (
            "yarn:factor=4,original=2048",
            {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 2048,
                }
            },
        ),
        (
            "yarn:factor=4,original=2048,beta_fast=16,beta_slow=2,mscale=0.7,mscale_all_dim=0.9,"
            "truncate=false",
            {
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 4.0,
                    "original_max_position_embeddings": 2048,
                    "beta_fast": 16.0,
                    "beta_slow": 2.0,
                    "mscale": 0.7,
                    "mscale_all_dim": 0.9,
                    "truncate": False,
                }
            },
        ),
        (
            "llama3:factor=8,original=2048,low=1,high=4",
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 2048,
                }
            },
        ),
    ],
)
def test_as_transformers_builds_them(recipe: str, change: dict[str, Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    (base,) = read(BASE, tmp_path)
    made = one(base, recipe)
    module = LlamaRotaryEmbedding(transformers.LlamaConfig(**BASE | change))
    assert near(made.inv_freq, module.inv_freq.tolist(), 2)
    assert made.attention_scaling == pytest.approx(module.attention_scaling, rel=1e-6)
    (wanted,) = read(BASE | change, tmp_path)
    assert made.inv_freq == wanted.inv_freq
    assert (made.rope_type, made.rope_theta) == (wanted.rope_type, wanted.rope_theta)
    assert (made.law, made.inputs.rope_theta) == (wanted.law, wanted.inputs.rope_theta)


def test_dynamic_and_ntk_grow_the_base() -> None:
    made = one(plain(1e4, 128, trained=4096), "dynamic:factor=2,length=8192")
    grown = 1e4 * (2 * 8192 / 4096 - 1) ** (128 / 126)
    assert near(made.inv_freq, [grown ** (-2 * k / 128) for k in range(64)], 8)
    within = one(plain(1e4, 128, trained=4096), "dynamic:factor=2,length=100")
    assert within.inv_freq == plain(1e4, 128).inv_freq
    made = one(plain(1e4, 128), "ntk:factor=4")
    assert made.inv_freq[0] == 1
    assert plain(1e4, 128).inv_freq[-1] / made.inv_freq[-1] == pytest.approx(4, rel=1e-6)
    with pytest.raises(UsageError, match="give it as original=N"):
        one(plain(1e4, 128), "dynamic:factor=2,length=8192")
    made = one(plain(1e4, 128), "dynamic:factor=2,length=8192,original=4096")
    assert made.inv_freq[1] < plain(1e4, 128).inv_freq[1]


def test_a_scaling_takes_the_place_of_another() -> None:
    for scaled in (llama3(), yarn(base=5e5)):
        made = one(scaled, "linear:factor=2")
        assert made.inv_freq == tuple(f32(v / 2) for v in plain(5e5, 128).inv_freq)
        assert made.rope_type == "linear"
        assert made.attention_scaling == 1.0


def test_a_base_keeps_the_scaling(tmp_path: Path) -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
    (base,) = read(BASE | {"rope_scaling": scaling}, tmp_path)
    (wanted,) = read(BASE | {"rope_scaling": scaling, "rope_theta": 1e6}, tmp_path)
    made = one(base, "base:1e6")
    assert made.inv_freq == wanted.inv_freq
    assert made.unscaled == wanted.unscaled
    assert made.attention_scaling == wanted.attention_scaling == base.attention_scaling
    without_inputs = replace(base, law=None, inputs=None, rope_type="linear")
    moved = one(without_inputs, "base:1e6")
    ratio = [b / a for a, b in zip(plain(1e4).inv_freq, plain(1e6).inv_freq, strict=True)]
    expected = [v * r for v, r in zip(base.inv_freq, ratio, strict=True)]
    assert near(moved.inv_freq, expected, 1)


def test_its_own_base_gives_every_model_its_own_table() -> None:
    """The law and the inputs that a reader keeps with a schedule really rebuild it."""
    tried = 0
    for folder in sorted(p for p in ZOO.iterdir() if p.is_dir())[::4]:
        subject = resolve(str(folder / "config.json"), offline=True)
        for schedule in subject.schedules:
            if schedule.rope_theta and schedule.is_text:
                made = one(schedule, f"base:{schedule.rope_theta!r}")
                assert made.inv_freq == schedule.inv_freq, (folder.name, schedule.name)
                assert made.attention_scaling == schedule.attention_scaling
                tried += 1
    assert tried > 30


def test_moved_values_keep_their_ratio() -> None:
    base = plain(1e4, 64, trained=4096)
    for rescale in ("linear:factor=3", "base:1e6", "yarn:factor=4,original=4096"):
        noisy, alone = one(base, "noise:eps=0.01,seed=2"), one(base, rescale)
        both = one(base, f"noise:eps=0.01,seed=2+{rescale}")
        expected = [
            n * (a / b)
            for n, a, b in zip(noisy.inv_freq, alone.inv_freq, base.inv_freq, strict=True)
        ]
        assert both.inv_freq == tuple(map(f32, expected))
        assert both.attention_scaling == alone.attention_scaling
        assert (both.law, both.inputs) == (None, None)
    zeroed = one(base, "zero:from=1,to=2+linear:factor=2")
    assert zeroed.inv_freq[1:3] == (0, 0)
    assert zeroed.inv_freq[3] == f32(base.inv_freq[3] / 2)


def test_proportional_tables_take_a_base_and_a_divisor() -> None:
    schedule = proportional()
    made = one(schedule, "linear:factor=4")
    assert made.inv_freq == tuple(f32(v / 4) for v in schedule.inv_freq)
    assert made.static_channels == schedule.static_channels
    wanted = [2e6 ** (-2 * k / 512) if k < 64 else 0.0 for k in range(256)]
    assert near(one(schedule, "base:2e6").inv_freq, wanted, 8)
    with pytest.raises(UsageError, match="does not scale a plain ladder"):
        one(schedule, "yarn:factor=4,original=4096")


def test_an_engine_keeps_its_own_plain_table() -> None:
    """llama.cpp's closed form is a few ulp off; a scaling is no reason to move by those."""
    own = tuple(f32(1e5 ** (-2 * k / 96)) for k in range(48))
    assert own != plain(1e5, 96).inv_freq
    schedule = plain(1e5, 96, inv_freq=own, unscaled=own, trained=8192)
    made = one(schedule, "linear:factor=4")
    assert made.inv_freq == tuple(f32(v / 4) for v in own)
    assert one(schedule, "yarn:factor=4,original=8192").inv_freq[:8] == own[:8]
    assert (made.law, made.unscaled) == (None, own)


def test_bare_tables_have_no_base() -> None:
    table = raw(plain(1e4, 16).inv_freq)
    assert one(table, "linear:factor=4").inv_freq == tuple(f32(v / 4) for v in table.inv_freq)
    for recipe in ("base:1e6", "ntk:factor=2", "yarn:factor=2,original=8"):
        with pytest.raises(UsageError, match="base of the table is not known"):
            one(table, recipe)


def factors(tmp_path: Path, data: Any) -> str:
    path = tmp_path / "factors.json"
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return f"longrope:{path}"


def test_longrope_from_one_list(tmp_path: Path) -> None:
    recipe = factors(tmp_path, [1.0 + k for k in range(32)])
    variant = make([plain(1e4, 64, trained=4096)], recipe)
    (made,) = variant.schedules
    expected = [v / (1 + k) for k, v in enumerate(plain(1e4, 64).inv_freq)]
    assert near(made.inv_freq, expected, 2)
    assert made.name == "text"
    assert len(variant.found[0][0]["sha256"]) == 64


def test_longrope_from_two_lists(tmp_path: Path) -> None:
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32, "attention_factor": 1.5}
    for data in (lists, {"rope_scaling": lists}, {"text_config": {"rope_parameters": lists}}):
        made = make([plain(1e4, 64, trained=4096)], factors(tmp_path, data)).schedules
        assert [s.name for s in made] == ["text/short", "text/long"]
        assert near(made[0].inv_freq, list(plain(1e4, 64).inv_freq), 1)
        assert near(made[1].inv_freq, [v / 4 for v in plain(1e4, 64).inv_freq], 1)
        assert {s.attention_scaling for s in made} == {1.5}
    (stored,) = make([raw(plain(1e4, 64).inv_freq)], factors(tmp_path, lists)).schedules
    assert stored.inv_freq == plain(1e4, 64).inv_freq


def test_longrope_is_what_the_config_of_a_real_model_means(tmp_path: Path) -> None:
    """A model's own config is a factor file: its plain twin becomes the model's schedules."""
    folder = ZOO / "microsoft__Phi-4-mini-reasoning"
    wanted = resolve(str(folder / "config.json"), offline=True).schedules
    config = json.loads((folder / "config.json").read_text())
    twin = {k: v for k, v in config.items() if k != "rope_scaling"}
    made = make(read(twin, tmp_path), f"longrope:{folder / 'config.json'}").schedules
    assert [s.name for s in made] == [s.name for s in wanted]
    for a, b in zip(made, wanted, strict=True):
        assert a.inv_freq == b.inv_freq
        assert math.isclose(a.attention_scaling, b.attention_scaling, rel_tol=1e-9)


def test_longrope_at_a_length(tmp_path: Path) -> None:
    """A schedule of one length gets the list that serves it, and keeps its name."""
    lists = {"short_factor": [1.0] * 32, "long_factor": [4.0] * 32}
    for variant, factor in (("@4096", 1), ("@4097", 4), ("long", 4), ("short", 1)):
        base = plain(1e4, 64, trained=4096, variant=variant)
        (made,) = make([base], factors(tmp_path, lists)).schedules
        assert made.name == f"text/{variant}"
        assert near(made.inv_freq, [v / factor for v in plain(1e4, 64).inv_freq], 1)


def test_longrope_needs_a_length_or_a_fitting_list(tmp_path: Path) -> None:
    bare = raw([1.0, 0.5])
    for base, data, said in (
        (plain(1e4, 64), [1.0] * 32, "give original_max_position_embeddings in the file"),
        (bare, [1.0] * 3, "3 factors and the table 2 channels"),
        (bare, [1.0, -1.0], "not above 0"),
    ):
        with pytest.raises(UsageError, match=said):
            make([base], factors(tmp_path, data))
    (tmp_path / "factors.json").write_bytes(b"[1, \xff]")
    with pytest.raises(UsageError, match="not UTF-8"):
        make([bare], f"longrope:{tmp_path / 'factors.json'}")
    (tmp_path / "factors.json").write_bytes(b" " * ((1 << 24) + 1))
    with pytest.raises(UsageError, match="larger than any list"):
        make([bare], f"longrope:{tmp_path / 'factors.json'}")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "cannot read the factor file"),
        ("[1, 2", "ends in the middle"),
        ("[1, 1]", "has 2 entries, expected rotary_dim/2 = 32"),
        ('{"long": [1]}', "holds no factors"),
        ('["a"]', "holds no factors"),
        ("[]", "holds no factors"),
        ("3", "holds no factors"),
    ],
)
def test_a_bad_factor_file_is_said(data: str | None, said: str, tmp_path: Path) -> None:
    recipe = factors(tmp_path, data) if data is not None else f"longrope:{tmp_path}/none.json"
    with pytest.raises(UsageError, match=said):
        make([plain(1e4, 64, trained=4096)], recipe)
