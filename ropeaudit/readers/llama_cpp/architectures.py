"""What is special about each GGUF architecture, as data.

Taken from llama.cpp (as bundled with llama-cpp-python 0.3.36): ``llama_model_rope_type`` and
``load_hparams`` in ``src/llama-model.cpp``, and ``load_arch_hparams``, ``load_arch_tensors`` and
the ``ggml_rope_*`` calls in ``src/models/<architecture>.cpp``; what converters reorder and which
base they would write, from ``conversion/``.
"""

from __future__ import annotations

from ropeaudit.records import record, replace


@record(kw_only=True)
class Window:
    """Which layers attend through a sliding window, and what their table is made of.

    ``when``: ``always``, ``key`` (only with ``attention.sliding_window`` above 0) or ``not_zero``
    (unless that key is 0). ``period``: one full layer in so many, 0 for none; None: the file must
    hold a pattern. ``default`` and ``fixed``: the window without, or whatever, the key.
    ``only_layers``: applies to models of that depth alone. ``base``: ``own`` is ``freq_base_swa``
    or else 10000, ``inherit`` is ``freq_base_swa`` or else ``freq_base``, ``global`` is always
    ``freq_base``. ``scaled``: divided by the scaling factor too. ``yarn``: ramp and attention
    factor apply too. ``factors``: the rope_freqs tensor applies too.
    """

    when: str = "always"
    period: int | None = None
    dense_first: bool = False
    default: int | None = None
    fixed: int | None = None
    only_layers: int | None = None
    base: str = "own"
    scaled: bool = False
    yarn: bool = True
    factors: bool = True


@record(kw_only=True)
class Architecture:
    """How one architecture rotates.

    ``pairing``: ``half`` (NEOX) or ``interleaved`` (NORM). ``mrope``: ``always``, ``sections``
    (when the file holds them) or None; ``mixed``: its axes alternate channel by channel. ``none``:
    why nothing rotates; ``none_at``: number of layers at which nothing does. ``freqs``: creates
    ``rope_freqs`` (``needs_freqs``: and refuses files without); ``lists``: creates
    ``rope_factors_*`` ``always`` or with scaling ``type`` longrope (then not ``rope_freqs``);
    ``unused``: creates but does not apply them.
    ``skip_every``: each n-th layer does not rotate (``skip_first``: counted from layer 0);
    ``full_still``: full-attention layers do not rotate (``dense_turns``: leading dense ones do).
    ``switch``: ``rope.scaling.finetuned`` false means no rotation; ``pattern``: reads
    ``attention.rope_pattern``. ``recurrent``: layers without attention, ``kv`` (no key-value heads)
    or a full-attention interval. ``reads``: scaling keys beyond the common ones. ``log_unit``: what
    ``yarn_log_multiplier`` is divided by; ``log_both``: it is ``mscale`` too. ``logits``: scales
    the logits as DeepSeek does. ``permuted``: converters reorder query and key rows.
    ``whole_head``: the width is the head's, whatever the key; ``half_width``: full layers rotate
    half of it. ``fixed_base``: 10000, whatever the key; ``compress``: compressed layers have their
    own base. ``family_base``: the base of the published models, with which a file without the key
    is wrong, or right when it is 10000.
    """

    pairing: str = "half"
    mrope: str | None = None
    mixed: bool = False
    none: str | None = None
    none_at: int | None = None
    window: Window | None = None
    freqs: bool = False
    lists: str | None = None
    needs_freqs: bool = False
    unused: bool = False
    skip_every: int | None = None
    skip_first: bool = False
    full_still: bool = False
    dense_turns: bool = False
    switch: bool = False
    pattern: bool = False
    recurrent: str | int | None = None
    reads: frozenset[str] = frozenset()
    beta_fast: float = 32.0
    log_unit: float = 1.0
    log_both: bool = False
    logits: bool = False
    permuted: bool = False
    whole_head: bool = False
    half_width: bool = False
    fixed_base: bool = False
    compress: bool = False
    family_base: float | None = None


_BETAS = frozenset({"yarn_beta_fast", "yarn_beta_slow"})
_LOG = frozenset({"yarn_log_multiplier"})
_INHERIT = Window(base="inherit", scaled=True)
_GLOBAL = Window(base="global", scaled=True)
_PLAIN = Window(base="global", yarn=False, when="key", period=4)
"""Sliding layers rotate plainly: no factor, no ramp (OLMo 3)."""

_HALF = Architecture()
_PAIRS = Architecture(pairing="interleaved")
_LLAMA = replace(_PAIRS, freqs=True, lists="type", permuted=True)
_DEEPSEEK = replace(_PAIRS, reads=_LOG, log_unit=0.1, logits=True)


def _all(names: str, architecture: Architecture) -> dict[str, Architecture]:
    return dict.fromkeys(names.split(), architecture)


def _none(names: str, reason: str) -> dict[str, Architecture]:
    return _all(names, Architecture(none=reason))


_WITHOUT = {
    **_none("mpt bloom jais refact jina-bert-v2", "its attention uses ALiBi biases"),
    **_none("gpt2 starcoder bert", "it adds learned positions to the embeddings"),
    **_none("t5 t5encoder", "its attention uses relative position buckets"),
    **_none("mamba mamba2 rwkv6 rwkv6qwen2 rwkv7 arwkv7", "it is recurrent"),
    **_none("jamba nemotron_h nemotron_h_moe kimi-linear kimi-k3 glm5-next",
            "its recurrent layers carry the order, and its attention layers have no positions"),
    **_none("wavtokenizer-dec", "it is convolutional"),
    **_none("gptj", "llama.cpp has no graph for it"),
    **_none("clip", "it is an image or audio tower, whose tables are fixed in code"),
}  # fmt: skip

_PLAIN_HALF = _all(
    "dbrx nomic-bert nomic-bert-moe jina-bert-v3 eurobert bitnet qwen dream qwen2moe "
    "qwen3moe llada-moe rnd1 olmoe plamo starcoder2 openelm codeshell orion nemotron "
    "bailingmoe2 dots1 hunyuan-moe jais2 hy_v3 seed_oss grovemoe minimax-m2 minimax-m3 talkie "
    "hrm_text",
    _HALF,
)
_PLAIN_PAIRS = _all(
    "command-r plm chatglm neo-bert ernie4_5 ernie4_5-moe maincoder hy_v4 pockettts", _PAIRS
)
_REORDERED = _all(
    "olmo arctic chameleon bailingmoe deepseek internlm2 xverse", replace(_PAIRS, permuted=True)
)

_SPECIAL = {
    "llama": _LLAMA,
    "llama-embed": _LLAMA,
    "deci": replace(_LLAMA, recurrent="kv"),
    "minicpm": _LLAMA,
    "granitemoe": _LLAMA,
    "mistral3": replace(_LLAMA, reads=_BETAS | _LOG),
    "granite": replace(_LLAMA, switch=True),
    "graniteswitch": replace(_LLAMA, freqs=False, lists=None, switch=True),
    "granitehybrid": replace(_LLAMA, lists=None, switch=True, recurrent="kv"),
    "granite_swa": replace(_LLAMA, window=_GLOBAL, pattern=True),
    "arcee": replace(_LLAMA, lists=None),
    "nanbeige": replace(_LLAMA, lists=None),
    "llada": replace(_LLAMA, lists=None, unused=True),
    "eagle3": replace(_PAIRS, freqs=True),
    "baichuan": replace(_PAIRS, permuted=True, none_at=40, family_base=1e4),
    "smollm3": replace(_PAIRS, permuted=True, skip_every=4, family_base=5e6),
    "llama4": replace(
        _PAIRS,
        freqs=True,
        skip_every=4,
        window=replace(_INHERIT, when="not_zero", period=4, fixed=8192),
        family_base=5e5,
    ),
    "cohere2": replace(_PAIRS, full_still=True, window=replace(_GLOBAL, period=4)),
    "cohere2moe": replace(
        _PAIRS,
        full_still=True,
        dense_turns=True,
        window=replace(_GLOBAL, period=4, dense_first=True),
    ),
    "muse-glimmer": replace(
        _PAIRS, permuted=True, full_still=True, window=Window(base="inherit", period=4)
    ),
    "deepseek2": replace(_DEEPSEEK, log_both=True),
    "deepseek32": _DEEPSEEK,
    "mistral4": _DEEPSEEK,
    "glm-dsa": replace(_PAIRS, logits=True),
    "deepseek2-ocr": Architecture(whole_head=True),
    "deepseek4": replace(_PAIRS, window=replace(_GLOBAL, period=0), compress=True),
    "dots3note": replace(_PAIRS, window=Window(base="own", scaled=True)),
    "bailingmoe3": replace(_PAIRS, mrope="sections", recurrent="kv"),
    "glm4": replace(_PAIRS, mrope="sections"),
    "glm4moe": Architecture(mrope="sections"),
    "hunyuan_vl": Architecture(mrope="sections", reads=frozenset({"alpha"})),
    "hunyuan-dense": Architecture(reads=frozenset({"alpha"})),
    "dflash": Architecture(freqs=True, mrope="sections", window=replace(_GLOBAL, when="key")),
    "qwen2vl": Architecture(mrope="always", family_base=1e6),
    "paddleocr": Architecture(mrope="always"),
    "qwen3vl": Architecture(mrope="always", mixed=True, family_base=5e6),
    "qwen3vlmoe": Architecture(mrope="always", mixed=True, family_base=5e6),
    "qwen3tts": Architecture(mrope="always", mixed=True),
    "qwen35": Architecture(mrope="always", mixed=True, recurrent=4),
    "qwen35moe": Architecture(mrope="always", mixed=True, recurrent=4),
    "qwen4exp": Architecture(mrope="always", mixed=True, recurrent=4),
    "qwen3next": Architecture(recurrent=4, family_base=1e7),
    "minimax-01": Architecture(recurrent=8, family_base=1e7),
    "plamo2": Architecture(recurrent="kv"),
    "lfm2": Architecture(recurrent="kv", window=replace(_GLOBAL, when="key", period=0)),
    "lfm2moe": Architecture(recurrent="kv", window=replace(_GLOBAL, when="key", period=0)),
    "falcon": Architecture(family_base=1e4),
    "falcon-h1": Architecture(freqs=True, unused=True, family_base=1e11),
    "grok": Architecture(beta_fast=8.0, reads=_BETAS | {"yarn_ext_factor", "yarn_attn_factor"}),
    "stablelm": Architecture(family_base=1e4),
    "gptneox": Architecture(family_base=1e4),
    "phi2": Architecture(family_base=1e4),
    "phi3": Architecture(lists="always"),
    "phimoe": Architecture(lists="always"),
    "minicpm3": Architecture(lists="always"),
    "pangu-embedded": Architecture(freqs=True, lists="type", unused=True),
    "apertus": Architecture(freqs=True, lists="type"),
    "exaone": Architecture(freqs=True),
    "exaone4": Architecture(
        freqs=True,
        full_still=True,
        window=replace(_INHERIT, period=4, default=4096, only_layers=64),
    ),
    "exaone-moe": Architecture(
        freqs=True, full_still=True, window=replace(_INHERIT, period=4, default=128)
    ),
    "cogvlm": Architecture(freqs=True, unused=True, fixed_base=True, whole_head=True),
    "qwen2": Architecture(family_base=1e6),
    "qwen3": Architecture(family_base=1e6),
    "gemma": Architecture(family_base=1e4),
    "gemma2": Architecture(window=replace(_INHERIT, period=2, default=4096), family_base=1e4),
    "gemma3": Architecture(window=Window(when="key", period=6), family_base=1e6),
    "gemma3n": Architecture(window=Window(period=5), family_base=1e6),
    "gemma4": Architecture(
        freqs=True, needs_freqs=True, window=Window(factors=False), family_base=1e6
    ),
    "gemma4-assistant": Architecture(
        freqs=True, needs_freqs=True, window=Window(factors=False), family_base=1e6
    ),
    "gemma-embedding": Architecture(window=Window(period=6), family_base=1e6),
    "modern-bert": Architecture(
        window=Window(when="key", period=3, dense_first=True), family_base=1.6e5
    ),
    "plamo3": Architecture(window=Window(when="key", period=8)),
    "mimo2": Architecture(window=Window()),
    "step35": Architecture(freqs=True, lists="type", half_width=True, window=Window(factors=False)),
    "gpt-oss": Architecture(window=replace(_INHERIT, period=2), family_base=1.5e5),
    "olmo2": Architecture(window=_PLAIN, family_base=5e5),
    "mellum": Architecture(window=_PLAIN),
    "laguna": Architecture(
        window=Window(when="key", period=4, dense_first=True, base="inherit", yarn=False)
    ),
    "afmoe": Architecture(skip_every=4, window=replace(_INHERIT, when="key", period=4)),
    "smallthinker": Architecture(
        skip_every=4,
        skip_first=True,
        window=replace(_INHERIT, when="key", period=4, dense_first=True, fixed=4096),
    ),
    "spark2_5": Architecture(window=_INHERIT),
    "maple": Architecture(full_still=True, window=_INHERIT),
}

ARCHITECTURES: dict[str, Architecture] = {
    **_WITHOUT,
    **_PLAIN_HALF,
    **_PLAIN_PAIRS,
    **_REORDERED,
    **_SPECIAL,
}
"""By ``general.architecture``."""
