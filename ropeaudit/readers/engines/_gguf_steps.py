"""What single converter classes of llama.cpp write, one step a function.

``conversion/base.py`` 1434-1543 for :func:`base`; the files named at each step for the others (all
from the sources bundled with llama-cpp-python 0.3.36). Steps run in order, and a later one
overwrites what an earlier one wrote, as the converter does.
"""

from __future__ import annotations

from collections.abc import Callable

from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.engines.interface import Refuses

Step = Callable[[Draft], None]

_LENGTHS = (
    "max_position_embeddings", "n_ctx", "n_positions", "max_length", "max_sequence_length",
    "model_max_length",
)  # fmt: skip


def base(d: Draft) -> None:
    """Counts, widths and everything about rotation that is common (``base.py``)."""
    d.put("block_count", d.layers)
    for name, keys in (
        ("context_length", _LENGTHS),
        ("embedding_length", ("hidden_size", "n_embd", "dim")),
        ("attention.head_count", ("num_attention_heads", "n_head", "n_heads")),
        ("attention.head_count_kv", ("num_key_value_heads", "n_kv_heads")),
    ):
        found = d.first(*keys)
        if found is not None:
            d.put(name, found)
    _scaling(d)
    sections = d.get("mrope_section")
    if isinstance(sections, list):
        d.put("rope.dimension_sections", [*sections, 0, 0, 0, 0][:4])
    theta = d.global_rope().get("rope_theta")
    if theta is not None:
        d.number("rope.freq_base", theta)
    local = d.rope.get("sliding_attention", {})
    if isinstance(local, dict) and local.get("rope_theta") is not None:
        d.number("rope.freq_base_swa", local["rope_theta"])
    if d.values.get("head_dim") is not None:
        d.put("attention.key_length", d.values["head_dim"])


def _scaling(d: Draft) -> None:
    """``base.py`` 1462-1495. Dynamic scaling and unknown types leave nothing behind."""
    rope = d.global_rope()
    kind, factor = rope.get("rope_type"), rope.get("factor")
    if kind is not None and not isinstance(kind, str):
        raise Refuses("its converter stops at a rope_type that is no text")
    if kind == "linear" and factor is not None:
        d.put("rope.scaling.type", "linear")
        d.number("rope.scaling.factor", factor)
    elif kind == "yarn" and factor is not None:
        d.put("rope.scaling.type", "yarn")
        d.number("rope.scaling.factor", factor)
        original = d.demand(rope, "original_max_position_embeddings")
        d.put("rope.scaling.original_context_length", original)
        attention = rope.get("attention_factor", rope.get("attn_factor"))
        for name, value in (
            ("yarn_ext_factor", rope.get("extrapolation_factor")),
            ("yarn_attn_factor", attention),
            ("yarn_beta_fast", rope.get("beta_fast")),
            ("yarn_beta_slow", rope.get("beta_slow")),
        ):
            if value is not None:
                d.number(f"rope.scaling.{name}", value)
    elif kind in ("su", "longrope"):
        d.put("rope.scaling.type", "longrope")


def whole_head(d: Draft) -> None:
    """``llama.py`` 171-173 and many others: the rotary width is the head's."""
    d.put("rope.dimension_count", d.head())


def even_split(d: Draft) -> None:
    """``arctic.py``, ``baichuan.py``, ``xverse.py``: hidden size over heads."""
    d.put("rope.dimension_count", d.even())


def own_head(d: Draft) -> None:
    """``maincoder.py`` 14: only a stated head width."""
    if d.values.get("head_dim") is not None:
        d.put("rope.dimension_count", d.width("head_dim"))


def without_head(d: Draft) -> None:
    """``granite.py`` 33: head_dim is dropped from the config before anything is written."""
    d.values.pop("head_dim", None)


def fraction(missing: float, *, stated: bool = True) -> Step:
    """A part of the head, ``missing`` where the file has none; ``stated``: head_dim counts."""

    def step(d: Draft) -> None:
        part = d.get("partial_rotary_factor", missing)
        d.put("rope.dimension_count", d.fraction(part, d.head() if stated else d.even()))

    return step


def required_fraction(d: Draft) -> None:
    """``stablelm.py`` 32: the fraction of the even split, without which it stops."""
    d.put("rope.dimension_count", d.fraction(d.demand(d.rope, "partial_rotary_factor"), d.even()))


def fraction_of_hidden(d: Draft) -> None:
    """``phi.py`` 22-34, ``nemotron.py`` 174-177: int(fraction * hidden) // heads."""
    part = d.demand(d.rope, "partial_rotary_factor")
    turned = d.fraction(part, d.width("hidden_size", "n_embd"))
    d.put("rope.dimension_count", turned // d.heads())


def key_width(*keys: str) -> Step:
    """The width from a key of its own."""

    def step(d: Draft) -> None:
        d.put("rope.dimension_count", d.width(*keys))

    return step


def percent(d: Draft) -> None:
    """``command_r.py`` 47-51: rotary_pct of the even split."""
    d.put("rope.dimension_count", d.fraction(d.need("rotary_pct"), d.even()))


def unscaled(d: Draft) -> None:
    """Type none, whatever was written before (Cohere, ModernBERT, DeepSeek 1, EuroBERT)."""
    d.put("rope.scaling.type", "none")


def factor_one(d: Draft) -> None:
    """``bitnet.py`` 21: linear scaling by 1, which overwrites any other."""
    d.put("rope.scaling.type", "linear")
    d.number("rope.scaling.factor", 1.0)


def window(key: str = "sliding_window") -> Step:
    """The window under ``key``, without which the converter stops."""

    def step(d: Draft) -> None:
        if key not in d.values:
            raise Refuses(f"its converter stops because {key} is missing")
        if d.values[key] is not None:
            d.put("attention.sliding_window", d.values[key])

    return step


def sliding_pattern(d: Draft) -> None:
    """One flag a layer, from layer_types."""
    kinds = d.need("layer_types")
    if not isinstance(kinds, list):
        raise Refuses("its converter stops because layer_types is no list")
    d.put("attention.sliding_window_pattern", [k == "sliding_attention" for k in kinds])
