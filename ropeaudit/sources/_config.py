"""One config document, whatever lies around it: what folders and single files have in common."""

from __future__ import annotations

from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.facts import InputFile, Reading
from ropeaudit.sources._files import RegularFile, refuse_pointer
from ropeaudit.sources._json import document_of, encoding_notes
from ropeaudit.sources.interface import MAX_CONFIG_BYTES


def load(path: Path) -> bytes:
    """The bytes of a config; raises SourceError for what is too large or no regular file."""
    with RegularFile(path) as file:
        return file.all(MAX_CONFIG_BYTES, "a config")


def parse(data: bytes, file: str) -> Document:
    """The document that ``data`` holds; raises SourceError, also for a Git LFS pointer."""
    refuse_pointer(data[:1024], file)
    return document_of(data, file)


def reading(document: Document, data: bytes, *, target: str) -> Reading:
    """``document`` as a reading of its own."""
    kind = flavour(document)
    own = InputFile(path=document.file, format=kind, bytes_read=len(data), content=data)
    return Reading(
        target=target,
        format=kind,
        document=document,
        files=(own,),
        notes=encoding_notes(data, document.file),
    )


_NATIVE_TYPES = ("transformer", "mamba")
"""Values of ``model_type`` in Mistral's own files; no model type of transformers."""


def flavour(document: Document) -> str:
    """``params-json`` for Meta's and Mistral's spelling of a model, else ``hf-config``."""
    data = document.data
    named = data.get("model_type", "transformer") not in _NATIVE_TYPES
    hf = named or "architectures" in data or "hidden_size" in data
    meta = "dim" in data and "n_layers" in data and "n_heads" in data
    return "params-json" if meta and not hf else "hf-config"
