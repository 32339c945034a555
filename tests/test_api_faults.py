"""Faults that assert_safe refuses at the start of training or serving."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ropeaudit
from tests.live_models import LLAMA3, YARN, errors, gemma3, llama, prompt, refused

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


def uninitialised(fill: Callable[[Any], None]) -> Any:
    with torch.device("meta"):
        model = llama()
    model.to_empty(device="cpu")
    with torch.no_grad():
        for buffer in model.buffers():
            fill(buffer)
    return model


@pytest.mark.parametrize(
    "fill",
    [
        lambda b: b.fill_(float("nan")),
        lambda b: b.fill_(-1.468446e34),
        lambda b: b.copy_(torch.linspace(6.93e-18, 3e5, len(b))),
        lambda b: b.copy_(torch.rand(len(b), generator=torch.Generator().manual_seed(1)) * 2),
    ],
    ids=["nan", "huge", "plausible magnitudes", "random"],
)
def test_uninitialised_memory(fill: Callable[[Any], None]) -> None:
    message = refused(uninitialised(fill))
    assert "RA105" in message
    assert "RA401" in message
    assert "model.rotary_emb.inv_freq" in message


def test_zeroed_buffers() -> None:
    message = refused(uninitialised(lambda b: b.zero_()))
    assert "RA104" in message
    assert "RA101" in message


def test_cast_to_bfloat16() -> None:
    report = ropeaudit.audit(llama(max_position_embeddings=32768).to(torch.bfloat16)).subjects[0]
    finding = errors(report)["RA501"]
    assert finding.evidence["dtype"] == "bfloat16"
    assert finding.location is not None
    assert finding.location.tensor == "model.rotary_emb.inv_freq"
    assert "RA401" not in errors(report)


def test_cast_and_cast_back() -> None:
    report = ropeaudit.audit(llama(max_position_embeddings=32768).to(torch.bfloat16).float())
    assert errors(report.subjects[0])["RA501"].evidence["cast_back"] is True


def test_config_changed_after_construction() -> None:
    model = llama()
    model.config.rope_parameters["rope_theta"] = 500000.0
    message = refused(model)
    assert "RA401 config-vs-stored" in message
    assert "10000" in message


def test_scaling_that_a_replaced_module_lost() -> None:
    model = llama(rope_parameters=LLAMA3, max_position_embeddings=131072)
    plain = llama(rope_parameters={"rope_type": "default", "rope_theta": 500000.0})
    model.model.rotary_emb = plain.model.rotary_emb
    assert "the llama3 scaling is lost" in refused(model)


def test_attention_factor_that_a_replaced_module_lost() -> None:
    model = llama(rope_parameters=YARN)
    model.model.rotary_emb.attention_scaling = 1.0
    assert "RA305" in errors(ropeaudit.audit(model).subjects[0])


def test_dynamic_state_of_a_long_prompt() -> None:
    scaling = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    model = prompt(llama(rope_parameters=scaling, max_position_embeddings=64), 300)
    message = refused(model)
    assert "RA401" in message
    assert "state of an earlier" in message
    report = ropeaudit.audit(model)
    assert "stale_buffer" in {n.kind for n in report.subjects[0].subject.notes}
    ropeaudit.assert_safe(prompt(model, 8))


def test_swapped_tables_of_two_layer_types() -> None:
    model = gemma3()
    rotary = model.model.rotary_emb
    with torch.no_grad():
        swapped = rotary.full_attention_inv_freq.clone(), rotary.sliding_attention_inv_freq.clone()
        rotary.sliding_attention_inv_freq.copy_(swapped[0])
        rotary.full_attention_inv_freq.copy_(swapped[1])
    message = refused(model)
    assert message.count("RA401") == 2


def test_one_layer_of_many_is_wrong() -> None:
    model = llama(num_hidden_layers=4)
    kind = type(model.model.rotary_emb)
    for layer in model.model.layers:
        layer.self_attn.rotary_emb = kind(model.config)
    with torch.no_grad():
        model.model.layers[2].self_attn.rotary_emb.inv_freq[5] *= 1.5
    report = ropeaudit.audit(model).subjects[0]
    finding = errors(report)["RA401"]
    assert finding.location is not None
    assert finding.location.tensor == "model.layers.2.self_attn.rotary_emb.inv_freq"


def test_tensors_without_values_are_no_pass() -> None:
    with torch.device("meta"):
        model = llama()
    message = refused(model)
    assert "meta device" in message
    assert ropeaudit.assert_safe(model, allow_unknown=True).subject.stored() == ()
    assert ropeaudit.audit(model).verdict is not ropeaudit.Verdict.PASS


def test_models_without_rotation_are_no_pass() -> None:
    assert "could not be judged" in refused(torch.nn.Linear(2, 2))
    assert ropeaudit.audit(torch.nn.Linear(2, 2)).exit_code == 3
