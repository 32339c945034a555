"""What each model file of SGLang 0.5.23 hands to ``get_rope``, as data (``_sglang_families.json``).

An entry of ``modules`` (files of ``srt/models``) holds

``serves``   classes whose language model it builds
``head``     ``derived``: hidden size over heads, whatever ``head_dim`` says
``width``    rotated dimensions: absent the whole head; ``attribute``: the fraction that stands on
             the top level of the config; ``dict``: the one in the rope dict, then the top level;
             ``rotary_dim``: that field; ``reference``: as transformers
``scaling``  false: no dict is passed, so the table is plain
``base``     fixed: it is asked for as an attribute that configs of transformers 5 do not have
``whole``    the base is cut to an integer
``pairing``  ``interleaved`` for ``is_neox_style=False``
``mla``      every dict is taken for DeepSeek's yarn
``own``      code of its own, see ``sglang.py``

Files that are not named were not looked at. The attention classes were constructed with their
layers stubbed, and what reached ``get_rope`` was recorded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Json
from ropeaudit.readers.engines._raw_keys import architectures
from ropeaudit.readers.engines.interface import NotCovered

Rule = Mapping[str, Any]


@cache
def _rules() -> Mapping[str, Rule]:
    text = Path(__file__).with_name("_sglang_families.json").read_text(encoding="utf-8")
    modules = json.loads(text)["modules"]
    return {name: {**rule, "module": m} for m, rule in modules.items() for name in rule["serves"]}


def rule_of(config: Mapping[str, Json]) -> Rule:
    """The rule of the file's first class; raises NotCovered where it was not looked at."""
    named = architectures(config)
    if not named:
        raise NotCovered("the file names no architecture")
    found = _rules().get(named[0])
    if found is None:
        raise NotCovered(f"what it builds for {quoted(named[0])} was not looked at")
    return found
