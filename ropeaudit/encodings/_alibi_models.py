"""Which configs and GGUF files state ALiBi, and how each model's code applies it.

Sources: transformers 5.24 ``modeling_bloom.py``, ``modeling_mpt.py``, ``modeling_falcon.py``;
Baichuan's own ``modeling_baichuan.py``; llama.cpp ``llama-model.cpp`` and ``ggml`` (soft_max).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ropeaudit.document import Document
from ropeaudit.encodings._alibi import BIAS_MAX
from ropeaudit.errors import InvalidValue, quoted, quoted_path, unexpected
from ropeaudit.facts import MAX_LENGTH, Fact, Json, Location, Note, Origin, as_number
from ropeaudit.records import record

MAX_HEADS = 1 << 16
BAICHUAN_WIDTH = 5120
"""hidden_size of Baichuan-13B, which alone of its family uses ALiBi; no key says so."""
BAICHUAN_LAYERS = 40
"""By which llama.cpp tells it."""

_TWICE = Note(
    "alibi_applied_twice",
    "transformers 5.24 adds the bias of Falcon twice with eager attention, in the mask and to the "
    "scores; the slopes here are those of sdpa, its default, which adds it once",
)
_METADATA_CONSTANT = frozenset({"bloom", "refact", "baichuan"})
"""Architectures for which llama.cpp sets the largest bias to 8 itself."""


@record(kw_only=True)
class Stated:
    """What is needed to build the slopes. ``softmax_scale`` None: ``1/sqrt(head_dim)``.

    ``inside``: the bias is added before scores are scaled, so a logit gets less of it.
    """

    model: str
    heads: int
    head_dim: int
    dtype: str
    bias_max: float = BIAS_MAX
    softmax_scale: float | None = None
    inside: bool = False
    rounded: bool = False
    """Whether slopes are rounded to ``dtype`` before they meet positions."""
    length: int | None = None
    facts: tuple[Fact, ...] = ()
    notes: tuple[Note, ...] = ()
    assumed: frozenset[str] = frozenset()


class Fields:
    """Fields of one config by any of their spellings, each a fact with its place."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.facts: list[Fact] = []
        self.assumed: set[str] = set()

    def whole(self, *names: str, default: int | None = None) -> int:
        """The first of ``names`` that is there; raises InvalidValue if none, or no whole number."""
        value, pointer = self._first(names)
        if pointer is None:
            if default is None:
                raise InvalidValue(
                    f"{quoted_path(self.document.file)} states ALiBi and no {names[0]}, so its "
                    "slopes cannot be told; add it",
                    where=f"/{names[0]}",
                )
            self.assumed.add(names[0])
            self.facts.append(Fact(names[0], default, Origin.DEFAULT))
            return default
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_HEADS:
            expected = f"a whole number from 1 to {MAX_HEADS}"
            raise unexpected(pointer[1:], value, expected, where=pointer)
        self._keep(names[0], value, pointer)
        return value

    def length(self, *names: str) -> int | None:
        """The context length; None where it is absent or no length, which others judge."""
        value, pointer = self._first(names)
        if pointer is None or type(value) is not int or not 0 < value <= MAX_LENGTH:
            return None
        self._keep(names[0], value, pointer)
        return value

    def dtype(self) -> str:
        """What the weights are kept in; float32 where nobody says."""
        value, pointer = self._first(("dtype", "torch_dtype"))
        if pointer is None or value not in ("float32", "float16", "bfloat16"):
            self.assumed.add("dtype")
            return "float32"
        self._keep("dtype", value, pointer)
        return str(value)

    def stated(self, name: str) -> Json:
        """The value of a key that decides, as a fact."""
        value = self.document.data.get(name)
        if value is not None:
            self._keep(name, value, f"/{name}")
        return value

    def _first(self, names: tuple[str, ...]) -> tuple[Json, str | None]:
        data = self.document.data
        name = next((n for n in names if data.get(n) is not None), None)
        return (None, None) if name is None else (data[name], f"/{name}")

    def _keep(self, field: str, value: Json, pointer: str) -> None:
        place = self.document.location(pointer)
        given = pointer in self.document.overridden
        origin = Origin.OVERRIDE if given else Origin.FILE
        self.facts.append(Fact(field, value, origin, place))


def in_document(document: Document | None) -> Stated | None:
    """ALiBi as a config states it; raises InvalidValue for fields of a wrong type."""
    if document is None:
        return None
    model = document.data.get("model_type")
    reader = _READERS.get(model) if isinstance(model, str) else None
    if reader is None and document.data.get("position_method") == "alibi":
        reader = _jordan_rope
    return None if reader is None else reader(Fields(document))


def _bloom(f: Fields) -> Stated:
    f.stated("model_type")
    heads = f.whole("n_head", "num_attention_heads", default=8)
    width = f.whole("hidden_size", "n_embed", default=64)
    return _made(f, "bloom", heads, width, dtype=f.dtype(), length=f.length("seq_length"))


def _mpt(f: Fields) -> Stated | None:
    inner = f.document.data.get("attn_config")
    if inner is not None and not isinstance(inner, Mapping):
        raise unexpected("attn_config", inner, "an object of settings", where="/attn_config")
    inner = inner or {}
    if inner.get("alibi", True) is not True:
        return None
    f.stated("model_type")
    if "alibi" in inner:
        f.facts.append(Fact("alibi", True, location=f.document.location("/attn_config/alibi")))
    largest, scale = _positive(f, inner, "alibi_bias_max"), _positive(f, inner, "softmax_scale")
    notes: tuple[Note, ...] = ()
    if largest not in (None, BIAS_MAX):
        notes = (
            Note(
                "alibi_bias_max_ignored",
                f"alibi_bias_max is {largest:g}, and transformers 5.24 builds the slopes of MPT "
                f"with {BIAS_MAX:g} all the same; the slopes here are those of the config",
            ),
        )
    return _made(
        f,
        "mpt",
        f.whole("n_heads", "num_attention_heads", default=16),
        f.whole("d_model", "hidden_size", default=2048),
        dtype="float32",
        length=f.length("max_seq_len"),
        bias_max=largest or BIAS_MAX,
        softmax_scale=scale,
        notes=notes,
    )


def _positive(f: Fields, inner: Mapping[str, Any], name: str) -> float | None:
    value = inner.get(name)
    if value is None:
        return None
    number, pointer = as_number(value), f"/attn_config/{name}"
    if number is None or not 0.0 < number < math.inf:
        raise unexpected(f"attn_config.{name}", value, "a number above 0", where=pointer)
    f.facts.append(Fact(name, value, location=f.document.location(pointer)))
    return number


def _falcon(f: Fields) -> Stated | None:
    if f.document.data.get("alibi") is not True:
        return None
    f.stated("model_type")
    f.stated("alibi")
    heads = f.whole("num_attention_heads", "n_head", default=71)
    width = f.whole("hidden_size", "n_embed", default=4544)
    return _made(
        f,
        "falcon",
        heads,
        width,
        dtype="bfloat16",  # of slopes and biases in its code, whatever the weights are
        length=f.length("max_position_embeddings"),
        inside=True,
        rounded=True,
        notes=(_TWICE,),
    )


def _baichuan(f: Fields) -> Stated | None:
    if f.document.data.get("hidden_size") != BAICHUAN_WIDTH:
        return None
    f.stated("model_type")
    heads = f.whole("num_attention_heads", default=40)
    width = f.whole("hidden_size")
    length = f.length("model_max_length", "max_position_embeddings")
    return _made(f, "baichuan", heads, width, dtype=f.dtype(), length=length)


def _jordan_rope(f: Fields) -> Stated:
    f.stated("position_method")
    heads, width = f.whole("n_heads"), f.whole("d_model")
    return _made(f, "jordan_rope", heads, width, dtype="float32", length=f.length("train_context"))


_READERS: Mapping[str, Callable[[Fields], Stated | None]] = {
    "bloom": _bloom,
    "mpt": _mpt,
    "falcon": _falcon,
    "RefinedWeb": _falcon,
    "RefinedWebModel": _falcon,
    "baichuan": _baichuan,
}


def _made(f: Fields, model: str, heads: int, width: int, **more: Any) -> Stated:
    if width < heads:
        raise InvalidValue(
            f"{quoted_path(f.document.file)}: {heads} heads share {width} channels, less than one "
            "each; correct one of them",
            where=next((x.location.pointer for x in f.facts if x.location), None),
        )
    return Stated(
        model=model,
        heads=heads,
        head_dim=width // heads,
        facts=tuple(f.facts),
        assumed=frozenset(f.assumed),
        **more,
    )


def in_metadata(metadata: Mapping[str, Json] | None, file: str) -> Stated | None:
    """ALiBi as llama.cpp takes it from a GGUF file; None where it builds none, or where the file
    does not say how many heads there are."""
    name = (metadata or {}).get("general.architecture")
    if metadata is None or not isinstance(name, str):
        return None

    def value(key: str) -> Json:
        return metadata.get(f"{name}.{key}")

    largest = value("attention.max_alibi_bias") if name == "mpt" else None
    if name in _METADATA_CONSTANT and (
        name != "baichuan" or value("block_count") == BAICHUAN_LAYERS
    ):
        largest = BIAS_MAX
    number = as_number(largest)
    heads, width = value("attention.head_count"), value("embedding_length")
    if number is None or not 0.0 < number < math.inf or not _fits(heads) or not _fits(width):
        return None
    if width < heads:
        return None
    length = value("context_length")
    read = ("attention.max_alibi_bias", "attention.head_count", "embedding_length")
    return Stated(
        model=name,
        heads=heads,
        head_dim=width // heads,
        dtype="float32",
        bias_max=number,
        length=length if type(length) is int and 0 < length <= MAX_LENGTH else None,
        facts=tuple(
            Fact(quoted(k), value(k), location=Location(file=file, key=f"{name}.{k}"))
            for k in read
            if value(k) is not None
        ),
    )


def _fits(value: Json) -> bool:
    return type(value) is int and 0 < value <= MAX_HEADS
