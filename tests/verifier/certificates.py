"""Real certificates of small models, and ways to change them."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropeaudit.certify import certify

Json = Any
Path_ = tuple[str | int, ...]

_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}
CONFIGS: dict[str, dict[str, Json]] = {
    "default": {"rope_theta": 1e4},
    "odd_base": {"rope_theta": 10000.5},
    "base_1": {"rope_theta": 1.0},
    "linear": {"rope_scaling": {"rope_type": "linear", "factor": 3.0}},
    "dynamic": {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
    "llama3": {"rope_theta": 500.0, "rope_scaling": _LLAMA3},
    "yarn": {"rope_scaling": _YARN},
    "yarn_logarithms": {"rope_scaling": _YARN | {"truncate": False}},
    "longrope": {
        "model_type": "phi3",
        "rope_scaling": {
            "rope_type": "longrope",
            "short_factor": [1.0, 1.1, 1.5, 2.0],
            "long_factor": [1.0, 2.5, 4.0, 8.0],
            "original_max_position_embeddings": 512,
        },
        "original_max_position_embeddings": 512,
    },
}
"""Changes of a Llama config with four channels."""

QUANTISED = [1.0, 0.125, 0.0, 0.0]
"""A table that is far from its closed form and has equal values."""


def config(name: str) -> dict[str, Json]:
    plain = {
        "model_type": "llama",
        "hidden_size": 16,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "max_position_embeddings": 2048,
        "rope_theta": 10000.0,
    }
    return plain | CONFIGS[name]


def certificate(name: str, folder: Path, **options: Json) -> dict[str, Json]:
    """The certificate of a config of :data:`CONFIGS`, or of the bare table ``quantised``."""
    if name == "quantised":
        target = folder / "table.json"
        target.write_text(json.dumps(QUANTISED))
    else:
        target = folder / "config.json"
        target.write_text(json.dumps(config(name)))
    return plain(certify([str(target)], **options).document)


def plain(document: Json) -> Json:
    """A document as JSON gives it back."""
    return json.loads(json.dumps(document))


def hashed(document: Json) -> str:
    """The text of a document with the digest that it should have."""
    bare = {k: v for k, v in document.items() if k != "sha256"}
    canonical = json.dumps(bare, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = sha256(canonical.encode()).hexdigest()
    return json.dumps({**bare, "sha256": digest})


def mutations(document: Json) -> Iterator[tuple[Path_, str, Json]]:
    """(path, what was done, changed document) for every value of the tree; no copy is equal."""
    before = json.dumps(document, sort_keys=True)
    for path in list(_paths(document)):
        parent, value = _at(document, path[:-1]), _at(document, path)
        for name, other in _others(value):
            changed = _replaced(document, path, other)
            if json.dumps(changed, sort_keys=True) != before:
                yield path, name, changed
        if isinstance(parent, dict):
            rest = {k: v for k, v in parent.items() if k != path[-1]}
            yield path, "dropped", _replaced(document, path[:-1], rest)


def _paths(value: Json, path: Path_ = ()) -> Iterator[Path_]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _paths(inner, (*path, key))


def _at(document: Json, path: Path_) -> Json:
    for key in path:
        document = document[key]
    return document


def _replaced(document: Json, path: Path_, value: Json) -> Json:
    if not path:
        return value
    changed = copy.copy(document)
    changed[path[0]] = _replaced(document[path[0]], path[1:], value)
    return changed


def _others(value: Json) -> Iterator[tuple[str, Json]]:
    """Other values in the place of one: of another type, another sign, one digit off, ..."""
    yield "null", None
    if isinstance(value, bool):
        yield from (("negated", not value), ("number", int(value)))
    elif isinstance(value, int | float):
        yield from (("sign", -value), ("next", value + 1), ("text", str(value)))
        yield "true", True
        yield "type", int(value) if isinstance(value, float) else float(value)
        if isinstance(value, float):
            yield "decimal", value + 0.001
    elif isinstance(value, str):
        yield from (("empty", ""), ("longer", f"{value}1"), ("sign", f"-{value}"))
        yield from (("space", f" {value}"), ("list", [value]))
        for place in [i for i, c in enumerate(value) if c.isdigit()][:: max(len(value) // 6, 1)]:
            digit = str((int(value[place]) + 1) % 10)
            yield f"digit {place}", value[:place] + digit + value[place + 1 :]
        if value.isdigit():
            yield "number", int(value)
    elif isinstance(value, list):
        yield from (("reversed", value[::-1]), ("empty", []), ("object", {}))
        for place in range(len(value)):
            yield f"without {place}", value[:place] + value[place + 1 :]
            yield f"twice {place}", value[: place + 1] + value[place:]
        yield "more", [*value, None]
    elif isinstance(value, dict):
        yield from (("added", {**value, "extra": 1}), ("list", [value]))
    else:
        yield from (("text", "nothing"), ("number", 0), ("object", {}))
