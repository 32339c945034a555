"""Recovery: what else fits a table, and how far the next best is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from tests.proofs.recovered import DTYPES, LENGTH, built, found
from tests.schedules import cast, llama3, plain, proportional, scaled, yarn

LAWS = [
    plain(1e6),
    plain(3580165449.0),
    proportional(),
    llama3(),
    llama3(factor=16),
    scaled("linear", 1e6, 128, scaling={"factor": 8.0}),
    yarn(),
    scaled("yarn", 1.5e5, 64, scaling={"factor": 32, LENGTH: 4096, "truncate": False}),
    scaled("yarn", 5e4, 64, scaling={"factor": 32, LENGTH: 4096, "beta_fast": 1}),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("law", LAWS)
def test_other_parameters_do_fit_as_well(law: Schedule, dtype: str) -> None:
    held = cast(law, dtype).inv_freq
    fit = found(held)
    assert max(map(abs, _off(fit, held, fit["dtype"]))) == fit["max_ulp"]
    for other in fit["ambiguous"]:
        assert max(_off(other, held, fit["dtype"])) == other["max_ulp"] == fit["max_ulp"]
        assert {k: other[k] for k in ("rope_theta", "rope_type", "parameters")} != {
            k: fit[k] for k in ("rope_theta", "rope_type", "parameters")
        }
    assert fit["next"]["max_ulp"] == max(_off(fit["next"], held, fit["dtype"]))
    assert fit["next"]["max_ulp"] >= fit["max_ulp"]


def _off(fit: dict[str, Any], held: Sequence[float], dtype: str) -> list[int]:
    steps = {"float32": 1, "bfloat16": 1 << 16}
    pairs = zip(built(fit, dtype), held, strict=True)
    if dtype in steps:
        return [(ulp_distance(a, b) or 0) // steps[dtype] for a, b in pairs]
    bits = [torch.tensor(p, dtype=torch.float16).view(torch.int16).tolist() for p in pairs]
    return [abs(a - b) for a, b in bits]


def test_a_rounded_base_is_given_as_an_interval() -> None:
    held = cast(plain(1e6), "bfloat16").inv_freq
    bases = [f["rope_theta"] for f in found(held)["ambiguous"]]
    assert len(bases) == 2
    assert min(bases) < 1e6 < max(bases)
    for base, inside in ((min(bases), 1), (max(bases), -1)):
        assert cast(plain(base + inside), "bfloat16").inv_freq == held
        # Beyond the ends by a tenth of the interval it is another table.
        beyond = base - inside * (max(bases) - min(bases)) / 10
        assert cast(plain(beyond), "bfloat16").inv_freq != held


def test_a_truncated_ramp_leaves_length_and_turns_open() -> None:
    fit = found(yarn().inv_freq)
    assert fit["parameters"][LENGTH] == 32768
    for key, value in ((LENGTH, 32768), ("beta_fast", 32), ("beta_slow", 1)):
        values = [f["parameters"][key] for f in fit["ambiguous"]]
        assert min(values) < value < max(values), key


def test_only_quotients_of_llama3_show() -> None:
    doubled = {"factor": 8, "low_freq_factor": 2, "high_freq_factor": 8, LENGTH: 16384}
    assert doubled in [f["parameters"] for f in found(llama3().inv_freq)["ambiguous"]]


def test_a_step_is_yarn_and_llama3() -> None:
    """Llama 4 Scout has one bound for both ends, so nothing lies between."""
    table = scaled(
        "llama3", 5e5, 128,
        scaling={"factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 1.0, LENGTH: 8192},
    ).inv_freq  # fmt: skip
    fit = found(table)
    assert {fit["rope_type"], *(f["rope_type"] for f in fit["ambiguous"])} == {"yarn", "llama3"}


def test_the_next_best_base_tells_how_sharp_the_table_is() -> None:
    assert found(plain(1e6).inv_freq)["next"]["max_ulp"] > 1e6
    assert found(cast(plain(1e6), "bfloat16").inv_freq)["next"]["max_ulp"] == 22
