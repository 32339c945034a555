"""The Python API on real models: what is healthy passes, what is broken is named for what it is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from tests.live_models import LLAMA3, SIZES, YARN, errors, gemma3, llama, phi3, prompt, refused

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


HEALTHY: dict[str, Callable[[], Any]] = {
    "llama": llama,
    "llama3": lambda: llama(rope_parameters=LLAMA3, max_position_embeddings=131072),
    "yarn": lambda: llama(rope_parameters=YARN),
    "dynamic": lambda: llama(
        rope_parameters={"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 2.0}
    ),
    "gemma3": gemma3,
    "phi3 short": lambda: prompt(phi3(), 8),
    "phi3 long": lambda: prompt(phi3(), 100),
    "wrapped": lambda: torch.nn.ModuleDict({"module": llama()}),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_healthy_models_pass(name: str) -> None:
    report = ropeaudit.assert_safe(HEALTHY[name]())
    assert errors(report) == {}
    assert report.subject.stored()
    assert report.subject.built()


SMALL = SIZES | {"hidden_size": 128, "num_hidden_layers": 4}


FAMILIES: dict[str, dict[str, Any]] = {
    "Mistral": {},
    "Qwen2": {},
    "Qwen3": {},
    "Gemma2": {},
    "Phi": {},
    "GPTNeoX": {},
    "Falcon": {"num_kv_heads": 1, "alibi": False},
    "StableLm": {},
    "Cohere2": {},
    "Olmo3": {},
    "SmolLM3": {},
    "Glm4": {},
    "GptOss": {"num_local_experts": 2, "num_experts_per_tok": 1},
    "Llama4": {"num_local_experts": 2, "intermediate_size_mlp": 16},
    "Persimmon": {},
    "Helium": {},
    "Granite": {},
    "DeepseekV3": {
        "num_key_value_heads": 2,
        "n_routed_experts": 4,
        "moe_intermediate_size": 16,
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "n_group": 1,
        "topk_group": 1,
        "num_experts_per_tok": 2,
        "first_k_dense_replace": 1,
    },
}


NO_HEAD_DIM = frozenset({"Phi", "GPTNeoX", "Falcon", "StableLm", "Persimmon", "DeepseekV3"})


@pytest.mark.parametrize("name", FAMILIES)
def test_healthy_families_pass(name: str) -> None:
    options = SMALL | FAMILIES[name]
    if name in NO_HEAD_DIM:
        del options["head_dim"]
    text = getattr(transformers, f"{name}TextConfig", None)
    config = text or getattr(transformers, f"{name}Config")
    model = getattr(transformers, f"{name}ForCausalLM")(config(**options))
    report = ropeaudit.assert_safe(model)
    assert report.subject.stored()
    assert report.subject.built()
    held = {s.inv_freq for s in report.subject.stored()}
    assert len(held) == len({s.inv_freq for s in report.subject.built()})


@pytest.mark.parametrize("name", ["PixtralVision", "DINOv3ViT"])
def test_vision_models_that_stand_alone(name: str) -> None:
    sizes = {k: v for k, v in SMALL.items() if k in ("intermediate_size", "num_attention_heads")}
    config = getattr(transformers, f"{name}Config")
    model = getattr(transformers, f"{name}Model")(
        config(**sizes, hidden_size=128, num_hidden_layers=1)
    )
    report = ropeaudit.assert_safe(model)
    assert {s.component for s in report.subject.schedules} == {"vision"}
    assert len(report.subject.stored()) == 1


@dataclasses.dataclass
class Params:
    dim: int = 256
    n_layers: int = 2
    n_heads: int = 2
    rope_theta: float = 500000.0
    max_seq_len: int = 2048


class MetaStyle(torch.nn.Module):
    """Settings named ``params``, complex rows as a plain attribute: as Meta's own code does."""

    def __init__(self, base: float) -> None:
        super().__init__()
        self.params = Params()
        angles = torch.outer(torch.arange(64.0), base ** (-torch.arange(0, 128, 2) / 128))
        self.freqs_cis = torch.polar(torch.ones_like(angles), angles)


def test_models_of_other_houses() -> None:
    report = ropeaudit.assert_safe(MetaStyle(500000.0))
    assert report.subject.built()[0].rope_theta == 500000.0
    assert "RA401" in refused(MetaStyle(10000.0))


def test_values_that_are_no_target() -> None:
    assert "expected a path, an hf: id" in refused(42)
    assert ropeaudit.audit(42).exit_code == 2


def test_paths_and_modules_in_one_call(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(llama().config.to_dict() | {"dtype": None}))
    report = ropeaudit.audit(path, str(path), llama(), tmp_path / "absent.json")
    formats = [s.subject.format for s in report.subjects]
    assert formats == ["hf-config", "hf-config", "module", "unknown"]
    assert report.exit_code == 2
    assert ropeaudit.assert_safe(path).verdict is not ropeaudit.Verdict.FAIL


def test_read_gives_schedules() -> None:
    subject = ropeaudit.read(llama(), contexts=[8192])
    assert [s.name for s in subject.schedules] == ["text", "text/stored"]
    assert subject.schedules[0].inv_freq == subject.schedules[1].inv_freq


def test_packs_and_levels_are_chosen() -> None:
    model = llama().to(torch.bfloat16)
    assert "RA501" in refused(model, rules=("core", "strict"), fail_on="info")
    assert "RA301" in refused(llama(), fail_on=ropeaudit.Severity.INFO)


@pytest.mark.parametrize(
    "options",
    [
        {"fail_on": "fatal"},
        {"fail_on": None},
        {"contexts": [0]},
        {"contexts": ["8k"]},
        {"contexts": [True]},
        {"contexts": [10**400]},
        {"contexts": 8.5},
        {"rules": []},
        {"rules": 5},
        {"overrides": [5]},
    ],
)
def test_wrong_arguments(options: Any) -> None:
    with pytest.raises(ropeaudit.UsageError) as caught:
        ropeaudit.audit(torch.nn.Linear(2, 2), **options)
    assert "\n" not in str(caught.value)


def test_wrong_pack() -> None:
    with pytest.raises(ropeaudit.PackError):
        ropeaudit.audit(torch.nn.Linear(2, 2), rules="corre")


def test_message_is_short_and_printable() -> None:
    model = torch.nn.ModuleDict()
    for at in range(30):
        inner = torch.nn.Module()
        table = torch.full((8,), float("nan"))
        table[0] = at + 1
        inner.register_buffer("inv_freq", table)
        model[f"\x1b[31m{at}"] = inner
    message = refused(model)
    assert len(message.splitlines()) <= 10
    assert all(line.isprintable() for line in message.splitlines())
    assert "more; ropeaudit.audit() reports all" in message


def test_one_length_and_one_override_need_no_list() -> None:
    one = ropeaudit.read(llama(), contexts=8192, overrides="rope_parameters.rope_theta=1e6")
    many = ropeaudit.read(llama(), contexts=[8192], overrides=["rope_parameters.rope_theta=1e6"])
    assert one.lengths == many.lengths == (8192,)
    assert one.schedules == many.schedules
    assert one.schedules[0].rope_theta == 1e6
