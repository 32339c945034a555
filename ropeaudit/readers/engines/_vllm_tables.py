"""The laws of vLLM 0.33's ``get_rope``, by ``rope_type``.

``model_executor/layers/rotary_embedding/__init__.py`` 33-352 and the classes beside it. Values are
taken from the dict with ``[]``, so a missing one stops the engine. ``_LAWS`` is found by the type;
each law gets the call and returns its schedules.
"""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.errors import quoted
from ropeaudit.facts import Json
from ropeaudit.readers.engines._served_laws import (
    Law,
    by_alpha,
    law_of,
    linear,
    longrope,
    proportional,
    stated,
)
from ropeaudit.readers.engines._served_parts import number_of
from ropeaudit.readers.engines._served_tables import (
    Call,
    schedule,
    yarn_ratio,
)
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.yarn import mscale

_YARN = ("factor", "original_max_position_embeddings")
_OTHER = ("bailing_mrope", "mllama4", "ntk", "openpangu")
"""Types that belong to models which are not covered."""


def schedules(request: Request, call: Call, rope_type: Json, reader: str) -> list[Schedule]:
    """What ``get_rope`` builds; raises Refuses for a type that it does not know."""
    if rope_type in _OTHER:
        raise NotCovered(f"its rope_type {quoted(rope_type)} was not looked at")
    return law_of(_LAWS, rope_type)(request, call, reader)


def _default(request: Request, call: Call, reader: str) -> list[Schedule]:
    if call.scaling.get("use_fope"):
        raise NotCovered("Fourier position embedding has no table of this kind")
    sections = call.scaling.get("mrope_section")
    _check_sections(call, sections)
    return [schedule(request, call, reader=reader, rope_type="default")]


def _check_sections(call: Call, sections: Json) -> None:
    """``mrope.py`` 361: the sections must fill the rotated half."""
    if not isinstance(sections, list) or not sections:
        return
    total = sum(s for s in sections if type(s) is int)
    if total != call.width // 2:
        raise Refuses(f"mrope_section adds up to {total}, not to {call.width // 2}")


def _llama3(request: Request, call: Call, reader: str) -> list[Schedule]:
    keys = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    scaling = {key: call.needed(key) for key in keys}
    return [
        schedule(request, call, reader=reader, rope_type="llama3", law="llama3", scaling=scaling)
    ]


def _linear(request: Request, call: Call, reader: str) -> list[Schedule]:
    return linear(request, call, reader, call.needed("factor"))


def _dynamic(request: Request, call: Call, reader: str) -> list[Schedule]:
    """One table for good: the length that it grows for is the length it was trained at, unless
    ``max_trained_positions`` says otherwise (``dynamic_ntk_scaling_rope.py`` 52-66)."""
    if "alpha" in call.scaling:
        return by_alpha(request, call, reader)
    if "factor" not in call.scaling:
        raise Refuses("dynamic scaling needs alpha or factor")
    if "max_trained_positions" in call.scaling:
        raise NotCovered("max_trained_positions belongs to models that were not looked at")
    return [schedule(request, call, reader=reader, rope_type="dynamic")]


def _yarn(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``yarn_scaling_rope.py``: transformers' law, except that null is no default."""
    scaling: dict[str, Json] = {key: call.needed(key) for key in _YARN}
    for key in ("beta_fast", "beta_slow", "truncate"):
        if key in call.scaling:
            scaling[key] = call.needed(key)
    for key in ("mscale", "mscale_all_dim", "attention_factor"):
        if call.scaling.get(key) is not None:
            scaling[key] = call.scaling[key]
    _check_sections(call, call.scaling.get("mrope_section"))
    return [schedule(request, call, reader=reader, rope_type="yarn", law="yarn", scaling=scaling)]


def _deepseek(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``deepseek_scaling_rope.py`` 26-110: always a ratio (mscale 1 over mscale_all_dim 0 unless
    given), no attention factor, no truncate. The logits get ``m(mscale_all_dim) ** 2``
    (``deepseek_v2.py`` 542-563) unless the attention factor is stated as 1."""
    scaling: dict[str, Json] = {key: call.needed(key) for key in _YARN}
    scaling.update({k: call.needed(k) for k in ("beta_fast", "beta_slow") if k in call.scaling})
    factor = number_of(scaling, "factor") or 1.0
    top = stated(call, "mscale", 1.0)
    bottom = stated(call, "mscale_all_dim", 0.0)
    plain = call.scaling.get("attention_factor") == 1.0
    return [
        schedule(
            request,
            call,
            reader=reader,
            rope_type="yarn",
            law="yarn",
            scaling=scaling,
            attention=yarn_ratio(factor, top, bottom),
            softmax=1.0 if plain else mscale(factor, bottom) ** 2,
        )
    ]


def _longrope(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``phi3_long_rope_scaled_rope.py``: one list for every position, chosen when the engine
    starts."""
    original = number_of(call.scaling, "original_max_position_embeddings")
    return longrope(request, call, reader, original)


_LAWS: Mapping[str, Law] = {
    "default": _default,
    "proportional": proportional,
    "llama3": _llama3,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "deepseek_yarn": _deepseek,
    "deepseek_llama_scaling": _deepseek,
    "longrope": _longrope,
}
