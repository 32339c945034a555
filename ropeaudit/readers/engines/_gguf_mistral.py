"""A ``params.json`` as llama.cpp's converter writes it with ``--mistral-format``.

``conversion/mistral.py`` 24-110 on top of ``llama.py`` 163-173, of the sources bundled with
llama-cpp-python 0.3.36. Files with experts (``MistralMoeModel``) were not looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.engines._gguf_steps import base
from ropeaudit.readers.engines.interface import NotCovered, Refuses


def draft(config: Mapping[str, Any]) -> Draft:
    """The draft of the converted file; raises Refuses or NotCovered."""
    if config.get("moe") is not None:
        raise NotCovered("what its converter writes for params.json files with experts is unknown")
    scaled = "llama_4_scaling" in config
    file = Draft("mistral3" if scaled else "llama", dict(config))
    base(file)
    head = config.get("head_dim")
    if head is None:
        head = file.width("hidden_size", "dim") // file.heads()
    file.put("rope.dimension_count", head)
    if "yarn" in config:
        _yarn(file, config["yarn"])
    return file


def _yarn(file: Draft, yarn: Any) -> None:
    if not isinstance(yarn, dict):
        raise Refuses("its converter stops at a yarn that is no object")
    for key in ("apply_scale", "factor", "beta", "alpha", "original_max_position_embeddings"):
        file.demand(yarn, key)
    file.put("rope.scaling.type", "yarn")
    file.number("rope.scaling.factor", yarn["factor"])
    file.number("rope.scaling.yarn_beta_fast", yarn["beta"])
    file.number("rope.scaling.yarn_beta_slow", yarn["alpha"])
    file.number("rope.scaling.yarn_log_multiplier", 0.0 if yarn["apply_scale"] else 1.0)
    original = yarn["original_max_position_embeddings"]
    file.put("rope.scaling.original_context_length", original)
