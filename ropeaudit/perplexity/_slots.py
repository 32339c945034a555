"""Where a live model keeps its rotary tables, and what they are at each length.

A *slot* is one table that the model multiplies positions with: a buffer ``inv_freq`` of one rotary
module, or ``<layer type>_inv_freq`` where one module serves several types of layers (Gemma 3).
GPT-J and CodeGen keep sines and cosines of every position instead, in ``embed_positions``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.facts import Note
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.subject import Subject

NEAR = 64
"""Float32 steps within which a live table is the one that the config describes."""

_LEAF = "inv_freq"
_CACHE = "embed_positions"
_COPIES = ("original_inv_freq", "long_inv_freq", "short_inv_freq")


@record(kw_only=True)
class Slot:
    """``module`` at ``path`` holds the buffer ``<prefix>inv_freq``, or ``embed_positions`` of shape
    [positions, sines and cosines] where ``cached``.

    ``schedules``: what it is at each length (one, or ``short`` and ``long``, or ``@n``), with the
    live values. ``layers``: the layers it serves, None where that is not known.
    """

    module: Any
    path: str
    prefix: str
    schedules: tuple[Schedule, ...]
    layers: tuple[int, ...] | None
    cached: bool = False

    @property
    def buffer(self) -> str:
        return _CACHE if self.cached else f"{self.prefix}{_LEAF}"

    @property
    def positions(self) -> int | None:
        """How many positions a cache holds; None where any can be computed."""
        return int(self.module._buffers[self.buffer].shape[0]) if self.cached else None

    def holding(self, table: Sequence[float], scaling: float) -> Any:
        """A buffer like the one there, float32, for another table."""
        import torch

        held = self.module._buffers[self.buffer]
        values = torch.tensor(table, dtype=torch.float32, device=held.device)
        if not self.cached:
            return values.reshape(held.shape)
        turns = torch.arange(held.shape[0], device=held.device).float()[:, None] * values
        return torch.cat((turns.sin(), turns.cos()), dim=1) * scaling

    @property
    def rope_type(self) -> str | None:
        """What the module's own code goes by: ``dynamic`` and ``longrope`` rebuild the table."""
        found = getattr(self.module, "rope_type", None)
        if isinstance(found, Mapping):
            found = found.get(self.prefix[:-1])
        return found if isinstance(found, str) else None

    @property
    def recomputes(self) -> bool:
        kind = self.rope_type or ""
        return "dynamic" in kind or kind == "longrope"

    @property
    def scaling_name(self) -> str:
        own = f"{self.prefix}attention_scaling"
        return own if hasattr(self.module, own) else "attention_scaling"


def find(model: Any, subject: Subject) -> tuple[tuple[Slot, ...], tuple[Note, ...]]:
    """The text slots of ``model``, whose config and buffers ``subject`` describes.

    Raises UsageError where the model has no table that could be swapped.
    """
    slots: list[Slot] = []
    notes: list[Note] = []
    for path, module in model.named_modules():
        for name, buffer in list(module.named_buffers(recurse=False)):
            cached = name == _CACHE and len(buffer.shape) == 2
            if not (cached or name.endswith(_LEAF)) or name.endswith(_COPIES):
                continue
            held = _held(subject, f"{path}.{name}" if path else name)
            if held is None or held.component != "text":
                continue
            _require_values(buffer, f"{path}.{name}")
            prefix = "" if cached else name.removesuffix(_LEAF)
            bare = Slot(module=module, path=path, prefix=prefix, schedules=(), layers=held.layers,
                        cached=cached)  # fmt: skip
            slot, said = _slot(subject, held, bare)
            slots.append(slot)
            notes += said
    if not slots:
        raise UsageError(
            f"{quoted(subject.target)} has no rotary table in a buffer called inv_freq, so no "
            "schedule can be put in its place; take a model whose class in transformers has one"
        )
    if all(s.layers == () for s in slots):
        raise UsageError(
            f"no layer of {quoted(subject.target)} turns anything: it has a rotary table and, by "
            "its config, no attention that uses it"
        )
    return tuple(slots), tuple(dict.fromkeys(notes))


def _held(subject: Subject, name: str) -> Schedule | None:
    """The stored schedule of one tensor: its component, layer type and live numbers."""
    from ropeaudit.readers import stored

    reading = subject.reading
    if reading is None:
        return None
    tables = tuple(t for t in reading.tables if t.location.tensor == name)
    found = stored.read(replace(reading, tables=tables), ()).schedules
    return found[0] if found else None


def _require_values(buffer: Any, name: str) -> None:
    if buffer.is_meta:
        raise UsageError(
            f"the table {quoted(name)} is on the meta device and has no values; load the model "
            "without offloading its buffers"
        )


def _slot(subject: Subject, held: Schedule, bare: Slot) -> tuple[Slot, list[Note]]:
    built = [s for s in subject.built_for(held) if s.component == "text"]
    if held.layers is not None:
        built = [replace(s, layers=held.layers) for s in built]
    if bare.cached:  # what the cache implies is less exact than the law that it follows
        live = [(s, s.inv_freq if _near(s.inv_freq, held.inv_freq) else held.inv_freq, 1.0)
                for s in built]  # fmt: skip
    else:
        live = [(s, *table_at(bare, _length(s))) for s in built]
    # Several kinds of layers may have a module each: the one meant holds this table.
    kind = next((s.layer_type for s, t, _ in live if _near(s.inv_freq, t)), None)
    kinds = {s.layer_type for s, _, _ in live}
    chosen = [e for e in live if e[0].layer_type == kind] if len(kinds) > 1 else live
    if not chosen or any(len(s.inv_freq) != len(t) for s, t, _ in chosen):
        values, scaling = (held.inv_freq, 1.0) if bare.cached else table_at(bare, 1)
        chosen = [(replace(held, variant=None), values, scaling)]
    made, notes = [], []
    for schedule, table, scaling in chosen:
        now = replace(schedule, inv_freq=table, attention_scaling=scaling)
        if not _near(schedule.inv_freq, table):
            now = replace(now, law=None, inputs=None)
            said = (
                f"the model's table {quoted(f'{bare.path}.{bare.buffer}')} is not the one that its "
                "config describes; the model's own is what is measured and changed"
            )
            notes.append(Note("live_differs", said))
        made.append(now)
    return replace(bare, schedules=tuple(made), layers=made[0].layers), notes


def _near(a: Sequence[float], b: Sequence[float]) -> bool:
    if len(a) != len(b):
        return False
    steps = [ulp_distance(x, y) for x, y in zip(a, b, strict=True)]
    return all(n is not None and n <= NEAR for n in steps)


def _length(schedule: Schedule) -> int:
    """A length in tokens at which the model uses this schedule."""
    name = schedule.variant or ""
    if name[:1] == "@" and name[1:].isdigit():
        return int(name[1:])
    if name == "long":
        return original_length(schedule) + 1
    return 1


def original_length(schedule: Schedule) -> int:
    """The length up to which a ``short`` table serves; raises UsageError if it is not known."""
    found = schedule.parameters.get("original_max_position_embeddings", schedule.context.trained)
    if found is None:
        raise UsageError(
            f"the schedule {quoted(schedule.name)} does not say up to which length the short "
            "table serves; give original_max_position_embeddings"
        )
    return int(found)


def table_at(slot: Slot, length: int) -> tuple[tuple[float, ...], float]:
    """(frequencies, attention scaling) that the model itself uses for ``length`` tokens.

    A module that rebuilds its table is asked by a call at that position, and put back.
    """
    module = slot.module
    if not slot.recomputes:
        return _values(slot)
    import torch

    with alone([slot]), torch.no_grad():
        device = module._buffers[slot.buffer].device
        extra = {"layer_type": slot.prefix[:-1]} if slot.prefix else {}
        x = torch.zeros(1, 1, 1, device=device)
        module(x, torch.tensor([[length - 1]], device=device), **extra)
        return _values(slot)


def _values(slot: Slot) -> tuple[tuple[float, ...], float]:
    table = slot.module._buffers[slot.buffer].detach().float().cpu().reshape(-1)
    return tuple(table.tolist()), float(getattr(slot.module, slot.scaling_name, 1.0))


@contextmanager
def alone(slots: Sequence[Slot]) -> Iterator[None]:
    """What runs inside is the first that the model ever sees, and leaves nothing behind.

    Dynamic scaling keeps the table of a long sequence for shorter ones that follow it, so numbers
    would depend on what was measured before.
    """
    with preserved(modules(slots)):
        _reset(slots)
        yield


def modules(slots: Sequence[Slot]) -> list[Any]:
    """Each rotary module once."""
    return list({id(slot.module): slot.module for slot in slots}.values())


def _reset(slots: Sequence[Slot]) -> None:
    for slot in slots:
        module = slot.module
        if "dynamic" not in (slot.rope_type or ""):
            continue
        original = module._buffers.get(f"{slot.prefix}original_{_LEAF}")
        if original is not None:
            module._buffers[slot.buffer] = original.to(module._buffers[slot.buffer].device)
        for name in (f"{slot.prefix}max_seq_len_cached", "max_seq_len_cached"):
            if hasattr(module, name):
                setattr(module, name, module.original_max_seq_len)


@contextmanager
def preserved(modules: Sequence[Any]) -> Iterator[None]:
    """Put back every attribute and buffer of ``modules`` at the end, whatever happens inside.

    Code inside may write into the buffers that it finds: they are copies.
    """
    before = [(m, dict(m.__dict__), dict(m._buffers)) for m in modules]

    def restore() -> None:
        for module, attributes, buffers in before:
            module._buffers.clear()
            module._buffers.update(buffers)
            own = module.__dict__
            for name in [n for n in own if n not in attributes]:
                del own[name]
            own.update(attributes)

    try:
        for module, _, buffers in before:
            module._buffers.update({n: b if b is None else b.clone() for n, b in buffers.items()})
            kinds = module.__dict__.get("rope_type")
            if isinstance(kinds, dict):  # one for each layer type, changed in place
                module.__dict__["rope_type"] = dict(kinds)
        yield
    finally:
        try:
            restore()
        except KeyboardInterrupt:  # the second Ctrl-C of an impatient user
            restore()
            raise
