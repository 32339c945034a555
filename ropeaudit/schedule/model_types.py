"""What is special about each model type, as data (``model_types.json``), read once on first use.

An entry may hold

``component``  which part of a model it is (``text``, ``vision``, ``audio``, ...)
``defaults``   the config class's own values of position fields
``aliases``    field -> spellings in the file, the one that is stored first
``head_dim``   where the head width comes from, first present first; a list is a floor division
``layers``     how ``layer_types`` is filled in where the file does not list it
``unrotated``  which layers carry no rotation
``rope``       how the rope dict is read and which table is built from it (absent: no rotary)
``parts``      sub-configs: key, optional, default model type, whether the file's type decides
``none``       why there is no rotary encoding (``alibi``, ``learned``, ``dead_keys``, ...)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

Spec = Mapping[str, Any]
"""One entry of the data file."""


@cache
def _text() -> str:
    return Path(__file__).with_name("model_types.json").read_text(encoding="utf-8")


@lru_cache(maxsize=512)
def lookup(model_type: str) -> Spec | None:
    """The entry of ``model_type``; None if it is unknown or has no rotary encoding.

    The file holds one entry a line, so a single config costs the parsing of one line and not of
    the whole file.
    """
    key = f"\n{json.dumps(model_type)}:"
    at = _text().find(key)
    if at < 0:
        return None
    line = _text()[at + len(key) : _text().index("\n", at + 1)]
    return cast("Spec", json.loads(line.removesuffix(",")))


@cache
def _head() -> dict[str, Any]:
    """The first line: everything but the entries."""
    first = _text().split("\n", 1)[0]
    return cast("dict[str, Any]", json.loads(first + "}}"))


@cache
def _silent() -> frozenset[str]:
    return frozenset(_head()["no_rotary"])


def is_known_without_rotary(model_type: str) -> bool:
    """Whether the model type is known and has no rotary encoding at all."""
    return model_type in _silent()


def source() -> str:
    """The program and version that the data was taken from."""
    return cast("str", _head()["source"])


def names() -> tuple[str, ...]:
    """Every model type with an entry, sorted."""
    return tuple(sorted(json.loads(_text())["types"]))
