"""Engines: what each of them builds from the same config, or why it refuses.

One module an engine, found by folder. A module lists its ``RELEASES`` and has
``build(request, release) -> Built``. Rules that several engines share are shared code (modules with
a leading underscore); an engine's module holds what is its own. The reference is transformers, the
newest release (``ropeaudit.readers.transformers``).
"""
