"""Names of position fields: which are ordinary, which a model type reads, which are misspelt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache

from ropeaudit.errors import closest
from ropeaudit.facts import Json
from ropeaudit.readers.transformers._node import Node
from ropeaudit.schedule.keys import BASES

# Word lists below: easier to read than fifty quoted words.
COMMON = frozenset(
    """rope_type type rope_theta partial_rotary_factor mrope_section mrope_interleaved interleaved
    original_max_position_embeddings max_position_embeddings llama_4_scaling_beta
    finetuned""".split()  # noqa: SIM905
)
"""Keys that a rope dict may hold whatever its type."""

SCALING = frozenset(
    """factor attention_factor beta_fast beta_slow short_factor long_factor low_freq_factor
    high_freq_factor mscale mscale_all_dim truncate alpha short_mscale long_mscale finetuned
    xdrope_section""".split()  # noqa: SIM905
)

READ_ELSEWHERE = {"longrope": frozenset({"short_mscale", "long_mscale"})}
"""Keys that vLLM and SGLang read in place of ``attention_factor``: right to write, by law."""

INSIDE_ONLY = SCALING - {"truncate", "alpha", "mscale", "finetuned"}
"""Scaling keys that mean nothing else, so that on the top level they are a slip."""

TOP_LEVEL = frozenset(
    """rope_theta rope_scaling rope_parameters partial_rotary_factor rotary_pct rotary_dim
    rotary_emb_base rope_ratio rope_local_base_freq global_rope_theta local_rope_theta
    rope_embedding_base rotary_emb_fraction rope_percent rope_percentage rope_pct swa_rope_theta
    compress_rope_theta original_max_position_embeddings qk_rope_head_dim no_rope_layers
    no_rope_layer_interval nope_layers rope_interleave rotary_embedding_base layer_rope_theta
    rope_scaling_layers rotary_base rope_base rotary_ndims rope_interleaved""".split()  # noqa: SIM905
)
"""Top-level keys about rotation that some reader knows."""

LAYER_LISTS = frozenset({"no_rope_layers", "no_rope_layer_interval", "nope_layers"})

ORDINARY = frozenset({"rope_theta", "rope_scaling", "rope_parameters", "rope_interleave"})
"""Keys of nearly every file, looked at elsewhere."""

_KNOWN = tuple(sorted(COMMON | SCALING | TOP_LEVEL))


def about_rotation(key: str) -> bool:
    """Whether a top-level key looks like one about rotation."""
    return "rope" in key or "rotary" in key or key == "original_max_position_embeddings"


def is_read(node: Node, key: str) -> bool:
    """Whether the model type's code reads a top-level ``key``."""
    return key in _read_keys(node) or key in node.rope.get("top_keys", ())


def _read_keys(node: Node) -> set[str]:
    rule, spec = node.rope, node.spec
    read = set(rule.get("base_keys", ("rope_theta",)))
    read.update(rule.get("partial_keys", ("partial_rotary_factor",)))
    read.update(how["key"] for how in rule.get("fill", {}).values())
    read.update(k for k in (rule.get("partial_over_head"), rule.get("softmax")) if k)
    for term in spec["head_dim"]:
        read.update([term] if isinstance(term, str) else [])
    unrotated = spec.get("unrotated", {})
    read.update(v for v in (unrotated.get("list"), unrotated.get("interval")) if v)
    for name in spec.get("defaults", {}):
        read.update(spec.get("aliases", {}).get(name, (name,)))
    read.add("original_max_position_embeddings")
    return read


def hidden_base(data: Mapping[str, Json]) -> str | None:
    """A top-level key that holds a base under another name."""
    return next((k for k in BASES if type(data.get(k)) in (int, float)), None)


def meant(key: str, beside: Iterable[str]) -> str | None:
    """The known key that ``key`` is a slip of, None if there is none or it is there as well."""
    if key in _KNOWN:
        return None
    found = _closest(key)
    return None if found is None or found in beside else found


@cache
def _closest(key: str) -> str | None:
    if len(key) > 60:
        return None
    plain = key.lower().replace("-", "_")
    if plain in _KNOWN:
        return plain
    return closest(plain, _KNOWN, cutoff=0.84)
