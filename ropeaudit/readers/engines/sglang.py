"""SGLang 0.5.23: transformers' standardisation, SGLang's own tables.

Config: transformers 5.19 (``srt/utils/hf_transformers/common.py`` 501-517). Tables:
``_sglang_tables``. What each model file passes: ``_sglang_families``. Gemma 3 has an embedding of
its own that calls transformers' laws with the dict of one layer type
(``models/gemma3_causal.py`` 411-480, 580-606), so that a nested ``truncate`` is read. Llama 4
leaves out every fourth layer and reads no list (``models/llama4.py`` 218).

The config code and ``get_rope`` were run on CPU; the model classes were constructed with their
layers stubbed, and which layers rotate was read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.facts import Json, Note
from ropeaudit.readers.engines import _sglang_families as families
from ropeaudit.readers.engines import _sglang_tables as tables
from ropeaudit.readers.engines._raw_keys import architectures
from ropeaudit.readers.engines._served_parts import (
    Part,
    check_no_rope_keys,
    derived_head,
    number_of,
    places_of,
    same_as_reference,
    text_parts,
)
from ropeaudit.readers.engines._served_tables import Call, schedule
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.interface import MAX_CHANNELS

RELEASES = (
    Release(
        name="sglang-0.5.23",
        engine="sglang",
        version="0.5.23 (transformers 5.19.0)",
        covers=("0.5.23",),
        how="ran",
        source="srt/layers/rotary_embedding/factory.py 90-402, yarn.py, rope_variant.py; "
        "srt/models/; srt/utils/hf_transformers/common.py 501-517",
    ),
)

_TOP_LENGTH = frozenset({
    "apertus", "arcee", "exaone", "exaone4", "exaone_moe", "granite", "hunyuan", "llama",
    "ministral3", "nemotron_nas", "solar", "torch_native_llama", "xverse",
})  # fmt: skip
"""Files of ``srt/models`` that put the top-level original length into the dict
(``llama.py`` 329-334); the others take the dict as it was loaded."""

MAX_LAYERS = 100_000
"""As the reference: above this a number of layers is a slip."""


def build(request: Request, release: Release) -> Built:
    """The schedules of the language model; raises Refuses or NotCovered."""
    if request.is_params:
        raise NotCovered("its remapping of params.json was not run")
    rule = families.rule_of(request.config)
    schedules: list[Schedule] = []
    ignored: list[str] = []
    notes: list[Note] = []
    for part in text_parts(request):
        own = rule.get("own")
        if own == "gpt_j":
            check_no_rope_keys(part)
        if own == "gemma3":
            built = list(_gemma3(request, part, release.name))
        else:
            call = _call(part, rule)
            built = tables.schedules(request, call, _rope_type(part, rule), release.name)
            if own == "llama4":
                built = [_every_fourth(s) for s in built]
            elif own == "exaone4":
                built = [_by_pattern(part, s) for s in built]
        schedules.extend(built)
        if not same_as_reference(part, built):
            ignored.extend(_ignored(part, rule))
        notes.extend(_notes(request, part, rule))
    return Built(
        schedules=tuple(schedules), ignored=tuple(dict.fromkeys(ignored)), notes=tuple(notes)
    )


def _rope_type(part: Part, rule: families.Rule) -> Json:
    if rule.get("scaling") is False:
        return "default"
    if rule.get("mla"):
        return "deepseek_yarn"
    return part.rope_type


def _call(part: Part, rule: families.Rule) -> Call:
    """The arguments of the model file's ``get_rope``."""
    head = _head(part, rule)
    scaling = {} if rule.get("scaling") is False else dict(part.values)
    top = part.node.value("original_max_position_embeddings")
    if rule.get("own") == "gemma4":  # gemma4_causal.py 417-425: the type and nothing else
        scaling = {}
    if scaling and part.loaded is not None:
        scaling["original_max_position_embeddings"] = part.loaded
    if rule["module"] in _TOP_LENGTH and top is not None and scaling:
        scaling["original_max_position_embeddings"] = top
    return Call(
        part=part,
        head_dim=head,
        width=_width(part, rule, head),
        base=_base(part, rule),
        pairing=_pairing(part, rule),
        max_position=_declared(part, rule),
        scaling=scaling,
    )


def _pairing(part: Part, rule: families.Rule) -> str:
    if rule.get("mla"):  # deepseek_v2.py 2166
        return "half" if part.node.value("rope_interleave") is False else "interleaved"
    return str(rule.get("pairing", "half"))


def _declared(part: Part, rule: families.Rule) -> int:
    """The length that is passed on; Ministral 3 passes the top-level original one
    (``models/ministral3.py`` 126-128)."""
    if rule.get("own") == "ministral3":
        top = number_of(part.node.data, "original_max_position_embeddings")
        return 16384 if top is None else int(top)
    declared = number_of({"n": part.node.value("max_position_embeddings")}, "n")
    return 8192 if declared is None else int(declared)


def _base(part: Part, rule: families.Rule) -> float:
    if "base" in rule:
        return float(rule["base"])
    base = number_of(part.values, "rope_theta")
    base = 10000.0 if base is None else base
    return float(int(base)) if rule.get("whole") else base


def _head(part: Part, rule: families.Rule) -> int:
    node = part.node
    if rule.get("mla") or rule["module"] == "minicpm3":
        width = node.value("qk_rope_head_dim")
        if type(width) is int and width > 0:
            return width
    head = derived_head(part) if rule.get("head") == "derived" else part.first.head_dim
    if not head:
        raise NotCovered("the head width is not known")
    return head


def _width(part: Part, rule: families.Rule, head: int) -> int:
    """Rotated dimensions; most files pass the whole head."""
    how = rule.get("width")
    if how is None:
        return head
    if how == "reference":
        return part.first.rotary_dim
    if how == "rotary_dim":
        width = number_of(part.node.data, "rotary_dim")
        return head if width is None else int(width)
    fraction: Json = part.node.data.get("partial_rotary_factor")
    if how == "dict":
        fraction = part.values.get("partial_rotary_factor", 1.0)
    elif fraction is None:  # an attribute of the config, whose class may have a default
        fraction = part.node.rope.get("partial_default", 1.0)
    turned = number_of({"part": fraction}, "part")
    if turned is None or not 0.0 < head * turned <= 2 * MAX_CHANNELS:
        raise Refuses("partial_rotary_factor is no fraction of the head")
    return int(head * turned)


def _gemma3(request: Request, part: Part, reader: str) -> Iterator[Schedule]:
    """Transformers' law over the dict of one layer type; sliding layers are always plain."""
    first = part.first
    kind = "default" if first.layer_type == "sliding_attention" else part.rope_type
    if kind not in ("default", "linear", "dynamic", "yarn", "llama3"):
        raise NotCovered("Gemma 3 with this rope_type was not run")
    if kind == "dynamic":
        raise NotCovered("Gemma 3 with dynamic scaling was not run")
    head = first.head_dim or 0
    call = Call(
        part=part,
        head_dim=head,
        width=head,
        base=number_of(part.values, "rope_theta") or 10000.0,
        pairing="half",
        max_position=part.declared or 8192,
        scaling=part.values,
    )
    scaling = None if kind == "default" else part.values
    yield schedule(
        request, call, reader=reader, rope_type=str(kind), law=str(kind), scaling=scaling
    )


def _every_fourth(built: Schedule) -> Schedule:
    """Llama 4: the fourth layer and every fourth after it does not rotate; weights are permuted on
    loading, so neighbours of those in the file turn."""
    return replace(built, layers=_but_each(built.layers, 4), pairing="interleaved")


def _by_pattern(part: Part, built: Schedule) -> Schedule:
    """EXAONE 4 (``models/exaone4.py`` 160-214): a pattern written as text leaves out the last layer
    of each round; without one every layer rotates, and a number stops the engine."""
    pattern = part.node.data.get("sliding_window_pattern", 4)
    count = part.node.value("num_hidden_layers")
    every = tuple(range(count)) if type(count) is int and 0 < count <= MAX_LAYERS else None
    if part.node.value("sliding_window") is None or not pattern:
        return replace(built, layers=every)
    if not isinstance(pattern, str):
        raise Refuses("it takes the length of sliding_window_pattern, which is a number")
    return replace(built, layers=_but_each(every, len(pattern)))


def _but_each(layers: tuple[int, ...] | None, period: int) -> tuple[int, ...] | None:
    """All layers up to the last of ``layers`` but each ``period``-th."""
    if layers is None:
        return None
    return tuple(i for i in range(max(layers, default=-1) + 1) if (i + 1) % period)


def _ignored(part: Part, rule: families.Rule) -> tuple[str, ...]:
    """Pointers of stated values that are left alone."""
    if rule.get("scaling") is False:
        if part.rope_type == "default":
            return ()
        return places_of(part, ("rope_type", "type", "factor"))
    keys: tuple[str, ...] = ()
    if part.rope_type == "longrope":
        keys = ("attention_factor", "factor")
    elif part.rope_type == "yarn" and rule.get("own") != "gemma3":
        keys = ("attention_factor",)
        if rule.get("mla"):
            keys = ("attention_factor", "truncate")
    return places_of(part, keys)


def _notes(request: Request, part: Part, rule: families.Rule) -> Iterator[Note]:
    if part.rope_type == "longrope":
        asked = "" if request.lengths else "; no length was given, so both lists are shown"
        said = "the long list for a whole batch as soon as one position is beyond the original"
        yield Note("list_by_batch", f"{said} length{asked}")
    if part.rope_type == "dynamic" and rule.get("scaling") is not False:
        said = "one table from the first token on, grown for factor times the declared length"
        yield Note("dynamic_is_fixed", said)
    if rule.get("own") == "gemma3" and part.rope_type != "default":
        said = "on CPUs with AMX both tables are plain, so this scaling is lost there"
        yield Note("cpu_plain", said)
    if rule.get("own") == "llama4" and "Llama4ForCausalLM" in architectures(request.config):
        # models/mllama4.py 606-677 is the only place that permutes.
        said = (
            "q and k are permuted on loading by the multimodal class, not seen for the text class"
        )
        yield Note("permuted", said)
    original = part.values.get("original_max_position_embeddings")
    if rule.get("own") == "ministral3" and original != _declared(part, rule):
        said = "llama_4_scaling_beta goes by the top-level original length, else by 16384"
        yield Note("llama_4_scaling", said)
