"""The encoders beside the language model: Pixtral's eyes and streaming ears."""

from __future__ import annotations

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Fact, Note, Oddity, Origin
from ropeaudit.readers.mistral._fields import Fields
from ropeaudit.schedule.core import Axis, Context, Schedule
from ropeaudit.schedule.families import Inputs, axial_dealt, default


def vision(file: Fields) -> list[Schedule]:
    """Pixtral's tower: one ladder dealt in turn to rows and columns, so nothing repeats."""
    nested = isinstance(file.at("/multimodal/vision_encoder_args"), dict)
    place = "/multimodal/vision_encoder_args" if nested else "/vision_encoder"
    if not isinstance(file.at(place), dict):
        if file.at("/vision_args") is not None:
            message = "the vision encoder's rotary table is built by code and is not shown"
            file.observe(Oddity.MODEL_SPECIFIC, message, "/vision_args")
        return []
    file.facts = []
    size = file.count(f"{place}/hidden_size", "hidden_size")
    heads = file.count(f"{place}/num_attention_heads", "num_attention_heads")
    if size is None or heads is None:
        message = "the vision encoder states no hidden_size and num_attention_heads"
        file.notes.append(Note("insufficient", message))
        return []
    if size % heads or size // heads % 4:
        raise InvalidValue(
            f"the vision head width {size}/{heads} must be a multiple of 4; correct either",
            where=place,
        )
    head_dim = size // heads
    file.facts.append(Fact("head_dim", head_dim, Origin.DERIVED))
    base = file.number(f"{place}/rope_theta", "rope_theta", 10_000.0)
    assert base is not None
    inputs = Inputs(rope_theta=base, rotary_dim=head_dim, head_dim=head_dim)
    table = axial_dealt.build(inputs).inv_freq
    middle = len(table) // 2
    return [
        Schedule(
            component="vision",
            rope_type="axial",
            rope_theta=base,
            head_dim=head_dim,
            rotary_dim=head_dim,
            pairing="interleaved",
            axes=(Axis("h", (0, middle - 1)), Axis("w", (middle, len(table) - 1))),
            inv_freq=table,
            unscaled=table,
            provenance=tuple(file.facts),
            law="axial_dealt",
            inputs=inputs,
        )
    ]


def audio(file: Fields) -> list[Schedule]:
    """Only the streaming encoders rotate (``pos_embed: rope``); Whisper's adds sinusoids."""
    place = "/multimodal/whisper_model_args/encoder_args"
    if file.at(f"{place}/pos_embed") != "rope":
        return []
    file.facts = []
    head_dim = file.count(f"{place}/head_dim", "head_dim")
    if head_dim is None:
        dim, heads = file.count(f"{place}/dim", "dim"), file.count(f"{place}/n_heads", "n_heads")
        head_dim = dim // heads if dim and heads and not dim % heads else None
    if head_dim is None or head_dim % 2:
        message = "the audio encoder's head width is not stated or not even"
        file.notes.append(Note("insufficient", message))
        return []
    base = file.number(f"{place}/rope_theta", "rope_theta")
    if base is None:
        file.notes.append(Note("insufficient", "the audio encoder rotates, but states no base"))
        return []
    inputs = Inputs(rope_theta=base, rotary_dim=head_dim, head_dim=head_dim)
    table = default.build(inputs).inv_freq
    return [
        Schedule(
            component="audio",
            rope_type="default",
            rope_theta=base,
            head_dim=head_dim,
            rotary_dim=head_dim,
            pairing="interleaved",
            inv_freq=table,
            unscaled=table,
            context=Context(window=file.count(f"{place}/sliding_window", "sliding_window")),
            provenance=tuple(file.facts),
            law="default",
            inputs=inputs,
        )
    ]
