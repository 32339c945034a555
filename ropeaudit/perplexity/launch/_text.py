"""From a text's name to token ids and windows for one model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ropeaudit.errors import UsageError, quoted
from ropeaudit.perplexity.launch.interface import Order
from ropeaudit.perplexity.records import Corpus, Window
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded


@record(kw_only=True)
class Text:
    """``tokens``, ``words`` and ``bytes`` are of the stretch that the windows cover."""

    corpus: Corpus
    ids: tuple[int, ...]
    windows: Mapping[int, tuple[Window, ...]]
    tokens: int
    words: int
    bytes: int
    notes: tuple[str, ...]


def read(order: Order, loaded: Loaded) -> Text:
    """Load, encode and cut; raises UsageError for a model without tokenizer, a tokenizer that
    does not fit, and a text that holds no window."""
    from ropeaudit.perplexity import corpora, windows

    settings = order.settings
    if loaded.encode is None:
        raise UsageError(
            f"{quoted(loaded.reference)} has no tokenizer to read the text with; put its "
            "tokenizer files into the folder"
        )
    corpus = order.corpus
    if not isinstance(corpus, Corpus):
        corpus = corpora.load(corpus, offline=order.offline)
    ids = tuple(loaded.encode(corpus.text))
    high = max(ids, default=0)
    if high >= loaded.vocabulary:
        raise UsageError(
            f"the tokenizer gives the id {high}, and the model knows ids 0 to "
            f"{loaded.vocabulary - 1}; the tokenizer does not belong to this model"
        )
    cuts = {
        length: windows.cut(
            len(ids),
            length=length,
            offset=settings.offset,
            count=settings.windows,
            scoring=settings.scoring,
            stride=settings.stride,
        )
        for length in settings.contexts
    }
    first, last = _span(cuts)
    tokenizer = loaded.tokenizer
    whole = first == 0 and last == len(ids)
    covered = corpus.text if whole or tokenizer is None else str(tokenizer.decode(ids[first:last]))
    return Text(
        corpus=corpus,
        ids=ids,
        windows=cuts,
        tokens=last - first,
        words=len(covered.split()),
        bytes=len(covered.encode("utf-8", "replace")),
        notes=_notes(cuts, settings.windows),
    )


def _span(cuts: Mapping[int, Sequence[Window]]) -> tuple[int, int]:
    every = [w for windows in cuts.values() for w in windows]
    return min(w.start for w in every), max(w.start + w.length for w in every)


def _notes(cuts: Mapping[int, Sequence[Window]], count: int | None) -> tuple[str, ...]:
    """Where the text holds fewer windows than were asked for."""
    return tuple(
        f"the text holds {len(windows)} windows of {length} tokens, not {count}"
        for length, windows in cuts.items()
        if count is not None and len(windows) < count
    )
