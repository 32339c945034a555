"""Which schedules answer to each other, and what stays alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.diff.compare import Options, compare
from ropeaudit.diff.interface import Comparison
from ropeaudit.diff.likeness import Likeness
from ropeaudit.findings import Severity
from ropeaudit.records import replace
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.float32 import f32s
from tests.schedules import cast, llama3, plain, raw, scaled, stored, subject

FULL, SLIDING = plain(1e6), plain(1e4)


def layered(schedule: Schedule, kind: str | None, layers: Any = None) -> Schedule:
    return replace(schedule, layer_type=kind, layers=None if layers is None else tuple(layers))


def pairs(found: Comparison) -> list[tuple[str, str]]:
    return [(p.a.name, p.b.name) for p in found.pairs]


def alone(found: Comparison) -> list[tuple[str, str, bool]]:
    return [(u.side, u.schedule.name, u.matters) for u in found.unpaired]


def test_layers_tell_more_than_names() -> None:
    a = subject(layered(FULL, "main", [0, 2]), layered(SLIDING, "compress", [1, 3]))
    b = subject(
        layered(SLIDING, "compressed_attention", [1, 3]), layered(FULL, "full_attention", [0, 2])
    )
    found = compare(a, b)
    assert pairs(found) == [
        ("text/main", "text/full_attention"),
        ("text/compress", "text/compressed_attention"),
    ]
    assert found.verdict is Likeness.SAME


def test_names_where_no_layers_are_told() -> None:
    a = subject(layered(FULL, "full_attention"), layered(SLIDING, "sliding_attention"))
    b = subject(layered(SLIDING, "sliding_attention", [0]), layered(FULL, "full_attention", [1]))
    assert compare(a, b).verdict is compare(b, a).verdict is Likeness.SAME


def test_one_table_for_all_is_compared_with_each() -> None:
    two = subject(layered(FULL, "full_attention", [1]), layered(SLIDING, "sliding_attention", [0]))
    one = subject(layered(FULL, None, [0, 1]))
    found = compare(two, one)
    assert pairs(found) == [("text/full_attention", "text"), ("text/sliding_attention", "text")]
    assert [p.likeness.value for p in found.pairs] == ["same", "different"]
    assert pairs(compare(one, two)) == [(b, a) for a, b in pairs(found)]


def test_a_shallow_draft_is_compared_by_name() -> None:
    deep = subject(
        layered(FULL, "full_attention", range(5, 30, 6)),
        layered(SLIDING, "sliding_attention", [k for k in range(30) if k % 6 != 5]),
    )
    shallow = subject(
        layered(FULL, "full_attention", [2]), layered(SLIDING, "sliding_attention", [0, 1])
    )
    assert compare(deep, shallow).verdict is Likeness.SAME
    draft = subject(layered(FULL, None, [0]))
    found = compare(subject(layered(FULL, None, range(32))), draft)
    assert found.verdict is Likeness.SAME


def test_layers_without_a_counterpart_are_a_difference() -> None:
    a = subject(
        layered(FULL, "one", [0]), layered(SLIDING, "two", [1]), layered(plain(5e5), "three", [2])
    )
    b = subject(layered(FULL, "one", [0]), layered(SLIDING, "two", [1]))
    found = compare(a, b)
    assert alone(found) == [("a", "text/three", True)]
    assert found.verdict is Likeness.DIFFERENT
    assert found.severity is Severity.ERROR
    assert found.exit_code == 1


def test_a_part_that_one_file_does_not_hold_is_named_only() -> None:
    """A GGUF file keeps the image tower in another file."""
    a = subject(FULL, replace(plain(1e4, 40), component="vision"))
    found = compare(a, subject(FULL))
    assert alone(found) == [("a", "vision", False)]
    assert found.verdict is Likeness.SAME
    assert alone(compare(subject(FULL), a)) == [("b", "vision", False)]


def test_towers_of_other_kinds_are_not_compared() -> None:
    found = compare(subject(FULL), subject(replace(FULL, component="vision")))
    assert found.pairs == ()
    assert found.undecided == ("no schedule of A has a counterpart in B",)
    assert found.exit_code == 3


def test_a_bare_table_does_not_tell_its_part() -> None:
    vision = replace(plain(1e4, 40), component="vision")
    found = compare(subject(vision), subject(raw(vision.inv_freq)))
    assert found.verdict is Likeness.SAME


def test_a_bare_table_answers_to_the_one_that_it_is() -> None:
    a = subject(layered(FULL, "full_attention", [1]), layered(SLIDING, "sliding_attention", [0]))
    found = compare(a, subject(raw(SLIDING.inv_freq)))
    assert pairs(found) == [("text/sliding_attention", "text/stored")]
    assert alone(found) == [("a", "text/full_attention", False)]
    assert found.verdict is Likeness.SAME


def test_like_is_compared_with_like() -> None:
    config = llama3()
    right, stale = stored(config), stored(plain(5e5))
    # A table that its own config explains says nothing new, rounded or not.
    for held in (right, cast(right, "bfloat16")):
        found = compare(subject(config, held), subject(config))
        assert pairs(found) == [("text", "text")]
        assert found.verdict is Likeness.SAME
    found = compare(subject(config, right), subject(config, stale))
    assert pairs(found) == [("text", "text"), ("text/stored", "text/stored")]
    assert [p.likeness.value for p in found.pairs] == ["same", "different"]
    found = compare(subject(config, stale), subject(config))
    assert pairs(found) == [("text", "text"), ("text/stored", "text")]
    assert found.verdict is Likeness.DIFFERENT


def test_stored_tables_are_compared_where_one_side_has_no_config() -> None:
    config = llama3()
    found = compare(subject(stored(config)), subject(config, stored(config)))
    assert pairs(found) == [("text/stored", "text/stored")]


def test_learned_tables_follow_from_no_config() -> None:
    learned = replace(stored(plain()), rope_type="learned")
    found = compare(subject(learned), subject(plain()))
    assert found.pairs == ()
    assert found.verdict is Likeness.UNKNOWN


def dynamic(factor: float = 2.0, declared: int = 4096) -> dict[str, Any]:
    return {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "rope_theta": 10000.0,
        "max_position_embeddings": declared,
        "rope_scaling": {"rope_type": "dynamic", "factor": factor},
    }


def written(path: Path, data: Any) -> Path:
    path.write_text(json.dumps(data))
    return path


def test_dynamic_scaling_is_compared_at_the_same_lengths(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", dynamic())
    b = written(tmp_path / "b.json", dynamic(declared=8192))
    found = ropeaudit.diff(a, b)
    assert [(p.a.variant, p.b.variant, p.context) for p in found.pairs] == [
        (f"@{n}", f"@{n}", n) for n in (4096, 8192, 16384)
    ]
    assert [p.likeness.value for p in found.pairs] == ["same", "different", "different"]
    assert {x.name for p in found.pairs for x in p.lost} == {"wrong original length"}
    at = ropeaudit.diff(a, b, contexts=6000)
    assert [p.context for p in at.pairs] == [4096, 6000, 8192]


def test_dynamic_scaling_that_is_lost_shows_beyond_the_declared_length(tmp_path: Path) -> None:
    a = written(tmp_path / "a.json", dynamic())
    b = written(tmp_path / "b.json", dynamic() | {"rope_scaling": None})
    found = ropeaudit.diff(a, b)
    assert [(p.a.name, p.likeness.value) for p in found.pairs] == [
        ("text/@4096", "same"),
        ("text/@8192", "different"),
    ]
    assert found.pairs[1].lost[0].text == "scaling dropped: A has dynamic (factor 2), B has none"


def two_lists(longer: float = 2.0) -> tuple[Schedule, Schedule]:
    """The ``short`` and the ``long`` table of a longrope model."""
    lists = {
        "short_factor": [1.0] * 64,
        "long_factor": [longer] * 64,
        "original_max_position_embeddings": 4096,
    }
    return (
        scaled("longrope", scaling=lists, variant="short"),
        scaled("longrope", scaling=lists, variant="long", length=4097),
    )


def test_variants_start_with_the_one_that_the_engine_starts_with() -> None:
    short, long = two_lists()
    found = compare(subject(short, long), subject(plain(trained=4096)))
    assert pairs(found) == [("text/short", "text"), ("text/long", "text")]
    assert [(p.context, p.context_source) for p in found.pairs] == [
        (4096, "trained"),
        (131072, "declared"),
    ]
    # A bare table is the state of one of them.
    found = compare(subject(short, long), subject(stored(long)))
    assert pairs(found) == [("text/long", "text/stored")]
    # One that was asked for on one side only.
    found = compare(subject(short, long), subject(short))
    assert alone(found) == [("a", "text/long", False)]


@pytest.mark.parametrize(
    ("a", "b", "asked", "expected"),
    [
        (plain(trained=2048), plain(), (), [(2048, "trained")]),
        (plain(), plain(trained=2048), (), [(2048, "trained")]),
        (plain(trained=2048), plain(trained=8192), (), [(2048, "trained")]),
        (plain(context=Context(None, 512)), plain(), (), [(512, "declared")]),
        (plain(context=Context(512, 512, assumed=True)), plain(), (), [(512, "declared")]),
        (plain(), plain(), (), [(4096, "reference")]),
        (plain(component="vision"), plain(component="vision"), (), [(1024, "reference")]),
        (plain(trained=2048), plain(), (100, 9000), [(100, "given"), (9000, "given")]),
        (
            plain(context=Context(8192, 8192, window=512)),
            plain(context=Context(8192, 8192, window=1024)),
            (),
            [(1024, "trained")],
        ),
        (
            plain(context=Context(8192, 8192, window=512)),
            plain(trained=8192),
            (),
            [(8192, "trained")],
        ),
        (
            plain(context=Context(8192, 8192, window=512)),
            plain(context=Context(8192, 8192, window=512)),
            (100, 1000, 2000),
            [(100, "given"), (512, "given")],
        ),
    ],
)
def test_lengths(
    a: Schedule, b: Schedule, asked: tuple[int, ...], expected: list[tuple[int, str]]
) -> None:
    found = compare(subject(a), subject(b), Options(contexts=asked))
    assert [(p.context, p.context_source) for p in found.pairs] == expected


@pytest.mark.parametrize(
    "names",
    [
        ("text.long.inv_freq", "text.short.inv_freq"),
        (None, "text.short.inv_freq"),
        ("long_inv_freq", None),
        ("text_long", "text_short"),
    ],
)
def test_names_of_tables_tell_their_variant(names: tuple[str | None, str | None]) -> None:
    """Values alone would not: a coarse quantiser takes the long table next to the short one."""
    short, long = two_lists(longer=1.2)
    far, near = (stored(short, f32s(v * f for v in short.inv_freq)) for f in (1.0, 1 / 1.2))
    tables = [replace(t, layer_type=n) for t, n in zip((far, near), names, strict=True)]
    for order in (tables, tables[::-1]):
        found = compare(subject(short, long), subject(*order))
        assert {(p.a.variant, p.b.layer_type) for p in found.pairs} == {
            ("long", names[0]),
            ("short", names[1]),
        }
        # In the order of the tables, whichever was matched first.
        assert [p.b.layer_type for p in found.pairs] == [t.layer_type for t in order]
    full, sliding = (
        replace(plain(b), layer_type=f"{t}_attention") for b, t in ((1e6, "full"), (1e4, "sliding"))
    )
    swapped = [stored(sliding, layer_type=None), stored(full, layer_type="text_sliding_attention")]
    assert pairs(compare(subject(full, sliding), subject(*swapped))) == [
        ("text/full_attention", "text/stored"),
        ("text/sliding_attention", "text/text_sliding_attention/stored"),
    ]
    lengths = [replace(plain(trained=4096), variant=f"@{n}") for n in (4096, 8192)]
    held = replace(stored(plain()), layer_type="text_8192")
    assert pairs(compare(subject(*lengths), subject(held))) == [
        ("text/@8192", "text/text_8192/stored")
    ]


def test_lengths_that_a_list_does_not_serve_are_left_out() -> None:
    short, long = two_lists()
    both = subject(short, long)
    found = compare(both, both, Options(contexts=(1000, 65536)))
    assert [(p.a.variant, p.context) for p in found.pairs] == [("short", 1000), ("long", 65536)]
    found = compare(both, both, Options(contexts=(1000,)))
    assert [(p.a.variant, p.context) for p in found.pairs] == [("short", 1000), ("long", 131072)]
