"""Random configs: bodies that were measured, with rotation spelled in every way that is met."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from tests.normalise.judged import vectors

ROTATION = (
    "rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor", "rotary_pct",
    "rotary_emb_base", "rope_local_base_freq", "global_rope_theta", "local_rope_theta",
    "original_max_position_embeddings", "rotary_dim",
)  # fmt: skip
LAWS = ("default", "linear", "dynamic", "yarn", "llama3", "longrope")
JUNK = st.sampled_from(
    [None, True, 0, -1, 1e30, "", "1e6", "yarn", [], {}, [1.0], {"rope_type": "odd"}, float("nan")]
)


@cache
def bodies() -> tuple[dict[str, Any], ...]:
    """One config of each family without anything about rotation."""
    found: dict[str, dict[str, Any]] = {}
    for case in vectors().values():
        config = case["config"]
        if case["file"] == "config.json" and "text_config" not in config:
            kept = {k: v for k, v in config.items() if k not in ROTATION}
            found.setdefault(config["model_type"], kept)
    return tuple(found[name] for name in sorted(found))


def width(config: dict[str, Any]) -> int:
    own = config.get("qk_rope_head_dim") or config.get("head_dim")
    return int(own or config["hidden_size"] // config["num_attention_heads"])


@st.composite
def scaling(draw: st.DrawFn, config: dict[str, Any]) -> dict[str, Any]:
    """A dict of one law, its type under one of the names, some optional keys left out."""
    law = draw(st.sampled_from(LAWS))
    found: dict[str, Any] = {} if law == "default" else {"factor": draw(FACTORS)}
    if law == "llama3":
        found |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    if law == "longrope":
        channels = width(config) // 2
        found |= {"short_factor": [1.0] * channels, "long_factor": [2.0] * channels}
    if law == "yarn" and draw(st.booleans()):
        more = {"beta_fast": 16.0, "mscale": 1.0, "attention_factor": 1.0, "truncate": False}
        key = draw(st.sampled_from(sorted(more)))
        found[key] = more[key]
    if law in ("llama3", "yarn", "longrope") and draw(st.booleans()):
        found["original_max_position_embeddings"] = 1024
    if draw(st.booleans()):
        found["rope_theta"] = draw(BASES)
    keys = draw(st.sampled_from([("rope_type",), ("type",), ("type", "rope_type")]))
    return dict.fromkeys(keys, law) | found


FACTORS = st.sampled_from([2, 2.0, 4.0, 1.5])
BASES = st.sampled_from([10000, 10000.0, 5e5, 1e6])


@st.composite
def sound(draw: st.DrawFn) -> dict[str, Any]:
    """A config as files are; now and then its two schemas contradict each other."""
    config = copy.deepcopy(draw(st.sampled_from(bodies())))
    schemas = draw(st.sampled_from([(), ("old",), ("new",), ("old", "new"), ("both",)]))
    one = draw(scaling(config))
    if "old" in schemas or "both" in schemas:
        config["rope_scaling"] = one
    if "new" in schemas:
        config["rope_parameters"] = draw(scaling(config))
    if "both" in schemas:
        config["rope_parameters"] = draw(st.sampled_from([None, one, {**one, "rope_theta": 2e4}]))
    if draw(st.booleans()):
        config["rope_theta"] = draw(BASES)
    for key, values in (
        ("partial_rotary_factor", [0.25, 0.5, 1.0]),
        ("original_max_position_embeddings", [1024, 2048]),
    ):
        if draw(st.integers(0, 4)) == 0:
            config[key] = draw(st.sampled_from(values))
    if config["model_type"] == "gemma3_text" and draw(st.booleans()):
        return {"model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
                "text_config": config}  # fmt: skip
    return config


@st.composite
def broken(draw: st.DrawFn) -> dict[str, Any]:
    """Such a config some of whose values are anything, or that lacks some."""
    config = draw(sound())
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([*sorted(config), *ROTATION]))
        if draw(st.booleans()):
            config[key] = draw(JUNK)
        else:
            config.pop(key, None)
    return config
