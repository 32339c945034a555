"""What config classes of transformers hold before a file says anything, as data.

``_attributes_classes.json`` has, for each model type, the position fields of a config made without
arguments by 4.57.6 (``v4``) and by 5.24.0 (``v5``; 5.20.2 holds the same). ``"derived"`` stands for
hidden_size // num_attention_heads, ``"filled"`` for a list that the class makes by layer. For 4.57
also: ``validates``, whether the class checks ``rope_scaling``, and ``copies``, whether it copies
``type`` over ``rope_type``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, cast

DERIVED = "derived"
FILLED = "filled"


@cache
def _text() -> str:
    return Path(__file__).with_name("_attributes_classes.json").read_text(encoding="utf-8")


@lru_cache(maxsize=256)
def entry(model_type: str) -> Mapping[str, Any] | None:
    """The entry of ``model_type``; None for a type that is not in the data.

    One entry a line, so that one config costs the parsing of one line.
    """
    key = f"\n{json.dumps(model_type)}: "
    at = _text().find(key)
    if at < 0:
        return None
    line = _text()[at + len(key) : _text().index("\n", at + 1)]
    return cast("Mapping[str, Any]", json.loads(line.removesuffix(",")))
