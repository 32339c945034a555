"""From attributes to schedules, for engines that build their tables from a loaded config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any

from ropeaudit.document import escape
from ropeaudit.errors import shown
from ropeaudit.facts import Fact, Location, Note, Origin, as_number
from ropeaudit.readers.engines._attributes_loaded import Loaded
from ropeaudit.readers.engines._raw_ignored import SPELLED, ignored
from ropeaudit.readers.engines._raw_keys import MAX_LAYERS, MAX_WIDTH, Raw
from ropeaudit.readers.engines._raw_tables import Turn, schedule
from ropeaudit.readers.engines.interface import Built, Refuses, Release, Request
from ropeaudit.schedule.core import Schedule


def number(model: Loaded, key: str, default: float | None = None) -> float:
    """A numeric attribute; raises Refuses where it is missing or no number."""
    found = as_number(model.get(key, default))
    if found is None or not isfinite(found):
        raise Refuses(f"{key} is missing or no number")
    return found


def whole(model: Loaded, key: str, most: int = MAX_WIDTH) -> int:
    """A count among the attributes, from 1 to ``most``."""
    found = model.get(key)
    if type(found) is not int or found < 1:
        raise Refuses(f"{key} is missing or no whole number above 0")
    if found > most:
        raise Refuses(f"{key} is {shown(found)}, more than any model has")
    return found


def even(model: Loaded) -> int:
    """hidden_size // num_attention_heads."""
    head = whole(model, "hidden_size") // whole(model, "num_attention_heads")
    if not head:
        raise Refuses("hidden_size is less than num_attention_heads")
    return head


def layers(model: Loaded) -> tuple[int, ...]:
    return tuple(range(whole(model, "num_hidden_layers", MAX_LAYERS)))


def length(model: Loaded) -> int | None:
    """The declared length."""
    found = model.get("max_position_embeddings")
    return found if type(found) is int and found > 0 else None


def passed_over(request: Request, schedules: Sequence[Schedule]) -> tuple[str, ...]:
    """Pointers of position values that the schedules contradict, so that nobody can have read them.

    Nothing is said where a table is only known by its numbers.
    """
    if any(s.rope_type == "stored" for s in schedules):
        return ()
    config = request.config
    nodes = [Raw(request.document, config)]
    part = config.get("text_config")
    if isinstance(part, dict):
        nodes.append(Raw(request.document, part, "/text_config"))
    kinds = {s.rope_type for s in schedules} - {"default"}
    lists = [f"{s.variant}_factor" for s in schedules if s.variant in ("short", "long")]
    for node in nodes:
        node.seen.update(_applied(node, kinds, lists))
    return ignored(nodes, schedules)


def _applied(node: Raw, kinds: set[str], lists: Sequence[str]) -> Iterator[str]:
    """Pointers of types that came out as stated: their dicts were read, and the named lists."""
    for key in ("rope_scaling", "rope_parameters"):
        outer = node.data.get(key)
        if not isinstance(outer, dict):
            continue
        dicts = {f"{node.pointer}/{key}": outer}
        dicts |= {f"{node.pointer}/{key}/{escape(k)}": v for k, v in outer.items()}
        for at, values in dicts.items():
            for name in ("rope_type", "type"):
                found = values.get(name) if isinstance(values, dict) else None
                if isinstance(found, str) and SPELLED.get(found, found) in kinds:
                    yield f"{at}/{name}"
                    yield from (f"{at}/{entry}" for entry in lists)


def built(
    request: Request,
    release: Release,
    model: Loaded,
    turns: Iterable[Turn],
    notes: tuple[Note, ...] = (),
) -> Built:
    """The schedules of ``turns``; raises InvalidValue for values from which none can be built."""
    found = tuple(
        schedule(request, release.name, turn, _facts(request, model, turn)) for turn in turns
    )
    return Built(schedules=found, ignored=passed_over(request, found), notes=notes)


def _facts(request: Request, model: Loaded, turn: Turn) -> tuple[Fact, ...]:
    """Base and width, with their places where the file states just these values."""
    return (
        _fact(request, model, "rope_theta", turn.base),
        _fact(request, model, "head_dim", turn.head),
    )


def _fact(request: Request, model: Loaded, name: str, value: Any) -> Fact:
    part: Any = request.config
    for step in model.pointer.split("/")[1:]:
        part = part.get(step) if isinstance(part, dict) else None
    for key in ("rope_parameters", "rope_scaling", None):
        inner = part if key is None else (part or {}).get(key)
        if isinstance(inner, dict) and inner.get(name) == value:
            at = "" if key is None else f"/{key}"
            pointer = f"{model.pointer}{at}/{escape(name)}"
            overridden = pointer in request.document.overridden
            origin = Origin.OVERRIDE if overridden else Origin.FILE
            return Fact(name, value, origin, Location(file=request.document.file, pointer=pointer))
    return Fact(name, value, Origin.DERIVED if name == "head_dim" else Origin.DEFAULT)
