"""Equal keys mean equal numbers, and what does not decide a number is in no key."""

from __future__ import annotations

from typing import Any

import pytest

from ropeaudit.perplexity import keys
from ropeaudit.perplexity._order import blocks, shuffled
from ropeaudit.perplexity._plan import served
from ropeaudit.perplexity.records import Window
from ropeaudit.perturb.variant import make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.schedules import plain

GIVEN: dict[str, Any] = {
    "model": "m",
    "table": "t",
    "text": "c",
    "tokens": keys.token_digest([1, 2, 3]),
    "settings": {"context": 32, "seed": 0},
    "versions": {"torch": "2.13"},
}


@pytest.fixture
def table() -> Schedule:
    return plain(layers=(0, 1, 2, 3))


def test_a_key_depends_on_everything_it_is_made_of() -> None:
    key = keys.cell_key(**GIVEN)
    assert key == keys.cell_key(**GIVEN)
    assert len(key) == 64
    others = [
        {"model": "n"},
        {"table": "u"},
        {"text": "d"},
        {"tokens": keys.token_digest([1, 2, 4])},
        {"settings": {"context": 64, "seed": 0}},
        {"versions": {"torch": "2.14"}},
    ]
    found = {keys.cell_key(**GIVEN | other) for other in others}
    assert len(found | {key}) == len(others) + 1


def test_a_table_is_known_by_its_numbers(table: Schedule) -> None:
    own = keys.schedule_id([table])
    assert keys.schedule_id([replace(table, rope_theta=None, rope_type="stored")]) == own
    moved = replace(table, inv_freq=(0.5, *table.inv_freq[1:]))
    scaled = replace(table, attention_scaling=1.5)
    renamed = replace(table, layer_type="full_attention")
    ids = {keys.schedule_id([s]) for s in (table, moved, scaled, renamed)}
    assert len(ids) == 4


def test_splitting_by_layers_without_a_change_changes_no_id(table: Schedule) -> None:
    def made(recipe: str) -> str:
        return keys.schedule_id(served(make([table], recipe)))

    own = keys.schedule_id([table])
    assert made("identity") == made("identity@layers=1-2") == own
    first, second = made("int8:sym@layers=0-1"), made("int8:sym@layers=2-3")
    both = made("int8:sym@layers=0-1+int8:sym@layers=2-3")
    assert len({own, first, second, both}) == 4
    assert both == made("int8:sym")


def test_only_the_tables_of_a_length_are_in_force(table: Schedule) -> None:
    grown = [replace(table, variant=f"@{n}") for n in (64, 96, 128)]
    assert keys.in_force(grown, 32) == (grown[0],)
    assert keys.in_force(grown, 64) == (grown[0],)
    assert keys.in_force(grown, 96) == (grown[1],)
    original = {"original_max_position_embeddings": 64}
    short, long = (replace(table, variant=v, parameters=original) for v in ("short", "long"))
    assert keys.in_force([short, long], 64) == (short,)
    assert keys.in_force([short, long], 65) == (long,)
    assert keys.in_force([table], 10**6) == (table,)


def test_windows_are_shuffled_the_same_way_everywhere() -> None:
    windows = [Window(index=n, start=32 * n, length=32) for n in range(100)]
    order = [w.index for w in shuffled(windows, 0)]
    assert order[:8] == [w.index for w in shuffled(list(reversed(windows)), 0)][:8]
    assert sorted(order) == list(range(100))
    assert order != [w.index for w in shuffled(windows, 1)]
    # Written down, so that no version of anything orders a stored cell in another way.
    assert order[:8] == [12, 57, 97, 75, 81, 16, 21, 8]


@pytest.mark.parametrize("count", [1, 7, 8, 9, 50, 1000])
def test_blocks_hold_every_window_once(count: int) -> None:
    windows = [Window(index=n, start=n, length=2) for n in range(count)]
    found = blocks(windows)
    assert [w for b in found for w in b] == windows
    assert len(found[0]) == min(8, count)
    done = 8
    for block in found[1:-1]:
        assert len(block) == max(4, done // 4)
        done += len(block)
