"""Text Generation Inference: its flash models on the attributes of a transformers 4.x config.

``server/text_generation_server/layers/rotary.py`` 80-210 (which table), 262-560 (the tables);
widths and bases at the ``PositionRotaryEmbedding.static`` calls of ``models/custom_modeling/
flash_*_modeling.py``; which model serves which type in ``models/__init__.py`` 660-1700. Commit
db931fcf (2026-01-08). The tables were run, the calls read. Types that its own models do not serve
run in transformers' model and are not covered here; GPT-NeoX, Llama 4, Idefics, LLaVA and PaliGemma
were not looked at.

``linear`` is accepted and does nothing. yarn takes 32 and 1 for the betas, always whole channels
and no attention_factor. longrope needs an original length on the top level and turns by the short
list before that position and by the long one from it on, within one sequence.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Note
from ropeaudit.readers.engines._attributes_loaded import V4, Loaded, Unloadable, loaded
from ropeaudit.readers.engines._attributes_tables import (
    built,
    even,
    layers,
    length,
    number,
    whole,
)
from ropeaudit.readers.engines._raw_keys import portion
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines._tgi_laws import law_of
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule

RELEASES = (
    Release(
        name="tgi-2026.01",
        engine="tgi",
        version="git db931fc (2026-01-08), config from transformers 4.57.6",
        covers=("2026.01",),
        how="ran",
        source="server/text_generation_server/layers/rotary.py 80-560, models/__init__.py "
        "660-1700, models/custom_modeling/flash_*_modeling.py",
    ),
)

_EVEN = frozenset(
    {"llama", "granite", "phi3", "qwen2", "mixtral", "starcoder2", "cohere", "falcon",
     "qwen2_vl", "qwen2_5_vl"}
)  # fmt: skip
"""Types whose head width is hidden_size // num_attention_heads, whatever head_dim says."""
_OWN_WIDTH = frozenset({"mistral", "gemma", "gemma2", "gemma3_text", "gemma3"})
_DEEPSEEK = frozenset({"deepseek_v2", "deepseek_v3"})
_OWN_CLASS = _DEEPSEEK | {"falcon"}
"""Types with a config class of TGI's own that checks nothing."""
_INTERLEAVED = _DEEPSEEK | {"cohere"}
_MROPE = frozenset({"qwen2_vl", "qwen2_5_vl"})
_GEMMA3 = frozenset({"gemma3_text", "gemma3"})
_COVERED = _EVEN | _OWN_WIDTH | _DEEPSEEK | {"phi"}


def build(request: Request, release: Release) -> Built:
    """What the server builds; raises Refuses or NotCovered."""
    if request.document.file.endswith("params.json"):
        raise Refuses("it reads config.json, and there is none")
    kind = request.config.get("model_type")
    if not isinstance(kind, str) or kind not in _COVERED:
        named = quoted(kind) if isinstance(kind, str) else "a file without model_type"
        raise NotCovered(f"{named} is not served by a model of its own that was looked at")
    if kind == "falcon" and request.config.get("alibi"):
        raise Refuses("its Falcon config stops at alibi")
    try:
        model = loaded(request, V4, checked=kind not in _OWN_CLASS)
    except Unloadable as error:
        raise Refuses(str(error)) from None
    scaling = _scaling(model, kind)
    if kind in _GEMMA3:
        turns = list(_gemma3(model, scaling))
    else:
        plain = _turn(model, kind)
        turns = list(law_of(plain, scaling, model, request.lengths))
        if kind in _DEEPSEEK:
            turns = [_logits(t, scaling) for t in turns]
    found = built(request, release, model, turns, tuple(_notes(model, kind, turns)))
    if kind in _MROPE and isinstance((scaling or {}).get("mrope_section"), list):
        return replace(found, schedules=_with_axes(found.schedules, request))
    return found


def _scaling(model: Loaded, kind: str) -> Mapping[str, Any] | None:
    found = model.get("rope_scaling")
    if found is not None and not isinstance(found, dict):
        raise Refuses("rope_scaling is no object")
    if kind in _MROPE and found is not None and found.get("type") == "default":
        return {**found, "rope_type": "mrope"}
    return found


def _turn(model: Loaded, kind: str) -> Turn:
    """Base, width and layers at the call (``flash_<type>_modeling.py``)."""
    head = rotary = even(model)
    if kind in _OWN_WIDTH and (model.get("head_dim") is not None or kind != "mistral"):
        head = rotary = whole(model, "head_dim")
    elif kind in _DEEPSEEK:
        rotary = whole(model, "qk_rope_head_dim")
        head = rotary
    elif kind == "phi":
        rotary = portion(model.get("partial_rotary_factor"), head)
    return Turn(
        base=number(model, "rope_theta", 10000.0),
        rotary=rotary,
        head=head,
        pairing="interleaved" if kind in _INTERLEAVED else "half",
        layers=layers(model),
        declared=length(model),
        partial=rotary / head,
    )


def _gemma3(model: Loaded, scaling: Mapping[str, Any] | None) -> Iterator[Turn]:
    """``flash_gemma3_modeling.py`` 128-146, 483: sliding layers by a period, 6 if not stated."""
    turn = replace(_turn(model, "gemma3_text"), label="full_attention")
    period = model.get("sliding_window_pattern", 6)
    if type(period) is not int or period < 1:
        raise Refuses("sliding_window_pattern is no whole number above 0")
    full = tuple(i for i in layers(model) if not (i + 1) % period)
    sliding = tuple(i for i in layers(model) if (i + 1) % period)
    if full:
        yield from law_of(replace(turn, layers=full), scaling, model, ())
    if sliding:
        window = model.get("sliding_window")
        yield replace(
            turn,
            label="sliding_attention",
            base=number(model, "rope_local_base_freq"),
            layers=sliding,
            window=window if type(window) is int else None,
        )


def _logits(turn: Turn, scaling: Mapping[str, Any] | None) -> Turn:
    """``flash_deepseek_v2_modeling.py`` 182-185."""
    if turn.law != "yarn" or scaling is None:
        raise Refuses("its DeepSeek attention asks for mscale_all_dim, which only yarn has")
    factor, weight = float(scaling["factor"]), float(scaling.get("mscale_all_dim", 0.0))
    root = 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0
    return replace(turn, softmax=root * root)


def _with_axes(schedules: tuple[Schedule, ...], request: Request) -> tuple[Schedule, ...]:
    """Sections deal channels to axes as in the reference."""
    texts = [] if request.reference is None else request.reference.schedules
    axes = next((s.axes for s in texts if s.is_text), None)
    return tuple(replace(s, axes=axes) for s in schedules)


def _notes(model: Loaded, kind: str, turns: list[Turn]) -> Iterator[Note]:
    stated = model.get("head_dim")
    if kind in _EVEN and type(stated) is int and stated != even(model):
        yield Note(
            "forward_fails",
            f"its attention splits heads of {even(model)} channels, and those of the weights have "
            f"{quoted(stated)}",
        )
    if any(t.variant in ("short", "long") for t in turns):
        yield Note(
            "run_time_choice",
            "positions before the original length turn by the short list, later ones by the long "
            "one, in the same sequence",
        )
    if any(t.law == "dynamic" for t in turns):
        yield Note(
            "run_time_choice",
            "beyond max_position_embeddings the base follows the longest sequence served so far",
        )
