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
import re
import sys
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

HERE = Path(__file__).parent
TARGET = HERE.parents[1] / "ropeaudit" / "schedule" / "model_types.json"
BY_HAND = HERE / "model_types_by_hand.json"
REMOTE = HERE / "model_types_remote.json"
"""Model types whose code is not in transformers; ``like`` starts from another type's entry."""

POSITION_FIELDS = (
    "hidden_size",
    "num_attention_heads",
    "head_dim",
    "max_position_embeddings",
    "num_hidden_layers",
    "partial_rotary_factor",
    "rotary_dim",
    "qk_rope_head_dim",
    "qk_nope_head_dim",
    "sliding_window",
    "use_sliding_window",
    "max_window_layers",
    "layer_types",
    "attention_chunk_size",
    "rope_theta",
    "use_mem_rope",
    "no_rope_layers",
    "no_rope_layer_interval",
    "original_max_position_embeddings",
    "memory_attention_hidden_size",
    "memory_attention_downsample_rate",
    "memory_attention_num_attention_heads",
    "projection_dim",
    "speech_encoder_attention_heads",
    "rotary_embedding_base",
    "layer_rope_theta",
    "rope_scaling_layers",
    "embed_dim",
    "global_head_dim",
    "compress_rope_theta",
    "position_embedding_type",
    "position_embeddings_type",
    "prefix_dense_sliding_window_pattern",
    "image_size",
    "patch_size",
    "rope_interleave",
    "alibi",
)
PERIOD_KEYS = (
    "sliding_window_pattern",
    "global_attn_every_n_layers",
    "full_attention_interval",
    "layer_group_size",
    "no_rope_layer_interval",
)
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

QUOTIENT = re.compile(r"config\.(\w+) // config\.(\w+)")
PRODUCT = re.compile(r"config\.(\w+)\s*//\s*\(\s*config\.(\w+)\s*\*\s*config\.(\w+)\s*\)")
DEFAULT_QUOTIENT = QUOTIENT.search("config.hidden_size // config.num_attention_heads")

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


def probe(cls: Any, attribute: str, **values: Any) -> Any:
    try:
        return getattr(cls(**values), attribute, None)
    except Exception:
        return None


def head_dim_rule(cls: Any, fields: Any, source: str) -> list[Any]:
    """Where head_dim comes from, first present first; a list is a floor division."""
    rule: list[Any] = []
    reads = re.search(r"config\.head_dim|config, [\"']head_dim", source)
    if not reads:
        product = PRODUCT.search(source)
        return [list((product or QUOTIENT.search(source) or DEFAULT_QUOTIENT).groups())]
    usual = probe(cls, "head_dim")
    if any(probe(cls, "head_dim", head_dim=n) == n != usual for n in (78, 96, 48)):
        rule.append("head_dim")
    for name in ("qk_rope_head_dim",):
        if name in fields and probe(cls, "head_dim", **{name: 26}) == 26:
            rule.append(name)
            return rule
    rule.append(list((QUOTIENT.search(source) or DEFAULT_QUOTIENT).groups()))
    return rule


def function_source(module: Any) -> str:
    for name in ("compute_axial_rope_parameters", "compute_default_rope_parameters"):
        function = getattr(module, name, None)
        if function is not None:
            return re.sub(r'""".*?"""', "", inspect.getsource(function), flags=re.S)
    return inspect.getsource(module.__init__)


def rope_rule(cls: Any, config: Any, module: Any) -> dict[str, Any]:
    source = function_source(module)
    whole = re.sub(r'""".*?"""', "", inspect.getsource(module), flags=re.S)
    rule = table_rule(module, source, whole)
    if cls.default_rope_type != "default":
        rule["default_type"] = cls.default_rope_type
    if not isinstance(cls.default_theta, dict):
        rule["base"] = float(cls.default_theta)
    law = cls.convert_rope_params_to_dict.__qualname__.split(".")[0]
    if law != "RotaryEmbeddingConfigMixin":
        rule["converted_by"] = law
    start = getattr(config, "rope_parameters", None)
    if isinstance(start, dict):
        starting_dict(cls, rule, start)
    elif "rope_parameters" not in {f.name for f in dataclasses.fields(cls)}:
        attributes(cls, rule, source)
    if probe(cls, "head_dim") is None and "head_dim" not in {
        f.name for f in dataclasses.fields(cls)
    }:
        rule["odd_ok"] = True  # the even-width check looks at the attribute only
    rule["pairing"] = pairing_of(module, whole)
    axes = axes_of(module, whole)
    if axes:
        rule["axes"] = axes
    return rule


def starting_dict(cls: Any, rule: dict[str, Any], start: dict[str, Any]) -> None:
    """The dict that stands where the file has none, where it is more than the plain one."""
    if any(isinstance(v, dict) for v in start.values()):
        rule["nested"] = True
        rule["start"] = {
            k: (None if v is None else tidy(v)) for k, v in start.items() if k != "rope_type"
        }
        return
    plain = {"rope_theta", "rope_type", "partial_rotary_factor"}
    special = start.get("rope_type", "default") not in ("default", "axial")
    if special or set(start) - plain or start.get("rope_theta") != rule.get("base"):
        rule["start"] = tidy(start)
    top_level(cls, rule, start)


def top_level(cls: Any, rule: dict[str, Any], start: dict[str, Any]) -> None:
    """Which values of the class's own dict give way to top-level keys."""
    for key, value in (("rope_theta", 12345.0), ("partial_rotary_factor", 0.5625)):
        got = probe(cls, "rope_parameters", **{key: value}) or {}
        if got.get(key) == value and "start" in rule:
            rule["start"].pop(key, None)
        elif key == "partial_rotary_factor" and got.get(key) not in (value, None):
            rule["partial_fixed"] = got[key]
    given = start.get("partial_rotary_factor")
    if given is not None and "partial_rotary_factor" not in rule.get("start", {}):
        rule["partial_default"] = given
    if rule.get("start") in ({"rope_type": "default"}, {"rope_type": "axial"}):
        del rule["start"]


def attributes(cls: Any, rule: dict[str, Any], source: str) -> None:
    """Classes that keep the base in a field of its own, or in the code."""
    rule["attributes"] = True
    names = [n for n in ("rope_theta", "rotary_embedding_base") if f"config.{n}" in source]
    rule["base_keys"] = names
    if not names:
        rule["base_in_code"] = True


def tidy(values: dict[str, Any]) -> dict[str, Any]:
    return {("rope_type" if k == "type" else k): v for k, v in values.items()}


def table_rule(module: Any, source: str, whole: str) -> dict[str, Any]:
    """What the module's own table is, told by marks in its source."""
    rule: dict[str, Any] = {"module": module.__name__}
    kind = table_kind(source)
    if kind != "default":
        rule["kind"] = kind
    if "partial_rotary_factor" in source:
        rule["partial"] = True
        found = re.search(r"partial_rotary_factor[\"'], ([\d.]+)\)", source)
        if found and float(found[1]) != 1.0:
            rule["partial_missing"] = float(found[1])
    if "ROPE_INIT_FUNCTIONS" not in whole:
        rule["only"] = "axial" if "axial" in whole else "default"
    text = Path(inspect.getsourcefile(module) or "").read_text(encoding="utf-8")
    if "mscale_all_dim" in text and kind == "default":
        rule["softmax"] = "mscale_all_dim"
    return rule


def table_kind(source: str) -> str:
    marks = (
        ("hw_dim", "ernie_3d"),
        ("inv_freq[0::2], inv_freq[1::2]", "axial_dealt"),
        ("// 3) // 2", "axial_thirds"),
        ("arange(0, 1, 4 /", "dinov3"),
        ("spatial_dim", "axial"),
    )
    return next((kind for mark, kind in marks if mark in source), "default")


def pairing_of(module: Any, whole: str) -> str:
    if "repeat_interleave(2" in whole:
        return "interleaved"
    text = Path(inspect.getsourcefile(module) or "").read_text(encoding="utf-8")
    if "freq_hw, freq_hw" in whole or "freq_wh, freq_wh" in whole or "freq_h, freq_h" in whole:
        return "half"
    if "rope_interleave" in text and "config.rope_interleave" in text:
        return "key:rope_interleave"
    if "apply_rotary_pos_emb_interleave" in text or "view_as_complex" in text:
        return "interleaved"
    if "torch.polar" in whole:
        return "interleaved"
    halves = re.search(r"def rotate_half\(.*?(?=\n(?:def|class|@))", text, flags=re.S)
    if halves and "::2]" in halves[0]:
        return "interleaved"
    return "half"


def axes_of(module: Any, whole: str) -> dict[str, Any] | None:
    found = re.search(r"mrope_section[\"'], \[([\d, ]+)\]", whole)
    sections = [int(s) for s in found[1].split(",")] if found else None
    if "mrope_section" not in whole:
        return None
    if "slice(offset" in whole:
        return {"law": "interleaved", "sections": sections}
    if "section * 2" in whole:
        return {"law": "doubled", "sections": sections}
    return {"law": "blocks", "sections": sections}


def layer_rule(cls: Any, fields: Any) -> dict[str, Any] | None:
    """How layer_types are filled in where the file does not list them."""
    if not hasattr(cls(), "layer_types") or "num_hidden_layers" not in fields:
        return None
    if {"use_sliding_window", "max_window_layers"} <= set(fields):
        return {"law": "from_layer"}
    lists = {}
    for n in (25, 30):
        try:
            lists[n] = list(cls(num_hidden_layers=n).layer_types)
        except Exception:
            return None
    return fit_layers(cls, lists)


def fit_layers(cls: Any, lists: dict[int, list[str]]) -> dict[str, Any] | None:
    longest = lists[30]
    if len(set(longest)) == 1:
        return {"law": "all", "type": longest[0]}
    for period in range(2, 9):
        body = [longest[i] == longest[i % period] for i in range(29)]
        if not all(body):
            continue
        rule: dict[str, Any] = {"law": "cycle", "cycle": longest[:period]}
        if any(ts[-1] != ts[(len(ts) - 1) % period] for ts in lists.values()):
            rule["last"] = longest[-1]
        hits = [t for t in longest[:period] if longest[:period].count(t) == 1]
        key = period_key(cls, period)
        if key and hits:
            rule["key"] = key
        return rule
    return {"law": "unknown"}


def period_key(cls: Any, period: int) -> str | None:
    other = 7 if period != 7 else 5
    plain = probe(cls, "layer_types", num_hidden_layers=30)
    for key in PERIOD_KEYS:
        changed = probe(cls, "layer_types", num_hidden_layers=30, **{key: other})
        if changed and plain and list(changed) != list(plain):
            return key
    return None


if __name__ == "__main__":
    sys.exit(main())
