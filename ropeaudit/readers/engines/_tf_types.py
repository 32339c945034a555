"""Which model types a transformers release knows, and what its config classes default to.

``_tf_types.json`` was read from the releases themselves (5.20.2, 4.57.6, 4.46.3): ``known`` are the
keys of ``CONFIG_MAPPING``; ``types`` are those with rotary text layers, with

``base``       the class default of the base        ``scaling``  that of rope_scaling, if not None
``partial``    that of partial_rotary_factor        ``headless`` head_dim stays None without a value
``type_wins``  ``type`` replaces ``rope_type``      ``checks``   ``type`` alone is refused
``scaled``     rope_scaling is needed               ``one_base`` the layer type whose base all take
``head``       head_dim is ``computed`` (and refused), ``needed``, ``ignored``, or ``whole`` (heads
times it must be hidden_size)
``law``        how tables are made: ``init`` (the common functions), ``plain`` (scaling is not
read), ``two`` (OLMo: type and factor only), ``phi3``

A type that is known and not listed was not compared with the release, so it is not covered.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

Entry = Mapping[str, Any]

NEEDED: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "llama3": (
        "factor",
        "low_freq_factor",
        "high_freq_factor",
        "original_max_position_embeddings",
    ),
}
"""Types that have a table, with the keys that are indexed and not asked for."""


@cache
def _data() -> Mapping[str, Any]:
    path = Path(__file__).with_name("_tf_types.json")
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@cache
def known(release: str) -> frozenset[str]:
    """Model types that transformers ``release`` (``5.20``, ``4.57``, ``4.46``) can load."""
    newest: frozenset[str] = frozenset(_data()["4.57"]["known"])
    if release == "4.57":
        return newest
    changed = _data()[release]
    return newest - frozenset(changed["missing"]) | frozenset(changed["more"])


def entry(release: str, model_type: str | None) -> Entry | None:
    """What is special about ``model_type`` in a 4.x release; None where it was not compared."""
    found: Entry | None = _data()[release]["types"].get(model_type)
    return found
