"""ExLlamaV3 1.6: what it builds from config.json.

It reads the raw file (``model/config.py`` 130-341). The architecture is the one entry of
``architectures`` (``architecture/architectures.py``); any other stops with an assertion. Rules of
reading and tables are in ``_exl_three``, architectures in ``_exl_layers``.

Ran: ``read_rope_settings_default`` and ``RoPE`` on CPU with the extension stubbed. Read: the
architecture files. The softmax factor is DeepSeek's alone (``architecture/deepseek_v3.py`` 64-73).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, Note
from ropeaudit.readers.engines._exl_layers import Arch, tables
from ropeaudit.readers.engines._exl_read import decimal, require, sole_architecture, stated
from ropeaudit.readers.engines._raw_ignored import ignored
from ropeaudit.readers.engines._raw_keys import EXCERPT, Raw, is_excerpt, number
from ropeaudit.readers.engines._raw_tables import Turn, schedule
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace
from ropeaudit.schedule.families.yarn import mscale

RELEASES = (
    Release(
        name="exllamav3-1.6",
        engine="exllamav3",
        version="1.6.5",
        covers=("1.6",),
        how="ran",
        source="util/rope.py 64-345; model/config.py 130-341; architecture/*.py",
    ),
)


@cache
def families() -> Mapping[str, Any]:
    """Entries by architecture, described in ``_exl_layers``."""
    path = Path(__file__).with_name("_exl_families.json")
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def build(request: Request, release: Release) -> Built:
    """Raises Refuses for what stops it, NotCovered for architectures that were not looked at."""
    root = Raw(request.document, request.document.data)
    arch = _arch(request, root)
    if arch.entry.get("still"):
        return Built(notes=(Note("no_rotary", "its architecture module has no rotary layer"),))
    made = tables(arch)
    if arch.entry.get("ratio"):
        made = [replace(turn, softmax=_fold(arch.raw)) for turn in made]
    facts = tuple(root.facts)
    schedules = tuple(schedule(request, release.name, turn, facts) for turn in made)
    nodes = [root] if arch.raw.pointer == root.pointer else [root, arch.raw]
    return Built(
        schedules=schedules,
        ignored=ignored(nodes, schedules),
        notes=(*_notes(made), *((EXCERPT,) if is_excerpt(root) else ())),
    )


def _arch(request: Request, root: Raw) -> Arch:
    name = sole_architecture(root, request.document.file)
    entry = families().get(name)
    if entry is None:
        raise NotCovered(f"it has no architecture module for {quoted(name)}")
    if entry.get("skip"):
        raise NotCovered(f"its architecture module {entry['file']} was not looked at")
    raw = root
    if "text" in entry:
        require([root], [entry["text"]])
        raw = root.child(entry["text"]) or root
    for kind, other in entry.get("inner", {}).items():
        if raw.data.get("model_type") == kind:
            entry = {**entry, **other}
    both = [root]
    if "merge" in entry:
        inner = root.child(entry["merge"])
        if inner is None:
            raise Refuses(f"it needs {entry['merge']}, which the file lacks")
        # Where both have a key, the outer object's value counts.
        raw = root.replaced({**inner.data, **root.data})
        both.append(inner)
    require(both, entry["need"])
    for key, wanted, *always in entry["assert"]:
        _insist(root, key, wanted, always=bool(always) and not is_excerpt(root))
    return Arch(entry=entry, root=root, raw=raw, request=request)


def _insist(root: Raw, key: str, wanted: Json, *, always: bool) -> None:
    found = stated(root, key)
    if found is None:
        if always:
            raise Refuses(f"it needs {key.replace('->', '.')}, which the file lacks")
    elif found != wanted:
        where = key.replace("->", ".")
        raise Refuses(f"{where} is {shown(found)}, and it supports {shown(wanted)} only")


def _fold(raw: Raw) -> float:
    """``yarn_sm_scale_fold``: mscale_all_dim's term squared, with the factor as stated."""
    for key in ("rope_scaling", "rope_parameters"):
        value = raw.data.get(key)
        if isinstance(value, dict):
            scaling = raw.inside(key, value)
            kind = scaling.data.get("rope_type", scaling.data.get("type", "default"))
            weight = scaling.get("mscale_all_dim")
            if kind == "default" or not weight:
                return 1.0
            factor = decimal(scaling.need("factor"), "factor")
            root = mscale(factor, number(weight, "mscale_all_dim"))
            return root * root
    return 1.0


def _notes(made: list[Turn]) -> tuple[Note, ...]:
    lists = [turn.variant for turn in made if turn.law == "longrope"]
    if not lists:
        return ()
    message = (
        f"it takes the {lists[0]} list of factors at every length, since it compares "
        "max_position_embeddings with the original length"
    )
    return (Note("longrope_list", message),)
