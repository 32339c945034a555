"""A ``config.json`` or ``params.json``, as bytes or as a file.

Hugging Face configs and the ``params.json`` of Meta and Mistral are told apart by content. A JSON
object that is something else on closer look (a shard index, an adapter, a pipeline, a table of
frequencies) goes to the module that knows it.
"""

from __future__ import annotations

from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.errors import UnrecognisedFormat
from ropeaudit.facts import InputFile, Reading
from ropeaudit.sources._files import RegularFile, refuse_pointer
from ropeaudit.sources._json import document_of, encoding_notes, opening_bracket
from ropeaudit.sources.interface import MAX_CONFIG_BYTES

FORMAT = "hf-config"
SUFFIXES: tuple[str, ...] = (".json",)


def sniff(head: bytes, path: Path) -> bool:
    """Whether ``head`` begins a JSON object."""
    return opening_bracket(head) == "{"


def read(path: Path, *, target: str) -> Reading:
    """The config at ``path``; raises SourceError."""
    with RegularFile(path) as file:
        data = file.all(MAX_CONFIG_BYTES, "a config")
    return read_bytes(data, target=target, path=path)


def read_bytes(data: bytes, *, target: str, path: Path | None) -> Reading:
    """A config that is already in memory; ``path`` is None for standard input."""
    file = "-" if path is None else str(path)
    refuse_pointer(data[:1024], file)
    document = document_of(data, file)
    other = _elsewhere(document, target, path)
    if other is not None:
        return other
    kind = flavour(document)
    return Reading(
        target=target,
        format=kind,
        document=document,
        files=(InputFile(path=file, format=kind, bytes_read=len(data)),),
        notes=encoding_notes(data, file),
    )


def flavour(document: Document) -> str:
    """``params-json`` for Meta's and Mistral's spelling of a model, else ``hf-config``."""
    data = document.data
    hf = "model_type" in data or "architectures" in data or "hidden_size" in data
    meta = "dim" in data and "n_layers" in data and "n_heads" in data
    return "params-json" if meta and not hf else "hf-config"


def _elsewhere(document: Document, target: str, path: Path | None) -> Reading | None:
    """What another module makes of a JSON object that is no config; None for a config."""
    data = document.data
    if "model_type" in data or "architectures" in data:
        return None
    if "inv_freq" in data or "schedules" in data or "subjects" in data:
        from ropeaudit.sources import raw_table

        return raw_table.from_document(document, target=target)
    folder = None
    if isinstance(data.get("weight_map"), dict):
        folder = "a shard index names weights that lie beside it"
    elif "base_model_name_or_path" in data and "hidden_size" not in data:
        folder = "an adapter names a base that lies beside it"
    elif "_diffusers_version" in data and "Pipeline" in str(data.get("_class_name")):
        folder = "a pipeline names folders that lie beside it"
    if folder is None:
        return None
    if path is None:
        raise UnrecognisedFormat(f"standard input cannot be read alone: {folder}; give the path")
    from ropeaudit.sources import _folder

    return _folder.read_beside(path, document, target=target)
