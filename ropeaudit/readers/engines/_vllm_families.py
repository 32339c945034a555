"""Which code of vLLM 0.33 serves a model, as data (``_vllm_families.json``).

``own``              module of ``model_executor/models`` -> classes that it serves
``inner``            multimodal class -> module of its language model
``inner_by_config``  multimodal classes whose text config names the language model's class
``causal``           model type of such a text config that names none -> class
``backend``          classes that run as transformers' own code (``registry.py`` 739-783 and every
                     class without an entry that says it is compatible)
``refused``          classes with neither

Classes that are in none of these lists were not looked at. Sources: ``registry.py``
(``_TEXT_GENERATION_MODELS`` and the tables after it, ``_try_resolve_transformers`` 1266-1339,
``_normalize_arch`` 1341-1364), ``config/vllm.py`` 964-982, ``transformers_utils/config.py``
930-941.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Json
from ropeaudit.readers.engines._raw_keys import architectures
from ropeaudit.readers.engines.interface import NotCovered, Refuses

BACKEND = "transformers"
"""In place of a module: transformers' own model, with vLLM's attention in it."""

_SUFFIXES = (
    "ForCausalLM", "ForSequenceClassification", "ForTokenClassification", "ForMaskedLM",
    "ForRewardModeling", "ForTextEncoding", "Model",
)  # fmt: skip


@cache
def _data() -> Mapping[str, Any]:
    text = Path(__file__).with_name("_vllm_families.json").read_text(encoding="utf-8")
    found: Mapping[str, Any] = json.loads(text)
    return found


@cache
def _owners() -> Mapping[str, str]:
    return {name: module for module, names in _data()["own"].items() for name in names}


def module_of(config: Mapping[str, Json], model_type: str | None) -> str:
    """The module that builds the language model's attention, or BACKEND.

    Without ``architectures`` vLLM takes the model type's base class, which leads to the same
    module. Raises NotCovered for classes that were not looked at, Refuses for those that vLLM does
    not run.
    """
    named = architectures(config)
    if not named:
        return _by_type(model_type)
    for name in named:
        found = _lookup(name, config)
        if found is not None:
            return found
    if all(name in _data()["refused"] for name in named):
        raise Refuses(f"it has no code for {quoted(named[0])}")
    raise NotCovered(f"what it builds for {quoted(named[0])} was not looked at")


def _lookup(name: str, config: Mapping[str, Json]) -> str | None:
    data = _data()
    if name in data["backend"]:
        return BACKEND
    if name in data["inner_by_config"]:
        return _inner(config)
    if name in data["inner"]:
        return str(data["inner"][name])
    return next((_owners()[n] for n in _spellings(name) if n in _owners()), None)


def _spellings(name: str) -> Iterator[str]:
    """The class itself, then its relatives with another head, as ``_normalize_arch`` tries them."""
    yield name
    for suffix in _SUFFIXES:
        if name.endswith(suffix):
            stem = name.removesuffix(suffix)
            yield from (stem + other for other in _SUFFIXES)
            return


def _inner(config: Mapping[str, Json]) -> str:
    """The language model inside a multimodal one, by its own config."""
    text = config.get("text_config")
    inner: Mapping[str, Json] = text if isinstance(text, dict) else {}
    for name in architectures(inner):
        found = _lookup(name, inner)
        if found is not None:
            return found
    kind = inner.get("model_type")
    return _by_type(kind if isinstance(kind, str) else None)


def _by_type(model_type: str | None) -> str:
    name = _data()["causal"].get(model_type)
    found = None if name is None else _lookup(name, {})
    if found is None:
        raise NotCovered("the file names no architecture, and its class was not looked at")
    return found
