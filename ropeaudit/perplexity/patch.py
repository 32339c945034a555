"""Another schedule in a live model, for the length of a ``with`` block.

The numbers of a variant are written where the model looks for its own: the float32 buffer of its
rotary module, with the attention factor beside it. Code that would rebuild the table (dynamic
scaling, longrope) is stopped meanwhile. Where layers that share one module get different tables,
the module is run once for each and every layer is handed its own cosines and sines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError, quoted
from ropeaudit.perplexity import _layers, _probe, _slots
from ropeaudit.perplexity._slots import Slot
from ropeaudit.perplexity._tables import Group, grouped
from ropeaudit.perturb.variant import Variant, differs
from ropeaudit.schedule.core import Schedule

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded


@contextmanager
def swapped(loaded: Loaded, variant: Variant | None) -> Iterator[None]:
    """Let the model compute with the tables of ``variant``; None is the model as it came.

    On entry short prompts show that every layer gets the new cosines and sines and that the logits
    follow; on the way out, that the model is what it was, to the bit. Restores in any case. Raises
    UsageError for a variant that does not fit the model or that the model does not take up.
    """
    if variant is None:  # nothing is put in, so there is nothing to prove
        with _slots.preserved(_slots.modules(loaded.slots)):
            yield
        return
    groups = _assigned(loaded, variant)
    lengths = _probe.lengths(loaded, groups)
    before = _probe.run(loaded, lengths)
    with _slots.preserved(_slots.modules(loaded.slots)), _installed(loaded, groups):
        if groups:
            _probe.require_taken_up(loaded, groups, before)
        yield
    # Only where nothing was raised: an error of the caller is not to be covered by another.
    _probe.require_same(before, _probe.run(loaded, lengths))


def _assigned(loaded: Loaded, variant: Variant) -> dict[int, tuple[Group, ...]]:
    """Position of a slot -> its groups of layers; only slots that a step has reached."""
    pairs = list(zip(variant.base, variant.schedules, strict=True))
    _require_known(loaded, pairs)
    found: dict[int, tuple[Group, ...]] = {}
    for at, slot in enumerate(loaded.slots):
        mine = [(b, s) for b, s in pairs if _serves(slot, b)]
        if any(b is not s for b, s in mine):
            found[at] = grouped(slot, mine)
    return found


def _serves(slot: Slot, base: Schedule) -> bool:
    return any(
        (s.component, s.layer_type, s.variant) == (base.component, base.layer_type, base.variant)
        and (s.layers is None or base.layers is None or set(s.layers) & set(base.layers))
        for s in slot.schedules
    )


def _require_known(loaded: Loaded, pairs: Sequence[tuple[Schedule, Schedule]]) -> None:
    for base, made in pairs:
        if not differs(base, made):
            continue
        name = quoted(made.name)
        slots = [s for s in loaded.slots if _serves(s, base)]
        if not slots:
            known = ", ".join(quoted(s.name) for s in loaded.schedules)
            raise UsageError(
                f"the variant changes schedule {name}, which this model does not compute with; "
                f"it has {known}"
            )
        channels = len(slots[0].schedules[0].inv_freq)
        if len(made.inv_freq) != channels:
            raise UsageError(
                f"schedule {name} of the variant has {len(made.inv_freq)} channels and the model "
                f"{channels}; take a variant that was made for this model"
            )
        if made.pairing != base.pairing or made.softmax_scale != base.softmax_scale:
            raise UsageError(
                f"schedule {name} of the variant changes the pairing of channels or the scale of "
                "the softmax, which are no part of a rotary table; leave that step out"
            )


@contextmanager
def _installed(loaded: Loaded, groups: Mapping[int, tuple[Group, ...]]) -> Iterator[None]:
    """Inside of ``preserved``: whatever is set on the modules here is undone there."""
    by_module: dict[int, list[tuple[Slot, tuple[Group, ...]]]] = {}
    for at, found in groups.items():
        slot = loaded.slots[at]
        by_module.setdefault(id(slot.module), []).append((slot, found))
    with ExitStack() as stack:
        for members in by_module.values():
            outputs: dict[int, Any] = {}
            for slot, found in members:
                _stop_updates(slot)
                found[0].tables[0][1].install(slot)
            if all(g.alone for _, found in members for g in found) and all(
                len(found) == 1 for _, found in members
            ):
                continue
            _take_over(members, outputs)
            split = [g for _, found in members if len(found) > 1 for g in found]
            if split:
                layers = [n for g in split for n in g.layers]
                stack.callback(outputs.clear)
                _hand_out(stack, loaded, members[0][0], layers, outputs)
        yield


def _stop_updates(slot: Slot) -> None:
    """Let transformers' ``dynamic_rope_update`` find nothing to do."""
    kinds = getattr(slot.module, "rope_type", None)
    if isinstance(kinds, dict):
        kinds[slot.prefix[:-1]] = "default"
    elif isinstance(kinds, str):
        slot.module.rope_type = "default"


def _take_over(members: Sequence[tuple[Slot, tuple[Group, ...]]], outputs: dict[int, Any]) -> None:
    """Make the module compute every group's cosines and sines, and choose tables by length."""
    module = members[0][0].module
    inner = module.forward
    by_prefix = {slot.prefix: (slot, found) for slot, found in members}

    def forward(x: Any, position_ids: Any, *args: Any, **kwargs: Any) -> Any:
        kind = kwargs.get("layer_type", args[0] if args else None)
        slot, found = by_prefix.get("" if kind is None else f"{kind}_", (None, ()))
        if slot is None:
            return inner(x, position_ids, *args, **kwargs)
        length = 1 if all(g.alone for g in found) else int(position_ids.max()) + 1
        results = []
        for group in found:
            group.pick(length).install(slot)
            result = inner(x, position_ids, *args, **kwargs)
            outputs.update(dict.fromkeys(group.layers, result))
            results.append(result)
        return results[0]

    module.forward = forward


def _hand_out(
    stack: ExitStack,
    loaded: Loaded,
    slot: Slot,
    layers: Iterable[int],
    outputs: Mapping[int, Any],
) -> None:
    """Give each of ``layers`` its own position embeddings when it is called."""
    blocks = _layers.blocks(loaded.model, slot)
    for n in layers:
        if blocks is None or n >= len(blocks):
            raise UsageError(
                f"layer {n} of {quoted(type(loaded.model).__name__)} is not found, so it cannot "
                "get a table of its own; change all layers together"
            )

        def before(
            block: Any, args: tuple[Any, ...], kwargs: dict[str, Any], n: int = n
        ) -> tuple[tuple[Any, ...], dict[str, Any]]:
            name = next((e for e in _layers.EMBEDDINGS if kwargs.get(e) is not None), None)
            if name is None or isinstance(kwargs[name], Mapping) or n not in outputs:
                raise UsageError(
                    f"layer {n} of {quoted(type(loaded.model).__name__)} is not given its rotary "
                    "angles by name, so it cannot get a table of its own; change all layers"
                )
            return args, {**kwargs, name: outputs[n]}

        handle = blocks[n].register_forward_pre_hook(before, with_kwargs=True)
        stack.callback(handle.remove)
