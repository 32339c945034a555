"""Helpers of the tests of recovery: claims, and tables that transformers builds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ropeaudit.proofs import recovery
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import Inputs, family
from tests.schedules import raw

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

LENGTH = "original_max_position_embeddings"
DTYPES = ("float32", "bfloat16", "float16")


def claimed(schedule: Schedule, ulp: int = 8) -> Claim:
    return recovery.prove(Exhibit(schedule=schedule, form=None, ulp=ulp))


def found(values: Sequence[float], ulp: int = 8, **kw: Any) -> Any:
    """The evidence about a bare table, which must be proved."""
    claim = claimed(raw(values, **kw), ulp)
    assert claim.status is Status.PROVED, claim.evidence
    assert claim.evidence["max_ulp"] <= ulp
    return claim.evidence


def engine(rope: dict[str, Any], dim: int, dtype: str = "float32") -> list[float]:
    """The buffer of transformers' Llama, cast by torch."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    config = transformers.LlamaConfig(
        hidden_size=4 * dim,
        num_attention_heads=4,
        head_dim=dim,
        max_position_embeddings=131072,
        rope_parameters=rope,
    )
    table = LlamaRotaryEmbedding(config).inv_freq
    return table.to(getattr(torch, dtype)).to(torch.float64).tolist()  # type: ignore[no-any-return]


def built(fit: dict[str, Any], dtype: str) -> list[float]:
    """The table of a set of parameters, by the law's own module and torch's rounding."""
    law = family(fit["rope_type"])
    assert law is not None
    given = dict(fit["parameters"])
    partial = given.pop("partial_rotary_factor", 1.0)
    table = law.build(
        Inputs(
            rope_theta=fit["rope_theta"],
            rotary_dim=fit["rotary_dim"],
            head_dim=fit["rotary_dim"],
            partial_rotary_factor=partial,
            scaling=given,
        )
    ).inv_freq
    rounded = torch.tensor(table, dtype=torch.float64).to(getattr(torch, dtype))
    return rounded.to(torch.float64).tolist()  # type: ignore[no-any-return]
