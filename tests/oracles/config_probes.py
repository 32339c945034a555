"""Probes of one config class and its rotary module: what a value does, told by trying it."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

PERIOD_KEYS = (
    "sliding_window_pattern",
    "global_attn_every_n_layers",
    "full_attention_interval",
    "layer_group_size",
    "no_rope_layer_interval",
)

QUOTIENT = re.compile(r"config\.(\w+) // config\.(\w+)")
PRODUCT = re.compile(r"config\.(\w+)\s*//\s*\(\s*config\.(\w+)\s*\*\s*config\.(\w+)\s*\)")
DEFAULT_QUOTIENT = QUOTIENT.search("config.hidden_size // config.num_attention_heads")


def function_source(module: Any) -> str:
    for name in ("compute_axial_rope_parameters", "compute_default_rope_parameters"):
        function = getattr(module, name, None)
        if function is not None:
            return re.sub(r'""".*?"""', "", inspect.getsource(function), flags=re.S)
    return inspect.getsource(module.__init__)


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


def probe(cls: Any, attribute: str, **values: Any) -> Any:
    try:
        return getattr(cls(**values), attribute, None)
    except Exception:
        return None


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
