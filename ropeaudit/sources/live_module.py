"""A live ``torch.nn.Module``: the tables that it rotates with, and the config that it came from.

Buffers are found by name wherever they hang: registered or plain attributes, one module for the
whole model or one a layer, one buffer a layer type, below wrappers (DDP, FSDP, torch.compile, PEFT,
DeepSpeed). One walk visits every module once and never a parameter, so that a check at start-up
costs milliseconds. Torch itself is not imported: a module brings its tensors along.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.facts import InputFile, Json, Note, Reading, StoredTable
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._live_config import config_of, document_of, innermost, pointers_of
from ropeaudit.sources._torch_tables import Collected, collect

FORMAT = "module"
FILE = "<module>"
"""What stands for the file in places inside a live module."""

_STATE = ("max_seq_len_cached", "original_max_seq_len")


def read(model: Any) -> Reading:
    """Tables, and the config if there is one, of ``model``.

    ``files`` holds one entry with the bytes of the tables that were read. Tensors on the meta
    device have no values and become notes. Raises InvalidValue when ``model`` is no module.
    """
    if not all(isinstance(getattr(model, a, None), dict) for a in ("_modules", "_buffers")):
        raise InvalidValue(
            f"cannot audit a value of type {quoted(type(model).__name__)}; expected a path, "
            "an hf: id or a torch.nn.Module"
        )
    found = list(_tensors(model))
    config = config_of(model, found)
    pointers = pointers_of(config)
    about = {name: _state(name, holder, pointers) for name, _, holder in found}
    into = Collected()
    collect(((name, tensor) for name, tensor, _ in found), FILE, into, about, names.live_role)
    document, why = None, None
    if config is not None:
        try:
            document = document_of(config, FILE)
        except Exception as error:  # to_dict() is foreign code and may raise anything
            why = Note("config_unread", f"the module's config cannot be read: {quoted(str(error))}")
    notes = [*into.notes, *_notes(into.tables, found, document)]
    return Reading(
        target=type(innermost(model)).__name__,
        format=FORMAT,
        document=document,
        tables=tuple(into.tables),
        tensors=tuple(into.tensors),
        tensor_names=tuple(name for name, _, _ in found),
        files=(InputFile(path=FILE, format=FORMAT, bytes_read=into.bytes_read),),
        notes=tuple(notes if why is None else [why, *notes]),
    )


def _tensors(model: Any) -> Iterator[tuple[str, Any, Any]]:
    """``(dotted name, tensor, holding module)`` of everything whose name tells of rotation.

    The hot path: an 80-layer model has a thousand modules of a dozen kinds. What is worth looking
    at is worked out once for each kind, and again only where an instance has other attributes.
    """
    pending: list[tuple[str, Any]] = [("", model)]
    seen: set[int] = set()
    kinds: dict[type, _Kind] = {}
    while pending:
        prefix, module = pending.pop()
        if id(module) in seen:  # one rotary module shared by all layers is one module
            continue
        seen.add(id(module))
        own = module.__dict__
        kind = kinds.get(type(module))
        if kind is None or not kind.describes(own):
            kind = kinds[type(module)] = _Kind(own, type(module))
        for part, name in kind.telling:
            value = (own[part] if part else own)[name]
            if hasattr(value, "data_ptr"):
                yield f"{prefix}{name}", value, module
        for name, child in reversed(own["_modules"].items()):
            known = kinds.get(type(child))
            dull = known is not None and known.dull and not child._buffers and not child._modules
            if child is not None and not dull:
                pending.append((f"{prefix}{name}.", child))


class _Kind:
    """Attribute names of a module, and those among them that tell of rotation."""

    __slots__ = ("buffers", "dull", "names", "parameters", "telling")

    def __init__(self, own: Mapping[str, Any], kind: type) -> None:
        # torch's own layers hold no tables; a bare Module may be somebody's container.
        builtin = kind.__module__.startswith("torch.nn.modules") and kind.__name__ != "Module"
        self.names, self.buffers, self.parameters = (
            frozenset(own), frozenset(own["_buffers"]), frozenset(own["_parameters"])
        )  # fmt: skip
        self.telling = [
            (part, name)
            for part in ("_buffers", "_parameters", "")
            for name in (own[part] if part else own)
            if names.live_role(name)
        ]
        self.dull = builtin and not self.telling

    def describes(self, own: Mapping[str, Any]) -> bool:
        if self.dull and not own["_buffers"]:
            return True
        return (
            own["_buffers"].keys() == self.buffers
            and own["_parameters"].keys() == self.parameters
            and own.keys() == self.names
        )


def _state(name: str, holder: Any, pointers: Mapping[int, str]) -> dict[str, Json]:
    """What the holding module says about the table ``name``."""
    leaf = name.rpartition(".")[2]
    own = holder.__dict__
    state: dict[str, Json] = {"module": type(holder).__name__}
    pointer = pointers.get(id(own.get("config")))
    if pointer is not None:
        state["config"] = pointer
    rope_type = own.get("rope_type")
    prefix = ""
    if isinstance(rope_type, Mapping):
        kind = next((k for k in rope_type if leaf.startswith(f"{k}_")), None)
        prefix = "" if kind is None else f"{kind}_"
        if kind is not None:
            state["layer_type"] = kind
        rope_type = rope_type.get(kind)
    if isinstance(rope_type, str):
        state["rope_type"] = rope_type
    scaling = _number(own.get(f"{prefix}attention_scaling", own.get("attention_scaling")))
    if scaling is not None:
        state["attention_scaling"] = scaling
    for key in _STATE:
        length = _number(own.get(f"{prefix}{key}", own.get(key)))
        if length is not None:
            state[key] = int(length)
    tensor = holder._buffers.get(leaf)
    if tensor is None:
        tensor = own.get(leaf)
    if tensor is not None:
        state["device"] = str(tensor.device)
    return state


def _number(value: Any) -> float | None:
    """A number, also where a module keeps it as a tensor (lengths seen by dynamic scaling)."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return value
    if hasattr(value, "data_ptr") and not value.is_meta and value.numel() == 1:
        number = value.item()
        return number if isinstance(number, int | float) else None
    return None


def _notes(
    tables: list[StoredTable], found: list[tuple[str, Any, Any]], document: Document | None
) -> Iterator[Note]:
    by_place = {t.location.tensor: t for t in tables}
    for table in tables:
        yield from _stale(table)
        yield from _current_list(table, by_place)
    if not found:
        what = "its config alone is audited" if document else "and no config to derive one from"
        yield Note(
            "no_buffers" if document else "insufficient",
            f"the module holds no rotary buffer, {what}",
        )


def _stale(table: StoredTable) -> Iterator[Note]:
    """Dynamic scaling keeps the table of the longest sequence until a short one comes."""
    seen, original = (table.state.get(k) for k in _STATE)
    leaf = (table.location.tensor or "").rpartition(".")[2]
    if "dynamic" not in str(table.state.get("rope_type")) or leaf.startswith("original_"):
        return
    if "_original_" not in leaf and seen and original and seen > original:
        yield Note(
            "stale_buffer",
            f"{quoted(table.name)} was rebuilt for a sequence of {seen} positions (original "
            f"length {original}) and is still the table of that sequence",
        )


def _current_list(table: StoredTable, by_place: Mapping[str | None, StoredTable]) -> Iterator[Note]:
    """Longrope copies one of two tables into its buffer: which one the last sequence chose."""
    name = table.location.tensor or ""
    if table.state.get("rope_type") != "longrope" or not name.endswith("inv_freq"):
        return
    head = name.removesuffix("inv_freq")
    if head.endswith(("original_", "long_", "short_")):
        return
    short, long = by_place.get(f"{head}original_inv_freq"), by_place.get(f"{head}long_inv_freq")
    if short is None or short.values == table.values:
        which = "short"
    elif long is not None and long.values == table.values:
        which = "long"
    else:
        return
    if short is not None:
        yield Note("current_list", f"{quoted(table.name)} holds the {which} list at present")
