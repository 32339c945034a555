"""The data about model types: its shape, and that every entry can be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.schedule import model_types

NEEDS_FIELDS = {
    "chatglm",  # widths are stated in every file, no class has defaults
    "cohere_compass",
    "cohere_compass_text",  # the class defaults build nothing in transformers either
    "nemotron_flash",
}
"""Entries whose defaults alone give no table."""

FILE = Path(model_types.__file__).with_name("model_types.json")


def test_line_by_line_lookup_finds_what_the_whole_file_holds() -> None:
    whole = json.loads(FILE.read_text(encoding="utf-8"))
    assert model_types.names() == tuple(sorted(whole["types"]))
    for name, entry in whole["types"].items():
        assert model_types.lookup(name) == entry
    assert model_types.source() == whole["source"]
    assert len(whole["types"]) > 300


@pytest.mark.parametrize("name", ["", "nobody", "llama\n", '"', "types", "no_rotary"])
def test_other_names_have_no_entry(name: str) -> None:
    assert model_types.lookup(name) is None
    assert not model_types.is_known_without_rotary(name)


def test_no_type_is_both_rotating_and_known_without() -> None:
    assert not [n for n in model_types.names() if model_types.is_known_without_rotary(n)]
    assert model_types.is_known_without_rotary("bert")


def test_parts_lead_to_entries() -> None:
    for name in model_types.names():
        for part in (model_types.lookup(name) or {}).get("parts", ()):
            key, _, model_type, is_open = part[:4]
            assert is_open or model_types.lookup(model_type) is not None, (name, key)


def test_every_entry_is_read_from_its_defaults_or_says_why_not() -> None:
    silent = []
    for name in model_types.names():
        data = {"model_type": name}
        reading = Reading(target="t", format="hf-config", document=Document("config.json", data))
        try:
            found = reader.read(reading, ())
        except InvalidValue:
            silent.append(name)
            continue
        assert found.schedules or found.notes, name
    assert set(silent) == NEEDS_FIELDS
