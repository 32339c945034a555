"""A ``config.json`` or ``params.json``, as bytes or as a file.

Hugging Face configs and the ``params.json`` of Meta and Mistral are told apart by content. A JSON
object that is something else on closer look (a shard index, an adapter, a pipeline, a table of
frequencies) goes to the module that knows it.
"""

from __future__ import annotations

from pathlib import Path

from ropeaudit.document import Document
from ropeaudit.errors import UnrecognisedFormat
from ropeaudit.facts import Reading
from ropeaudit.sources import _config
from ropeaudit.sources._json import opening_bracket

FORMAT = "hf-config"
SUFFIXES: tuple[str, ...] = (".json",)


def sniff(head: bytes, path: Path) -> bool:
    """Whether ``head`` begins a JSON object."""
    return opening_bracket(head) == "{"


def read(path: Path, *, target: str) -> Reading:
    """The config at ``path``; raises SourceError."""
    return read_bytes(_config.load(path), target=target, path=path)


def read_bytes(data: bytes, *, target: str, path: Path | None) -> Reading:
    """A config that is already in memory; ``path`` is None for standard input."""
    document = _config.parse(data, "-" if path is None else str(path))
    other = _elsewhere(document, target, path)
    return _config.reading(document, data, target=target) if other is None else other


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
