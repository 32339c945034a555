"""Small live models, and what assert_safe says of them."""

from __future__ import annotations

from typing import Any

import pytest

import ropeaudit
from ropeaudit.findings import Finding, Status
from ropeaudit.verdict import SubjectReport

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


SIZES = {
    "hidden_size": 256,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 128,
    "num_hidden_layers": 2,
    "vocab_size": 64,
    "max_position_embeddings": 4096,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 4.0,
    "original_max_position_embeddings": 1024,
}


def llama(**options: Any) -> Any:
    options = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}} | options
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(**SIZES | options))


def gemma3() -> Any:
    config = transformers.Gemma3TextConfig(**SIZES | {"num_hidden_layers": 6})
    return transformers.Gemma3ForCausalLM(config)


def phi3() -> Any:
    scaling = {
        "rope_type": "longrope",
        "rope_theta": 10000.0,
        "short_factor": [1.0 + 0.001 * k for k in range(64)],
        "long_factor": [1.0 + 0.5 * k for k in range(64)],
        "original_max_position_embeddings": 64,
    }
    options = {"rope_parameters": scaling, "original_max_position_embeddings": 64}
    return transformers.Phi3ForCausalLM(
        transformers.Phi3Config(**SIZES | options | {"max_position_embeddings": 256})
    )


def prompt(model: Any, length: int) -> Any:
    with torch.no_grad():
        model(torch.ones(1, length, dtype=torch.long))
    return model


def errors(report: SubjectReport) -> dict[str, Finding]:
    return {
        f.rule: f
        for f in report.findings
        if f.status is Status.FAIL and f.severity is ropeaudit.Severity.ERROR
    }


def refused(model: Any, **options: Any) -> str:
    with pytest.raises(ropeaudit.UnsafeScheduleError) as caught:
        ropeaudit.assert_safe(model, **options)
    return str(caught.value)
