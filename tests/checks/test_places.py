"""Where a finding about a table's numbers sends its reader, and how it counts."""

from __future__ import annotations

import pytest

from ropeaudit.checks._spectrum import and_more, place
from ropeaudit.facts import Fact, Location, Origin
from ropeaudit.records import replace
from tests.schedules import plain, yarn


def fact(field: str, tensor: str | None = None) -> Fact:
    pointer = None if tensor else f"/{field}"
    return Fact(field, 1, Origin.FILE, Location(file="c.json", pointer=pointer, tensor=tensor))


LENGTH, BASE, LAW = fact("max_position_embeddings"), fact("rope_theta"), fact("rope_type")
HELD = fact("inv_freq", tensor="rotary.inv_freq")


@pytest.mark.parametrize(
    ("schedule", "facts", "fields", "expected"),
    [
        (plain(), (LENGTH, LAW, BASE), (), BASE),
        (yarn(), (LENGTH, BASE, LAW), (), LAW),
        (yarn(), (LENGTH, BASE), (), BASE),
        (yarn(), (LENGTH, BASE, LAW, HELD), (), HELD),
        (plain(), (LENGTH, BASE), ("max_position_embeddings",), LENGTH),
        (plain(), (LENGTH,), (), LENGTH),
    ],
)
def test_the_place_is_what_decides_the_table(
    schedule: object, facts: tuple[Fact, ...], fields: tuple[str, ...], expected: Fact
) -> None:
    placed = replace(schedule, provenance=facts)
    assert place(placed, *fields) == expected.location


def test_no_place_is_none() -> None:
    assert place(replace(plain(), provenance=())) is None


def test_what_is_not_listed_is_counted() -> None:
    assert [and_more(n, "such set") for n in (0, 1, 2)] == [
        "", ", and 1 more such set", ", and 2 more such sets",
    ]  # fmt: skip
