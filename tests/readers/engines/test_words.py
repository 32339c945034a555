"""What a distance says in words: each difference by its cause."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.readers.engines.compare import distance
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from tests.schedules import llama3, plain, scaled, with_values, yarn


def words(ours: Schedule | list[Schedule], theirs: Schedule | list[Schedule]) -> tuple[str, ...]:
    sides = [s if isinstance(s, list) else [s] for s in (ours, theirs)]
    found = distance(*sides)
    assert found is not None
    assert found.same == (found.words == ())
    return found.words


def linear(factor: float, **kw: Any) -> Schedule:
    return scaled("linear", scaling={"factor": factor}, **kw)


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (plain(1e4), plain(5e5), ("base 10000 instead of 500000",)),
        (plain(1234.5), plain(1e4), ("base 1234 instead of 10000",)),
        (plain(5e5), llama3(5e5), ("llama3 scaling by 8 lost",)),
        (
            plain(1e4),
            llama3(5e5),
            ("base 10000 instead of 500000", "llama3 scaling by 8 lost"),
        ),
        (linear(4.0), plain(), ("linear scaling by 4 added",)),
        (linear(4.0), linear(2.0), ("factor 4 instead of 2",)),
        (
            plain(1e6),
            yarn(1e6),
            ("yarn scaling by 4 lost", "attention scaling 1 instead of 1.139"),
        ),
        (
            yarn(1e6, original=8192),
            yarn(1e6, original=32768),
            ("original length 8192 instead of 32768",),
        ),
        (
            linear(4.0, base=5e5),
            llama3(5e5),
            ("linear scaling by 4 instead of llama3 scaling by 8",),
        ),
        (plain(dim=64), plain(dim=128), ("rotates 64 dimensions instead of 128",)),
        (
            plain(pairing="interleaved"),
            plain(),
            ("interleaved pairing instead of half",),
        ),
        (
            replace(plain(), softmax_scale=1.0),
            replace(plain(), softmax_scale=1.5896),
            ("softmax scale 1 instead of 1.59",),
        ),
        (
            plain(layers=(0, 1, 2, 3)),
            plain(layers=(0, 1)),
            ("rotates layers 2-3, which it should not",),
        ),
        (plain(layers=(0,)), plain(layers=(0, 1)), ("does not rotate layer 1",)),
        (with_values(plain(), lambda k, v: v * 1.1), plain(), ("another table",)),
        (plain(), plain(), ()),
    ],
)
def test_each_cause_has_its_words(ours: Schedule, theirs: Schedule, said: tuple[str, ...]) -> None:
    assert words(ours, theirs) == said


def test_truncation_is_a_word_and_not_a_number() -> None:
    given = {"factor": 4.0, "original_max_position_embeddings": 4096}
    a, b = (scaled("yarn", scaling={**given, "truncate": t}) for t in (True, False))
    assert words(a, b) == ("truncate true instead of false",)


def test_what_concerns_some_layer_types_names_them() -> None:
    full = linear(8.0, layer_type="full_attention", layers=(1,))
    lost = plain(layer_type="full_attention", layers=(1,))
    sliding = plain(layer_type="sliding_attention", layers=(0,))
    assert words([lost, sliding], [full, sliding]) == ("linear scaling by 8 lost (full_attention)",)


def test_one_list_for_both() -> None:
    context = Context(4096, 131072)
    lists = {"short_factor": [1.0] * 64, "long_factor": [4.0] * 64, "factor": 32.0}
    lists["original_max_position_embeddings"] = 4096
    short, long = (
        scaled("longrope", scaling=lists, length=n, variant=v, context=context)
        for v, n in (("short", None), ("long", 5000))
    )
    assert words([replace(long, variant=None)], [short, long]) == (
        "the long list where the short one belongs",
    )


def test_a_table_that_does_not_grow() -> None:
    grown = [
        scaled("dynamic", scaling={"factor": 4.0}, declared=4096, length=n, variant=f"@{n}")
        for n in (4096, 8192)
    ]
    held = replace(grown[0], variant=None)
    assert words([held], grown) == ("another table at 8192 positions",)
    assert words([plain()], grown) == ("dynamic scaling by 4 lost",)
