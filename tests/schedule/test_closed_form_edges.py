"""Closed forms against the tables and the engine, and what has none."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from ropeaudit.errors import InvalidValue
from ropeaudit.exact.inputs import ExactInputs
from ropeaudit.exact.terms import Power
from ropeaudit.schedule import families
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import ulp_distance
from tests.exact_values import form, value

F = Fraction


CASES: list[tuple[str, dict[str, Any]]] = [
    ("default", {}),
    ("linear", {"factor": 8.0}),
    ("ntk_alpha", {"alpha": 1000.0}),
    ("ntk_fixed", {"factor": 2.0}),
    ("dynamic", {"factor": 2.0}),
    ("proportional", {"factor": 2.0}),
    ("longrope", {
        "short_factor": [1.0 + k / 64 for k in range(32)],
        "long_factor": [1.0 + k for k in range(32)],
        "original_max_position_embeddings": 4096,
    }),
    ("yarn", {"factor": 4.0, "original_max_position_embeddings": 4096}),
    ("yarn", {"factor": 4.0, "original_max_position_embeddings": 4096, "truncate": False}),
    ("llama3", {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }),
    ("axial", {}), ("axial_thirds", {}), ("axial_dealt", {}), ("dinov3", {}),
    ("ernie_3d", {"mrope_section": [11, 11, 10]}),
    ("ladders", {"axes_dim": [16, 24, 24]}),
]  # fmt: skip


def exactly(given: Any) -> Any:
    if isinstance(given, list):
        return tuple(map(exactly, given))
    return F(given) if type(given) in (int, float) else given


def test_every_law_is_tried() -> None:
    laws = {family(name).NAMES[0] for name in families.names()}  # type: ignore[union-attr]
    assert {name for name, _ in CASES} == laws


@pytest.mark.parametrize(("law", "scaling"), CASES)
@pytest.mark.parametrize("length", [None, 5000])
def test_tables_are_their_closed_forms_to_a_few_ulp(
    law: str, scaling: dict[str, Any], length: int | None
) -> None:
    shared: dict[str, Any] = {"rotary_dim": 64, "head_dim": 64, "length": length}
    module = family(law)
    assert module is not None
    table = module.build(
        Inputs(
            rope_theta=1e4,
            partial_rotary_factor=0.5,
            max_position_embeddings=4096,
            scaling=scaling,
            **shared,
        )
    ).inv_freq
    found = module.closed_form(
        ExactInputs(
            rope_theta=F(10_000),
            partial_rotary_factor=F(1, 2),
            max_position_embeddings=F(4096),
            scaling={k: exactly(v) for k, v in scaling.items()},
            **shared,
        )
    )
    assert found.law == law
    assert len(found.terms) == len(table)
    for term, held in zip(found.terms, table, strict=True):
        distance = ulp_distance(float(value(term)), held)
        assert distance is not None
        assert distance <= 4


@pytest.mark.parametrize("case", [
    {"rope_type": "linear", "factor": 8.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096},
    {"rope_type": "yarn", "factor": 32, "original_max_position_embeddings": 4096,
     "truncate": False, "beta_fast": 8.0, "beta_slow": 0.5},
    {"rope_type": "proportional", "partial_rotary_factor": 0.25},
    {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 8192},
])  # fmt: skip
def test_the_engine_builds_the_closed_forms(case: dict[str, Any]) -> None:
    """Against ``ROPE_INIT_FUNCTIONS``, without this package's own tables in between."""
    rope_utils = pytest.importorskip("transformers.modeling_rope_utils")
    config = SimpleNamespace(
        rope_parameters={**case, "rope_theta": 5e5},
        head_dim=128,
        hidden_size=4096,
        num_attention_heads=32,
        max_position_embeddings=131072,
        standardize_rope_params=lambda: None,
    )
    kind = case["rope_type"]
    table, _ = rope_utils.ROPE_INIT_FUNCTIONS[kind](config)
    extra = {k: v for k, v in case.items() if k not in ("rope_type", "partial_rotary_factor")}
    found = form(
        kind,
        500_000,
        128,
        max_position_embeddings=F(131072),
        partial_rotary_factor=F(case.get("partial_rotary_factor", 1)),
        **extra,
    )
    for term, held in zip(found.terms, table.tolist(), strict=True):
        distance = ulp_distance(float(value(term)), held)
        assert distance is not None
        assert distance <= 8, (kind, term, held)


@pytest.mark.parametrize(("law", "dim", "scaling", "where"), [
    ("linear", 64, {}, "factor"),
    ("linear", 64, {"factor": 0}, "factor"),
    ("linear", 64, {"factor": -2}, "factor"),
    ("linear", 64, {"factor": "4"}, "factor"),
    ("ntk_alpha", 2, {"alpha": 2}, "rotary_dim"),
    ("dynamic", 2, {"factor": 2, "max_position_embeddings": F(64)}, "rotary_dim"),
    ("dynamic", 64, {"factor": 2}, "max_position_embeddings"),
    ("yarn", 63, {"factor": 2, "original_max_position_embeddings": 64}, "partial_rotary_factor"),
    ("yarn", 64, {"factor": 2}, "original_max_position_embeddings"),
    ("yarn", 64, {"original_max_position_embeddings": 64}, "factor"),
    ("yarn", 64, {"factor": 2, "original_max_position_embeddings": 64, "truncate": "no"},
     "truncate"),
    ("yarn", 64, {"factor": 2, "original_max_position_embeddings": 64, "beta_slow": -1},
     "beta_slow"),
    ("llama3", 64, {"factor": 2}, "original_max_position_embeddings"),
    ("longrope", 64, {"short_factor": (F(1),) * 31}, "short_factor"),
    ("longrope", 64, {"short_factor": (F(0),) * 32}, "short_factor"),
    ("longrope", 64, {"short_factor": "1"}, "short_factor"),
    ("ernie_3d", 64, {"mrope_section": (F(1), F(1), F(1))}, "mrope_section"),
    ("ladders", 64, {"axes_dim": (F(7, 2),)}, "axes_dim"),
    ("default", 0, {}, "rotary_dim"),
    ("default", 10**9, {}, "rotary_dim"),
])  # fmt: skip
def test_what_has_no_form_is_refused_with_its_place(
    law: str, dim: int, scaling: dict[str, Any], where: str
) -> None:
    with pytest.raises(InvalidValue) as caught:
        form(law, 10_000, dim, **scaling)
    assert caught.value.where == where


@pytest.mark.parametrize("base", [0, -1])
@pytest.mark.parametrize("law", ["default", "axial", "dinov3"])
def test_bases_that_are_none(law: str, base: int) -> None:
    with pytest.raises(InvalidValue, match="rope_theta"):
        form(law, base, 64)


def test_base_one_has_a_plain_form_and_no_ramp() -> None:
    assert set(form("default", 1, 8).terms) == {Power(F(1))}
    with pytest.raises(InvalidValue, match="base other than 1"):
        form("yarn", 1, 8, factor=2, original_max_position_embeddings=64)


def test_building_a_table_loads_no_exact_arithmetic() -> None:
    code = (
        "import sys; from ropeaudit.schedule.families import Inputs, family;"
        "family('yarn').build(Inputs(rope_theta=1e4, rotary_dim=64, head_dim=64, scaling="
        "{'factor': 2.0, 'original_max_position_embeddings': 64}));"
        "print(sorted({'fractions', 'decimal', 'mpmath', 'numpy'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
