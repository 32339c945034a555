"""Random configs of every architecture that an ExLlama engine has: small, and odd in many ways."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ropeaudit.readers.engines import exllamav2, exllamav3
from tests.oracles.engines.mlx_configs import KNOWN, LAYERS, scaling

EXTRA: dict[str, Any] = {
    **KNOWN, "sliding_window": 8, "layer_norm_eps": 1e-5, "moe_k": 2, "num_attention_groups": 2,
    "swiglu_limits": [0.0] * LAYERS, "swiglu_limits_shared": [0.0] * LAYERS,
    "moe_top_k": 2, "share_expert_dim": 32, "moe_layers_enum": "1,2,3", "gating": "per-head",
    "index_kpool": 2, "indexer_types": ["full"] * LAYERS, "short_conv_kernel_size": 4,
    "layer_group_size": 2, "moe_intermediate_size": 128, "intermediate_size": 128,
    "shared_expert_intermediate_size": 128, "hidden_size": 256, "num_attention_heads": 4,
    "num_key_value_heads": 2, "vocab_size": 64, "block_configs": [
        {"attention": {"n_heads_in_group": 2, "no_op": False, "replace_with_linear": False},
         "ffn": {"ffn_mult": 1.0, "no_op": False, "replace_with_linear": False}}
    ] * LAYERS,
    "attention_other_setting": {
        "num_attention_heads": 4, "num_attention_groups": 2, "head_dim": 32,
    },
    "mm_tokens_per_image": 16, "projector_hidden_size": 64, "logits_scaling": 1.0,
    "indexer_n_heads": 2, "indexer_head_dim": 16, "indexer_budget": 4, "ple_embed_dim": 16,
    "ngram_size": 2, "heads_per_ngram": 2, "eos_token_id": 1, "n_routed_experts": 4,
}  # fmt: skip
KINDS = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]


def draw(
    count: int, seed: int, release: str, only: list[str] | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """``count`` configs, going round the architectures."""
    rng = random.Random(seed)
    if release.startswith("exllamav3"):
        entries = exllamav3.families()
        names = [n for n, e in entries.items() if not (e.get("skip") or e.get("still"))]
    else:
        entries = {}
        names = sorted(exllamav2.PLAIN | exllamav2.ADJACENT | exllamav2.GEMMA3 | exllamav2.PIXTRAL)
        # Kept as they were measured, although the source says otherwise.
        names = [n for n in names if n not in ("Cohere2ForCausalLM", "Gemma3ForCausalLM")]
    names = only or names
    for i in range(count):
        name = names[i % len(names)]
        yield name, config_of(name, entries.get(name, {}), rng)


def config_of(name: str, entry: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """A small config of the architecture with position keys drawn at random."""
    config: dict[str, Any] = {"architectures": [name], "vocab_size": 64}
    text = config
    nested = "text" in entry or "merge" in entry or (not entry and name in exllamav2.PIXTRAL)
    if nested or (name.endswith("ConditionalGeneration") and not entry and rng.random() < 0.7):
        text = config["text_config"] = {}
    for key in (*KNOWN, *EXTRA, *entry.get("need", ())):
        last = key.split("->")[-1]
        if last in ("text_config", "head_dim", "rotary_dim", "partial_rotary_factor"):
            continue
        if last in ("no_rope_layers", "hybrid_layer_pattern", "rope_theta", "rotary_pct"):
            continue
        if last.startswith(("rope_", "swa_", "attention_")) and last not in EXTRA:
            continue
        outer = "text" in entry and "->" not in key and key in entry.get("need", ())
        place = config if outer else text
        if last in EXTRA:
            place.setdefault(last, EXTRA[last])
    for key, wanted, *_ in entry.get("assert", ()):
        (text if "->" in key else config)[key.split("->")[-1]] = wanted
    for key in ("sliding_window_pattern", "hidden_act", "layer_types"):
        if key not in [a[0].split("->")[-1] for a in entry.get("assert", ())]:
            text.pop(key, None)
    if not entry:
        config["vision_config"] = {"model_type": "pixtral"}
    _own(name, entry, text, config, rng)
    _position(name, entry, text, rng)
    if rng.random() < 0.04 and entry.get("need"):
        text.pop(rng.choice(entry["need"]).split("->")[-1], None)
    return config


def _own(
    name: str, entry: dict[str, Any], text: dict[str, Any], root: dict[str, Any], rng: random.Random
) -> None:
    """What one architecture needs so that its text model builds."""
    rule = entry.get("l")
    _layer_types(name, entry, text, root, rng)
    if "Laguna" in name:
        text["num_attention_heads_per_layer"] = [4] * LAYERS
        text["mlp_only_layers"] = [0]
    if rule == "no_rope":
        text["no_rope_layers"] = [1, 1, 0, 1]
    if rule in ("windowed", "exaone"):
        if rng.random() < 0.5:
            text["sliding_window_pattern"] = 2 if rule == "windowed" else "LG"
            text["order_of_interleaved_layers"] = "local_attn_first"
        if rng.random() < 0.2:
            text["sliding_window"] = None
    if entry.get("kind") == "muse" and rng.random() < 0.6:
        text["layer_rope_theta"] = [10000.0, 0, 10000.0, 500000.0]
    left_out: tuple[str, ...] = ()
    if entry.get("kind") == "mimo_v2":
        text["hybrid_layer_pattern"] = [1, 1, 0, 1]
        left_out = ("moe_layer_freq", "n_shared_experts", "swa_head_dim", "swa_v_head_dim")
        if rng.random() < 0.5:
            text["swa_rope_theta"] = 20000.0
    if entry.get("kind") == "gemma4" and rng.random() < 0.9:
        left_out = ("hidden_size_per_layer_input",)
    for key in left_out:
        text.pop(key, None)


def _layer_types(
    name: str, entry: dict[str, Any], text: dict[str, Any], root: dict[str, Any], rng: random.Random
) -> None:
    rule = entry.get("l")
    if rule == "hybrid":
        other = "conv" if "Lfm2" in name else "linear_attention"
        text["layer_types"] = [other, "full_attention"] * 2
    elif (
        entry.get("kind") in ("gemma4", "laguna", "step3", "muse")
        or rule == "sliding"
        or "GptOss" in name
    ):
        text["layer_types"] = KINDS
    elif rng.random() < 0.4 and rule != "no_rope":
        (root if entry.get("root_layers") else text)["layer_types"] = KINDS


def _position(name: str, entry: dict[str, Any], text: dict[str, Any], rng: random.Random) -> None:
    head = rng.choice([32, 64, 128])
    if rng.random() < 0.8 or entry.get("kind") in ("gemma4", "laguna") or "Bailing" in name:
        text["head_dim"] = head
    else:
        head = {"gemma3": 256}.get(entry.get("kind", ""), 64)
    part = 1.0
    if rng.random() < 0.3:
        part = text["partial_rotary_factor"] = rng.choice([0.5, 0.25, 1])
    if rng.random() < 0.1:
        text["rotary_dim"] = 16
    drawn: tuple[tuple[str, Any, float], ...] = (
        ("max_position_embeddings", rng.choice([64, 128, 256]), 0.9),
        ("rope_theta", rng.choice([10000, 5e5, 1e6, "odd"]), 0.7),
        ("original_max_position_embeddings", rng.choice([16, 64]), 0.5),
    )
    text.update({key: value for key, value, chance in drawn if rng.random() < chance})
    if entry.get("kind") == "step3":
        text["rope_theta"] = [10000.0, 500000.0, 10000.0, 500000.0]
        text["partial_rotary_factors"] = [1.0, 0.5, 1.0, 0.5]
    width = 8 if isinstance(entry.get("head"), str) else int(head * part)
    width = text.get("rotary_dim", width)
    if rng.random() < 0.6:
        text["rope_scaling"] = scaling(rng, width // 2) if rng.random() < 0.9 else None
    if rng.random() < 0.6 or entry.get("kind") in ("laguna", "gemma4", "spark2_5"):
        text["rope_parameters"] = _parameters(rng, width // 2, entry)


def _parameters(rng: random.Random, channels: int, entry: dict[str, Any]) -> dict[str, Any]:
    if entry.get("kind") in ("laguna", "gemma4", "spark2_5"):
        return {kind: _parameters(rng, channels, {}) for kind in dict.fromkeys(KINDS)}
    found = scaling(rng, channels) if rng.random() < 0.7 else {"rope_type": "default"}
    if rng.random() < 0.8:
        found["rope_theta"] = rng.choice([10000.0, 250000.0])
    if rng.random() < 0.2:
        found["llama_4_scaling_beta"] = 0.1
    return found
