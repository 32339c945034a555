"""Where a text's windows lie and which of their tokens are scored. Numbers only: no model here.

All variants of a run are scored on the same windows, so that their differences are those of the
tables. Every window has exactly L tokens; what is left over at the end of a text is not scored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain

from ropeaudit.errors import UsageError
from ropeaudit.perplexity import _settings
from ropeaudit.perplexity.records import Settings, Window
from ropeaudit.records import record

_CUT = "\ufffd"
_SEARCHED = 4096


@record(kw_only=True)
class Measure:
    """How much text was scored: ``tokens`` targets, the ``words`` that begin in them (separated by
    white space, as ``str.split`` does) and their UTF-8 ``bytes``.

    ``exact``: whether tokens could be matched with the text. Otherwise words and bytes are those of
    the decoded tokens, where a tokenizer may have changed spaces or letters.
    """

    tokens: int
    words: int
    bytes: int
    exact: bool


def cut(
    tokens: int,
    *,
    length: int,
    offset: int = 0,
    count: int | None = None,
    scoring: str = "full",
    stride: int | None = None,
) -> tuple[Window, ...]:
    """The first ``count`` windows (None: all) of a text of ``tokens`` tokens, in its order.

    ``full``: windows side by side; a window's first token is not predicted, the other L-1 are.
    ``second-half``: the same windows, targets L//2+1 .. L-1, as llama.cpp's tools/perplexity scores
    them: its logits count from position L//2 on, and those predict the token after.
    ``strided``: a window begins ``stride`` tokens (default L//2) after the one before and scores
    the tokens that are new to it, so that with a stride below L no token is left out and none
    counts twice. The loop in the documentation of transformers ("Perplexity of fixed-length
    models") counts one target too few in every window but the first when it averages.

    A text may hold fewer windows than asked for. Raises UsageError where it holds none, and for
    numbers that make no windows.
    """
    _settings.require(
        Settings(contexts=(length,), windows=count, offset=offset, scoring=scoring, stride=stride)
    )
    if scoring == "second-half" and length < 3:
        raise UsageError(
            f"the second half of a window of {length} tokens has no target; take a context of at "
            "least 3 tokens"
        )
    left = tokens - offset
    if left < length:
        raise UsageError(_too_short(tokens, length, offset))
    step = length if scoring != "strided" else stride or length // 2
    many = (left - length) // step + 1
    many = many if count is None else min(many, count)
    return tuple(
        Window(
            index=n, start=offset + n * step, length=length, first=_first(scoring, length, step, n)
        )
        for n in range(many)
    )


def _first(scoring: str, length: int, step: int, n: int) -> int:
    if scoring == "second-half":
        return length // 2 + 1
    if scoring == "strided" and n:
        return max(1, length - step)
    return 1


def _too_short(tokens: int, length: int, offset: int) -> str:
    if not offset:
        return (
            f"the text has {tokens:,} tokens, too few for one window of {length:,}; take a shorter "
            "context or a longer text"
        )
    left = max(tokens - offset, 0)
    return (
        f"the text has {tokens:,} tokens and {left:,} of them follow the offset of {offset:,}, too "
        f"few for one window of {length:,}; take a smaller offset, a shorter context or a longer "
        "text"
    )


def spans(windows: Sequence[Window]) -> tuple[tuple[int, int], ...]:
    """Stretches [first, last) of the text's tokens that ``windows`` score, in order.

    Stretches that touch or overlap are one: each token is in at most one.
    """
    found: list[tuple[int, int]] = []
    for low, high in sorted((w.start + w.first, w.start + w.length) for w in windows):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], high))
        else:
            found.append((low, high))
    return tuple(found)


def measure(
    text: str,
    ids: Sequence[int],
    windows: Sequence[Window],
    decode: Callable[[Sequence[int]], str],
) -> Measure:
    """Tokens, words and bytes of exactly what ``windows`` score, for perplexity per word or byte.

    ``ids`` are the tokens of the whole ``text``; ``decode`` gives the text of some of them, special
    tokens included and spaces not tidied up. Each scored stretch is looked up in the text, so that
    a tokenizer that knows no offsets will do. A word counts where its first character does, and so
    does a character that is cut by the edge of a stretch: adding up stretches counts none twice.
    """
    scored = spans(windows)
    tokens = sum(high - low for low, high in scored)
    edges = _edges(text, ids, scored, decode)
    if edges is None:
        parts = [decode(ids[low:high]) for low, high in scored]
        words = sum(len(part.split()) for part in parts)
    else:
        parts = [text[low:high] for low, high in edges]
        words = sum(_words(text, low, high) for low, high in edges)
    size = sum(len(part.encode("utf-8", "replace")) for part in parts)
    return Measure(tokens=tokens, words=words, bytes=size, exact=edges is not None)


def _edges(
    text: str,
    ids: Sequence[int],
    scored: Sequence[tuple[int, int]],
    decode: Callable[[Sequence[int]], str],
) -> list[tuple[int, int]] | None:
    """The stretches in characters of ``text``; None where decoded tokens are not found there.

    Tokens may be bytes, and what there is of a character that an edge cuts decodes as U+FFFD. So
    decoding goes on from the last place before the edge that is between two characters, at most
    three tokens back.
    """
    at = token = 0
    ends = []
    decode = _within(ids, decode)
    for edge in chain.from_iterable(scored):
        end = _after(text, at, decode(ids[token:edge]))
        if end is not None:
            at, token = end, edge
        else:
            for whole in range(edge - 1, max(token, edge - 3) - 1, -1):
                begun = decode(ids[token:whole])
                start = None if begun.endswith(_CUT) else _after(text, at, begun)
                if start is not None:
                    at, token = start, whole
                    break
            rest = _after(text, at, decode(ids[token:edge]).rstrip(_CUT))
            if rest is None:
                return None
            end = rest + 1
        ends.append(end)
    return list(zip(ends[::2], ends[1::2], strict=True))


def _after(text: str, at: int, piece: str) -> int | None:
    """Where ``piece`` ends if it stands in ``text`` at ``at``.

    A tokenizer that marks words by a space before them may put one before the text.
    """
    if not at and piece[:1] == " " and not text.startswith(piece):
        piece = piece[1:]
    return at + len(piece) if text.startswith(piece, at) else None


def _within(
    ids: Sequence[int], decode: Callable[[Sequence[int]], str]
) -> Callable[[Sequence[int]], str]:
    """``decode`` for tokens that do not begin a text.

    Where decoding begins, some tokenizers drop a space. So a token that is a word of the text goes
    before, and its letters are taken away again.
    """
    for token in dict.fromkeys(ids[:_SEARCHED]):
        word = decode([token])
        if word.strip().isalpha():
            return lambda some: decode([token, *some]).removeprefix(word)
    return decode


def _words(text: str, low: int, high: int) -> int:
    """Words that begin in a stretch of characters."""
    count = len(text[low:high].split())
    begun = 0 < low < high and not text[low - 1].isspace() and not text[low].isspace()
    return count - begun
