"""Regenerate ``ropeaudit/schedule/model_types.json`` from the installed transformers.

    python tests/oracles/model_types.py            # writes the data file
    python tests/oracles/model_types.py --check    # fails if it would change

Nothing here is copied from transformers: every config class is built with probe values and looked
at, and the rotary modules are recognised by a few marks in their source. What probing cannot find
out stands in ``model_types_by_hand.json``, which is laid over the result, key by key.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import inspect
import json
import logging
import os
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

sys.path.insert(0, str(Path(__file__).parent))  # runs as a script, from anywhere

from config_probes import function_source, head_dim_rule, layer_rule, rope_rule

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "ropeaudit" / "schedule" / "model_types.json"
BY_HAND = HERE / "model_types_by_hand.json"
REMOTE = HERE / "model_types_remote.json"
"""Model types whose code is not in transformers; ``like`` starts from another type's entry."""

POSITION_FIELDS = """
    hidden_size num_attention_heads head_dim max_position_embeddings num_hidden_layers
    partial_rotary_factor rotary_dim qk_rope_head_dim qk_nope_head_dim sliding_window
    use_sliding_window max_window_layers layer_types attention_chunk_size rope_theta
    use_mem_rope no_rope_layers no_rope_layer_interval original_max_position_embeddings
    memory_attention_hidden_size memory_attention_downsample_rate
    memory_attention_num_attention_heads projection_dim speech_encoder_attention_heads
    rotary_embedding_base layer_rope_theta rope_scaling_layers embed_dim global_head_dim
    compress_rope_theta position_embedding_type position_embeddings_type
    prefix_dense_sliding_window_pattern image_size patch_size rope_interleave alibi
""".split()  # noqa: SIM905
NOT_ROTARY = {
    "BrosPositionalEmbedding1D",
    "ParakeetEncoderRelPositionalEncoding",
    "NemotronAsrStreamingEncoderRelPositionalEncoding",
    "PPDocLayoutV2PositionRelationEmbedding",
    "VoxtralRealtimeTimeEmbedding",
    "FunnelAttentionStructure",
    "Kimi_K25VisionPositionEmbeddings",
    "Nemotron3_5TranscribeSpeakerEmbedding",
    "EsmFold2RotaryEmbedding",
}
"""Classes that hold sinusoids which are added or computed on the fly: not rotary tables."""


COMPONENT_WORDS = (
    ("talker", "talker"),
    ("vision", "vision"),
    ("vit", "vision"),
    ("audio", "audio"),
    ("speech", "audio"),
    ("dit", "dit"),
    ("code2wav", "code2wav"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    text = render(generate())
    if options.check:
        same = TARGET.read_text(encoding="utf-8") == text
        print("unchanged" if same else f"{TARGET.name} would change")
        return 0 if same else 1
    TARGET.write_text(text, encoding="utf-8")
    print(f"{TARGET}: {len(text)} bytes")
    return 0


def render(data: dict[str, Any]) -> str:
    """One model type a line, so that a change is one line in a diff."""
    lines = [
        f"{json.dumps(k)}:{json.dumps(v, separators=(',', ':'), sort_keys=True)}"
        for k, v in sorted(data["types"].items())
    ]
    head = json.dumps({k: v for k, v in data.items() if k != "types"}, separators=(",", ":"))
    return head[:-1] + ',"types":{\n' + ",\n".join(lines) + "\n}}\n"


def generate() -> dict[str, Any]:
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    hand = json.loads(BY_HAND.read_text(encoding="utf-8"))
    configs, modules = discover()
    types: dict[str, dict[str, Any]] = {}
    for key, cls in configs.items():
        entry = describe(cls, modules.get(key, []))
        if entry and cls.model_type:
            old = types.get(cls.model_type)
            if old is None or ("rope" in entry and "rope" not in old):
                types[cls.model_type] = entry
    for entry in types.values():
        law = entry.get("rope", {}).pop("converted_by", None)
        if law is not None:
            entry["rope"] = overlay(entry["rope"], hand["conversions"].get(law, {}))
    remote = json.loads(REMOTE.read_text(encoding="utf-8"))["types"] if REMOTE.exists() else {}
    for name, extra in [*hand["types"].items(), *remote.items()]:
        started = types.get(extra["like"], {}) if "like" in extra else types.get(name, {})
        types[name] = overlay(started, {k: v for k, v in extra.items() if k != "like"})
    keep_reachable(types)
    known = {str(n) for n in CONFIG_MAPPING_NAMES} | {c.model_type for c in configs.values()}
    silent = sorted(n for n in known - set(types) if n)
    return {
        "source": f"transformers {transformers.__version__}",
        "no_rotary": silent,
        **{k: v for k, v in hand.items() if k not in ("types", "conversions")},
        "types": types,
    }


def overlay(base: dict[str, Any], extra: dict[str, Any]) -> dict[str, Any]:
    """``extra`` over ``base``, recursively; null removes a key, "=" copies another type."""
    out = dict(base)
    for key, value in extra.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = overlay(out[key], value)
        else:
            out[key] = value
    return out


def keep_reachable(types: dict[str, dict[str, Any]]) -> None:
    """Drop types that have neither a table nor a part that leads to one."""
    useful = {n for n, e in types.items() if "rope" in e or "none" in e or "when" in e}
    grew = True
    while grew:
        more = {
            n
            for n, e in types.items()
            if any(p[2] in useful or p[3] for p in e.get("parts", ())) and n not in useful
        }
        grew = bool(more)
        useful |= more
    for name in set(types) - useful:
        del types[name]
    for entry in types.values():
        entry["parts"] = [p for p in entry.get("parts", ()) if p[2] in useful or p[3]]
        if not entry["parts"]:
            del entry["parts"]


def discover() -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], list[Any]]]:
    """Config classes by (package, name), and the rotary module classes that take each."""
    import transformers
    import transformers.models
    from torch import nn

    root = Path(transformers.models.__path__[0])
    configs: dict[tuple[str, str], Any] = {}
    modules: dict[tuple[str, str], list[Any]] = {}
    for folder in sorted(p for p in root.iterdir() if p.is_dir()):
        for path in sorted(folder.glob("configuration_*.py")):
            module = importlib.import_module(f"transformers.models.{folder.name}.{path.stem}")
            for name, cls in vars(module).items():
                if (
                    inspect.isclass(cls)
                    and issubclass(cls, transformers.PreTrainedConfig)
                    and cls.__module__ == module.__name__
                ):
                    configs[folder.name, name] = cls
        for path in sorted(folder.glob("modeling_*.py")):
            if "inv_freq" not in path.read_text(encoding="utf-8"):
                continue
            module = importlib.import_module(f"transformers.models.{folder.name}.{path.stem}")
            for name, cls in vars(module).items():
                if (
                    inspect.isclass(cls)
                    and issubclass(cls, nn.Module)
                    and not issubclass(cls, transformers.PreTrainedModel)
                    and cls.__module__ == module.__name__
                    and "inv_freq" in inspect.getsource(cls)
                    and name not in NOT_ROTARY
                    and not name.endswith("Layer")
                ):
                    for key in accepted(cls, folder.name, configs):
                        modules.setdefault(key, []).append(cls)
    return configs, modules


def accepted(cls: Any, package: str, configs: dict[tuple[str, str], Any]) -> list[tuple[str, str]]:
    """Config classes of ``package`` with which ``cls`` builds; the annotated one first."""
    annotation = inspect.signature(cls.__init__).parameters.get("config")
    wanted = getattr(annotation and annotation.annotation, "__name__", "")
    found = []
    for key, config in configs.items():
        if key[0] != package:
            continue
        try:
            buffers = dict(cls(config()).named_buffers())
        except Exception:
            # Composite configs and those of other parts of the model lack the fields.
            if key[1] == wanted and package == "cohere_compass":
                found.append(key)
            continue
        if any("inv_freq" in n for n in buffers):
            found.append(key)
    exact = [k for k in found if k[1] == wanted]
    siblings = [k for k in found if k[1] != wanted]
    return exact + siblings


def describe(cls: Any, modules: list[Any]) -> dict[str, Any]:
    entry: dict[str, Any] = {}
    parts = composite_parts(cls)
    if parts:
        entry["parts"] = parts
    if not modules:
        return entry
    config = cls()
    entry["component"] = component_of(cls)
    fields = {f.name: f.default for f in dataclasses.fields(cls)}
    attribute_map = dict(cls.attribute_map)
    entry["defaults"] = defaults_of(cls, config, fields, attribute_map)
    aliases = aliases_of(attribute_map)
    if aliases:
        entry["aliases"] = aliases
    module = best_module(cls, modules)
    entry["head_dim"] = head_dim_rule(cls, fields, function_source(module))
    entry["rope"] = rope_rule(cls, config, module)
    layers = layer_rule(cls, fields)
    if layers:
        entry["layers"] = layers
    return entry


def best_module(cls: Any, modules: list[Any]) -> Any:
    """The class annotated with ``cls``; else the first that accepts it."""
    for module in modules:
        parameter = inspect.signature(module.__init__).parameters.get("config")
        if getattr(parameter and parameter.annotation, "__name__", "") == cls.__name__:
            return module
    return modules[0]


def component_of(cls: Any) -> str:
    name = (cls.model_type or cls.__name__).lower()
    return next((part for word, part in COMPONENT_WORDS if word in name), "text")


def composite_parts(cls: Any) -> list[list[Any]]:
    """[key, null, default model type, whether the file's own model_type decides]."""
    import transformers

    out = []
    for key, spec in (cls.sub_configs_defaults or {}).items():
        concrete = inspect.isclass(spec.config_class) and issubclass(
            spec.config_class, transformers.PreTrainedConfig
        )
        out.append([key, bool(spec.optional), spec.model_type, not concrete])
        if spec.init_kwargs:
            small = {
                k: v
                for k, v in spec.init_kwargs.items()
                if k in POSITION_FIELDS and not isinstance(v, list | dict)
            }
            if small:
                out[-1].append(small)
    return out


def defaults_of(cls: Any, config: Any, fields: Any, amap: dict[str, str]) -> dict[str, Any]:
    out = {}
    for name in POSITION_FIELDS:
        stored = amap.get(name, name)
        value = fields.get(stored)
        if stored not in fields or value is dataclasses.MISSING or value is None:
            continue
        if isinstance(value, list | tuple):
            value = list(value)
        if isinstance(value, bool | int | float | str | list):
            out[name] = value
    out.pop("layer_types", None)
    return out


def aliases_of(amap: dict[str, str]) -> dict[str, list[str]]:
    out = {}
    for name in POSITION_FIELDS:
        stored = amap.get(name, name)
        spellings = [stored, *(k for k, v in amap.items() if v == stored and k != stored)]
        if spellings != [name]:
            out[name] = spellings
    return out


if __name__ == "__main__":
    sys.exit(main())
