"""Position values that the converter or the library leaves aside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.document import escape
from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES

_SCALING = (
    "factor", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor",
    "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow", "mscale",
    "mscale_all_dim", "truncate", "partial_rotary_factor", "alpha",
)  # fmt: skip
_BETAS = {"beta_fast": ("yarn_beta_fast", 32.0), "beta_slow": ("yarn_beta_slow", 1.0)}


def ignored(config: Mapping[str, Any], file: Draft) -> tuple[str, ...]:
    """JSON pointers of what the config states and neither converter nor library applies."""
    part, pointer = _part(config)
    return tuple(dict.fromkeys(_ignored(part, pointer, file)))


def _part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    inner = config.get("text_config")
    return (inner, "/text_config") if isinstance(inner, dict) else (config, "")


def _ignored(part: Mapping[str, Any], pointer: str, file: Draft) -> Iterator[str]:
    kind = file.rope.get("full_attention", file.rope).get("rope_type", "default")
    for name in ("rope_parameters", "rope_scaling"):
        for at, values in _dicts(part.get(name), f"{pointer}/{name}"):
            for key in _SCALING:
                if key in values and not _applied(key, values[key], kind, file):
                    yield f"{at}/{escape(key)}"
    if "rope.freq_base" not in file.keys:
        for key in ("rope_theta", "rotary_emb_base"):
            if part.get(key) not in (None, 10000, 10000.0):
                yield f"{pointer}/{key}"
    listed = part.get("no_rope_layers")
    if (
        file.architecture in ("smollm3", "llama4")
        and isinstance(listed, list)
        and any(bool(v) != bool((i + 1) % 4) for i, v in enumerate(listed))
    ):
        yield f"{pointer}/no_rope_layers"


def _dicts(value: Any, at: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not isinstance(value, dict):
        return
    yield at, value
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield f"{at}/{escape(key)}", inner


def _applied(key: str, value: Any, kind: Any, file: Draft) -> bool:
    """Whether a value is applied, or would change nothing if it were."""
    if value is None:
        return True
    arch = ARCHITECTURES.get(file.architecture)
    reads = arch.reads if arch is not None else frozenset()
    if key in _BETAS:
        name, usual = _BETAS[key]
        return kind != "yarn" or value == usual or name in reads
    if key == "attention_factor":
        return kind not in ("yarn", "longrope") or "yarn_attn_factor" in reads
    if key == "truncate":
        return kind != "yarn" or value is not False
    if key in ("mscale", "mscale_all_dim"):
        return kind != "yarn" or "yarn_log_multiplier" in reads
    if key == "factor":
        return kind in ("default", "longrope") or value == 1 or key in file.read
    if key == "partial_rotary_factor":
        return value == 1 or key in file.read
    if key in ("short_factor", "long_factor"):
        return bool(file.tables) or kind not in ("longrope", "su")
    if key == "alpha":
        return kind != "dynamic" or key in file.read
    if kind == "dynamic":
        return True
    return key in file.read or kind in ("default", "linear")
