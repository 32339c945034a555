"""What an encoding module provides, and how one is found."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from ropeaudit.document import Document
from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.facts import Json, Note, StoredTensor
from ropeaudit.records import field, record, replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum


@record(kw_only=True)
class Sources:
    """What an encoding may be recognised from.

    ``tensors``: those whose names belong to some encoding. ``document``: the config beside them or
    stored with them (a checkpoint's own ``config`` entry). ``options``: what the user states where
    a layout is ambiguous (``ape-skew``, ``ape-tree-layout``, ``grid``, ``test-grid``, ``method``).
    ``metadata``: the key-value pairs of a GGUF file, which is called ``file``.
    """

    tensors: Sequence[StoredTensor] = ()
    document: Document | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    metadata: Mapping[str, Json] | None = None
    file: str = ""


class EncodingModule(Protocol):
    """A module of this package. ``layers`` and ``heads`` are always array axes, of length 1 where
    one set serves all."""

    KINDS: tuple[str, ...]
    OPTIONS: Mapping[str, str]
    """Options that this module reads, each with its values in words."""

    def recognise(self, sources: Sources) -> Iterator[Encoding]:
        """Encodings found by names and shapes.

        Raises InvalidValue for a layout that is recognised and broken (mis-shaped, NaN, mixed).
        """

    def spectrum(self, encoding: Encoding) -> Spectrum: ...

    def generators(self, encoding: Encoding) -> Array | None:
        """(axes, layers, heads, n, n): M(p) = exp(sum_a p_a G_a); None for what has none (bias)."""

    def operators(self, encoding: Encoding, positions: Array) -> tuple[Array, Array]:
        """Maps of queries and of keys at ``positions`` (count, axes).

        Both (count, layers, heads, n, n); the score is ``(Q_i q) . (K_j k)`` plus :meth:`bias`.
        """

    def bias(self, encoding: Encoding, queries: Array, keys: Array) -> Array | None:
        """What is added to the score, (layers, heads, queries, keys); None when nothing is."""

    def rebuilt(self, encoding: Encoding, spectrum: Spectrum) -> Encoding:
        """``encoding`` with the frequencies (gamma, eta, slopes) of ``spectrum`` put in place of
        its own, planes and directions kept. Units stand in the order that ``spectrum()`` gives."""


@cache
def modules() -> tuple[str, ...]:
    """Names of all encoding modules, sorted, without importing them."""
    import ropeaudit.encodings as package

    own = {"core", "interface", "score", "torch"}
    return tuple(
        sorted(
            info.name
            for info in pkgutil.iter_modules(package.__path__)
            if info.name not in own and not info.name.startswith("_")
        )
    )


def load(name: str) -> EncodingModule:
    """The module called ``name``."""
    found: Any = import_module(f"ropeaudit.encodings.{name}")
    return found  # type: ignore[no-any-return]


def of(encoding: Encoding) -> EncodingModule:
    """The module that ``encoding`` belongs to."""
    return load(encoding.module)


def recognise(sources: Sources) -> tuple[Encoding, ...]:
    """All encodings that some module finds in ``sources``; raises InvalidValue as they do.

    An option that none of them reads is named in a note of the first. Raises UsageError for one
    that no module reads at all.
    """
    if sources.options:
        known = {name for module in modules() for name in load(module).OPTIONS}
        for name in sources.options:
            if name not in known:
                raise UsageError(
                    f"{quoted(name)} is no option of an encoding, expected one of "
                    f"{', '.join(sorted(known))}{suggestion(name, known)}"
                )
    found = tuple(e for name in modules() for e in load(name).recognise(sources))
    read = {name for e in found for name in of(e).OPTIONS}
    idle = [quoted(name) for name in sources.options if name not in read]
    if not found or not idle:
        return found
    kinds = " and ".join(dict.fromkeys(e.kind for e in found))
    note = Note("idle_option", f"{kinds} has no option {' or '.join(idle)}: nothing changes by it")
    return (replace(found[0], notes=(*found[0].notes, note)), *found[1:])
