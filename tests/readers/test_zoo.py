"""Every rotary module that transformers can build from a default config, buffer by buffer.

The modules are found at test time by walking the modelling files of the installed transformers.
Each default config goes through JSON (``to_dict`` and ``to_diff_dict``), is read by ropeaudit, and
the schedules are compared with the buffers: at most 2 ulp per value, 1e-6 on attention scaling, the
right layer type, and nothing beyond the buffers and the documented variants.
"""

from __future__ import annotations

import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.document import Document
from ropeaudit.facts import Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.readers.transformers._layers import types
from ropeaudit.readers.transformers._node import Node
from ropeaudit.schedule import model_types
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

ULP, ATTENTION = 2, 1e-6

NOT_ROTARY = {
    "BrosPositionalEmbedding1D": "sinusoids of box coordinates, added to the embedding",
    "FunnelAttentionStructure": "relative sinusoids, no buffer",
    "Kimi_K25VisionPositionEmbeddings": "sinusoids of frame numbers, added",
    "Nemotron3_5TranscribeSpeakerEmbedding": "sinusoids of speaker numbers, added",
    "NemotronAsrStreamingEncoderRelPositionalEncoding": "Transformer-XL relative sinusoids",
    "PPDocLayoutV2PositionRelationEmbedding": "sinusoids of box relations, a bias",
    "ParakeetEncoderRelPositionalEncoding": "Transformer-XL relative sinusoids",
    "VoxtralRealtimeTimeEmbedding": "sinusoids of the delay, added",
    "EsmFold2RotaryEmbedding": "computes its angles on the fly, keeps no table",
}
"""Classes with an ``inv_freq`` that rotates nothing, or without a table to compare."""

NOT_BUILDABLE = {
    "CohereCompassRotaryEmbedding": "its default config is flat and the module reads nested dicts",
}
"""Rotary modules that fail on the default config of every class in their package."""

SWITCHES: dict[str, dict[str, Any]] = {
    "esm": {"position_embedding_type": "rotary"},
    "granitemoehybrid": {"position_embedding_type": "rope"},
    "seamless_m4t": {"position_embeddings_type": "rotary"},
    "wav2vec2-bert": {"position_embeddings_type": "rotary"},
    "wav2vec2-conformer": {"position_embeddings_type": "rotary"},
    "zamba2": {"use_mem_rope": True},
}
"""Model types whose default model does not build its rotary module, and what turns it on."""

FAST = (
    "llama mistral qwen2 qwen2_vl gemma3 gemma4 deepseek_v3 deepseek_v4 gpt_oss phi3 dinov3_vit "
    "ernie4_5_vl_moe pixtral modernbert gpt_neox minimax_m3_vl hunyuan_v1_dense apertus sam2_video"
)
"""Packages compared in the default suite; the others take a minute to import."""


def packages() -> list[str]:
    root = Path(transformers.__file__).parent / "models"
    return sorted(
        folder.name
        for folder in root.iterdir()
        if any("inv_freq" in p.read_text(encoding="utf-8") for p in folder.glob("modeling_*.py"))
    )


def members(package: str, pattern: str, base: type) -> Iterator[tuple[str, Any]]:
    root = Path(transformers.__file__).parent / "models" / package
    for path in sorted(root.glob(pattern)):
        module = importlib.import_module(f"transformers.models.{package}.{path.stem}")
        for name, cls in vars(module).items():
            if inspect.isclass(cls) and issubclass(cls, base) and cls.__module__ == module.__name__:
                yield name, cls


def rotary_classes(package: str) -> list[Any]:
    return [
        cls
        for name, cls in members(package, "modeling_*.py", torch.nn.Module)
        if "inv_freq" in inspect.getsource(cls)
        and not issubclass(cls, transformers.PreTrainedModel)
        and name not in NOT_ROTARY
    ]


def own_buffers(module: Any) -> dict[str | None, tuple[list[float], float]]:
    """Layer type -> buffer and attention scaling; copies of the original are left out."""
    found: dict[str | None, tuple[list[float], float]] = {}
    for name, buffer in module.named_buffers(recurse=False):
        if not name.endswith("inv_freq") or name.endswith("original_inv_freq"):
            continue
        prefix = name.removesuffix("inv_freq")
        scaling = getattr(module, f"{prefix}attention_scaling", 1.0)
        found[prefix.removesuffix("_") or None] = (buffer.tolist(), float(scaling))
    return found


def pairs(package: str) -> Iterator[tuple[Any, Any, dict[str | None, tuple[list[float], float]]]]:
    """(module class, config, buffers) for each config class of the package that builds it."""
    configs = [
        cls for _, cls in members(package, "configuration_*.py", transformers.PreTrainedConfig)
    ]
    for cls in rotary_classes(package):
        for config_class in configs:
            try:
                config = config_class(**SWITCHES.get(config_class.model_type, {}))
                buffers = own_buffers(cls(config))
            except Exception:  # a config of another part of the model lacks the fields
                continue
            if buffers:
                yield cls, config, buffers


def schedules(data: dict[str, Any]) -> tuple[Schedule, ...]:
    text = json.dumps(data)
    document = Document("config.json", json.loads(text), text)
    return reader.read(Reading(target="t", format="hf-config", document=document), ()).schedules


def differences(
    data: dict[str, Any], buffers: dict[str | None, tuple[list[float], float]]
) -> list[str]:
    """What differs, one line each. A composite's parts come behind its own schedules."""
    found = schedules(data)
    if not found:
        return ["no schedule"]
    own = [s for s in found if s.component == found[0].component]
    initial = {
        s.layer_type: s for s in own if s.variant is None or s.variant in first_variants(own)
    }
    out = [f"extra {label}" for label in initial if label not in buffers]
    for label, (values, scaling) in buffers.items():
        schedule = initial.get(label)
        if schedule is None:
            out.append(f"missing {label}")
        elif len(schedule.inv_freq) != len(values):
            out.append(f"{label}: {len(schedule.inv_freq)} channels, expected {len(values)}")
        else:
            both = zip(schedule.inv_freq, values, strict=True)
            ulps = [ulp_distance(a, b) for a, b in both]
            if any(u is None or u > ULP for u in ulps):
                out.append(f"{label}: {max(u or 0 for u in ulps)} ulp")
            if abs(schedule.attention_scaling - scaling) > ATTENTION:
                out.append(f"{label}: attention {schedule.attention_scaling}, expected {scaling}")
    variants = {s.variant for s in own} - {None, "short", "long"}
    out += [f"variant {v}" for v in variants if v is not None and not v.startswith("@")]
    return out


def first_variants(own: list[Schedule]) -> set[str | None]:
    """The variants that a fresh module holds: the short list, the smallest length."""
    lengths = [s.variant for s in own if s.variant and s.variant.startswith("@")]
    return {"short", *lengths[:1]}


def compare(package: str) -> tuple[set[str], list[str]]:
    compared: set[str] = set()
    wrong: list[str] = []
    for cls, config, buffers in pairs(package):
        compared.add(cls.__name__)
        for form in ("to_dict", "to_diff_dict"):
            data = getattr(config, form)()
            where = f"{cls.__name__} / {type(config).__name__}.{form}"
            wrong += [f"{where}: {line}" for line in differences(data, buffers)]
    return compared, wrong


@pytest.mark.parametrize("package", FAST.split())
def test_default_configs_give_the_tables_of_the_engine(package: str) -> None:
    compared, wrong = compare(package)
    assert compared
    assert wrong == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_every_rotary_module_of_transformers() -> None:
    compared: set[str] = set()
    wrong: list[str] = []
    for package in packages():
        done, differing = compare(package)
        compared |= done
        wrong += differing
    every = {cls.__name__ for package in packages() for cls in rotary_classes(package)}
    holders = {name for name in every if name.endswith("Layer")}  # they own a rotary module
    assert every - compared - holders == set(NOT_BUILDABLE)
    assert len(compared) >= 223
    assert wrong == []


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_layer_types_are_filled_in_as_the_config_classes_do() -> None:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    wrong = []
    for name in model_types.names():
        spec = model_types.lookup(name) or {}
        if "rope" not in spec or name not in CONFIG_MAPPING:
            continue
        for layers in (1, 5, 12, 24):
            data = {"model_type": name, "num_hidden_layers": layers}
            try:
                wanted = CONFIG_MAPPING[name](num_hidden_layers=layers).layer_types
            except Exception:  # no layer types, or a count that the class does not allow
                continue
            node = Node(Document("config.json", data), data, "", name, "text", spec)
            if wanted is not None and types(node) != [t for t in wanted if t != "mlp"]:
                wrong.append(f"{name} with {layers} layers")
    assert wrong == []


def test_the_comparison_notices_a_wrong_table() -> None:
    config = transformers.LlamaConfig()
    (cls,) = rotary_classes("llama")
    ((label, (values, scaling)),) = own_buffers(cls(config)).items()
    data = config.to_dict()
    assert differences(data, {label: (values, scaling)}) == []
    assert differences(data, {label: ([*values[:-1], values[-1] * 1.000001], scaling)})
    assert differences(data, {label: (values, scaling * 1.00001)})
    assert differences(data, {"full_attention": (values, scaling)})
    assert differences(data, {label: (values[:-1], scaling)})
