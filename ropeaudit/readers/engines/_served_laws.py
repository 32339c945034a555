"""Laws of rotation that vLLM's and SGLang's ``get_rope`` have in common.

A law gives the schedules of one call. What differs between the two stands in ``_vllm_tables`` and
``_sglang_tables``.
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
)
from ropeaudit.readers.engines.interface import Refuses, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.longrope import attention_of

Law = Callable[[Request, Call, str], list[Schedule]]
"""From a request, a call and the reader's name to schedules; raises Refuses or NotCovered."""


def law_of(laws: Mapping[str, Law], rope_type: Json) -> Law:
    """The law of ``rope_type``; raises Refuses for a type that there is none for."""
    law = laws.get(rope_type) if isinstance(rope_type, str) else None
    if law is None:
        raise Refuses(f"its get_rope knows no rope_type {shown(rope_type)}")
    return law


def stated(call: Call, key: str, default: float) -> float:
    """A number of the dict, ``default`` where the key is not there; Refuses for what is none."""
    if key not in call.scaling:
        return default
    value = number_of(call.scaling, key)
    if value is None:
        raise Refuses(f"{key} is {shown(call.scaling[key])}, no number")
    return value


def proportional(request: Request, call: Call, reader: str) -> list[Schedule]:
    """No factor is read; channels that stand still are part of the table (vLLM ``gemma4_rope.py``,
    SGLang ``rope_variant.py`` 895-948)."""
    built = schedule(request, call, reader=reader, rope_type="proportional", law="proportional")
    return [replace(built, rotary_dim=call.head_dim)]


def linear(request: Request, call: Call, reader: str, factor: Json) -> list[Schedule]:
    """What is no float is taken for a list of factors (vLLM ``linear_scaling_rope.py`` 58-60,
    SGLang ``base.py`` 627-655)."""
    if not isinstance(factor, float):
        raise Refuses(f"linear scaling needs a factor with a decimal point, got {shown(factor)}")
    scaling = {"factor": factor}
    return [
        schedule(request, call, reader=reader, rope_type="linear", law="linear", scaling=scaling)
    ]


def by_alpha(request: Request, call: Call, reader: str) -> list[Schedule]:
    """Hunyuan's dynamic scaling: the base grown once, at every length."""
    scaling = {"alpha": call.needed("alpha")}
    return [
        schedule(
            request, call, reader=reader, rope_type="dynamic", law="ntk_alpha", scaling=scaling
        )
    ]


def longrope(request: Request, call: Call, reader: str, original: float | None) -> list[Schedule]:
    """Neither factor nor attention_factor is read; a list's own ``_mscale`` replaces the factor
    from the two lengths. Both lists where no length was asked for."""
    if call.pairing != "half":
        raise Refuses("longrope is built for half pairing alone")
    longrope_lists(call)
    if original is None or original <= 0:
        raise Refuses("longrope needs original_max_position_embeddings")
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
