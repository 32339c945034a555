"""Short prompts that show which tables a model computes with.

Positions are spread from 0 to the longest that matters, so that sixteen tokens see small and large
angles alike, and tables that depend on the length.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import RopeAuditError, UsageError, quoted
from ropeaudit.perplexity import _layers, _slots
from ropeaudit.perplexity._tables import Group, Table
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded

TOKENS = 16
SPAN = 4096
MUST = 64.0
"""Steps of the model's dtype that cosines must move by before logits have to follow."""

_EPS = {"float32": 2.0**-23, "bfloat16": 2.0**-7, "float16": 2.0**-10}


@record()
class Seen:
    """One prompt: its length in positions, logits, each block's output, and what it was given."""

    length: int
    logits: Any
    outputs: Mapping[int, Any]
    given: Mapping[int, Any]
    positions: Any


def lengths(loaded: Loaded, groups: Mapping[int, tuple[Group, ...]]) -> tuple[int, ...]:
    """Lengths to probe at: one, and one for each table that depends on the length."""
    first = min(SPAN, *(s.context.trained or SPAN for s in loaded.schedules))
    wanted = set()
    for found in groups.values():
        for group in found:
            limits = [limit for limit, _ in group.tables]
            wanted |= {limit for limit in limits if limit is not None}
            if None in limits and len(limits) > 1:
                wanted.add(max(n for n in limits if n is not None) + 1)
    return tuple(sorted(wanted)) or (first,)


def run(loaded: Loaded, at: Sequence[int]) -> tuple[Seen, ...]:
    return tuple(_one(loaded, length) for length in at)


def _one(loaded: Loaded, length: int) -> Seen:
    import torch

    model = loaded.model
    count = min(TOKENS, max(2, length))
    ids = (torch.arange(count, device=loaded.device) * 7 + 3).remainder(loaded.vocabulary)
    spread = torch.linspace(0, 1, count, dtype=torch.float64).pow(3) * (length - count)
    positions = (spread.round().long() + torch.arange(count)).to(loaded.device).unsqueeze(0)
    extra: dict[str, Any] = {"input_ids": ids.unsqueeze(0), "use_cache": False}
    if "position_ids" in inspect.signature(model.forward).parameters:
        # The mask says that this is one text: jumps in positions would be taken for several.
        extra |= {"position_ids": positions, "attention_mask": torch.ones_like(positions)}
    else:
        positions = torch.arange(count, device=loaded.device).unsqueeze(0)
    outputs: dict[int, Any] = {}
    given: dict[int, Any] = {}
    handles = []
    for n, block in enumerate(_layers.blocks(model, loaded.slots[0]) or ()):
        handles += _layers.watch(n, block, outputs, given)
    try:
        with _slots.alone(loaded.slots), torch.inference_mode():
            logits = model(**extra).logits[0].float().cpu()
    finally:
        for handle in handles:
            handle.remove()
    return Seen(length, logits, outputs, given, positions)


def require_taken_up(
    loaded: Loaded, groups: Mapping[int, tuple[Group, ...]], before: Sequence[Seen]
) -> None:
    """Raises UsageError unless every layer computes with its new table and the logits follow."""
    import torch

    for old in before:
        new = _one(loaded, old.length)
        expected: dict[int, Table] = {}
        touched: set[int] = set()
        for found in groups.values():
            for group in found:
                table = group.pick(old.length)
                expected.update(dict.fromkeys(group.layers, table))
                if group.changed:
                    touched |= set(group.layers)
        for n, table in expected.items():
            if n in new.given:
                _require_angles(loaded, n, new.given[n], new.positions, table)
        changed = any(g.changed for found in groups.values() for g in found)
        if not changed:
            if not torch.equal(old.logits, new.logits):
                raise _ignored("other logits come out with the tables that it had")
            continue
        first = min(touched, default=0)
        for n in range(first):
            if n in old.outputs and not torch.equal(old.outputs[n], new.outputs[n]):
                raise _ignored(f"layer {n} gives other numbers, although its table has not changed")
        if _moved(loaded, old, new) and torch.equal(old.logits, new.logits):
            raise _ignored("the logits are the same as before")


def _ignored(what: str) -> RopeAuditError:
    return UsageError(
        f"{what}: the model does not compute with the tables that were put in, so nothing "
        "measured with it would mean anything; it probably makes its table elsewhere"
    )


def _moved(loaded: Loaded, old: Seen, new: Seen) -> bool:
    """Whether cosines have moved so far that logits cannot be the same."""
    if not old.given or not new.given:
        return True
    limit = MUST * _EPS.get(loaded.dtype, 2.0**-7)
    for n, was in old.given.items():
        a, b = _parts(was), _parts(new.given[n])
        if any(float((x - y).abs().max()) > limit for x, y in zip(a, b, strict=True)):
            return True
    return False


def _parts(given: Any) -> list[Any]:
    """Cosines and sines of what a layer was given, float32 on the CPU."""
    import torch

    if isinstance(given, Mapping):  # by type of layer, which only the layer knows
        return [part for value in given.values() for part in _parts(value)]
    if hasattr(given, "shape"):
        given = (given.real, given.imag) if torch.is_complex(given) else (given,)
    return [part.detach().float().cpu() for part in given]


def _require_angles(loaded: Loaded, n: int, given: Any, positions: Any, table: Table) -> None:
    """Each channel that layer ``n`` was given turns with a frequency of ``table``, in float32.

    The order of channels is the model's own business. Angles that were computed in half precision
    are off by radians at these positions and are refused too.
    """
    import torch

    parts = _parts(given)
    if len(parts) != 2:
        return
    turns = positions[0].double().cpu()[:, None] * torch.tensor(
        table.schedule.inv_freq, dtype=torch.float64
    )
    scaling = table.attention_scaling
    narrow = _EPS.get(loaded.dtype, 2.0**-7)
    # An angle in float32 is off by half a step of its own size; a cosine by half of its dtype's.
    allowed = abs(scaling) * (narrow + 4e-6) + turns.abs().max().item() * 2.0**-22 * abs(scaling)
    wanted = (turns.cos() * scaling, turns.sin() * scaling)
    # GPT-J hands out sines first.
    off = min(_off(parts, wanted), _off(parts[::-1], wanted))
    if not off <= allowed:
        raise _ignored(
            f"{quoted(type(loaded.model).__name__)} gives layer {n} cosines that are {off:.2g} off "
            f"those of its table, where float32 would be within {allowed:.2g}"
        )


def _off(parts: Sequence[Any], wanted: Sequence[Any]) -> float:
    """The largest distance of a channel, over all positions, from the nearest one wanted."""
    worst = 0.0
    for part, want in zip(parts, wanted, strict=True):
        got = part.double().reshape(-1, part.shape[-1])[-want.shape[0] :]
        near = (got[:, :, None] - want[:, None, :]).abs().amax(dim=0).amin(dim=1)
        worst = max(worst, near.max().item())
    return worst


def require_same(before: Sequence[Seen], after: Sequence[Seen]) -> None:
    """Raises UsageError unless the model is what it was, to the bit."""
    import torch

    for old, new in zip(before, after, strict=True):
        same = torch.equal(old.logits.nan_to_num(), new.logits.nan_to_num())
        if not same:
            raise UsageError(
                "the model does not give the logits that it gave before its tables were changed, "
                "although they were put back; load it again"
            )
