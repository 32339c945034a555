"""Rotary settings and tables of ExLlamaV3 1.6.5.

``model/config.py`` 294-341 reads the settings: base from the top level before rope_parameters, dict
from rope_scaling before rope_parameters, a part from the top level before rope_parameters,
``rotary_dim`` before any part. ``util/rope.py`` 64-345 builds the tables: ``rope_type`` before
``type`` (203); yarn with an original length takes max_position_embeddings / original and ignores
the factor (285-330), and the mscale ratio counts for DeepSeek only (312-326); longrope chooses its
list by max_position_embeddings (333-345); llama3 has defaults (232-248); linear 1 (251-255).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._exl_read import decimal, length, read
from ropeaudit.readers.engines._raw_keys import MAX_WIDTH, Raw, number, portion, whole
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Refuses
from ropeaudit.records import record, replace
from ropeaudit.schedule.families.longrope import attention_of
from ropeaudit.schedule.families.yarn import mscale

THETA = ("rope_theta", "rope_parameters->rope_theta")


@record(kw_only=True)
class Settings:
    """What ``read_rope_settings_default`` returns; ``declared`` and ``original`` are top-level."""

    head: int
    base: float
    scaling: Raw | None
    rotary: int
    partial: float
    declared: Json
    original: Json
    pairing: str
    kind: Json = None
    ratio: bool = False


def settings(
    raw: Raw,
    head: int,
    *,
    pairing: str = "half",
    base: Json = 10000.0,
    partial: Json = 1.0,
    theta: tuple[str, ...] = THETA,
    kind: Json = None,
    ratio: bool = False,
) -> Settings:
    """The settings at ``raw``; ``base`` and ``partial`` where the file states none."""
    found = read(raw, "float", *theta, default=base, lenient=True)
    scaling = None
    for key in ("rope_scaling", "rope_parameters"):
        if scaling is None and raw.data.get(key) is not None:
            scaling = raw.inside(key, read(raw, "dict", key))
    part = number(
        read(
            raw, "float", "partial_rotary_factor", "rope_parameters->partial_rotary_factor",
            default=partial, lenient=True,
        ),
        "partial_rotary_factor",
    )  # fmt: skip
    own = read(raw, "int", "rotary_dim")
    rotary = whole(own, "rotary_dim", MAX_WIDTH) if own else portion(part, head)
    return Settings(
        head=head,
        base=number(found, "rope_theta"),
        scaling=scaling,
        rotary=rotary,
        partial=part,
        declared=read(raw, "int", "max_position_embeddings"),
        original=raw.data.get("original_max_position_embeddings"),
        pairing=pairing,
        kind=kind,
        ratio=ratio,
    )


def turns(given: Settings, **place: Any) -> list[Turn]:
    """The tables of ``given``: one, or both lists of longrope, the one in use first.

    ``place``: label and layers. Raises Refuses for types that it does not know.
    """
    turn = Turn(
        base=given.base,
        rotary=given.rotary,
        head=given.head,
        pairing=given.pairing,
        declared=length(given.declared),
        **place,
    )
    kind, scaling = given.kind, given.scaling
    if not kind and scaling is not None:
        kind = scaling.get("rope_type") if scaling.has("rope_type") else scaling.get("type")
    if kind is None or kind in ("default", "mrope"):
        return [turn]
    if kind == "proportional":
        return [_proportional(turn, given)]
    if kind not in ("llama3", "linear", "yarn", "longrope", "su"):
        raise Refuses(f"it knows no rope type {shown(kind)}")
    if scaling is None:
        raise Refuses(f"it needs a dict for {kind} and finds none")
    if kind == "llama3":
        return [_llama3(turn, scaling)]
    if kind == "linear":
        values = {"factor": decimal(scaling.get("factor", 1.0), "factor")}
        return [replace(turn, law="linear", scaling=values)]
    if kind == "yarn":
        return [_yarn(turn, given, scaling)]
    return _longrope(turn, given, scaling)


def _llama3(turn: Turn, scaling: Raw) -> Turn:
    given: Mapping[str, float] = {
        "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    }  # fmt: skip
    values: dict[str, Json] = {k: scaling.number(k, default) for k, default in given.items()}
    stated = length(scaling.data.get("original_max_position_embeddings"))
    return replace(turn, law="llama3", scaling=values, original=stated)


def _proportional(turn: Turn, given: Settings) -> Turn:
    factor = 1.0 if given.scaling is None else given.scaling.number("factor", 1.0)
    head = given.head
    return replace(
        turn,
        law="proportional",
        rotary=2 * (head // 2),
        partial=given.partial,
        scaling={"factor": factor},
    )


def _yarn(turn: Turn, given: Settings, scaling: Raw) -> Turn:
    declared = given.declared
    if declared is None:
        raise Refuses("yarn needs max_position_embeddings, which the file lacks")
    stated = scaling.get("original_max_position_embeddings")
    if stated is not None and number(stated, "original_max_position_embeddings") != int(stated):
        raise Refuses("original_max_position_embeddings is no whole number")
    original = declared if stated is None else int(stated)
    if not original:
        raise Refuses("original_max_position_embeddings is 0, and it divides by it")
    factor = scaling.number("factor") if stated is None else declared / original
    values: dict[str, Json] = {
        "factor": factor,
        "original_max_position_embeddings": original,
        "beta_fast": scaling.number("beta_fast", 32),
        "beta_slow": scaling.number("beta_slow", 1),
        "truncate": bool(scaling.get("truncate", True)),
    }
    if not (values["beta_fast"] and values["beta_slow"]):
        raise Refuses("it divides by beta_fast and beta_slow, and one of them is 0")
    return replace(
        turn,
        law="yarn",
        scaling=values,
        attention=_attention(given, scaling, factor),
        original=length(stated),
    )


def _attention(given: Settings, scaling: Raw, factor: float) -> float:
    explicit = scaling.get("attention_factor")
    if explicit is not None:
        return number(explicit, "attention_factor")
    if given.ratio:
        top, bottom = scaling.get("mscale"), scaling.get("mscale_all_dim")
        if top and bottom:
            below = mscale(factor, number(bottom, "mscale_all_dim"))
            if not below:
                raise Refuses("mscale_all_dim makes it divide by 0")
            return mscale(factor, number(top, "mscale")) / below
    if scaling.get("llama_4_scaling_beta"):
        return 1.0
    return mscale(factor)


def _longrope(turn: Turn, given: Settings, scaling: Raw) -> list[Turn]:
    inner = scaling.data.get("original_max_position_embeddings", given.original)
    if scaling.has("original_max_position_embeddings"):
        scaling.get("original_max_position_embeddings")
    if given.declared is None or inner is None:
        raise Refuses("longrope needs the declared and the original length, and one is missing")
    declared, original = float(given.declared), number(inner, "the original length")
    if not original:
        raise Refuses("it divides by the original length, which is 0")
    attention = attention_of(declared / original, original)
    used = "long" if declared > original else "short"
    return [
        _list(turn, scaling, variant, original, attention)
        for variant in sorted(("long", "short"), key=lambda v: v != used)
        if variant == used or isinstance(scaling.data.get(f"{variant}_factor"), list)
    ]


def _list(turn: Turn, scaling: Raw, variant: str, original: float, attention: float) -> Turn:
    key = f"{variant}_factor"
    factors = scaling.get(key)
    channels = turn.rotary // 2
    if not isinstance(factors, list) or len(factors) not in (1, channels):
        raise Refuses(f"{key} is no list of {channels} numbers, one for each channel")
    return replace(
        turn,
        law="longrope",
        variant=variant,
        scaling={
            key: factors * channels if len(factors) == 1 else factors,
            "original_max_position_embeddings": original,
            "attention_factor": attention,
        },
        length=int(original) + 1 if variant == "long" else None,
        original=length(original),
    )
