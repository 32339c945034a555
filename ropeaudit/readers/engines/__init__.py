"""Engines: what each of them builds from the same config, or why it refuses.

One module an engine, found by folder. A module lists its ``RELEASES`` and has
``build(request, release) -> Built``. Rules that several engines share are shared code (modules with
a leading underscore); an engine's module holds what is its own. The reference is transformers, the
newest release (``ropeaudit.readers.transformers``).

``interface`` says what an engine is, ``known`` finds them, ``compare`` lays them beside the
reference. Modules with an underscore, by the first word of their names:

``_core``        how far two readings are apart, in numbers and in words
``_raw``         engines that read config.json key by key: mlx-lm, ExLlamaV2 and V3
``_attributes``  engines that ask a loaded config: llama.cpp, TGI, CTranslate2, DeepSpeed
``_served``      engines with a ``get_rope`` over a config of transformers 5: vLLM, SGLang
``_tf _vllm _sglang _mlx _gguf _exl _tgi``  what belongs to one engine (``_gguf``: llama.cpp)
"""
