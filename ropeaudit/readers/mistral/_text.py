"""The language model of a ``params.json``: widths, base, scaling law, layers."""

from __future__ import annotations

from typing import Any

from ropeaudit.document import escape
from ropeaudit.errors import InvalidValue, quoted, shown, unexpected
from ropeaudit.facts import Fact, Json, Note, Oddity, Origin
from ropeaudit.readers.mistral._fields import Fields
from ropeaudit.records import record
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.families import Built, Inputs, family
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.families.yarn import mscale

_META_KEYS = frozenset(
    {"multiple_of", "ffn_dim_multiplier", "use_scaled_rope", "ffn_exp", "nope_layer_interval"}
)
_LLAMA4_KEYS = frozenset({"nope_layer_interval", "moe_args", "ffn_exp", "attention_chunk_size"})
_YARN = {
    "factor": "factor",
    "original_max_position_embeddings": "original_max_position_embeddings",
    "beta": "beta_fast",
    "alpha": "beta_slow",
}
_LLAMA3_VOCABULARY = 100_000
"""Llama 1 and 2 have 32,000 tokens, Code Llama 32,016, Llama 3 and later 128,256 and more."""
_LLAMA3_ORIGINAL = 8192
MAX_LAYERS = 100_000
MAX_WINDOW = 1 << 40
MAX_WINDOWS = 64


@record()
class _Law:
    """What ``_law`` found: the table with its factors and the length it stretches from."""

    rope_type: str
    built: Built
    inputs: Inputs
    softmax_scale: float = 1.0
    original: int | None = None


def text(file: Fields) -> list[Schedule]:
    head_dim, rotary_dim = _widths(file)
    law_name = "yarn" if file.at("/yarn") else ("llama3" if _scaled(file) else "default")
    base = _base(file, scaled=law_name != "default")
    law = _law(file, law_name, base, rotary_dim, head_dim)
    declared = file.count("/max_position_embeddings", "max_position_embeddings")
    if declared is None:
        declared = file.count("/max_seq_len", "max_position_embeddings")
    if isinstance(file.at("/llama_4_scaling"), dict):
        message = (
            "llama_4_scaling multiplies queries by a factor that grows with the position; the "
            "rotary table and its attention factor are not touched by it"
        )
        file.notes.append(Note("position_scaling", message))
    layers_and_windows = _layers(file)
    facts = tuple(file.facts)
    return [
        Schedule(
            layer_type=layer_type,
            layers=layers,
            rope_type=law.rope_type,
            rope_theta=base,
            head_dim=head_dim,
            rotary_dim=rotary_dim,
            pairing="interleaved",
            inv_freq=law.built.inv_freq,
            unscaled=tuple(geometric(base, rotary_dim)),
            attention_scaling=law.built.attention_scaling,
            softmax_scale=law.softmax_scale,
            context=Context(
                trained=law.original or declared,
                declared=declared,
                assumed=law.original is None,
                window=window,
            ),
            parameters=law.built.parameters,
            provenance=facts,
            law=law.rope_type,
            inputs=law.inputs,
        )
        for layer_type, layers, window in layers_and_windows
    ]


def _widths(file: Fields) -> tuple[int, int]:
    """``(head_dim, rotary_dim)``; latent attention rotates qk_rope_head_dim channels only."""
    head_dim = file.count("/head_dim", "head_dim")
    if head_dim is None:
        dim, heads = file.count("/dim", "dim"), file.count("/n_heads", "n_heads")
        if dim is None or heads is None:
            raise InvalidValue(
                "dim and n_heads must be numbers where head_dim is not stated; add one"
            )
        if dim % heads:
            raise InvalidValue(
                f"dim {dim} is not a multiple of n_heads {heads}, and head_dim is not stated; "
                "add it",
                where="/dim",
            )
        head_dim = dim // heads
        file.facts.append(Fact("head_dim", head_dim, Origin.DERIVED))
    rotary = file.count("/qk_rope_head_dim", "rotary_dim") or head_dim
    if rotary % 2:
        raise InvalidValue(f"the rotary width is {rotary}, expected an even number; correct it")
    return head_dim, rotary


def _base(file: Fields, *, scaled: bool) -> float:
    default, reason = _default_base(file)
    stated = file.at("/rope_theta")
    base = file.number("/rope_theta", "rope_theta", default)
    if stated is None:
        file.observe(
            Oddity.BASE_DEFAULTED,
            f"no rope_theta in the file: {reason}",
            "",
            rope_theta=default,
            scaled=scaled,
            model_type="params-json",
        )
    return default if base is None else base


def _default_base(file: Fields) -> tuple[float, str]:
    if _is_meta(file):
        vocabulary = file.at("/vocab_size")
        large = isinstance(vocabulary, int) and vocabulary > _LLAMA3_VOCABULARY
        if large or "use_scaled_rope" in file.data:
            return 500_000.0, "Meta's Llama 3 code then takes 500000"
        return 10_000.0, "Meta's Llama 1 and 2 code has 10000 built in"
    if file.at("/sliding_window") is not None:
        return 10_000.0, "Mistral's code takes 10000 for its models with a sliding window"
    return 1_000_000.0, "Mistral's code then takes 1000000, but vLLM takes 10000"


def _is_meta(file: Fields) -> bool:
    return bool(_META_KEYS & set(file.data)) or "head_dim" not in file.data


def _scaled(file: Fields) -> bool:
    return file.switch("/use_scaled_rope", "use_scaled_rope", False) if _is_meta(file) else False


def _law(file: Fields, name: str, base: float, rotary_dim: int, head_dim: int) -> _Law:
    scaling: dict[str, Any] = {}
    softmax = 1.0
    if name == "llama3":
        scaling = _llama3(file)
    elif name == "yarn":
        scaling, softmax = _yarn(file)
    law = family(name)
    assert law is not None
    inputs = Inputs(rope_theta=base, rotary_dim=rotary_dim, head_dim=head_dim, scaling=scaling)
    original = scaling.get("original_max_position_embeddings")
    length = None if original is None else int(original)
    return _Law(name, law.build(inputs), inputs, softmax, length)


def _llama3(file: Fields) -> dict[str, Any]:
    llama4 = bool(_LLAMA4_KEYS & set(file.data))
    if file.at("/rope_scaling_factor") is None:
        message = (
            "use_scaled_rope is on and rope_scaling_factor is not in the file: Meta's Llama 4 code "
            "takes 16"
            if llama4
            else "use_scaled_rope is on and the factor is not in the file: Meta's code takes 8, "
            "while Llama 3.2 1B and 3B are published with 32 elsewhere"
        )
        file.observe(Oddity.MODEL_SPECIFIC, message, "/use_scaled_rope")
    factor = file.number("/rope_scaling_factor", "factor", 16.0 if llama4 else 8.0)
    high = file.number("/rope_high_freq_factor", "high_freq_factor", 1.0 if llama4 else 4.0)
    for name, value in (
        ("low_freq_factor", 1.0),
        ("original_max_position_embeddings", _LLAMA3_ORIGINAL),
    ):
        file.facts.append(Fact(name, value, Origin.DEFAULT))
    return {
        "factor": factor,
        "low_freq_factor": 1.0,
        "high_freq_factor": high,
        "original_max_position_embeddings": _LLAMA3_ORIGINAL,
    }


def _yarn(file: Fields) -> tuple[dict[str, Any], float]:
    """The scaling dict under its usual names, and the factor on the logits.

    ``apply_scale`` (default true) puts yarn's magnitude on cos and sin of a dense model; latent
    attention carries it on the logits instead, squared, as DeepSeek does.
    """
    raw = file.at("/yarn")
    if not isinstance(raw, dict):
        raise unexpected("/yarn", raw, "an object", where="/yarn")
    scaling: dict[str, Any] = {}
    for key, name in _YARN.items():
        default = {"beta": 32.0, "alpha": 1.0}.get(key)
        scaling[name] = file.number(f"/yarn/{key}", name, default)
        if scaling[name] is None:
            raise InvalidValue(f"yarn needs {key}, which is missing; add it", where=f"/yarn/{key}")
    for key in set(raw) - set(_YARN) - {"apply_scale"}:
        file.observe(
            Oddity.KEY_IGNORED,
            f"yarn has no setting {quoted(key)}, and no engine reads it",
            f"/yarn/{escape(key)}",
        )
    if scaling["beta_fast"] < scaling["beta_slow"]:
        file.observe(
            Oddity.BETA_ORDER, "yarn's beta is smaller than its alpha: the ramp runs backwards",
            "/yarn/beta",
        )  # fmt: skip
    applied = file.switch("/yarn/apply_scale", "apply_scale", True)
    latent = file.at("/qk_rope_head_dim") is not None
    if not applied:
        message = "yarn.apply_scale is false: the attention factor is 1.0 by design"
        file.notes.append(Note("attention_factor", message))
    if not applied or latent:
        scaling["attention_factor"] = 1.0
    magnitude = mscale(scaling["factor"])
    return scaling, magnitude**2 if applied and latent else 1.0


def _layers(
    file: Fields,
) -> list[tuple[str | None, tuple[int, ...] | None, int | None]]:
    """``(layer_type, layers, window)`` of each schedule that shares the one text table."""
    count = file.count("/n_layers", "n_layers")
    if count is not None and count > MAX_LAYERS:
        raise InvalidValue(
            f"/n_layers is {count}, expected at most {MAX_LAYERS}; correct it", where="/n_layers"
        )
    every = file.count("/nope_layer_interval", "nope_layer_interval")
    window = file.at("/sliding_window")
    if isinstance(window, list) and window:
        return _windowed(window, count or len(window))
    size = None if window is None else file.count("/sliding_window", "sliding_window")
    if every and count:
        return [(None, tuple(i for i in range(count) if (i + 1) % every), size)]
    return [(None, None, size)]


def _windowed(
    pattern: list[Json], count: int
) -> list[tuple[str | None, tuple[int, ...] | None, int | None]]:
    """A list of windows repeats over the layers; null is full attention."""
    sizes: dict[int | None, list[int]] = {}
    for size in pattern:
        whole = isinstance(size, int) and not isinstance(size, bool)
        if size is not None and not (whole and 0 < size <= MAX_WINDOW):
            raise InvalidValue(
                f"/sliding_window holds {shown(size)}, expected whole numbers or null; correct it",
                where="/sliding_window",
            )
    for layer in range(count):
        sizes.setdefault(pattern[layer % len(pattern)], []).append(layer)
    if len(sizes) > MAX_WINDOWS:
        raise InvalidValue(
            f"/sliding_window holds {len(sizes)} different windows, expected at most "
            f"{MAX_WINDOWS}; correct it",
            where="/sliding_window",
        )
    found: list[tuple[str | None, tuple[int, ...] | None, int | None]] = []
    for size, layers in sizes.items():
        kind = "full_attention" if size is None else "sliding_attention"
        if size is not None and sum(s is not None for s in sizes) > 1:
            kind = f"sliding_attention_{size}"
        found.append((kind, tuple(layers), size))
    return found
