"""CTranslate2: a config as its converter stores it, and the table that the library makes of that.

``converters/transformers.py`` of 4.8.5: 342-364 (``get_rotary_params``), 2115-2260 (Gemma),
2315-2384 (Llama), 2464-2570 (Gemma 3), 2995-3055 (Mistral), 3131-3190 (Qwen 2), 3272-3330 (Qwen 3),
1411-1432 (GPT-NeoX), 3475-3680 (Phi), 3699-3845 (Falcon); ``specs/attention_spec.py`` 80-97. The
converter asks the transformers that is installed beside it, 4.57 or 5.x. Ran: the converter on tiny
models, four saved models against candidate tables. Read: the table formula in C++
(``src/layers/attention_layer.cc`` 68-108, 252-345).

With scaling, the base is the one inside the scaling dict, or else the loader's default: a top-level
base is lost on 4.x. Of llama3 neither factor nor original length is stored, so nothing is scaled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.readers.engines._attributes_classes import entry
from ropeaudit.readers.engines._attributes_loaded import V4, V5, Loaded, Unloadable, loaded
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
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace

_SOURCE = (
    "converters/transformers.py 342-364, 1411-1432, 2115-2570, 2995-3845; specs/attention_spec.py "
    "80-97; C++ src/layers/attention_layer.cc 68-108, 252-345"
)

RELEASES = (
    Release(
        name="ctranslate2+tf5.20",
        engine="ctranslate2",
        version="4.8.5 converter on transformers 5.20.2",
        covers=("4.8.5",),
        how="ran",
        source=_SOURCE,
    ),
    Release(
        name="ctranslate2+tf4.57",
        engine="ctranslate2",
        version="4.8.5 converter on transformers 4.57.6",
        covers=("4.8.5",),
        how="ran",
        source=_SOURCE,
    ),
)

DEFAULT_BASE = 10000.0

_UNREAD = frozenset({"gemma4_text", "gemma4"})
"""Types whose loaders were not looked at."""


def build(request: Request, release: Release) -> Built:
    """What the library builds from the converted model; raises Refuses or NotCovered."""
    if request.document.file.endswith("params.json"):
        raise Refuses("its converter reads config.json, and there is none")
    version = V4 if release.name.endswith("4.57") else V5
    kind = request.config.get("model_type")
    try:
        model = loaded(request, version)
    except Unloadable as error:
        raise Refuses(str(error)) from None
    kind = "gemma3_text" if kind == "gemma3" else kind
    loader = _LOADERS.get(kind) if isinstance(kind, str) else None
    if loader is None or kind in _UNREAD:
        known = isinstance(kind, str) and entry(kind) is not None and kind not in _UNREAD
        if known:
            raise Refuses(f"no conversion is registered for {quoted(kind)}")
        raise NotCovered(f"whether and how {quoted(kind)} is converted was not looked at")
    return built(request, release, model, loader(model, _scaling(model, version)))


def _scaling(model: Loaded, version: str) -> Mapping[str, Any]:
    """``config.rope_scaling``; under 5.x that is another name of rope_parameters."""
    found = model.get("rope_parameters" if version == V5 else "rope_scaling")
    if found is not None and not isinstance(found, dict):
        raise Refuses("rope_scaling is no object")
    return found or {}


Loader = Callable[[Loaded, Mapping[str, Any]], Iterator[Turn]]


def _plain(model: Loaded, base: float, head: int, rotary: int | None = None) -> Turn:
    return Turn(
        base=base,
        rotary=rotary or head,
        head=head,
        layers=layers(model),
        declared=length(model),
        partial=(rotary or head) / head,
    )


def _head(model: Loaded) -> int:
    return even(model) if model.get("head_dim") is None else whole(model, "head_dim")


def _general(default: float, *, stores_llama3: bool = False) -> Loader:
    """``get_rotary_params``: Llama, Mistral, Qwen 2 and 3.

    Only the Llama loader hands the two bounds of llama3 scaling on; the others leave them out, and
    then saving the model stops (``specs/model_spec.py``, ``validate``).
    """

    def load(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
        if not scaling:
            yield _plain(model, number(model, "rope_theta", default), _head(model))
            return
        kind = scaling.get("type") or scaling.get("rope_type")
        base = scaling.get("rope_theta", default)
        if isinstance(base, bool) or not isinstance(base, int | float):
            raise Refuses("rope_theta is no number")
        turn = _plain(model, float(base), _head(model))
        if kind == "linear":
            factor = scaling.get("factor", 1)
            yield replace(turn, law="linear", scaling={"factor": factor})
        elif kind == "llama3":
            if not stores_llama3:
                raise Refuses("it writes llama3 without its bounds, and then refuses to save them")
            for key in ("low_freq_factor", "high_freq_factor"):
                if key not in scaling:
                    raise Refuses(f"its converter stops because {key} is missing")
            yield turn
        elif kind in ("su", "longrope"):
            raise Refuses("it writes longrope without factor lists, and then refuses to save them")
        elif kind == "default":
            yield turn
        else:
            raise Refuses(f"its converter has no rope type {quoted(kind)}")

    return load


def _gemma(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    """Gemma 1 and 2: the top-level base, which 5.x no longer has, and no scaling."""
    yield _plain(model, number(model, "rope_theta", DEFAULT_BASE), whole(model, "head_dim"))


def _gemma3(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    """A base for each layer type from the top level, and no scaling."""
    kinds = model.get("layer_types")
    if not isinstance(kinds, list):
        raise Refuses("its converter finds no layer types")
    window = model.get("sliding_window", 1024)
    bases = (
        ("full_attention", number(model, "rope_theta", 1e6)),
        ("sliding_attention", number(model, "rope_local_base_freq", DEFAULT_BASE)),
    )
    for label, base in bases:
        served = tuple(i for i, kind in enumerate(kinds) if kind == label)
        if served:
            yield replace(
                _plain(model, base, whole(model, "head_dim")),
                label=label,
                layers=served,
                window=window if label == "sliding_attention" and type(window) is int else None,
            )


def _neox(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    """Base 10000 whatever the file says; rotary_pct, which 5.x no longer has."""
    if "rotary_pct" not in model.values:
        raise Refuses("its loader asks for rotary_pct, which transformers 5 no longer keeps")
    head = even(model)
    yield _plain(model, DEFAULT_BASE, head, portion(model.get("rotary_pct"), head, "rotary_pct"))


def _falcon(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    """Base 10000 whatever the file says."""
    if model.get("alibi"):
        raise NotCovered("this Falcon model has ALiBi biases and no rotation")
    yield _plain(model, DEFAULT_BASE, even(model))


def _phi(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    raise Refuses("its Phi loader asks for n_layer, which only the first Phi configs had")


def _phi3(model: Loaded, scaling: Mapping[str, Any]) -> Iterator[Turn]:
    """``layer.self_attn.rotary_emb`` (3660) is gone from both transformers releases."""
    if scaling and "type" not in scaling:
        raise Refuses("its Phi-3 loader asks for type in rope_scaling")
    raise Refuses("its Phi-3 loader asks for a rotary embedding in each layer, and finds none")


_LOADERS: dict[str, Loader] = {
    "llama": _general(DEFAULT_BASE, stores_llama3=True),
    "mistral": _general(DEFAULT_BASE),
    "qwen2": _general(DEFAULT_BASE),
    "qwen3": _general(1e6),
    "gemma": _gemma,
    "gemma2": _gemma,
    "gemma3_text": _gemma3,
    "gpt_neox": _neox,
    "falcon": _falcon,
    "phi": _phi,
    "phi3": _phi3,
}
