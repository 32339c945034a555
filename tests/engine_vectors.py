"""Measured readings of engines (fixtures/readers/vectors.json), and what a module makes of them."""

from __future__ import annotations

import hashlib
import json
import math
from array import array
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.interface import Built, Engine, NotCovered, Refuses, Release, Request
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.core import Schedule

PATH = Path(__file__).parents[1] / "fixtures" / "readers" / "vectors.json"
LOG = 2e-5
FACTOR = 1e-4


@cache
def vectors() -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def request(case: Mapping[str, Any], lengths: tuple[int, ...] = ()) -> Request:
    """The case's config as an engine gets it, with what the newest transformers builds from it."""
    document = parse(json.dumps(case["config"]), case["file"])
    if case["file"] == "params.json":
        return Request(document=document, reference=None, lengths=lengths)
    try:
        reading = Reading(target="config.json", format="hf-config", document=document)
        reference = read(reading, lengths)
    except InvalidValue:
        reference = None
    return Request(document=document, reference=reference, lengths=lengths)


def outcome(engine: Engine, asked: Request, release: Release) -> tuple[str, Built | None, str]:
    """Status as the vectors name it, what was built, and the reason where nothing was."""
    try:
        return "ok", engine.build(asked, release), ""
    except (Refuses, InvalidValue) as error:
        return "refuses", None, str(error)
    except NotCovered as error:
        return "not_covered", None, str(error)


def problems(case: Mapping[str, Any], release: Release, built: Built) -> Iterator[str]:
    """Every way in which ``built`` is not what was measured."""
    row = case["readers"][release.name]
    found = {_plain_name(s.name, case["length"]): s for s in built.schedules}
    texts = {n for n in found if n.startswith("text")}
    wanted = {w["name"]: w for w in row["schedules"]}
    for name in [n for n in wanted if n not in texts]:
        # A table without variant stands for every variant, as where readings are compared.
        bare = name.rsplit("/", 1)[0]
        if name.rsplit("/", 1)[-1] in ("short", "long", "@2L") and bare in texts:
            found[name] = found[bare]
            texts.add(name)
    texts -= {n for n in texts if n not in wanted and any(w.startswith(f"{n}/") for w in wanted)}
    # Some engines were measured as they start, and not after a longer sequence.
    texts -= {"text/@2L"} - set(wanted)
    if texts != set(wanted):
        yield f"schedules {sorted(texts)}, measured {sorted(wanted)}"
    for name in texts & set(wanted):
        yield from _differences(case, wanted[name], found[name], release)
    rotating = [found[n] for n in texts]
    yield from _softmax(row, release, rotating)
    yield from _layers(case, row, rotating)
    for schedule in built.schedules:
        if schedule.reader != release.name:
            yield f"{schedule.name} has reader {schedule.reader}"


def _plain_name(name: str, length: int) -> str:
    """Growing tables as the vectors call them: the bare name at the length, ``@2L`` beyond."""
    return name.replace(f"/@{length}", "").replace(f"@{2 * length}", "@2L")


def _differences(
    case: Mapping[str, Any], wanted: Mapping[str, Any], found: Schedule, release: Release
) -> Iterator[str]:
    name = wanted["name"]
    if len(found.inv_freq) != wanted["n"]:
        yield f"{name}: {len(found.inv_freq)} channels, measured {wanted['n']}"
        return
    for key in ("rotary_dim", "pairing"):
        if getattr(found, key) != wanted[key]:
            yield f"{name}: {key} {getattr(found, key)}, measured {wanted[key]}"
    if abs(found.attention_scaling - wanted["attention_scaling"]) > FACTOR:
        yield f"{name}: attention {found.attention_scaling}, measured {wanted['attention_scaling']}"
    for k, value in table_of(case, wanted):
        a, b = found.inv_freq[k], value
        near = a == b or (a > 0 and b > 0 and abs(math.log(a / b)) <= LOG)
        if not near:
            yield f"{name}: channel {k} is {a}, measured {b}"
            return


def table_of(case: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[tuple[int, float]]:
    """(channel, value) pairs that are known of a measured table.

    All of them where the table is stored, or where it lay within 1e-5 in log of the reference's
    (then that one's are taken); else the first two and the last.
    """
    last = wanted["n"] - 1
    yield from zip((0, 1, last), (wanted[k] for k in ("first", "second", "last")), strict=True)
    tables = vectors()["tables"]
    table = tables.get(wanted["digest"])
    if table is None:
        reference = case["readers"][case["reference"]]["schedules"]
        same = next((r for r in reference if r["name"] == wanted["name"]), None)
        table = None if same is None else tables.get(same["digest"])
    yield from enumerate(table or ())


def digest(values: tuple[float, ...]) -> str:
    return hashlib.sha256(array("f", values).tobytes()).hexdigest()[:16]


def _softmax(row: Mapping[str, Any], release: Release, found: list[Schedule]) -> Iterator[str]:
    wanted = row.get("softmax_scale")
    if wanted is None:
        if "softmax" in release.silent:
            return
        wanted = 1.0
    for schedule in found:
        if abs(schedule.softmax_scale - wanted) > FACTOR:
            yield f"{schedule.name}: softmax {schedule.softmax_scale}, measured {wanted}"


def _layers(
    case: Mapping[str, Any], row: Mapping[str, Any], found: list[Schedule]
) -> Iterator[str]:
    if "nope_layers" not in row or any(s.layers is None for s in found):
        if "nope_layers" in row:
            yield "layers are unknown, measured some that do not rotate"
        return
    count = case["config"]["num_hidden_layers"]
    still = sorted(set(range(count)) - {i for s in found for i in s.layers or ()})
    if still != row["nope_layers"]:
        yield f"layers {still} do not rotate, measured {row['nope_layers']}"
