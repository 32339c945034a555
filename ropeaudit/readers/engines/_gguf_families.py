"""Which converter class reads which architecture, and what each of them does beyond the common.

``TEXT_MODEL_MAP`` in ``conversion/__init__.py`` and the classes in ``conversion/*.py`` (sources
bundled with llama-cpp-python 0.3.36); a comment names the file where it is not the family's own.
"""

from __future__ import annotations

from ropeaudit.readers.engines import _gguf_laws as law
from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.engines._gguf_steps import (
    Step,
    base,
    even_split,
    factor_one,
    fraction,
    fraction_of_hidden,
    key_width,
    own_head,
    percent,
    required_fraction,
    sliding_pattern,
    unscaled,
    whole_head,
    window,
    without_head,
)
from ropeaudit.records import record


@record()
class Family:
    """A GGUF architecture and the steps that write its keys."""

    architecture: str
    steps: tuple[Step, ...]


def _bare(*keys: tuple[str, tuple[str, ...]]) -> Step:
    """Classes that write a few counts and nothing common: no base, no scaling."""

    def step(d: Draft) -> None:
        d.put("block_count", d.layers)
        for name, spellings in keys:
            found = d.first(*spellings)
            if found is not None:
                d.put(name, found)

    return step


_LENGTH = ("context_length", ("max_position_embeddings",))
_WIDTH = ("embedding_length", ("hidden_size", "n_embd"))
_HEADS = ("attention.head_count", ("num_attention_heads", "n_head"))
_KEY_WIDTH = ("attention.key_length", ("head_dim",))
_PHI2_LENGTH = ("context_length", ("n_positions", "max_position_embeddings"))


def _falcon(d: Draft) -> None:
    _bare(_WIDTH, _HEADS)(d)
    d.put("context_length", 2048)


def _llama4(d: Draft) -> None:
    kinds = d.values.get("layer_types")
    if isinstance(kinds, list) and all(k == "full_attention" for k in kinds):
        d.put("attention.sliding_window", 0)


def _gemma3(d: Draft) -> None:
    """Defaults for what old files leave out (``gemma.py`` 141-158)."""
    d.put("context_length", d.values.get("max_position_embeddings", 131072))
    d.put("attention.head_count", d.values.get("num_attention_heads", 8))
    d.put("attention.key_length", d.values.get("head_dim", 256))
    d.number("rope.freq_base", d.global_rope().get("rope_theta", 1e6))
    if d.values.get("sliding_window_pattern") != 1:
        window()(d)


def _modernbert(d: Draft) -> None:
    window("local_attention")(d)
    period = d.values.get("global_attn_every_n_layers")
    if period is not None:
        d.put("attention.sliding_window_pattern", period)


def _olmo2(d: Draft) -> None:
    if "sliding_window" not in d.values:
        return
    if d.values["sliding_window"] is not None:
        d.put("attention.sliding_window", d.values["sliding_window"])
    kinds = d.values.get("layer_types")
    if "layer_types" in d.values and kinds is not None:
        sliding_pattern(d)
    else:
        flags = [(i + 1) % 4 != 0 for i in range(d.layers)]
        d.put("attention.sliding_window_pattern", flags)


def _exaone4(d: Draft) -> None:
    if d.values.get("sliding_window") is None:
        return
    d.put("attention.sliding_window", d.values["sliding_window"])
    if d.values.get("layer_types") is not None:
        sliding_pattern(d)


def _recurrent(d: Draft) -> None:
    """Layers without attention (``qwen.py`` 382-392)."""
    kinds = d.values.get("layer_types")
    if isinstance(kinds, list):
        d.put("attention.recurrent_layers", [k == "linear_attention" for k in kinds])
    d.put("full_attention_interval", d.values.get("full_attention_interval", 4))


def _sections(d: Draft) -> None:
    """``qwen.py`` 636-649: sections are always written."""
    if "mrope_section" not in d.rope:
        d.put("rope.dimension_sections", [11, 11, 10, 0])


def _convolutions(d: Draft) -> None:
    """Key-value heads by layer, 0 for convolutions (``lfm2.py`` 37-40)."""
    kinds, heads = d.need("layer_types"), d.whole("num_key_value_heads")
    d.put("attention.head_count_kv", [0 if k == "conv" else heads for k in kinds])


_LLAMA = (base, whole_head, law.llama3())
_QWEN = (base,)
_DEEPSEEK = (base, law.deepseek)
_GRANITE = (without_head, *_LLAMA)

_BY_NAME: dict[str, Family] = {}


def _family(names: str, architecture: str, *steps: Step) -> None:
    _BY_NAME.update(dict.fromkeys(names.split(), Family(architecture, steps)))


_family(
    "LLaMAForCausalLM LlamaForCausalLM MistralForCausalLM MixtralForCausalLM LlamaModel "
    "LlavaForConditionalGeneration VoxtralForConditionalGeneration IQuestCoderForCausalLM",
    "llama",
    *_LLAMA,
)
_family("InternLM3ForCausalLM", "llama", base, whole_head)
_family("ArceeForCausalLM", "arcee", *_LLAMA)
_family("SmolLM3ForCausalLM", "smollm3", *_LLAMA)
_family("ApertusForCausalLM", "apertus", *_LLAMA)
_family("LlamaBidirectionalModel", "llama-embed", *_LLAMA)
_family("NanbeigeForCausalLM", "nanbeige", *_LLAMA)
_family("Llama4ForCausalLM Llama4ForConditionalGeneration", "llama4", *_LLAMA, _llama4)
_family("GraniteForCausalLM", "granite", *_GRANITE)
_family("GraniteMoeForCausalLM GraniteMoeSharedForCausalLM", "granitemoe", *_GRANITE)
_family("Mistral3ForConditionalGeneration Ministral3ForCausalLM", "mistral3", *_LLAMA,
        law.ministral3)  # fmt: skip

_family("Qwen2ForCausalLM Qwen2Model KORMoForCausalLM DotsOCRForCausalLM", "qwen2", *_QWEN)
_family("Qwen2MoeForCausalLM", "qwen2moe", *_QWEN)
_family("Qwen3ForCausalLM Qwen3Model", "qwen3", *_QWEN)
_family("Qwen3MoeForCausalLM", "qwen3moe", *_QWEN)
_family("Dots1ForCausalLM", "dots1", *_QWEN)
_family("Qwen2VLModel Qwen2VLForConditionalGeneration Qwen2_5_VLForConditionalGeneration",
        "qwen2vl", *_QWEN)  # fmt: skip
_family("Qwen3VLForConditionalGeneration", "qwen3vl", *_QWEN)
_family("Qwen3VLMoeForConditionalGeneration", "qwen3vlmoe", *_QWEN)
_NEXT = (base, law.next_tokens("mtp_num_hidden_layers"), _recurrent, fraction(0.25))
_family("Qwen3NextForCausalLM", "qwen3next", *_NEXT)
_family("Qwen3_5ForConditionalGeneration Qwen3_5ForCausalLM", "qwen35", *_NEXT, _sections)
_family("Qwen3_5MoeForConditionalGeneration Qwen3_5MoeForCausalLM", "qwen35moe", *_NEXT,
        _sections)  # fmt: skip

_GEMMA = _bare(_LENGTH, _WIDTH, _HEADS, _KEY_WIDTH)
_family("GemmaForCausalLM", "gemma", _GEMMA)
_family("Gemma2ForCausalLM", "gemma2", _GEMMA, window())
_family("Gemma3ForCausalLM Gemma3ForConditionalGeneration", "gemma3", base, _gemma3)
_family("Gemma3nForCausalLM Gemma3nForConditionalGeneration", "gemma3n", base, _gemma3,
        sliding_pattern)  # fmt: skip
_family("Gemma4ForCausalLM Gemma4ForConditionalGeneration", "gemma4", base, _gemma3,
        sliding_pattern, law.gemma4)  # fmt: skip

_family("PhiForCausalLM", "phi2", _bare(_PHI2_LENGTH, _WIDTH, _HEADS), fraction_of_hidden)
_family("Phi3ForCausalLM Phi4ForCausalLMV", "phi3", law.phi3)
_family("PhiMoEForCausalLM", "phimoe", law.phi3)
_family("GPTNeoXForCausalLM", "gptneox", _bare(_LENGTH, _WIDTH, _HEADS), percent)
_family("StableLmForCausalLM StableLMEpochForCausalLM", "stablelm",
        _bare(_LENGTH, _WIDTH, _HEADS), required_fraction)  # fmt: skip
_family("FalconForCausalLM RWForCausalLM", "falcon", _falcon)
_family("CohereForCausalLM", "command-r", base, unscaled)
_family("Cohere2ForCausalLM", "cohere2", base, window(), percent, unscaled)

_family("DeepseekForCausalLM", "deepseek", base, whole_head, unscaled)
_family("DeepseekV2ForCausalLM DeepseekV3ForCausalLM KimiVLForConditionalGeneration "
        "YoutuForCausalLM YoutuVLForConditionalGeneration", "deepseek2", *_DEEPSEEK)  # fmt: skip
_family("DeepseekV32ForCausalLM", "deepseek32", *_DEEPSEEK,
        law.next_tokens("num_nextn_predict_layers"))  # fmt: skip
_family("Glm4MoeLiteForCausalLM", "deepseek2", *_DEEPSEEK,
        law.next_tokens("num_nextn_predict_layers"))  # fmt: skip
_family("GlmMoeDsaForCausalLM", "glm-dsa", *_DEEPSEEK, law.dsa_width,
        law.next_tokens("num_nextn_predict_layers"))  # fmt: skip

_family("Glm4ForCausalLM Glm4vForConditionalGeneration", "glm4", base, fraction(0.5))
_family("Glm4MoeForCausalLM Glm4vMoeForConditionalGeneration SolarOpenForCausalLM", "glm4moe",
        base, fraction(0.5), law.next_tokens("num_nextn_predict_layers"))  # fmt: skip
_family("GptOssForCausalLM", "gpt-oss", base, window())
_family("OlmoForCausalLM OLMoForCausalLM", "olmo", base)
_family("Olmo2ForCausalLM Olmo3ForCausalLM", "olmo2", base, _olmo2)
_family("OlmoeForCausalLM", "olmoe", base)
_family("SeedOssForCausalLM", "seed_oss", base)
_family("Starcoder2ForCausalLM", "starcoder2", base)
_family("InternLM2ForCausalLM", "internlm2", base)
_family("Ernie4_5ForCausalLM Ernie4_5_ForCausalLM", "ernie4_5", base)
_family("Ernie4_5_MoeForCausalLM", "ernie4_5-moe", base)
_family("MiniMaxM2ForCausalLM", "minimax-m2", base, key_width("rotary_dim"))
_family("ModernBertModel ModernBertForMaskedLM ModernBertForSequenceClassification",
        "modern-bert", base, _modernbert, unscaled)  # fmt: skip
_family("EuroBertModel", "eurobert", base, unscaled)
_family("Exaone4ForCausalLM", "exaone4", base, _exaone4, law.llama3(16.0))
_family("HunYuanDenseV1ForCausalLM", "hunyuan-dense", base, law.alpha(50, ("dynamic", "xdrope")))
_family("HunYuanMoEV1ForCausalLM", "hunyuan-moe", base, law.alpha(1000, ("dynamic",)))
_family("NemotronForCausalLM", "nemotron", base, fraction_of_hidden, law.nemotron)
_family("BitnetForCausalLM BitNetForCausalLM", "bitnet", base, factor_one)
_family("MiniCPMForCausalLM", "minicpm", base, law.factor_lists)
_family("MiniCPM3ForCausalLM", "minicpm3", _bare(_LENGTH, _WIDTH, _HEADS),
        key_width("qk_rope_head_dim"), law.factor_lists)  # fmt: skip
_family("BaichuanForCausalLM BaiChuanForCausalLM", "baichuan", base, even_split)
_family("XverseForCausalLM", "xverse", base, even_split)
_family("ArcticForCausalLM", "arctic", base, even_split)
_family("MaincoderForCausalLM", "maincoder", base, own_head)
_family("BailingMoeForCausalLM", "bailingmoe", base, whole_head)
_family("BailingMoeV2ForCausalLM", "bailingmoe2", base, fraction(0.5),
        law.next_tokens("num_nextn_predict_layers"))  # fmt: skip
_family("Lfm2ForCausalLM LFM2ForCausalLM", "lfm2", base, _convolutions)
_family("Lfm2MoeForCausalLM", "lfm2moe", base, _convolutions)
_family("Jais2ForCausalLM", "jais2", base, whole_head)


def family(name: str) -> Family | None:
    """The family of an entry of ``architectures``; None for a class that was not looked at."""
    return _BY_NAME.get(name)
