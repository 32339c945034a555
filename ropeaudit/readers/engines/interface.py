"""What an engine module provides and what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from ropeaudit.document import Document
from ropeaudit.facts import Json, Note
from ropeaudit.readers.interface import Resolution
from ropeaudit.records import field, record
from ropeaudit.schedule.core import Schedule


@record(kw_only=True)
class Release:
    """One release of an engine whose rules are known.

    ``name`` is the full name (``vllm-0.33``), ``version`` what was looked at (``0.33.0``, with the
    transformers it pulls in where that matters). ``covers``: the versions, as prefixes, for which
    the rules are known to hold. ``how``: ``ran`` or ``read``. ``source``: files and lines.
    ``silent``: aspects for which there is no evidence (``softmax``, ``layers``, ``pairing``,
    ``attention``); they are not compared.
    """

    name: str
    engine: str
    version: str
    covers: tuple[str, ...]
    how: str
    source: str
    silent: frozenset[str] = frozenset()


@record(kw_only=True)
class Request:
    """One config under one set of run-time choices.

    ``reference``: what the newest transformers builds from the same document, None where it cannot
    be built. ``lengths``: context lengths asked for, which stand for ``max_model_len``, ``n_ctx``
    and the length of a sequence; empty when none, and then each engine's default counts. ``memo``:
    a scratch space of this document that all engines share.
    """

    document: Document
    reference: Resolution | None
    lengths: tuple[int, ...] = ()
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)

    @property
    def config(self) -> Mapping[str, Json]:
        """The whole config as parsed."""
        found: Mapping[str, Json] = self.document.data
        return found

    @property
    def is_params(self) -> bool:
        """Whether this is Meta's or Mistral's ``params.json``, which few engines look for."""
        data = self.config
        named = self.document.file.rsplit("/", 1)[-1] == "params.json"
        hf = "hidden_size" in data or "architectures" in data
        return not hf and "n_layers" in data and (named or "model_type" not in data)


@record(kw_only=True)
class Built:
    """What an engine builds.

    Each schedule has ``reader`` set to the release's full name and the same naming as the
    reference's (``text``, ``text/sliding_attention``, ``text/long``), so that they can be laid side
    by side. ``ignored``: JSON pointers of position values that the file states and this engine does
    not read, although they would change its schedules. ``notes``: what else a user must know (the
    list that is chosen at run time, the dtype of cached cosines).
    """

    schedules: tuple[Schedule, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


class Refuses(Exception):
    """The engine stops at this config, with its reason as one clause."""


class NotCovered(Exception):
    """Nothing is known about what the engine does with this config, with the reason as a clause.

    Never a guess: a family whose code was not looked at is not covered.
    """


class Engine(Protocol):
    """A module of this package."""

    RELEASES: tuple[Release, ...]
    """Newest first; a name without its version means the first."""

    def build(self, request: Request, release: Release) -> Built:
        """The schedules that ``release`` builds; raises Refuses or NotCovered.

        InvalidValue (a value from which no table can be built) counts as a refusal.
        """
