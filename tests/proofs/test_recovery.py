"""The law behind a table of floats: found again from tables that transformers builds."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import resolve
from ropeaudit.proofs.interface import Status
from ropeaudit.records import replace
from ropeaudit.schedule.float32 import f32
from tests.proofs.recovered import DTYPES, LENGTH, claimed, engine, found
from tests.schedules import cast, plain, proportional, raw, scaled, yarn

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
GEOMETRIC = ("default", "dynamic", "ntk_alpha", "axial")


PLAIN = [
    *[(1e4, 128), (1e4, 80), (1e4, 24), (1e4, 8), (5e5, 128), (1e6, 96), (1e6, 256), (1e7, 64)],
    *[(150000, 64), (8e6, 128), (1e9, 128), (1e11, 128), (100, 32), (2e4, 512)],
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("base", "dim"), PLAIN)
def test_plain_tables_give_base_and_width(base: float, dim: int, dtype: str) -> None:
    fit = found(engine({"rope_type": "default", "rope_theta": base}, dim, dtype))
    assert (fit["rope_type"], fit["rotary_dim"], fit["parameters"]) == ("default", dim, {})
    assert fit["rope_theta"] == base
    assert fit["dtype"] == dtype
    assert fit["max_ulp"] <= (2 if dtype == "float32" else 1)


SCALED = [
    (1e6, 128, {"rope_type": "linear", "factor": 8.0}),
    (1e5, 128, {"rope_type": "linear", "factor": 2.5}),
    (5e5, 128, {"rope_type": "llama3", "factor": 8.0, LENGTH: 8192}),
    (5e5, 64, {"rope_type": "llama3", "factor": 32.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "llama3", "factor": 16.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "yarn", "factor": 4.0, LENGTH: 32768}),
    (1e4, 64, {"rope_type": "yarn", "factor": 40.0, LENGTH: 4096}),
    (1e4, 128, {"rope_type": "yarn", "factor": 16.0, LENGTH: 8192}),
    (1e6, 128, {"rope_type": "yarn", "factor": 64.0, LENGTH: 4096, "beta_fast": 4}),
    (5e4, 64, {"rope_type": "yarn", "factor": 32.0, LENGTH: 4096, "beta_fast": 1}),
    (150000, 64, {"rope_type": "yarn", "factor": 32.0, LENGTH: 4096, "truncate": False}),
]
DEFAULTS = {
    "linear": {},
    "llama3": {"low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "yarn": {"beta_fast": 32, "beta_slow": 1, "truncate": True},
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("base", "dim", "rope"), SCALED)
def test_scaled_tables_give_their_parameters(
    base: float, dim: int, rope: dict[str, Any], dtype: str
) -> None:
    rope = DEFAULTS[rope["rope_type"]] | rope | {"rope_theta": base}
    fit = found(engine(rope, dim, dtype))
    wanted = {k: v for k, v in rope.items() if k not in ("rope_type", "rope_theta")}
    assert (fit["rope_type"], fit["rope_theta"]) == (rope["rope_type"], base)
    assert (fit["rotary_dim"], fit["dtype"]) == (dim, dtype)
    assert fit["parameters"] == wanted


def test_a_dynamic_table_is_a_plain_one_with_a_long_base() -> None:
    law = scaled("dynamic", 1e6, 128, scaling={"factor": 2.0}, declared=32768, length=65536)
    fit = found(law.inv_freq)
    assert fit["rope_type"] == "default"
    assert fit["rope_theta"] == pytest.approx(law.parameters["effective_rope_theta"], rel=1e-7)


def test_a_config_says_1e11_and_its_buffer_is_1e6_in_bfloat16() -> None:
    held = engine({"rope_type": "default", "rope_theta": 1e6}, 128, "bfloat16")
    schedule = replace(plain(1e11), inv_freq=tuple(held))
    assert claimed(schedule).evidence["rope_theta"] == 1e6


def test_nothing_but_the_table_counts() -> None:
    table = yarn()
    told = claimed(table).evidence
    assert told == claimed(raw(table.inv_freq, component=table.component)).evidence
    assert told == claimed(replace(table, rope_theta=123.0, parameters={}, head_dim=4)).evidence


def test_a_padded_table_is_read_over_the_whole_head() -> None:
    for dtype in DTYPES:
        fit = found(cast(proportional(512, 0.25), dtype).inv_freq)
        assert (fit["rope_type"], fit["rope_theta"]) == ("proportional", 1e6)
        assert fit["rotary_dim"] == 512
        assert fit["parameters"] == {"factor": 1, "partial_rotary_factor": 0.25}


def test_the_zoo_gives_back_its_bases() -> None:
    """Every schedule of every config: plain ones exactly, as far as float32 holds a base."""
    counted = 0
    for folder in sorted(ZOO.iterdir()):
        for schedule in resolve(str(folder / "config.json"), offline=True).schedules:
            if schedule.rope_type == "longrope":
                continue
            base = schedule.parameters.get("effective_rope_theta", schedule.rope_theta)
            claim = claimed(schedule)
            if claim.status is Status.REFUTED:  # Pixtral's towers, and image transformers
                how = "dealt" if schedule.rope_type == "axial" else "behind each other"
                assert how in claim.evidence["reason"]
                assert f"base {base:.0f}" in claim.evidence["reason"]
                i, j = claim.evidence["witness"]["channels"]
                assert schedule.inv_freq[i] < schedule.inv_freq[j]
                continue
            assert claim.status is Status.PROVED, (folder.name, claim.evidence)
            assert claim.evidence["max_ulp"] <= 2
            assert f32(claim.evidence["rope_theta"]) == pytest.approx(f32(base), rel=6e-8)
            if schedule.rope_type not in GEOMETRIC and schedule.rope_type != "ntk_fixed":
                same = schedule.rope_type == claim.evidence["rope_type"]
                also = [f["rope_type"] for f in claim.evidence["ambiguous"]]
                assert same or schedule.rope_type in also
            counted += 1
    assert counted >= 165


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_every_rotary_module_of_transformers_gives_back_its_base() -> None:
    """Default configs of all rotary classes: the base of the config or of a nested part of it."""
    from tests.readers.test_zoo import packages, pairs

    wrong, seen = [], 0
    for package in packages():
        for cls, config, buffers in pairs(package):
            bases = set(_bases(config.to_dict()))
            for label, (values, _) in buffers.items():
                claim = claimed(raw(values))
                base = claim.evidence.get("rope_theta")
                seen += 1
                where = f"{cls.__name__} {type(config).__name__} {label}"
                if claim.status is not Status.PROVED:
                    reason = claim.evidence["reason"]  # one ladder, in another order
                    if not ("dealt" in reason and any(f"base {b:.0f} " in reason for b in bases)):
                        wrong.append(f"{where}: {reason}")
                elif bases and not any(math.isclose(base, b, rel_tol=1e-6) for b in bases):
                    wrong.append(f"{where}: {base}, the config has {sorted(bases)}")
    assert seen >= 223
    assert wrong == []


def _bases(config: Any) -> list[float]:
    if not isinstance(config, dict):
        return []
    own = [v for k, v in config.items() if "theta" in str(k) and isinstance(v, int | float)]
    return own + [b for v in config.values() for b in _bases(v)]
