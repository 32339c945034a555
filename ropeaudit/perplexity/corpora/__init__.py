"""Texts to measure on, one kind a file, found by folder."""

from ropeaudit.perplexity.corpora.interface import load, names

__all__ = ["load", "names"]
