"""Certificates of real and of random configs are verified, whatever they prove."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.certify import certify, check
from ropeaudit.verifier import verify

ZOO = Path(__file__).parents[2] / "fixtures" / "zoo"
FEW = (
    "Qwen__Qwen2.5-7B-Instruct-1M",
    "nvidia__Gemma-4-31B-IT-NVFP4",
    "CallComply__zephyr-7b-beta-128k",
    "LiquidAI__LFM2.5-VL-1.6B",
    "Qwen__Qwen-7B-Chat",
)


def passes(target: Path, **options: Any) -> None:
    made = certify([str(target)], **options)
    result = verify(made.to_json())
    if result.kind == "stated":  # it holds digests of encodings, which only the target decides
        result = check(made.to_json(), [str(target)], **options)
    assert result.kind == "verified", (target, result.message)
    assert result.proved + result.refuted + result.undecided == len(made.claims)


@pytest.mark.parametrize("name", FEW)
def test_a_few_real_configs(name: str) -> None:
    passes(ZOO / name / "config.json")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(p.name for p in ZOO.iterdir() if p.is_dir()))
def test_every_real_config(name: str) -> None:
    for path in sorted((ZOO / name).glob("*.json")):
        if path.name in ("config.json", "params.json"):
            passes(path)


NUMBERS = st.sampled_from([1, 1.0, 2, 0.5, 3.7, 1 / 3, 40, 0.0001]) | st.floats(0.01, 1e4)
LENGTHS = st.sampled_from([32, 512, 4096, 1000.5])
SCALINGS = st.none() | st.one_of(
    st.fixed_dictionaries({"rope_type": st.sampled_from(["linear", "dynamic"]), "factor": NUMBERS}),
    st.fixed_dictionaries(
        {
            "rope_type": st.just("llama3"),
            "factor": NUMBERS,
            "low_freq_factor": NUMBERS,
            "high_freq_factor": NUMBERS,
            "original_max_position_embeddings": LENGTHS,
        }
    ),
    st.fixed_dictionaries(
        {
            "rope_type": st.just("yarn"),
            "factor": NUMBERS,
            "original_max_position_embeddings": LENGTHS,
            "truncate": st.booleans(),
        },
        optional={"beta_fast": NUMBERS, "beta_slow": NUMBERS},
    ),
    st.fixed_dictionaries(
        {
            "rope_type": st.just("proportional"),
            "factor": NUMBERS,
            "partial_rotary_factor": st.sampled_from([0.25, 0.3, 1.0]),
        }
    ),
)
BASES = st.sampled_from([1.0, 2, 0.5, 4096, 1e4, 10000.5, 2**31 - 1, 1.0000001, 1e-3, 1e15])


@settings(max_examples=15)
@given(
    base=BASES | st.floats(1e-3, 1e12),
    scaling=SCALINGS,
    half=st.integers(1, 10),
    context=st.sampled_from([None, 3000]),
)
def test_random_configs(base: float, scaling: Any, half: int, context: int | None) -> None:
    config = {
        "model_type": "llama",
        "hidden_size": 4 * half,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "max_position_embeddings": 2048,
        "rope_theta": base,
    }
    config |= {} if scaling is None else {"rope_scaling": scaling}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "config.json"
        target.write_text(json.dumps(config))
        passes(target, contexts=() if context is None else (context,))


FLOATS = st.floats() | st.floats(1e-8, 1) | st.sampled_from([0.0, 448.0, 65520.0, 2.0**-149])


@settings(max_examples=15)
@given(table=st.lists(FLOATS, min_size=1, max_size=12))
def test_random_tables(table: list[float]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "table.npy"
        import numpy as np

        np.save(target, np.array(table))
        passes(target)
