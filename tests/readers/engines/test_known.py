"""Names of engines: found by folder, with the newest, a version, or the nearest version."""

from __future__ import annotations

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.readers.engines.known import REFERENCE, engines, find, names, releases
from tests.engine_vectors import vectors


def asked(*texts: str) -> list[str]:
    return [c.release.name for c in find(texts)]


def test_the_reference_is_the_first_of_all() -> None:
    assert names()[0] == REFERENCE


def test_every_release_is_described() -> None:
    for engine, release in releases():
        assert release.engine == engine.RELEASES[0].engine
        assert release.name.startswith(release.engine)
        assert release.how in ("ran", "read")
        assert release.source
        assert release.covers
    assert len(set(names())) == len(names())


def test_a_name_without_version_is_the_newest() -> None:
    for engine in engines():
        assert asked(engine.RELEASES[0].engine) == [engine.RELEASES[0].name]


def test_every_full_name_is_found_in_any_case() -> None:
    for name in names():
        assert asked(name) == asked(name.upper()) == [name]


def test_all_is_every_release() -> None:
    assert asked("all") == list(names())


def test_lists_and_repeats() -> None:
    assert asked("transformers-4.57, transformers", "transformers-4.57") == [
        "transformers-4.57",
        "transformers-5.24",
    ]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("transformers==4.57.6", "transformers-4.57"),
        ("transformers-4.57.1", "transformers-4.57"),
        ("transformers-5.24.0", "transformers-5.24"),
        ("transformers-5.20.2", "transformers-5.20"),
        ("hf", "transformers-5.24"),
    ],
)
def test_versions_inside_the_known_ones(text: str, name: str) -> None:
    (chosen,) = find([text])
    assert (chosen.release.name, chosen.note) == (name, None)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("transformers-5.99", "transformers-5.24"),
        ("transformers-4.50", "transformers-4.46"),
        ("transformers-4.55", "transformers-4.57"),
        ("transformers-3.0", "transformers-4.46"),
    ],
)
def test_versions_outside_are_read_by_the_nearest_and_told(text: str, name: str) -> None:
    (chosen,) = find([text])
    assert chosen.release.name == name
    assert chosen.note is not None
    assert "outside of the versions" in chosen.note.message
    assert name in chosen.note.message


@pytest.mark.parametrize(
    ("text", "meant"),
    [("trasnformers", "transformers"), ("transformers-4.x", "transformers"), ("al", "all")],
)
def test_an_unknown_name_gets_a_suggestion(text: str, meant: str) -> None:
    with pytest.raises(UsageError, match=f"did you mean {meant}"):
        find([text])


@pytest.mark.parametrize("text", ["", ",", "vllm,", "nobody", "-", "==1", "vllm_", "\x1b[31m"])
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(UsageError, match="no reader"):
        find([text])


@pytest.mark.parametrize(
    ("short", "meant"),
    [("transformers-5", "transformers-5.24"), ("transformers==4", "transformers-4.57"),
     ("mlx-lm-0", "mlx-lm-0.32"), ("llama.cpp-0.3", "llama.cpp+tf5")],
)  # fmt: skip
def test_the_beginning_of_a_version_is_the_newest_that_begins_so(short: str, meant: str) -> None:
    (chosen,) = find([short])
    assert (chosen.release.name, chosen.note) == (meant, None)


def test_a_build_number_of_llama_cpp_is_another_version() -> None:
    (chosen,) = find(["llama.cpp-b6000"])
    assert chosen.release.name == "llama.cpp+tf5"
    assert chosen.note is not None
    assert "6000" in chosen.note.message


def test_every_measured_release_has_a_module() -> None:
    assert set(vectors()["engines"]) <= set(names())
