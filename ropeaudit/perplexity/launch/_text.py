"""From a text's name to token ids and windows for one model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.perplexity.launch.interface import Order
from ropeaudit.perplexity.records import Corpus, Window
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded
    from ropeaudit.perplexity.windows import Measure


@record(kw_only=True)
class Text:
    """``tokens``, ``words`` and ``bytes`` are of what the windows of all lengths score together."""

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
    from ropeaudit.perplexity import windows

    settings = order.settings
    if loaded.encode is None:
        raise UsageError(
            f"{quoted(loaded.reference)} has no tokenizer to read the text with; put its "
            "tokenizer files into the folder"
        )
    corpus = order.corpus
    if not isinstance(corpus, Corpus):
        from ropeaudit.perplexity import corpora

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
    every = [w for found in cuts.values() for w in found]
    size = windows.measure(corpus.text, ids, every, _decoder(loaded.tokenizer))
    return Text(
        corpus=corpus,
        ids=ids,
        windows=cuts,
        tokens=size.tokens,
        words=size.words,
        bytes=size.bytes,
        notes=_notes(cuts, settings.windows, size),
    )


def _decoder(tokenizer: Any) -> Callable[[Sequence[int]], str]:
    def decode(ids: Sequence[int]) -> str:
        return str(
            tokenizer.decode(
                list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    return decode


def _notes(
    cuts: Mapping[int, Sequence[Window]], count: int | None, size: Measure
) -> tuple[str, ...]:
    """Where the text holds fewer windows than were asked for, and where words were not found."""
    notes = [
        f"the text holds {len(found)} windows of {length} tokens, not {count}"
        for length, found in cuts.items()
        if count is not None and len(found) < count
    ]
    if not size.exact:
        notes.append("words and bytes are those of the decoded tokens, not of the text itself")
    return tuple(notes)
