"""The decoder layers of a live model: which there are, what they are handed, what they give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ropeaudit.perplexity import _head, _slots
from ropeaudit.perplexity._slots import Slot
from ropeaudit.records import replace

EMBEDDINGS = ("position_embeddings", "freqs_cis", "freq_cis")
"""What decoder layers call the cosines and sines that they are given."""


def watch(n: int, block: Any, outputs: dict[int, Any], given: dict[int, Any]) -> list[Any]:
    """Note what layer ``n`` gives and the angles it is handed; the handles end the watch."""

    def before(_: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        found = next((kwargs[e] for e in EMBEDDINGS if kwargs.get(e) is not None), None)
        if found is not None:
            given.setdefault(n, found)  # some models run their layers in a loop

    def after(_: Any, args: Any, output: Any) -> None:
        outputs.setdefault(n, output if hasattr(output, "shape") else output[0])

    return [
        block.register_forward_pre_hook(before, with_kwargs=True),
        block.register_forward_hook(after),
    ]


def blocks(model: Any, slot: Slot) -> Any:
    """The list of decoder layers beside the slot's rotary module, or around it; None without one.

    The longest ``ModuleList`` whose members are larger than a table.
    """
    import torch

    path = slot.path
    while True:
        path = path.rpartition(".")[0]
        parent = model.get_submodule(path) if path else model
        found = [
            child
            for child in parent.children()
            if isinstance(child, torch.nn.ModuleList)
            and len(child)
            and any(True for _ in child[0].parameters())
        ]
        if found:
            return max(found, key=len)
        if not path:
            return None


def with_layers(model: Any, slots: Sequence[Slot]) -> tuple[Slot, ...]:
    """``slots`` with the layers that each really serves, seen by running a few tokens.

    A layer belongs to the slot whose very cosines it is handed. What the config says is narrowed by
    that and never widened: some layers are handed angles and do not turn. A slot that no layer is
    handed is left out. Where layers are handed nothing at all, slots stay as they are.
    """
    import torch

    made: list[tuple[int, Any]] = []
    given: dict[int, Any] = {}
    ids = torch.tensor([[1, 2, 3, 4]], device=_head.entrance(model))
    note = _noted(slots, made)
    rotary = _slots.modules(slots)
    handles = [m.register_forward_hook(note, with_kwargs=True) for m in rotary]
    for n, block in enumerate(blocks(model, slots[0]) or ()):
        handles += watch(n, block, {}, given)
    try:
        with _slots.alone(slots), torch.inference_mode():
            model(input_ids=ids, use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    seen = {n: at for n, got in given.items() for at, output in made if _same(got, output)}
    served = [{n for n in seen if seen[n] == at} for at in range(len(slots))]
    used = zip(slots, served, strict=True)
    return tuple(_served(slot, layers) for slot, layers in used if layers) or tuple(slots)


def _noted(slots: Sequence[Slot], made: list[tuple[int, Any]]) -> Any:
    def after(module: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], output: Any) -> None:
        kind = kwargs.get("layer_type", args[2] if len(args) > 2 else None)
        prefix = "" if kind is None else f"{kind}_"
        made.extend(
            (at, output)
            for at, slot in enumerate(slots)
            if slot.module is module and slot.prefix == prefix
        )

    return after


def _same(given: Any, output: Any) -> bool:
    if isinstance(given, tuple | list) and isinstance(output, tuple | list):
        return bool(given) and given[0] is output[0]
    return given is output


def _served(slot: Slot, seen: set[int]) -> Slot:
    made = []
    for schedule in slot.schedules:
        known = seen if schedule.layers is None else seen & set(schedule.layers)
        made.append(replace(schedule, layers=tuple(sorted(known or schedule.layers or ()))))
    return replace(slot, schedules=tuple(made), layers=made[0].layers)
