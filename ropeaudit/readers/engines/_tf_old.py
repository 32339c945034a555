"""transformers 4.x: the old schema only, and its own arithmetic of yarn and longrope.

``rope_parameters`` is no field of any config class: the base is the top-level one or the class
default, and scaling is what ``rope_scaling`` says. Structure (layers, layer types, widths, layers
without rotation) has not changed since, so the reference reads a copy of the document in the old
schema, and its tables are made anew where a law differs.

Sources: 4.57.6 ``modeling_rope_utils.py`` 95-500 (tables), ``configuration_*.py`` (``type`` copied
over ``rope_type``), ``models/phi3/configuration_phi3.py`` (what it accepts), ``models/deepseek_v3/
modeling_deepseek_v3.py`` 372-377 (logits), ``models/llama4/modeling_llama4.py`` 174 (always
llama3); the same files of 4.46.3, and its ``models/phi3/modeling_phi3.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ropeaudit.document import Document, unescape
from ropeaudit.errors import InvalidValue, quoted, shown
from ropeaudit.facts import Json, Note, Reading
from ropeaudit.readers.engines import _tf_types
from ropeaudit.readers.engines._tf_checks import finite, scaling_of
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Request
from ropeaudit.readers.transformers import read
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._walk import walk
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import family
from ropeaudit.schedule.families.interface import geometric
from ropeaudit.schedule.families.longrope import attention_of
from ropeaudit.schedule.families.yarn import mscale
from ropeaudit.schedule.float32 import Table

_TOP = frozenset({"rope_theta", "partial_rotary_factor"})
"""Keys that are read beside the dict and never inside it."""
_FLAT = frozenset({("4.46", "qwen2_vl")})
"""Model types that had no text part of their own yet."""
_ORIGINAL = "original_max_position_embeddings"


@record(kw_only=True)
class Old:
    """One text config in the old schema: what the release makes of its keys."""

    node: Node
    entry: _tf_types.Entry
    kind: str
    scaling: Mapping[str, Json]
    declared: int | None
    original: float | None

    @property
    def partial(self) -> float | None:
        """The rotated fraction as an attribute of the config; None where there is none."""
        value: Json = self.entry.get("partial")
        for key in self.node.rope.get("partial_keys", ("partial_rotary_factor",)):
            value = self.node.data.get(key, value)
        return finite(value)

    def turns_part(self, release: str) -> bool:
        """Whether the common functions, which read the fraction for any class, make the table."""
        common = ("init",) if release == "4.46" else ("init", "two")
        return self.entry["law"] in common and self.partial is not None

    def base(self, label: str | None) -> float | None:
        """The base of a class with one for each layer type; None where there is one for all."""
        how = self.node.rope.get("fill", {}).get(self.entry.get("one_base", label))
        if how is None:
            return None
        default = self.entry.get("base") if how["key"] == "rope_theta" else how["base"]
        return finite(self.node.data.get(how["key"], default))


def build(request: Request, release: str, name: str) -> Built:
    """The schedules that transformers ``release`` builds, with ``name`` as their reader."""
    model_type = request.config.get("model_type")
    if (release, model_type) in _FLAT and "text_config" in request.config:
        raise Refuses(f"its {model_type} keeps the text fields on top and stops at a text_config")
    data = dict(request.config)
    old = []
    for node in walk(request.document).nodes:
        if node.component == "text":
            old.append(_old(node, release))
            data = _put(data, node.pointer, _in_old_schema(old[-1], release))
    if not old:
        raise NotCovered("it has no rotary text layers")
    document = Document(request.document.file, data, None, request.document.overridden)
    reading = Reading(target="", format="hf-config", document=document)
    found = read(reading, request.lengths).schedules
    schedules = [s for s in found if s.component == "text"]
    if not schedules:
        raise Refuses("no table can be built from its values")
    first = old[0]
    made = tuple(replace(_made(s, first, release, request.lengths), reader=name) for s in schedules)
    return Built(
        schedules=made,
        notes=tuple(n for o in old for n in _notes(o, made)),
    )


def _old(node: Node, release: str) -> Old:
    """What ``release`` reads of ``node``; raises Refuses where it stops."""
    entry = _tf_types.entry(release, node.model_type)
    if entry is None:
        raise NotCovered(f"{quoted(node.model_type)} was not compared with this release")
    kind, scaling = scaling_of(node, entry, release)
    declared = finite(node.value("max_position_embeddings"))
    return Old(
        node=node,
        entry=entry,
        kind=kind,
        scaling=scaling,
        declared=None if declared is None else int(declared),
        original=_original(node, kind, scaling, release),
    )


def _original(node: Node, kind: str, scaling: Mapping[str, Json], release: str) -> float | None:
    """The original length that the type's table is placed by."""
    declared = finite(node.value("max_position_embeddings"))
    if kind == "longrope":
        return finite(node.value(_ORIGINAL)) or declared
    if kind == "yarn" and release != "4.46":
        return finite(scaling.get(_ORIGINAL)) or declared
    if kind == "yarn":
        return declared
    return finite(scaling.get(_ORIGINAL)) if kind == "llama3" else None


def _in_old_schema(old: Old, release: str) -> dict[str, Json]:
    """The config as the reference has to read it to build what 4.x does."""
    node, entry = old.node, old.entry
    data = {k: v for k, v in node.data.items() if k not in ("rope_parameters", "rope_scaling")}
    rule = node.rope
    if rule.get("attributes"):
        return data
    if entry.get("head") == "ignored":
        data.pop("head_dim", None)
    if entry["law"] == "phi3" and "partial" not in entry:
        data.pop("partial_rotary_factor", None)  # 4.46 turned whole heads
    kept = {k: v for k, v in old.scaling.items() if k not in _TOP and k not in ("type", _ORIGINAL)}
    data["rope_scaling"] = {**kept, "rope_type": old.kind}
    if old.original is not None:
        data["rope_scaling"][_ORIGINAL] = int(old.original)
        data.pop(_ORIGINAL, None)
        if old.kind == "longrope":
            data[_ORIGINAL] = int(old.original)
    keys = rule.get("base_keys", ("rope_theta",))
    if not rule.get("nested") and "base" in entry and not any(k in data for k in keys):
        data[keys[0]] = entry["base"]
    if old.kind == "longrope":
        data["rope_scaling"] |= _longrope_keys(old, release)
    return data


def _longrope_keys(old: Old, release: str) -> dict[str, Json]:
    """Factor and attention of longrope: a stated original length overrides the factor."""
    factor = finite(old.scaling.get("factor"))
    if old.declared and old.node.value(_ORIGINAL):
        factor = old.declared / float(old.original or old.declared)
    attention = finite(old.scaling.get("attention_factor"))
    # 4.46 multiplied by the factor even where the attention factor is stated.
    if factor is None and (attention is None or release == "4.46"):
        raise Refuses("longrope has neither a factor nor an original length on the top level")
    if attention is None:
        assert factor is not None  # refused above
        attention = attention_of(factor, float(old.original or 0))
    return {"factor": factor or 1.0, "attention_factor": attention}


def _put(data: dict[str, Json], pointer: str, value: dict[str, Json]) -> dict[str, Json]:
    """``data`` with ``value`` at ``pointer``; objects on the way are copied."""
    if not pointer:
        return {**value}
    first, _, rest = pointer[1:].partition("/")
    key = unescape(first)
    inner = data.get(key)
    below = dict(inner) if isinstance(inner, dict) else {}
    return {**data, key: _put(below, f"/{rest}" if rest else "", value)}


def _made(schedule: Schedule, old: Old, release: str, lengths: tuple[int, ...]) -> Schedule:
    """``schedule`` with the table that the release computes for it."""
    inputs, kind = schedule.inputs, schedule.law
    if inputs is None or kind not in _tf_types.NEEDED:
        return schedule
    width = inputs.rotary_dim
    if old.turns_part(release):
        width = int(inputs.head_dim * (old.partial or 1.0))
    scaling: dict[str, Any] = dict(inputs.scaling)
    if kind == "yarn":
        scaling = _yarn_keys(old, scaling, release)
    elif kind == "longrope":
        inputs = replace(inputs, length=_list_length(schedule, old, release, lengths))
    base = old.base(schedule.layer_type) or inputs.rope_theta
    inputs = replace(inputs, rope_theta=base, rotary_dim=width, scaling=scaling)
    law = family(kind or "")
    assert law is not None  # every type that is needed has one
    try:
        table = law.build(inputs)
    except InvalidValue as error:
        raise Refuses(str(error)) from None
    return replace(
        schedule,
        rope_theta=base,
        rotary_dim=width,
        inv_freq=table.inv_freq,
        unscaled=_unscaled(schedule, width, base),
        attention_scaling=table.attention_scaling,
        parameters={**schedule.parameters, **table.parameters},
        softmax_scale=_softmax(old),
        inputs=inputs,
    )


def _unscaled(schedule: Schedule, width: int, base: float) -> Table | None:
    same = width == schedule.rotary_dim and base == schedule.rope_theta
    return schedule.unscaled if same else tuple(geometric(base, width))


def _yarn_keys(old: Old, scaling: dict[str, Any], release: str) -> dict[str, Any]:
    """Yarn's keys as the release reads them: flat ones, ``truncate`` among them."""
    if "truncate" in old.scaling:
        scaling["truncate"] = old.scaling["truncate"]
    if release == "4.46":
        for key in ("truncate", "mscale", "mscale_all_dim"):
            scaling.pop(key, None)
        if scaling.get("attention_factor") is None:
            factor = finite(scaling.get("factor"))
            if factor is None or factor <= 0:
                raise Refuses(f"factor is {shown(scaling.get('factor'))}")
            scaling["attention_factor"] = 0.1 * math.log(factor) + 1.0
    return scaling


def _list_length(
    schedule: Schedule, old: Old, release: str, lengths: tuple[int, ...]
) -> int | None:
    """The length that decides which of longrope's lists is in use.

    The variant ``long`` is the table in use at the declared length (or the longest asked for).
    4.46 chose once, when the model was built, and took the long list for any factor above 1;
    Phi-3's own class chose at each call.
    """
    original = int(old.original or 0)
    if release == "4.46" and old.entry["law"] != "phi3":
        factor = finite(old.scaling.get("factor")) or 1.0
        if old.declared and old.node.value(_ORIGINAL):
            factor = old.declared / max(original, 1)
        return original + 1 if factor > 1 else None
    if schedule.variant == "short":
        return None
    return max(max(lengths, default=0), old.declared or 0) or None


def _softmax(old: Old) -> float:
    """DeepSeek-V3 multiplies the logits for any dict with ``mscale_all_dim``; V2 never does."""
    if "softmax" not in old.node.rope or old.node.model_type == "deepseek_v2":
        return 1.0
    weight = finite(old.scaling.get("mscale_all_dim"))
    factor = finite(old.scaling.get("factor"))
    if not weight or factor is None:
        return 1.0
    return mscale(factor, weight) ** 2


def _notes(old: Old, made: tuple[Schedule, ...]) -> list[Note]:
    """Models that are built and stop at their first call."""
    whole = old.partial is not None and not old.node.rope.get("partial")
    if whole and old.entry["law"] == "init" and any(s.rotary_dim != s.head_dim for s in made):
        said = "the model is built, and its first call fails: it rotates whole heads only"
        return [Note("crashes", said)]
    sections = old.node.rope.get("axes")
    scaling = old.node.data.get("rope_scaling")
    if sections and not (isinstance(scaling, dict) and scaling.get("mrope_section")):
        said = "the model is built, and its first call fails: mrope_section is looked up in "
        return [Note("crashes", f"{said}rope_scaling, which has none")]
    return []
