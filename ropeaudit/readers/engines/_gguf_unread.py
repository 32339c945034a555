"""Converter classes of llama.cpp that were not looked at.

The other keys of ``TEXT_MODEL_MAP`` in ``conversion/__init__.py`` (sources bundled with
llama-cpp-python 0.3.36). A name that is neither here nor among the families is not converted.
"""

from __future__ import annotations

NAMES = frozenset(
    """
    AfmoeForCausalLM AudioFlamingo3ForConditionalGeneration BailingMoeV3ForCausalLM
    BailingMoeV3VLForConditionalGeneration BambaForCausalLM BertForMaskedLM
    BertForSequenceClassification BertModel BloomForCausalLM BloomModel CamembertModel
    ChameleonForCausalLM ChameleonForConditionalGeneration ChatGLMForConditionalGeneration
    ChatGLMModel CodeShellForCausalLM CogVLMForCausalLM Cohere2MoeForCausalLM DFlash2DraftModel
    DFlashDraftModel DSparkDraftModel DSparkSpeculator DbrxForCausalLM DeciLMForCausalLM
    DeepseekOCRForCausalLM DeepseekV4DSparkModel DeepseekV4ForCausalLM DistilBertForMaskedLM
    DistilBertForSequenceClassification DistilBertModel Dots3NoteForCausalLM
    Dots3NoteForConditionalGeneration Dots3NoteTextForCausalLM DreamModel Eagle3DraftModel
    Eagle3LlamaForCausalLM Eagle3Speculator Exaone4_5_ForConditionalGeneration ExaoneForCausalLM
    ExaoneMoEForCausalLM ExaoneMoeForCausalLM FalconH1ForCausalLM FalconMambaForCausalLM
    GPT2LMHeadModel GPTBigCodeForCausalLM GPTRefactForCausalLM Gemma3TextModel
    Gemma4AssistantForCausalLM Gemma4DSparkModel Gemma4UnifiedAssistantForCausalLM
    Gemma4UnifiedForConditionalGeneration Glm5NextForConditionalGeneration GlmForCausalLM
    GlmOcrForConditionalGeneration GraniteMoeHybridForCausalLM GraniteMoeSWAForCausalLM
    GraniteSWAForCausalLM GraniteSpeechForConditionalGeneration
    GraniteSpeechPlusForConditionalGeneration GraniteSwitchForCausalLM Grok1ForCausalLM
    GrokForCausalLM GroveMoeForCausalLM HYV3ForCausalLM HYV4ForCausalLM HrmTextForCausalLM
    HunYuanVLForConditionalGeneration JAISLMHeadModel JambaForCausalLM JanusForConditionalGeneration
    JinaBertForMaskedLM JinaBertModel JinaEmbeddingsV5Model KimiK25ForConditionalGeneration
    KimiK3ForConditionalGeneration KimiLinearForCausalLM KimiLinearModel LLaDAMoEModel
    LLaDAMoEModelLM LLaDAModelLM LagunaForCausalLM Lfm25AudioTokenizer Lfm2BidirectionalModel
    Lfm2DSparkDraftModel Lfm2Model LingDSparkModel LlamaForCausalLMEagle3
    LlavaStableLMEpochForCausalLM MPTForCausalLM MT5ForConditionalGeneration Mamba2ForCausalLM
    MambaForCausalLM MambaLMHeadModel MapleForCausalLM MellumForCausalLM MiMoV2FlashForCausalLM
    MiMoV2ForCausalLM MiniCPMV4_6ForConditionalGeneration MiniMaxM1ForCausalLM
    MiniMaxM3SparseForCausalLM MiniMaxM3SparseForConditionalGeneration MiniMaxText01ForCausalLM
    MuseGlimmerAssistantModel MuseGlimmerForConditionalGeneration NemotronHForCausalLM
    NemotronHPuzzleForCausalLM NeoBERT NeoBERTForSequenceClassification NeoBERTLMHead NomicBertModel
    OpenELMForCausalLM OrionForCausalLM PLMForCausalLM PLaMo2ForCausalLM PLaMo3ForCausalLM
    PaddleOCRVLForConditionalGeneration PanguEmbeddedForCausalLM Plamo2ForCausalLM Plamo3ForCausalLM
    PlamoForCausalLM PocketTTSModel QWenLMHeadModel Qwen2AudioForConditionalGeneration
    Qwen2_5OmniModel Qwen3ASRForConditionalGeneration Qwen3DSparkModel
    Qwen3OmniMoeForConditionalGeneration Qwen3TTSForConditionalGeneration Qwen4ExpForCausalLM
    Qwen4ExpForConditionalGeneration RND1 RWKV6Qwen2ForCausalLM RWKV7ForCausalLM
    RobertaForSequenceClassification RobertaModel RuGPT3XLForCausalLM Rwkv6ForCausalLM
    Rwkv7ForCausalLM RwkvHybridForCausalLM Sarashina2VisionForCausalLM SarvamMoEForCausalLM
    SmallThinkerForCausalLM Spark2_5ForCausalLM Step3p5ForCausalLM Step3p7ForConditionalGeneration
    StepVLForConditionalGeneration T5EncoderModel T5ForConditionalGeneration T5WithLMHeadModel
    TalkieForCausalLM UMT5ForConditionalGeneration UMT5Model UltravoxModel UnlimitedOCRForCausalLM
    VLlama3ForCausalLM WavTokenizerDec XLMRobertaForSequenceClassification XLMRobertaModel
    modeling_grove_moe.GroveMoeForCausalLM modeling_sarvam_moe.SarvamMoEForCausalLM
    """.split()  # noqa: SIM905
)
