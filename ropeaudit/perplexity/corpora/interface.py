"""What a kind of text provides, and how a text is found by its name or path."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib import import_module
from typing import Protocol

from ropeaudit.errors import SourceError, UsageError, quoted_path, suggestion
from ropeaudit.perplexity.records import Corpus

LARGEST = 1 << 30
"""Bytes of text that are read at most: it is held in memory, and so are its tokens."""


class Kind(Protocol):
    """A module of this folder. ``NAMES``: texts it knows by name, each with one line of help."""

    NAMES: Mapping[str, str]

    def claims(self, reference: str) -> bool:
        """Whether ``reference``, which is no kind's name, is for this kind to read."""

    def load(self, reference: str, *, offline: bool) -> Corpus:
        """The text of a name or of a claimed reference; raises SourceError or UsageError."""


@cache
def kinds() -> tuple[Kind, ...]:
    """Every kind of text, in the order of the modules' names."""
    package = import_module("ropeaudit.perplexity.corpora")
    found = sorted(
        info.name
        for info in pkgutil.iter_modules(package.__path__)
        if info.name[0] != "_" and info.name != "interface"
    )
    return tuple(import_module(f"{package.__name__}.{name}") for name in found)


def names() -> Mapping[str, str]:
    """Names of texts, each with one line of help, in alphabetical order."""
    return dict(sorted(item for kind in kinds() for item in kind.NAMES.items()))


def load(name_or_path: str, *, offline: bool = False) -> Corpus:
    """A text by its name, as a file or folder, or as a data set (``hf:org/name``).

    A name goes before a file of the same name (``./name`` is the file). ``offline``: never touch
    the network. Raises UsageError where there is no such text, SourceError for one that cannot be
    read or is empty, MissingDependency without the extra it needs.
    """
    kind = next((k for k in kinds() if name_or_path in k.NAMES), None)
    kind = kind or next((k for k in kinds() if k.claims(name_or_path)), None)
    if kind is None:
        known = names()
        near = suggestion(name_or_path, known) or f"; known: {', '.join(known)}"
        raise UsageError(
            f"no text {quoted_path(name_or_path)}: it is no file, no folder and no name of a text"
            f"{near}; a data set is hf:org/name"
        )
    return kind.load(name_or_path, offline=offline)


def corpus(name: str, text: str, source: str) -> Corpus:
    """A text with its digest; raises SourceError where it holds nothing but white space."""
    if not text.strip():
        raise SourceError(f"{source} holds no text; take another one")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise SourceError(
            f"{source} holds half a surrogate pair at character {error.start}, which is no text; "
            "write it again as UTF-8"
        ) from None
    return Corpus(name=name, text=text, sha256=sha256(data).hexdigest(), source=source)
