"""Readers: what one engine builds from the facts of a file. One module an engine.

``transformers`` is the reference for Hugging Face configs, ``llama_cpp`` for GGUF files,
``mistral`` for ``params.json``; ``stored`` turns tensors into schedules. Each has ``NAME`` and
``read(reading, lengths) -> Resolution``.
"""
