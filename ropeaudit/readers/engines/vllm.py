"""vLLM 0.33: transformers' standardisation, vLLM's own tables.

Config: ``transformers_utils/config.py`` (parser 342-466, legacy names 600-687: ``su`` is longrope,
``mrope`` is plain, a ``type`` that contradicts ``rope_type`` stops it, the rotated fraction is read
for every family). Tables: ``_vllm_tables``. Which module serves a class: ``_vllm_families``. Head
widths, pairing and layers without rotation: the attention class of each module in
``model_executor/models``. Default of ``max_model_len``: ``config/model.py`` 2590-2660.

The config code and ``get_rope`` were run on CPU; the attention classes of the modules were
constructed with their layers stubbed, and which layers rotate was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Note, Reading
from ropeaudit.readers import mistral
from ropeaudit.readers.engines import _vllm_families as families
from ropeaudit.readers.engines import _vllm_tables as tables
from ropeaudit.readers.engines._served_parts import (
    Part,
    check_no_rope_keys,
    derived_head,
    number_of,
    places_of,
    same_as_reference,
    text_parts,
)
from ropeaudit.readers.engines._served_tables import Call
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule

RELEASES = (
    Release(
        name="vllm-0.33",
        engine="vllm",
        version="0.33.0 (transformers 5.20.2)",
        covers=("0.33",),
        how="ran",
        source="transformers_utils/config.py 342-687; "
        "model_executor/layers/rotary_embedding/; model_executor/models/; "
        "config/model.py 2590-2660",
    ),
)

_MLA = frozenset(
    {"AXK1", "deepseek_v2", "glm4_moe_lite", "vllm.models.deepseek_v32", "longcat_flash"}
)
"""Modules that turn every scaled type into DeepSeek's (``deepseek_v2.py`` 542-547)."""
_INTERLEAVED = _MLA | {
    "cohere2_moe", "commandr", "ernie45", "ernie45_moe", "glm4", "gpt_j",
}  # fmt: skip
"""Modules with ``is_neox_style=False``."""
_PERMUTED = "llama4"
"""Turns halves of weights that it permutes on loading, neighbours of those in the file."""
_DERIVED_HEAD = frozenset({"qwen2", "qwen2_moe"})
"""Modules that take hidden size over heads whatever ``head_dim`` says."""
_FRACTIONS = ("partial_rotary_factor", "rotary_pct", "rotary_emb_fraction")
_SAME_LISTS = ("su", "longrope"), ("mrope", "default")


def build(request: Request, release: Release) -> Built:
    """The schedules of the language model; raises Refuses or NotCovered."""
    if request.is_params:
        return _from_params(request, release)
    parts = text_parts(request)
    module = families.module_of(request.config, parts[0].node.model_type)
    schedules: list[Schedule] = []
    ignored: list[str] = []
    notes = list(_dtype_note(module))
    for part in parts:
        _check_types(part)
        _check_class(part, module)
        if module == families.BACKEND:
            schedules.extend(replace(s, reader=release.name) for s in part.reference)
            continue
        call = _call(part, module)
        built = tables.schedules(request, call, _rope_type(part, module), release.name)
        if module == _PERMUTED:
            built = [replace(s, pairing="interleaved") for s in built]
        schedules.extend(built)
        if not same_as_reference(part, built):
            ignored.extend(_ignored(part, module))
        notes.extend(_length_notes(request, part))
    if module == families.BACKEND:
        notes.append(Note("backend", "it runs transformers' own model code for this class"))
    return Built(
        schedules=tuple(schedules), ignored=tuple(dict.fromkeys(ignored)), notes=tuple(notes)
    )


def _check_types(part: Part) -> None:
    """``config.py`` 618-631: two spellings of the type must agree, old names apart."""
    _agree(part.values.get("type"), part.values)
    outer = part.node.data.get("rope_parameters")
    if part.first.layer_type is not None and isinstance(outer, dict):
        _agree(outer.get("type"), outer)  # keys beside the nested dicts are looked at first


def _agree(old: Json, values: Mapping[str, Json]) -> None:
    new = values.get("rope_type", old)
    if old is not None and old != new and (old, new) not in _SAME_LISTS:
        raise Refuses(f"type {quoted(str(old))} and rope_type {quoted(str(new))} contradict")


def _check_class(part: Part, module: str) -> None:
    """Config classes whose conversion in 5.20 differs from the reference's."""
    plain = part.rope_type == "default" and "partial_rotary_factor" not in part.values
    if module == "cohere2_moe" and not plain:
        raise NotCovered("Cohere2Moe's config class converts scaling in a way of its own")
    if module == "phimoe" and part.rope_type != "default":
        raise NotCovered("PhiMoE's config class has rules of its own for scaling")
    if module == "gpt_j":
        check_no_rope_keys(part)


def _rope_type(part: Part, module: str) -> Json:
    kind = part.rope_type
    if kind == "mrope":
        if "mrope_section" not in part.values:
            raise Refuses("rope_type mrope needs mrope_section")
        kind = "default"
    if kind == "su":
        kind = "longrope"
    if module == "gpt_oss":
        return "yarn"
    if module in _MLA and kind != "default":
        return "deepseek_yarn"
    return kind


def _call(part: Part, module: str) -> Call:
    """The arguments of the module's ``get_rope``."""
    head = _head(part, module)
    base = number_of(part.values, "rope_theta")
    declared = number_of({"n": part.node.value("max_position_embeddings")}, "n")
    return Call(
        part=part,
        head_dim=head,
        width=_width(part, module, head),
        base=10000.0 if base is None else base,
        pairing="interleaved" if module in _INTERLEAVED else "half",
        max_position=8192 if declared is None else int(declared),
        scaling=_read(part, module),
    )


def _head(part: Part, module: str) -> int:
    node = part.node
    if module in _MLA:
        width = node.value("qk_rope_head_dim")
        if type(width) is int and width > 0:
            return width
    head = derived_head(part) if module in _DERIVED_HEAD else part.first.head_dim
    if not head:
        raise NotCovered("the head width is not known")
    return head


def _width(part: Part, module: str, head: int) -> int:
    """``get_rope``: ``rope_dim``, else the rotated fraction, in every family."""
    if module == "gpt_j":
        return part.first.rotary_dim
    stated = part.values.get("rope_dim")
    if type(stated) is int and stated:
        return stated
    fraction = _fraction(part, module, head)
    if not isinstance(fraction, int | float) or not 0.0 < fraction <= 1.0:
        raise Refuses("partial_rotary_factor must be above 0 and at most 1")
    return int(head * fraction)


def _fraction(part: Part, module: str, head: int) -> Json:
    """The rotated fraction; two families have a word of their own in it."""
    if module == "gpt_oss":  # passes its own dict, gpt_oss.py 111-126
        return 1.0
    if module == "falcon_h1":  # falcon_h1.py 244-245
        width = number_of(part.node.data, "attn_rotary_emb")
        return 1.0 if width is None else width / head
    stated = part.values.get("partial_rotary_factor")
    if stated is None:  # also into nested dicts, config.py 675-686
        stated = next((v for k in _FRACTIONS if (v := part.node.data.get(k)) is not None), 1.0)
    return stated


def _read(part: Part, module: str) -> dict[str, Json]:
    """The dict as the module passes it on; gpt-oss picks its keys (``gpt_oss.py`` 111-126)."""
    if module != "gpt_oss":
        return dict(part.values)
    keys = ("factor", "original_max_position_embeddings", "beta_fast", "beta_slow")
    return {key: part.values.get(key) for key in keys} | {
        "truncate": part.values.get("truncate", True)
    }


def _ignored(part: Part, module: str) -> tuple[str, ...]:
    """Pointers of stated values that the law in question leaves alone."""
    kind = _rope_type(part, module)
    if kind == "longrope":
        keys: tuple[str, ...] = ("attention_factor", "factor")
    elif (kind == "dynamic" and "alpha" not in part.values) or kind == "proportional":
        keys = ("factor",)
    elif kind == "deepseek_yarn":
        keys = ("attention_factor", "truncate")
    elif module == "gpt_oss":
        keys = ("attention_factor", "mscale", "mscale_all_dim")
    else:
        return ()
    return places_of(part, keys)


def _dtype_note(module: str) -> Iterator[Note]:
    if module not in (families.BACKEND, "gpt_oss"):
        said = "cosines and sines are stored in the model's dtype, bfloat16 for most"
        yield Note("cache_dtype", said)


def _length_notes(request: Request, part: Part) -> Iterator[Note]:
    """What depends on ``max_model_len``."""
    kind = part.rope_type
    if kind in ("longrope", "su"):
        top = part.node.value("original_max_position_embeddings")
        default = (
            f"without it {top}, so the short list"
            if isinstance(top, int)
            else "without it the declared length, so the long list"
        )
        asked = "" if request.lengths else "; it was not given, so both lists are shown"
        said = "one list for all positions, long where max_model_len is above the original length"
        yield Note("list_by_max_model_len", f"{said} ({default}){asked}")
    if kind == "dynamic" and "alpha" not in part.values:
        said = "dynamic scaling does nothing: one table, and rows up to the declared length only"
        yield Note("dynamic_is_plain", said)
    if kind == "linear":
        said = "the default of max_model_len is the declared length times the factor"
        yield Note("max_model_len_scaled", said)


def _from_params(request: Request, release: Release) -> Built:
    """Mistral's own format (``transformers_utils/configs/mistral.py`` 114-143): plain or yarn."""
    data = request.config
    unread = next((k for k in ("use_scaled_rope", "qk_nope_head_dim", "moe") if data.get(k)), None)
    if unread is not None:
        raise NotCovered(f"what it makes of {unread} in params.json was not looked at")
    reading = Reading(target=request.document.file, format="params-json", document=request.document)
    found = mistral.read(reading, request.lengths)
    text = tuple(
        replace(s, reader=release.name, pairing="half")
        for s in found.schedules
        if s.component == "text"
    )
    if not text:
        raise NotCovered("params.json states no language model")
    said = "q and k are permuted on loading, so that halves turn as in the converted weights"
    return Built(schedules=text, notes=(Note("permuted", said),))
