"""What vLLM and SGLang get from transformers 5.x: the rope dicts of the language model.

Both load configs through transformers' own classes (vLLM 0.33: 5.16 to 5.20, SGLang 0.5.23: 5.19),
whose standardisation is that of the reference reading, and then build tables with code of their
own. A *part* is one standardised dict with the reference's schedules that came of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, as_number
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.readers.transformers.rope_dicts import Node, loaded_original, rope_dicts
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule

_ONLY_MODEL = "no head_dim of its own"
"""What stops transformers' model but not its config, longrope apart: that is checked on loading."""
_REGISTERED = frozenset({"kimi_k2"})
"""Model types that transformers leaves to remote code, and both engines to DeepSeek-V3's class
(vLLM ``transformers_utils/config.py`` 141, SGLang ``hf_transformers/common.py`` 229-233)."""


@record(kw_only=True)
class Part:
    """One rope dict of the language model.

    ``values``: the dict as transformers leaves it, the base and the rotated fraction included;
    ``places``: JSON pointers of the values that the file states. ``reference``: the schedules that
    the reference builds from it, at least one, variants of one table. ``declared``: the length
    that the config states. ``loaded``: the original length as the loaded config has it, before a
    model is built.
    """

    node: Node
    values: Mapping[str, Json]
    places: Mapping[str, str]
    reference: tuple[Schedule, ...]
    loaded: Json = None

    @property
    def first(self) -> Schedule:
        return self.reference[0]

    @property
    def declared(self) -> int | None:
        return self.first.context.declared

    @property
    def rope_type(self) -> Json:
        return self.values.get("rope_type")

    @property
    def stated_head(self) -> Json:
        """The head width that the text config or its class states, None where it follows."""
        return self.node.value("head_dim")


def text_parts(request: Request) -> tuple[Part, ...]:
    """Every rope dict of the language model, with what the reference made of it.

    Raises Refuses where transformers does not load the file, NotCovered where there is nothing to
    start from.
    """
    key = "served: parts"
    if key not in request.memo:
        request.memo[key] = _text_parts(request)
    found: tuple[Part, ...] = request.memo[key]
    return found


def _text_parts(request: Request) -> tuple[Part, ...]:
    reference = request.reference
    if reference is None:
        raise NotCovered("the reference builds nothing from this file to start from")
    longrope = any(s.rope_type == "longrope" for s in reference.schedules)
    for note in reference.notes:
        if note.kind == "engine_refuses" and (longrope or _ONLY_MODEL not in note.message):
            raise Refuses("transformers, which loads the config, refuses the file")
    if not any(s.component == "text" and s.variant != "stored" for s in reference.schedules):
        raise NotCovered("the reference builds no table for a language model from this file")
    found = []
    for node, ropes in rope_dicts(request.document):
        if node.component != "text":
            continue
        brought = "remote" in node.spec and node.model_type not in _REGISTERED
        if node.generic or brought:
            raise NotCovered(f"{quoted(node.model_type)} is read by code outside of transformers")
        for rope in ropes.found:
            built = tuple(
                s
                for s in reference.schedules
                if s.component == "text" and s.layer_type == rope.label and s.variant != "stored"
            )
            found.append(
                Part(
                    node=node,
                    values=rope.values,
                    places=rope.places,
                    reference=built,
                    loaded=loaded_original(node, rope),
                )
            )
    if len({id(p.node) for p in found}) != 1:
        raise NotCovered("the file holds several language models, or none")
    if not all(part.reference for part in found):
        raise NotCovered("the reference builds no table for one of the rope dicts")
    return tuple(found)


def places_of(part: Part, keys: Iterable[str]) -> tuple[str, ...]:
    """Pointers of those ``keys`` that the file states, null ones left out, each once."""
    stated = (part.places[k] for k in keys if k in part.places and part.values.get(k) is not None)
    return tuple(dict.fromkeys(stated))


def same_as_reference(part: Part, built: Sequence[Schedule]) -> bool:
    """Whether ``built`` turns as the reference does, so that nothing it passed over matters."""
    for wanted in part.reference:
        found = next((s for s in built if s.variant == wanted.variant), None)
        if found is None and wanted.variant in ("short", "long"):
            continue  # the list that is not in use
        found = found or (built[0] if built else None)
        if found is None or not _alike(found, wanted):
            return False
    return True


def _alike(a: Schedule, b: Schedule) -> bool:
    factors = ((a.attention_scaling, b.attention_scaling), (a.softmax_scale, b.softmax_scale))
    if any(abs(x - y) > 1e-6 for x, y in factors) or len(a.inv_freq) != len(b.inv_freq):
        return False
    return all(abs(x - y) <= 1e-5 * abs(y) for x, y in zip(a.inv_freq, b.inv_freq, strict=True))


def check_no_rope_keys(part: Part) -> None:
    """NotCovered for GPT-J files with rope keys, which its config class does not know."""
    stated = ("rope_theta", "rope_parameters", "rope_scaling")
    if any(part.node.data.get(key) is not None for key in stated):
        raise NotCovered("GPT-J's config class knows no rope keys; what they do was not run")


def derived_head(part: Part) -> int | None:
    """Hidden size over heads, None where that is no width."""
    hidden, heads = part.node.value("hidden_size"), part.node.value("num_attention_heads")
    if type(hidden) is int and type(heads) is int and 0 < heads <= hidden:
        return hidden // heads
    return None


def number_of(values: Mapping[str, Any], key: str) -> float | None:
    """``values[key]`` where it is a finite number, else None."""
    value = as_number(values.get(key))
    return value if value is not None and math.isfinite(value) else None
