"""The laws of SGLang 0.5.23's ``get_rope``, by ``rope_type``.

``srt/layers/rotary_embedding/factory.py`` 131-402 with ``yarn.py``, ``rope_variant.py`` and
``mrope.py``. Values that are missing get a default and a line in the log (32-50).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._served_parts import number_of
from ropeaudit.readers.engines._served_tables import (
    LISTS,
    Call,
    longrope_lists,
    schedule,
    variants_at,
    yarn_ratio,
)
from ropeaudit.readers.engines.interface import NotCovered, Refuses, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.dynamic import grown_base
from ropeaudit.schedule.families.longrope import attention_of
from ropeaudit.schedule.families.yarn import mscale

Law = Callable[[Request, Call, str], list[Schedule]]

_UNREAD = ("extrapolation_factor", "use_fope", "video_rope", "apply_yarn_scaling", "apply_scale")
"""Keys of models that are not covered, which change a table or a factor."""


def schedules(request: Request, call: Call, rope_type: Json, reader: str) -> list[Schedule]:
    """What ``get_rope`` builds; raises Refuses for a type that it does not know."""
    unread = next((key for key in _UNREAD if call.scaling.get(key)), None)
    if unread is not None:
        raise NotCovered(f"what it makes of {unread} was not looked at")
    law = _LAWS.get(rope_type) if isinstance(rope_type, str) else None
    if law is None:
        raise Refuses(f"its get_rope knows no rope_type {shown(rope_type)}")
    return law(request, call, reader)


def _number(call: Call, key: str, default: float) -> float:
    if key not in call.scaling:
        return default
    value = number_of(call.scaling, key)
    if value is None:
        raise Refuses(f"{key} is {shown(call.scaling[key])}, no number")
    return value


def _default(request: Request, call: Call, reader: str) -> list[Schedule]:
    return [schedule(request, call, reader=reader, rope_type="default")]


def _proportional(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``rope_variant.py`` 895-948: no factor is read; still channels are part of the table."""
    built = schedule(request, call, reader=reader, rope_type="proportional", law="proportional")
    return [replace(built, rotary_dim=call.head_dim)]


def _llama3(request: Request, call: Call, reader: str) -> list[Schedule]:
    defaults = {
        "factor": 1.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": float(call.max_position),
    }
    scaling = {key: _number(call, key, default) for key, default in defaults.items()}
    return [
        schedule(request, call, reader=reader, rope_type="llama3", law="llama3", scaling=scaling)
    ]


def _linear(request: Request, call: Call, reader: str) -> list[Schedule]:
    factor = call.scaling.get("factor", 1.0)
    if not isinstance(factor, float):
        # base.py 627-655: what is no float is taken for a list of factors.
        raise Refuses(f"linear scaling needs a factor with a decimal point, got {shown(factor)}")
    scaling = {"factor": factor}
    return [
        schedule(request, call, reader=reader, rope_type="linear", law="linear", scaling=scaling)
    ]


def _dynamic(request: Request, call: Call, reader: str) -> list[Schedule]:
    """One table for good, grown for ``factor`` times the declared length (``rope_variant.py``
    880-892)."""
    if "alpha" in call.scaling:
        scaling: dict[str, Json] = {"alpha": call.needed("alpha")}
        return [
            schedule(
                request, call, reader=reader, rope_type="dynamic", law="ntk_alpha", scaling=scaling
            )
        ]
    factor = _number(call, "factor", 1.0)
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
        "factor": _number(call, "factor", 1.0),
        "original_max_position_embeddings": _number(
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
    factor = _number(call, "factor", 1.0)
    keys = ("mscale", "mscale_all_dim")
    if "mrope_section" in call.scaling and any(key in call.scaling for key in keys):
        raise Refuses("yarn with mrope_section takes no mscale")  # mrope.py 442-457
    attention = mscale(factor)
    if all(call.scaling.get(key) is not None for key in keys):
        attention = yarn_ratio(factor, *(_number(call, key, 1.0) for key in keys))
    attention *= _number(call, "attn_factor", 1.0)
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
    factor = _number(call, "factor", 1.0)
    top, bottom = _number(call, "mscale", 1.0), _number(call, "mscale_all_dim", 0.0)
    plain = call.part.rope_type == "default"
    return [
        schedule(
            request,
            call,
            reader=reader,
            rope_type="default" if plain else "yarn",
            law="yarn",
            scaling=_yarn_scaling(call),
            attention=yarn_ratio(factor, top, bottom) * _number(call, "attn_factor", 1.0),
            softmax=mscale(factor, bottom) ** 2,
        )
    ]


def _longrope(request: Request, call: Call, reader: str) -> list[Schedule]:
    """``rope_variant.py`` 37-170: the long list for a batch with any position beyond the original
    length; neither factor nor attention_factor is read."""
    if call.pairing != "half":
        raise Refuses("longrope is built for half pairing alone")
    longrope_lists(call)
    original = _number(call, "original_max_position_embeddings", float(call.max_position))
    attention = attention_of(call.max_position / original, original)
    found = []
    for variant, key in LISTS:
        if variant not in variants_at(request.lengths, original):
            continue
        own = number_of(call.scaling, f"{variant}_mscale")
        given = {
            "short_factor": call.scaling[key],
            "original_max_position_embeddings": original,
        }
        found.append(
            schedule(
                request,
                call,
                reader=reader,
                rope_type="longrope",
                law="longrope",
                scaling=given,
                variant=variant,
                attention=attention if own is None else own,
            )
        )
    return found


_LAWS: Mapping[str, Law] = {
    "default": _default,
    "proportional": _proportional,
    "llama3": _llama3,
    "linear": _linear,
    "dynamic": _dynamic,
    "yarn": _yarn,
    "deepseek_yarn": _deepseek,
    "longrope": _longrope,
}
