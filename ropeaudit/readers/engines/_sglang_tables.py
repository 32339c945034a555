"""The laws of SGLang 0.5.23's ``get_rope``, by ``rope_type``.

``srt/layers/rotary_embedding/factory.py`` 131-402 with ``yarn.py``, ``rope_variant.py`` and
``mrope.py``. Values that are missing get a default and a line in the log (32-50).
"""

from __future__ import annotations

from collections.abc import Mapping

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
from ropeaudit.readers.engines._served_tables import (
    Call,
    schedule,
    yarn_ratio,
)
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.dynamic import grown_base
from ropeaudit.schedule.families.yarn import mscale

_UNREAD = ("extrapolation_factor", "use_fope", "video_rope", "apply_yarn_scaling", "apply_scale")
"""Keys of models that are not covered, which change a table or a factor."""


def schedules(request: Request, call: Call, rope_type: Json, reader: str) -> list[Schedule]:
    """What ``get_rope`` builds; raises Refuses for a type that it does not know."""
    unread = next((key for key in _UNREAD if call.scaling.get(key)), None)
    if unread is not None:
        raise NotCovered(f"what it makes of {unread} was not looked at")
    return law_of(_LAWS, rope_type)(request, call, reader)


def _default(request: Request, call: Call, reader: str) -> list[Schedule]:
    return [schedule(request, call, reader=reader, rope_type="default")]


def _llama3(request: Request, call: Call, reader: str) -> list[Schedule]:
    defaults = {
        "factor": 1.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": float(call.max_position),
    }
    scaling = {key: stated(call, key, default) for key, default in defaults.items()}
    return [
        schedule(request, call, reader=reader, rope_type="llama3", law="llama3", scaling=scaling)
    ]


def _linear(request: Request, call: Call, reader: str) -> list[Schedule]:
    return linear(request, call, reader, call.scaling.get("factor", 1.0))


def _dynamic(request: Request, call: Call, reader: str) -> list[Schedule]:
    """One table for good, grown for ``factor`` times the declared length (``rope_variant.py``
    880-892)."""
    if "alpha" in call.scaling:
        return by_alpha(request, call, reader)
    factor = stated(call, "factor", 1.0)
    length = int(call.max_position * factor)
    base = grown_base(call.base, call.width, factor, call.max_position, length)
    grown = schedule(request, replace(call, base=base), reader=reader, rope_type="dynamic")
    plain = schedule(request, call, reader=reader, rope_type="dynamic")
    return [
        replace(
            grown,
            rope_theta=call.base,
            unscaled=plain.inv_freq,
            parameters={"factor": factor, "effective_rope_theta": base},
        )
    ]


def _yarn_scaling(call: Call) -> dict[str, Json]:
    scaling: dict[str, Json] = {
        "factor": stated(call, "factor", 1.0),
        "original_max_position_embeddings": stated(
            call, "original_max_position_embeddings", float(call.max_position)
        ),
    }
    for key in ("beta_fast", "beta_slow"):
        if key in call.scaling:
            scaling[key] = call.needed(key)
    return scaling


def _yarn(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``yarn.py`` 85-165: ``attn_factor`` instead of ``attention_factor``; a ratio as soon as both
    mscale keys are there."""
    scaling = _yarn_scaling(call)
    if "truncate" in call.scaling:
        scaling["truncate"] = bool(call.scaling["truncate"])
    factor = stated(call, "factor", 1.0)
    keys = ("mscale", "mscale_all_dim")
    if "mrope_section" in call.scaling and any(key in call.scaling for key in keys):
        raise Refuses("yarn with mrope_section takes no mscale")  # mrope.py 442-457
    attention = mscale(factor)
    if all(call.scaling.get(key) is not None for key in keys):
        attention = yarn_ratio(factor, *(stated(call, key, 1.0) for key in keys))
    attention *= stated(call, "attn_factor", 1.0)
    return [
        schedule(
            request,
            call,
            reader=reader,
            rope_type="yarn",
            law="yarn",
            scaling=scaling,
            attention=attention,
        )
    ]


def _deepseek(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``rope_variant.py`` 335-420; the logits get ``m(mscale_all_dim) ** 2``
    (``configs/model_config.py`` 2623-2648)."""
    factor = stated(call, "factor", 1.0)
    top, bottom = stated(call, "mscale", 1.0), stated(call, "mscale_all_dim", 0.0)
    plain = call.part.rope_type == "default"
    return [
        schedule(
            request,
            call,
            reader=reader,
            rope_type="default" if plain else "yarn",
            law="yarn",
            scaling=_yarn_scaling(call),
            attention=yarn_ratio(factor, top, bottom) * stated(call, "attn_factor", 1.0),
            softmax=mscale(factor, bottom) ** 2,
        )
    ]


def _longrope(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``rope_variant.py`` 37-170: the long list for a batch with any position beyond the original
    length, which is the declared one where none is stated."""
    original = stated(call, "original_max_position_embeddings", float(call.max_position))
    return longrope(request, call, reader, original)


_LAWS: Mapping[str, Law] = {
    "default": _default,
    "proportional": proportional,
    "llama3": _llama3,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "deepseek_yarn": _deepseek,
    "longrope": _longrope,
}
