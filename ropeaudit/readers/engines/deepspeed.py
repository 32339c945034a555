"""DeepSpeed: the ragged inference engine (FastGen), from a config that transformers 5.x loaded.

``inference/v2/engine_factory.py`` 100-150 (which types), ``inference/v2/model_implementations/
inference_transformer_base.py`` 46-70 and 192-243 (base, and what is refused), ``model.py`` of
llama_v2, mistral, mixtral, qwen_v2, qwen_v2_moe, phi, phi3, falcon and exaone4 (widths). 0.19.8,
read. One base serves all layers, and every kind of scaling is refused. EXAONE 4.5 and Qwen 1 were
not looked at; other types have no policy there (``init_inference`` runs them in transformers).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Note, as_number
from ropeaudit.readers.engines._attributes_loaded import V5, Loaded, Unloadable, loaded
from ropeaudit.readers.engines._attributes_tables import (
    built,
    even,
    layers,
    length,
    whole,
)
from ropeaudit.readers.engines._raw_keys import portion
from ropeaudit.readers.engines._raw_tables import Turn
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request

RELEASES = (
    Release(
        name="deepspeed-0.19",
        engine="deepspeed",
        version="0.19.8 on transformers 5.x",
        covers=("0.19",),
        how="read",
        source="inference/v2/engine_factory.py 100-150, inference/v2/model_implementations/"
        "inference_transformer_base.py 46-70, 192-243, */model.py",
        silent=frozenset({"softmax"}),
    ),
)

_EVEN = frozenset({"llama", "mistral", "mixtral", "qwen2", "qwen2_moe", "phi", "phi3", "falcon"})
"""Types whose head width is hidden_size // num_attention_heads, whatever head_dim says."""
_COVERED = _EVEN | {"exaone4"}


def build(request: Request, release: Release) -> Built:
    """What the engine builds; raises Refuses or NotCovered."""
    kind = request.config.get("model_type")
    if not isinstance(kind, str) or kind not in _COVERED:
        named = quoted(kind) if isinstance(kind, str) else "a file without model_type"
        raise NotCovered(f"its ragged inference has no policy for {named}")
    try:
        model = loaded(request, V5)
    except Unloadable as error:
        raise Refuses(str(error)) from None
    head = _head(model, kind)
    rotary = portion(_part(model), head) if kind == "phi" else head
    turn = Turn(
        base=10000.0 if kind == "falcon" else _base(model),
        rotary=rotary,
        head=head,
        layers=layers(model),
        declared=length(model),
        partial=rotary / head,
    )
    return built(request, release, model, (turn,), tuple(_notes(model, kind, head)))


def _head(model: Loaded, kind: str) -> int:
    if kind == "exaone4" and model.get("head_dim") is not None:
        return whole(model, "head_dim")
    return even(model)


def _part(model: Loaded) -> float:
    """The fraction of Phi, which transformers 5 moves into the rope parameters."""
    rope = model.get("rope_parameters") or {}
    return as_number(rope.get("partial_rotary_factor")) or 1.0


def _base(model: Loaded) -> float:
    """``rope_theta`` of the base class."""
    rope: Any = model.get("rope_parameters") or {}
    inner = [v for v in rope.values() if isinstance(v, dict)]
    for found in (rope, *inner):
        kind = found.get("rope_type", found.get("type"))
        if kind not in (None, "default"):
            raise Refuses(f"it serves no rope type but the plain one, and this is {quoted(kind)}")
    bases = [v["rope_theta"] for v in inner if v.get("rope_theta") is not None]
    if any(base != bases[0] for base in bases):
        raise Refuses("it has one base for all layers, and the layer types differ")
    base = as_number(bases[0] if bases else rope.get("rope_theta"))
    if base is None:
        raise Refuses("it finds no rope_theta")
    return base


def _notes(model: Loaded, kind: str, head: int) -> Iterator[Note]:
    stated = model.get("head_dim")
    if kind in _EVEN and type(stated) is int and stated != head:
        yield Note(
            "forward_fails",
            f"its attention splits heads of {head} channels, and those of the weights have "
            f"{quoted(stated)}",
        )
