"""How both ExLlama engines read one value of config.json.

ExLlamaV3 1.6.5 ``util/file.py`` 50-127, ExLlamaV2 0.3.2 ``config.py`` 12-52: the first of several
keys that is there and not null; an integer stands for a number, a number without fraction for an
integer; any other type stops loading.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ropeaudit.errors import shown
from ropeaudit.facts import MAX_LENGTH, Json
from ropeaudit.readers.engines._raw_keys import (
    MAX_WIDTH,
    POSITIONAL,
    Raw,
    is_excerpt,
    number,
    whole,
)
from ropeaudit.readers.engines.interface import NotCovered, Refuses

KINDS: Mapping[str, tuple[type, ...]] = {
    "float": (float, int), "int": (int, float), "dict": (dict,), "list": (list,), "str": (str,),
}  # fmt: skip


def read(raw: Raw, kind: str, *keys: str, default: Json = None, lenient: bool = False) -> Json:
    """The first of ``keys`` with a value, where ``a->b`` looks inside ``a``.

    Raises Refuses for a value of another type, unless ``lenient`` takes it for missing.
    """
    for key in keys:
        node, last = _inside(raw, key)
        if node is None or node.data.get(last) is None:
            continue
        value = node.data[last]
        if _is(value, kind):
            return node.get(last)
        if not lenient:
            raise Refuses(f"{key} is {shown(value)}, where it expects {_NAMED[kind]}")
    raw.assume(keys[0], default)
    return default


_NAMED = {
    "float": "a number", "int": "a whole number", "dict": "an object", "list": "a list",
    "str": "text",
}  # fmt: skip


def _is(value: Json, kind: str) -> bool:
    if kind == "int" and isinstance(value, float):
        return math.isfinite(value) and value.is_integer()
    return isinstance(value, KINDS[kind])


def _inside(raw: Raw, key: str) -> tuple[Raw | None, str]:
    *steps, last = key.split("->")
    node: Raw = raw
    for step in steps:
        value = node.data.get(step)
        if not isinstance(value, dict) or not value:
            return None, last
        node = node.inside(step, value)
    return node, last


def stated(raw: Raw, key: str) -> Json:
    """The value at ``key`` (``a->b`` looks inside ``a``), None where it is not there."""
    node, last = _inside(raw, key)
    return None if node is None else node.data.get(last)


def require(raws: Sequence[Raw], keys: Sequence[str]) -> None:
    """Raises Refuses for keys that loading needs and that none of ``raws`` has."""
    missing = [key for key in keys if all(stated(raw, key) is None for raw in raws)]
    if is_excerpt(raws[0]):
        missing = [key for key in missing if key.split("->")[-1] in POSITIONAL]
    if missing:
        named = ", ".join(missing[:4]) + (" and more" if len(missing) > 4 else "")
        raise Refuses(f"it needs {named.replace('->', '.')}, which the file lacks")


def size(raw: Raw, *keys: str, default: Json = None) -> int:
    """A whole number that must be there."""
    value = read(raw, "int", *keys, default=default)
    if value is None:
        raise Refuses(f"it needs {keys[0].replace('->', '.')}, which the file lacks")
    return whole(value, keys[0], MAX_WIDTH)


def length(value: Json) -> int | None:
    """A context length for display, None for what is none."""
    found = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if found and 1 <= value <= MAX_LENGTH else None


def decimal(value: Json, name: str, default: Json = None) -> float:
    return number(default if value is None else value, name)


def sole_architecture(root: Raw, file: str) -> str:
    """The one architecture that the file names; raises Refuses otherwise.

    An excerpt without the key is read as the architecture that its model type usually has.
    """
    if file.replace("\\", "/").rsplit("/", 1)[-1] == "params.json":
        raise Refuses("it looks for config.json, and there is params.json only")
    named = root.data.get("architectures")
    if named is None and is_excerpt(root):
        usual = USUAL.get(str(root.data.get("model_type")))
        if usual is None:
            raise NotCovered("the file names no architecture, by which it chooses its code")
        return usual
    if not isinstance(named, list) or len(named) != 1 or not isinstance(named[0], str):
        raise Refuses(f"architectures is {shown(named)}, where it expects exactly one")
    return named[0]


USUAL: Mapping[str, str] = {
    **{
        kind: f"{name}ForCausalLM"
        for kind, name in (
            ("apertus", "Apertus"), ("arcee", "Arcee"), ("cohere", "Cohere"),
            ("cohere2", "Cohere2"), ("dbrx", "Dbrx"), ("deepseek_v3", "DeepseekV3"),
            ("dots1", "Dots1"), ("ernie4_5", "Ernie4_5_"), ("ernie4_5_moe", "Ernie4_5_Moe"),
            ("exaone4", "Exaone4"), ("gemma", "Gemma"), ("gemma2", "Gemma2"),
            ("gemma3_text", "Gemma3"), ("glm4", "Glm4"), ("glm4_moe", "Glm4Moe"),
            ("glm4_moe_lite", "Glm4MoeLite"), ("glm_moe_dsa", "GlmMoeDsa"),
            ("gpt_oss", "GptOss"), ("granite", "Granite"), ("internlm2", "InternLM2"),
            ("lfm2", "Lfm2"), ("lfm2_moe", "Lfm2Moe"), ("llama", "Llama"), ("mimo", "MiMo"),
            ("minicpm", "MiniCPM"), ("minimax_m2", "MiniMaxM2"), ("ministral3", "Ministral3"),
            ("mistral", "Mistral"), ("mixtral", "Mixtral"), ("olmo3", "Olmo3"), ("phi3", "Phi3"),
            ("qwen2", "Qwen2"), ("qwen3", "Qwen3"), ("qwen3_moe", "Qwen3Moe"),
            ("qwen3_next", "Qwen3Next"), ("seed_oss", "SeedOss"), ("smollm3", "SmolLM3"),
            ("starcoder2", "Starcoder2"),
        )
    },
    **{
        kind: f"{name}ForConditionalGeneration"
        for kind, name in (
            ("gemma3", "Gemma3"), ("gemma4", "Gemma4"), ("glm4v", "Glm4v"),
            ("glm4v_moe", "Glm4vMoe"), ("mistral3", "Mistral3"), ("qwen2_5_vl", "Qwen2_5_VL"),
            ("qwen3_vl", "Qwen3VL"), ("qwen3_vl_moe", "Qwen3VLMoe"), ("qwen3_5", "Qwen3_5"),
            ("qwen3_5_moe", "Qwen3_5Moe"),
        )
    },
}  # fmt: skip
"""The architecture that published files of a model type name."""
