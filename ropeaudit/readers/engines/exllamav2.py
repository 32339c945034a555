"""ExLlamaV2 0.3: what it builds from config.json.

``config.py`` 210-412 reads ``rope_theta`` and ``rope_scaling`` alone, each also inside text_config;
``rope.py`` builds the tables and ``device.py`` 118-165 applies linear scaling. dynamic and
everything in rope_parameters is passed over. yarn counts only beyond the original length, puts its
ramp at the declared one and has fixed betas and attention factor (``rope.py`` 81-139); su and
longrope need the original length on top and choose one list by the declared length (14-35).

``architecture.py`` takes an architecture that it does not know for Llama, with a printed warning;
those are not covered here, nor GLM-4 and Qwen2-VL, whose tables (partial width, half-precision
frequencies) were not run. Ran: ``rope.py``. Read: the other files. ``max_seq_len`` is the declared
length, or the longest length that was asked for.

In the measured tables Command-R7B's full layers do not rotate and text-only Gemma 3 is read as the
multimodal one; both are kept, although no rule for either was found in ``model.py`` 95-127 and
``architecture.py`` 580-742. A note says so.
"""

from __future__ import annotations

import math

from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Note
from ropeaudit.readers.engines._exl_read import length, read, size, sole_architecture
from ropeaudit.readers.engines._raw_ignored import ignored
from ropeaudit.readers.engines._raw_keys import (
    EXCERPT,
    MAX_LAYERS,
    MAX_WIDTH,
    Raw,
    is_excerpt,
    number,
    portion,
    whole,
)
from ropeaudit.readers.engines._raw_tables import Turn, schedule
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace
from ropeaudit.schedule.families.longrope import attention_of

RELEASES = (
    Release(
        name="exllamav2-0.3",
        engine="exllamav2",
        version="0.3.2",
        covers=("0.3",),
        how="ran",
        source="rope.py; config.py 210-412; device.py 118-165; architecture.py; model.py 95-127",
        silent=frozenset({"softmax"}),
    ),
)

PLAIN = frozenset({
    "LlamaForCausalLM", "MistralForCausalLM", "MixtralForCausalLM", "YiForCausalLM",
    "OrionForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen3MoeForCausalLM",
    "GemmaForCausalLM", "Gemma2ForCausalLM", "GemmoeForCausalLM", "Starcoder2ForCausalLM",
    "DbrxForCausalLM", "Phi3ForCausalLM", "MiniCPMForCausalLM", "InternLM2ForCausalLM",
    "IndexForCausalLM", "GraniteForCausalLM",
})  # fmt: skip
ADJACENT = frozenset({"CohereForCausalLM", "Cohere2ForCausalLM"})
GEMMA3 = frozenset({"Gemma3ForConditionalGeneration", "Gemma3ForCausalLM"})
PIXTRAL = frozenset({"LlavaForConditionalGeneration", "Mistral3ForConditionalGeneration"})
STILL = frozenset({"GPTBigCodeForCausalLM", "GPT2LMHeadModel"})
LENGTHS = (
    "max_sequence_length", "model_max_length", "max_position_embeddings", "max_seq_len",
    "n_positions",
)  # fmt: skip
HIDDEN = ("hidden_size", "d_model", "n_embd")
COUNTS = ("num_hidden_layers", "n_layers", "n_layer")
LOCAL_BASE = 10000.0
SLIDING, FULL = "sliding_attention", "full_attention"


def build(request: Request, release: Release) -> Built:
    """Raises Refuses for what stops it, NotCovered for architectures that it takes for Llama."""
    root = Raw(request.document, request.document.data)
    name = sole_architecture(root, request.document.file)
    if name in STILL:
        return Built(notes=(Note("no_rotary", "it gives this architecture no rotary layer"),))
    _cover(root, name)
    if not is_excerpt(root):
        size(root, *_sub(*HIDDEN))
    turn = _turn(request, root, name)
    made = _by_layer(root, name, turn)
    facts = tuple(root.facts)
    schedules = tuple(schedule(request, release.name, each, facts) for each in made)
    nodes = [root]
    if _text(root):
        nodes.append(root.inside("text_config", _text(root)))
    notes = (*_notes(name, made), *((EXCERPT,) if is_excerpt(root) else ()))
    return Built(schedules=schedules, ignored=ignored(nodes, schedules), notes=notes)


def _text(root: Raw) -> dict[str, Json]:
    found = root.data.get("text_config")
    return found if isinstance(found, dict) else {}


def _cover(root: Raw, name: str) -> None:
    if name in PIXTRAL:
        vision = root.data.get("vision_config")
        if isinstance(vision, dict) and vision.get("model_type") == "pixtral":
            return
    elif name in PLAIN or name in ADJACENT or name in GEMMA3:
        return
    raise NotCovered(f"{quoted(name)} was not looked at, or it is taken for Llama with a warning")


def _sub(*keys: str) -> tuple[str, ...]:
    """Keys at the top level, then inside text_config (``opt_subkey``)."""
    return (*keys, *(f"text_config->{key}" for key in keys))


def _turn(request: Request, root: Raw, name: str) -> Turn:
    gemma = name in GEMMA3
    base = read(
        root, "float", *_sub("rope_theta", "attn_config->rope_theta"),
        default=1e6 if gemma else 10000.0,
    )  # fmt: skip
    head = _head(root, 256 if gemma else None)
    partial = number(
        read(root, "float", "partial_rotary_factor", default=1.0), "partial_rotary_factor"
    )
    declared = read(root, "int", *_sub(*LENGTHS), default=2048)
    turn = Turn(
        base=number(base, "rope_theta"),
        rotary=portion(partial, head),
        head=head,
        pairing="interleaved" if name in ADJACENT else "half",
        declared=length(max(request.lengths, default=declared)),
    )
    return _scaled(root, turn)


def _head(root: Raw, default: int | None) -> int:
    own = read(root, "int", *_sub("head_dim"), default=default)
    if own is not None:
        return whole(own, "head_dim", MAX_WIDTH)
    heads = read(root, "int", *_sub("num_attention_heads", "n_heads", "n_head"))
    if not heads:
        raise Refuses("it needs head_dim or num_attention_heads, and both are missing")
    hidden = size(root, *_sub(*HIDDEN))
    return whole(hidden // whole(heads, "num_attention_heads", MAX_WIDTH), "head_dim", MAX_WIDTH)


def _scaled(root: Raw, turn: Turn) -> Turn:
    value = read(root, "dict", "rope_scaling", "text_config->rope_scaling")
    if not value:
        return turn
    inside = root.data.get("rope_scaling") is None
    node = root.inside("text_config", _text(root)) if inside else root
    scaling = node.inside("rope_scaling", value)
    kind, other = scaling.data.get("type"), scaling.data.get("rope_type")
    if kind and other:
        raise Refuses("rope_scaling holds both type and rope_type")
    kind = scaling.get("type") if kind else scaling.get("rope_type")
    if kind == "linear":
        return replace(turn, law="linear", scaling={"factor": _must(scaling, "factor")})
    if kind in ("su", "longrope"):
        return _su(root, turn, scaling)
    if kind == "yarn":
        return _yarn(turn, scaling)
    if kind == "llama3":
        keys = (
            "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings",
        )  # fmt: skip
        values: dict[str, Json] = {key: _must(scaling, key) for key in keys}
        original = length(values["original_max_position_embeddings"])
        return replace(turn, law="llama3", scaling=values, original=original)
    if kind == "mrope":
        scaling.need("mrope_section")
    return turn


def _must(scaling: Raw, key: str) -> float:
    return number(scaling.need(key), key)


def _yarn(turn: Turn, scaling: Raw) -> Turn:
    factor = _must(scaling, "factor")
    original = _must(scaling, "original_max_position_embeddings")
    if turn.declared is None or turn.declared <= original:
        return turn
    if factor <= 0:
        raise Refuses("it takes the logarithm of the factor, which is not above 0")
    return replace(
        turn,
        law="yarn",
        # Its ramp is placed at the declared length, where the original one belongs.
        scaling={"factor": factor, "original_max_position_embeddings": turn.declared},
        attention=0.1 * math.log(factor) + 1.0,
        original=length(original),
    )


def _su(root: Raw, turn: Turn, scaling: Raw) -> Turn:
    for key in ("long_factor", "short_factor"):
        if not scaling.has(key):
            raise Refuses(f"it needs {key} in rope_scaling, which is missing")
    if "original_max_position_embeddings" not in root.data:
        raise Refuses("it needs original_max_position_embeddings at the top level")
    original = root.number("original_max_position_embeddings")
    long = turn.declared is not None and turn.declared > original
    key = "long_factor" if long else "short_factor"
    factors, channels = scaling.get(key), turn.rotary // 2
    if not isinstance(factors, list) or len(factors) not in (1, channels):
        raise Refuses(f"{key} is no list of {channels} numbers, one for each channel")
    if not original:
        raise Refuses("it divides by the original length, which is 0")
    return replace(
        turn,
        law="longrope",
        variant="long" if long else "short",
        scaling={
            key: factors * channels if len(factors) == 1 else factors,
            "original_max_position_embeddings": original,
            "attention_factor": attention_of((turn.declared or 1) / original, original),
        },
        length=int(original) + 1 if long else None,
        original=length(original),
    )


def _by_layer(root: Raw, name: str, turn: Turn) -> list[Turn]:
    count = whole(size(root, *_sub(*COUNTS)), "num_hidden_layers", MAX_LAYERS)
    every = tuple(range(count))
    if name not in GEMMA3:
        return [replace(turn, layers=every)]
    period = size(root, "sliding_window_pattern", default=6)
    window = read(root, "int", *_sub("sliding_window", "sliding_window_size"), default=0)
    sliding = tuple(i for i in every if (i + 1) % period and window and period > 1)
    # Positions of sliding layers are never divided; other kinds of scaling reach both bases.
    local = replace(turn, base=LOCAL_BASE)
    if turn.law == "linear":
        local = replace(local, law="default", scaling={})
    narrow = set(sliding)
    full = tuple(i for i in every if i not in narrow)
    rows = ((FULL, turn, full), (SLIDING, local, sliding))
    return [replace(each, label=label, layers=layers) for label, each, layers in rows if layers]


def _notes(name: str, made: list[Turn]) -> tuple[Note, ...]:
    notes = [
        Note(
            "longrope_list",
            f"it takes the {turn.variant} list of factors at every length, by max_seq_len",
        )
        for turn in made[:1]
        if turn.law == "longrope"
    ]
    if name == "Gemma3ForCausalLM":
        said = "its source names the multimodal architecture only and takes others for Llama"
        notes.append(Note("not_in_source", f"measured as multimodal Gemma 3, although {said}"))
    return tuple(notes)
