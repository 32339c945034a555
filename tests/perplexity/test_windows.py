"""Windows: what is scored, held against plain loops of the peers, and how much text that is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perplexity.records import SCORINGS, Window
from ropeaudit.perplexity.windows import cut, measure, spans

SIZES = st.integers(3, 40)
TEXTS = st.integers(3, 300)
few = settings(max_examples=50)


def cuts(tokens: int, length: int, **options: Any) -> tuple[Window, ...]:
    assume(tokens - options.get("offset", 0) >= length)
    return cut(tokens, length=length, **options)


def targets(windows: Sequence[Window]) -> Counter[int]:
    """How often each token of the text is scored."""
    return Counter(w.start + t for w in windows for t in range(w.first, w.length))


@few
@given(TEXTS, SIZES, st.integers(0, 50), st.sampled_from(SCORINGS), st.none() | st.integers(1, 9))
def test_whatever_the_scoring_no_target_counts_twice(
    tokens: int, length: int, offset: int, scoring: str, count: int | None
) -> None:
    windows = cuts(tokens, length, offset=offset, scoring=scoring, count=count)
    assert [w.index for w in windows] == list(range(len(windows)))
    assert all(w.length == length and 1 <= w.first < length for w in windows)
    assert windows[0].start == offset
    assert windows[-1].start + length <= tokens
    assert set(targets(windows).values()) == {1}
    assert count is None or len(windows) <= count
    every = cut(tokens, length=length, offset=offset, scoring=scoring)
    assert windows == every[:count]


@few
@given(TEXTS, SIZES, st.integers(0, 50))
def test_full_scores_all_but_the_first_token_of_each_window(
    tokens: int, length: int, offset: int
) -> None:
    windows = cuts(tokens, length, offset=offset)
    covered = range(offset, windows[-1].start + length)
    assert len(covered) % length == 0
    assert tokens - offset - len(covered) < length
    assert set(covered) - set(targets(windows)) == {w.start for w in windows}


def llama_cpp(tokens: int, length: int) -> Iterator[int]:
    """Targets of llama.cpp's tools/perplexity (perplexity_v1 without stride): of each chunk the
    logits from position L/2 on, the last one left out, each for the token that follows it."""
    for chunk in range(tokens // length):
        for position in range(length // 2, length - 1):
            yield chunk * length + position + 1


@few
@given(TEXTS, SIZES)
def test_second_half_is_what_llama_cpp_scores(tokens: int, length: int) -> None:
    windows = cuts(tokens, length, scoring="second-half")
    assert list(llama_cpp(tokens, length)) == list(targets(windows))
    assert all(w.length - w.first == length - length // 2 - 1 for w in windows)


def documented(tokens: int, length: int, stride: int) -> Iterator[tuple[int, int, list[int]]]:
    """Start, end and targets of each pass of the loop in transformers' documentation of
    perplexity: labels of tokens seen before are masked, and the loss drops a pass's first label."""
    seen = 0
    for start in range(0, tokens, stride):
        end = min(start + length, tokens)
        labels = [t if t >= seen else None for t in range(start, end)]
        yield start, end, [t for t in labels[1:] if t is not None]
        seen = end
        if end == tokens:
            return


@few
@given(TEXTS, SIZES, st.data())
def test_strided_scores_what_the_documented_loop_scores(
    tokens: int, length: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, length))
    windows = cuts(tokens, length, scoring="strided", stride=stride)
    passes = [p for p in documented(tokens, length, stride) if p[1] - p[0] == length]
    assert [(w.start, list(range(w.start + w.first, w.start + length))) for w in windows] == [
        (start, scored) for start, _, scored in passes
    ]


@few
@given(TEXTS, SIZES, st.integers(0, 20), st.data())
def test_strided_leaves_no_token_out(
    tokens: int, length: int, offset: int, data: st.DataObject
) -> None:
    stride = data.draw(st.none() | st.integers(1, length - 1))
    windows = cuts(tokens, length, offset=offset, scoring="strided", stride=stride)
    last = windows[-1].start + length
    assert spans(windows) == ((offset + 1, last),)
    assert tokens - last < (stride or length // 2)


def test_the_documented_loop_weights_its_passes_wrongly() -> None:
    """It counts trg_len - 1 targets in each pass; only the first pass loses one to the shift."""
    windows = cut(22, length=10, scoring="strided", stride=4)
    assert [w.length - w.first for w in windows] == [9, 4, 4, 4]
    assert [len(scored) - (start > 0) for start, _, scored in documented(22, 10, 4)] == [9, 3, 3, 3]


@few
@given(TEXTS, SIZES)
def test_a_stride_of_the_whole_length_is_full(tokens: int, length: int) -> None:
    full = cuts(tokens, length)
    assert cut(tokens, length=length, scoring="strided", stride=length) == full


def rolling(tokens: int, length: int) -> list[tuple[int, int, int]]:
    """First input, first target and end of each request that lm-evaluation-harness's rolling
    loglikelihood makes of a text whose token 0 is its prefix (get_rolling_token_windows with a
    context of 1, and make_disjoint_window): ``length`` targets side by side, each request with
    ``length`` inputs, so that only what is left over at the end sees more than its own."""
    found = []
    target = 1
    while target < tokens:
        end = min(target + length, tokens)
        found.append((max(end - length - 1, 0), target, end))
        target = end
    return found


@few
@given(TEXTS, SIZES)
def test_rolling_windows_of_lm_eval_are_a_stride_one_below_the_length(
    tokens: int, length: int
) -> None:
    windows = cuts(tokens, length + 1, scoring="strided", stride=length)
    whole = [r for r in rolling(tokens, length) if r[2] - r[1] == length]
    assert [(w.start, w.start + w.first, w.start + w.length) for w in windows] == whole


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"length": 101}, "the text has 100 tokens, too few for one window of 101"),
        ({"length": 64, "offset": 40}, "100 tokens and 60 of them follow the offset of 40"),
        ({"length": 64, "offset": 4000}, "100 tokens and 0 of them follow the offset of 4,000"),
        ({"length": 1}, "the context length is 1, expected 2 to"),
        ({"length": 2, "scoring": "second-half"}, "at least 3 tokens"),
        ({"length": 8, "scoring": "half"}, "unknown scoring half"),
        ({"length": 8, "stride": 4}, "stride is for strided scoring only"),
        ({"length": 8, "scoring": "strided", "stride": 9}, "stride is 9, expected 1 to 8"),
        ({"length": 8, "offset": -1}, "offset is -1"),
        ({"length": 8, "count": 0}, "windows is 0"),
    ],
)
def test_what_makes_no_window_is_one_sentence_with_the_numbers(
    options: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        cut(100, **options)
    assert "\n" not in str(caught.value)


@few
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(2, 20), st.integers(1, 19))))
def test_spans_hold_each_scored_token_once(many: list[tuple[int, int, int]]) -> None:
    windows = [
        Window(index=n, start=s, length=length, first=min(first, length - 1))
        for n, (s, length, first) in enumerate(many)
    ]
    found = spans(windows)
    assert [t for low, high in found for t in range(low, high)] == sorted(targets(windows))
    assert all(a[1] < b[0] for a, b in pairwise(found))


def as_bytes(ids: Sequence[int]) -> str:
    return bytes(ids).decode("utf-8", "replace")


LETTERS = st.text(st.sampled_from("ab \n\té€𝄞"), min_size=1, max_size=60)


@few
@given(LETTERS, st.integers(3, 12), st.sampled_from(SCORINGS), st.integers(0, 5))
def test_bytes_and_words_are_those_of_the_characters_that_begin_in_a_stretch(
    text: str, length: int, scoring: str, offset: int
) -> None:
    """Tokens are bytes, so every way of cutting a character occurs."""
    ids = list(text.encode())
    windows = cuts(len(ids), length, offset=offset, scoring=scoring)
    found = measure(text, ids, windows, as_bytes)
    scored = targets(windows)
    size = words = at = 0
    for n, character in enumerate(text):
        if at in scored:
            size += len(character.encode())
            words += not character.isspace() and (n == 0 or text[n - 1].isspace())
        at += len(character.encode())
    assert found.exact
    assert (found.tokens, found.words, found.bytes) == (len(scored), words, size)


SAMPLE = "The  quick brown fox — naïve, ΔΘ ≥ 0.25 rad — jumps\nover 𝄞 12 lazy dogs. " * 12


def byte_level() -> Any:
    """Byte-level BPE, as of GPT-2 and Llama 3, trained on ASCII only: other letters are bytes."""
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.ByteLevelBPETokenizer(trim_offsets=False)
    plain = SAMPLE.encode("ascii", "ignore").decode()
    made.train_from_iterator([plain], vocab_size=330, min_frequency=2, show_progress=False)
    return made


def word_marks() -> Any:
    """BPE with marks for spaces and single bytes as a last resort, as of Llama 2 and Gemma."""
    tokenizers = pytest.importorskip("tokenizers")
    decoders, models = tokenizers.decoders, tokenizers.models
    made = tokenizers.Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
    made.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(), decoders.Fuse()]
    )
    known = ["<unk>", *(f"<0x{n:02X}>" for n in range(256))]
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=360, special_tokens=known, show_progress=False
    )
    plain = SAMPLE.encode("ascii", "ignore").decode()
    made.train_from_iterator([plain], trainer)
    return made


@pytest.mark.parametrize("make", [byte_level, word_marks])
@pytest.mark.parametrize("length", [4, 7, 16, 33])
@pytest.mark.parametrize("scoring", SCORINGS)
def test_real_tokenizers_need_no_offsets(
    make: Callable[[], Any], length: int, scoring: str
) -> None:
    tokenizer = make()
    encoded = tokenizer.encode(SAMPLE, add_special_tokens=False)
    ids = encoded.ids
    windows = cut(len(ids), length=length, scoring=scoring)
    found = measure(
        SAMPLE, ids, windows, lambda some: tokenizer.decode(list(some), skip_special_tokens=False)
    )
    ends = [end for _, end in encoded.offsets]
    parts = [(ends[low - 1], ends[high - 1]) for low, high in spans(windows)]
    starts = [
        n for n, c in enumerate(SAMPLE) if not c.isspace() and (not n or SAMPLE[n - 1].isspace())
    ]
    assert found.exact
    assert found.bytes == sum(len(SAMPLE[low:high].encode()) for low, high in parts)
    assert found.words == sum(low <= n < high for low, high in parts for n in starts)


def test_a_tokenizer_that_changes_the_text_is_measured_by_what_it_decodes() -> None:
    text = "The Quick  Brown Fox"
    ids = list(text.lower().encode())
    found = measure(text, ids, cut(len(ids), length=10), as_bytes)
    assert (found.exact, found.tokens, found.words, found.bytes) == (False, 18, 4, 18)
