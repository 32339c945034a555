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
from functools import cache
from importlib.resources import files
from typing import Any, cast

Spec = Mapping[str, Any]
"""One entry of the data file."""


@cache
def _data() -> dict[str, Any]:
    text = files("ropeaudit.schedule").joinpath("model_types.json").read_bytes()
    return cast("dict[str, Any]", json.loads(text))


def lookup(model_type: str) -> Spec | None:
    """The entry of ``model_type``; None if it is unknown or has no rotary encoding."""
    return cast("Spec | None", _data()["types"].get(model_type))


@cache
def _silent() -> frozenset[str]:
    return frozenset(_data()["no_rotary"])


def is_known_without_rotary(model_type: str) -> bool:
    """Whether the model type is known and has no rotary encoding at all."""
    return model_type in _silent()


def source() -> str:
    """The program and version that the data was taken from."""
    return cast("str", _data()["source"])


def names() -> tuple[str, ...]:
    """Every model type with an entry, sorted."""
    return tuple(sorted(_data()["types"]))
