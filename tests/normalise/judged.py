"""What a proposal has to keep, looked at from outside: by reading both files anew."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.facts import Reading
from ropeaudit.normalise.interface import Normalised
from ropeaudit.normalise.run import normalise
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.core import Schedule
from ropeaudit.sources._config import parse


def proposal(
    folder: Path, config: Mapping[str, Any] | str, name: str = "config.json"
) -> Normalised:
    """What is proposed for a file with this content."""
    path = folder / name
    text = config if isinstance(config, str) else json.dumps(config, indent=2) + "\n"
    path.write_bytes(text.encode())
    return normalise(str(path), offline=True)


def built(text: str) -> list[tuple[Any, ...]]:
    """The reference's schedules, without what normalising states that was assumed."""
    document = parse(text.encode(), "config.json")
    found = read(Reading(target="config.json", format="hf-config", document=document))
    return [_numbers(s) for s in found.schedules]


def _numbers(s: Schedule) -> tuple[Any, ...]:
    return (
        s.name, s.layers, s.rope_type, s.rope_theta, s.head_dim, s.rotary_dim, s.pairing, s.axes,
        s.inv_freq, s.attention_scaling, s.softmax_scale,
        s.context.trained, s.context.declared, s.context.window,
    )  # fmt: skip


def agreeing(found: Normalised) -> set[str]:
    return {e.name for e in found.engines if e.agrees}


def agreed(found: Normalised) -> set[str]:
    return {e.name for e in found.engines if e.agreed}


def require_sound(found: Normalised) -> None:
    """The promises: the reference builds the same, nobody is lost, all else stays in its place."""
    assert built(found.after) == built(found.before)
    assert agreeing(found) >= agreed(found)
    assert found.status == ("normal" if found.after == found.before else "changed")
    assert bool(found.changes) == (found.status == "changed")
    before, after = json.loads(found.before), json.loads(found.after)
    for change in found.changes:
        _require(change.pointer, before, change.before)
        _require(change.pointer, after, change.after)
    gone = [c.pointer for c in found.changes]
    # As text, in which NaN is itself.
    assert json.dumps(_without(before, gone)) == json.dumps(_without(after, gone))


def _require(pointer: str, data: Any, raw: str | None) -> None:
    """That ``raw`` is what stands at ``pointer``, None where nothing does."""
    node = data
    for step in pointer.split("/")[1:]:
        step = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(node, dict) or step not in node:
            assert raw is None
            return
        node = node[step]
    assert raw is not None
    assert json.loads(raw) == node


def _without(data: Any, pointers: list[str]) -> Any:
    copy = json.loads(json.dumps(data))
    for pointer in pointers:
        *path, last = pointer.split("/")[1:]
        node = copy
        for step in path:
            node = node.get(step, {})
        node.pop(last, None)
    return copy


@cache
def vectors() -> Mapping[str, Any]:
    path = Path(__file__).parents[2] / "fixtures" / "readers" / "vectors.json"
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["cases"]
    return found
