"""Image and video transformers of diffusers: independent ladders, one a coordinate.

Their configs have no ``model_type`` and no common schema; what they share is a list of widths, one
an axis, or one width for all, or a split of the head that is fixed in the code. The table is the
ladders one after another, so equal frequencies on different axes are by design. Sources: diffusers
``models/transformers/transformer_flux.py``, ``transformer_hunyuan_video.py``,
``transformer_qwenimage.py``, ``transformer_minimax_h3.py``, ``transformer_wan.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, unexpected
from ropeaudit.facts import Fact, Json, Observation, Oddity, Origin
from ropeaudit.readers.interface import Resolution
from ropeaudit.records import record
from ropeaudit.schedule.core import Axis, Context, Schedule
from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.families.interface import MAX_CHANNELS

WIDTH_LISTS = ("axes_dims_rope", "axes_dim_rope", "rope_axes_dim", "axes_dims", "axes_dim")
SHARED_WIDTH = "rope_freq_dim"
"""Channels of one ladder that three axes share (MiniMax-H3)."""
HEAD_SPLITS = frozenset(
    {"WanTransformer3DModel", "WanVACETransformer3DModel", "SkyReelsV2Transformer3DModel"}
)
"""Classes that cut the head in three: built with widths ``h = w = 2 (d // 6)`` and ``t`` the rest,
applied with ``h = w = d // 3``. Both agree only where ``d // 3`` is even."""
HEAD_DIM = "attention_head_dim"
BASES = ("rope_theta", "theta")
DEFAULT_BASE = 10_000.0
NAMES = {1: ("t",), 2: ("h", "w"), 3: ("t", "h", "w"), 4: ("t", "h", "w", "l")}


def claims(data: Mapping[str, Json]) -> bool:
    """Whether ``data`` is such a config: no model type, and widths of axes."""
    return data.get("model_type") is None and (
        any(isinstance(data.get(k), list) for k in WIDTH_LISTS)
        or ("_class_name" in data and data.get(SHARED_WIDTH) is not None)
        or _is_split(data)
    )


def _is_split(data: Mapping[str, Json]) -> bool:
    name = data.get("_class_name")
    return isinstance(name, str) and name in HEAD_SPLITS and data.get(HEAD_DIM) is not None


def read(document: Document) -> Resolution:
    """One schedule of component ``transformer``; raises InvalidValue for widths that are none."""
    data = document.data
    fallback = HEAD_DIM if _is_split(data) else SHARED_WIDTH
    key = next((k for k in WIDTH_LISTS if isinstance(data.get(k), list)), fallback)
    stated = next((k for k in BASES if data.get(k) is not None), None)
    facts = [_stated(document, "axes", key)]
    base = DEFAULT_BASE
    if stated is None:
        facts.append(Fact("rope_theta", base, Origin.DEFAULT))
    else:
        base = _number(data[stated], f"/{stated}")
        facts.append(_stated(document, "rope_theta", stated))
    shape = _shape(data, key, base)
    law = family(shape.law)
    assert law is not None  # both are part of this package
    built = law.build(shape.inputs)
    head = data.get(HEAD_DIM)
    schedule = Schedule(
        component="transformer",
        rope_type="default",
        rope_theta=base,
        head_dim=head if type(head) is int else None,
        rotary_dim=shape.rotary_dim,
        pairing=shape.pairing,
        axes=shape.axes,
        inv_freq=built.inv_freq,
        unscaled=built.inv_freq,
        context=Context(),
        provenance=tuple(facts),
        law=shape.law,
        inputs=shape.inputs,
    )
    observations = [_specific(document, key, stated), *_misfits(document, key, schedule)]
    name = data.get("_class_name")
    return Resolution(
        model_type=name if isinstance(name, str) else None,
        schedules=(schedule,),
        observations=tuple(observations),
    )


@record(kw_only=True)
class _Shape:
    """The law of a table with its inputs, and what its channels turn with."""

    law: str
    inputs: Inputs
    axes: tuple[Axis, ...]
    rotary_dim: int
    pairing: str


def _shape(data: Mapping[str, Json], key: str, base: float) -> _Shape:
    if key == SHARED_WIDTH:
        channels = _width(data[key], f"/{key}", even=False)
        return _Shape(
            law="default",
            inputs=Inputs(rope_theta=base, rotary_dim=2 * channels, head_dim=2 * channels),
            axes=tuple(Axis(a, (0, channels - 1)) for a in NAMES[3]),
            rotary_dim=6 * channels,
            pairing="half",
        )
    widths = data[key]
    if key == HEAD_DIM:
        widths = _built_split(_width(widths, f"/{key}", even=True), f"/{key}")
    axes = _ladders(widths, key)
    total = sum(widths)
    scaling = {"axes_dim": widths}
    return _Shape(
        law="ladders",
        inputs=Inputs(rope_theta=base, rotary_dim=total, head_dim=total, scaling=scaling),
        axes=axes,
        rotary_dim=total,
        pairing="interleaved",
    )


def _built_split(head: int, pointer: str) -> list[int]:
    if head < 6:
        raise InvalidValue(
            f"{pointer} is {head}, expected at least 6 for three axes; correct it", where=pointer
        )
    side = 2 * (head // 6)
    return [head - 2 * side, side, side]


def _misfits(document: Document, key: str, schedule: Schedule) -> Iterator[Observation]:
    """Widths that the head does not have, or that the class builds and does not apply."""
    head, rotary = schedule.head_dim, schedule.rotary_dim
    if head is not None and rotary > head:
        message = f"the axes take {rotary} channels, more than a head of {head} has"
        yield _mismatch(document, key, message, head, rotary)
    if key == HEAD_DIM and head is not None:
        built = _built_split(head, f"/{key}")
        applied = [head - 2 * (head // 3), head // 3, head // 3]
        if built != applied:
            message = (
                f"a head of {head} does not split into three even widths: the class builds {built} "
                f"channels for time, height and width and applies {applied}"
            )
            yield _mismatch(document, key, message, built, applied)


def _ladders(widths: Json, key: str) -> tuple[Axis, ...]:
    """One axis for each width; raises InvalidValue for widths that are none."""
    if not 1 <= len(widths) <= 16:
        raise InvalidValue(
            f"/{key} has {len(widths)} axes, expected 1 to 16; correct it", where=f"/{key}"
        )
    names = NAMES.get(len(widths), tuple(str(i) for i in range(len(widths))))
    axes: list[Axis] = []
    start = 0
    for i, (name, value) in enumerate(zip(names, widths, strict=True)):
        channels = _width(value, f"/{key}/{i}", even=True) // 2
        axes.append(Axis(name, (start, start + channels - 1)))
        start += channels
    return tuple(axes)


def _width(value: Json, pointer: str, *, even: bool) -> int:
    if type(value) is not int or not 1 <= value <= MAX_CHANNELS or (even and value % 2):
        kind = "an even" if even else "a"
        raise unexpected(pointer, value, f"{kind} whole number up to {MAX_CHANNELS}", where=pointer)
    return value


def _number(value: Json, pointer: str) -> float:
    if type(value) not in (int, float) or not 0 < value < 1e300:
        raise unexpected(pointer, value, "a positive number", where=pointer)
    return float(value)


def _stated(document: Document, field: str, key: str) -> Fact:
    pointer = f"/{key}"
    origin = Origin.OVERRIDE if pointer in document.overridden else Origin.FILE
    return Fact(field, document.data[key], origin, document.location(pointer))


def _specific(document: Document, key: str, stated: str | None) -> Observation:
    built_in = "" if stated else " and the base 10000"
    return Observation(
        kind=Oddity.MODEL_SPECIFIC,
        message=f"an image or video transformer: what the axes stand for{built_in} comes from its "
        "code, not from the file",
        location=document.location(f"/{key}"),
        schedule="transformer",
    )


def _mismatch(
    document: Document, key: str, message: str, expected: Json, found: Json
) -> Observation:
    return Observation(
        kind=Oddity.LENGTH_MISMATCH,
        message=message,
        location=document.location(f"/{key}"),
        schedule="transformer",
        evidence={"field": key, "expected": expected, "found": found},
    )
