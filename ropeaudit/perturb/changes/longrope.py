"""``longrope``: each channel divided by its own factor, from a file (2402.13753).

The file is JSON: a list of factors, an object with ``short_factor`` and ``long_factor``, or a
config that holds such an object as ``rope_scaling`` or ``rope_parameters``. The object may also
give ``original_max_position_embeddings`` (default: the trained length), ``factor`` and
``attention_factor``, which mean what they mean in a config. One list serves every length; two give
a schedule ``short`` up to the original length and a schedule ``long`` beyond. The lists take the
place of a scaling that is there; a table whose base is not known is divided as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropeaudit.document import loads
from ropeaudit.errors import SourceError, quoted_path
from ropeaudit.perturb._expect import Rules, moved, rescaled
from ropeaudit.perturb._keys import file
from ropeaudit.perturb._laws import divided, scaled
from ropeaudit.perturb.interface import Changed, Head, Refused
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Schedule

HEADS = (Head(name="longrope", usage="longrope:FILE", keys={"file": file()}, bare="file"),)
RESCALES = True

MAX_BYTES = 1 << 24
_DICTS = ("rope_parameters", "rope_scaling")
_PARTS = ("text_config", "llm_config", "language_config")
_ALONE = frozenset({"factor", "attention_factor", "original_max_position_embeddings"})


@record(kw_only=True)
class Params:
    file: str


def check(params: Params) -> None:
    pass


def expect(params: Params, base: Schedule, made: Schedule) -> Rules:
    return moved(base, made) | rescaled(base, made)


def apply(params: Params, schedule: Schedule) -> Changed:
    data = _bytes(params.file)
    scaling = _scaling(data, params.file, schedule)
    found = {"sha256": sha256(data).hexdigest()}
    if schedule.rope_theta is None:
        return Changed(schedules=(_alone(schedule, scaling),), found=found)
    original = scaling["original_max_position_embeddings"]
    made = tuple(
        replace(scaled(schedule, "longrope", scaling, length=length), variant=variant)
        for variant, length in _variants(schedule, scaling, original)
    )
    return Changed(schedules=made, found=found)


def _variants(
    schedule: Schedule, scaling: Mapping[str, Any], original: float
) -> list[tuple[str | None, int | None]]:
    """Names and lengths of the schedules that the lists give in this one's place."""
    beyond = int(original) + 1
    name = schedule.variant
    if name == "long":
        return [(name, beyond)]
    if name is not None and name[1:].isdigit():
        return [(name, int(name[1:]))]
    if name is not None or scaling["long_factor"] is scaling["short_factor"]:
        return [(name, None)]  # what a buffer holds at first is the short list's table
    return [("short", None), ("long", beyond)]


def _alone(schedule: Schedule, scaling: Mapping[str, Any]) -> Schedule:
    factors = [float(f) for f in scaling["short_factor"]]
    count = len(schedule.inv_freq)
    if len(factors) != count:
        raise Refused(f"the file has {len(factors)} factors and the table {count} channels")
    if min(factors) <= 0:
        raise Refused("a factor of the file is not above 0; correct it")
    return replace(
        schedule, inv_freq=divided(schedule, factors), dtype="float32", law=None, inputs=None
    )


def _bytes(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise Refused(f"cannot read the factor file {quoted_path(path)}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise Refused(f"{quoted_path(path)} is larger than any list of factors")
    return data


def _scaling(data: bytes, path: str, schedule: Schedule) -> dict[str, Any]:
    """The scaling dict of a longrope config, from whatever form the file has."""
    try:
        found = loads(data.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise Refused(f"{quoted_path(path)} is not UTF-8 text") from None
    except SourceError as error:
        raise Refused(str(error)) from None
    held = {"factors": found} if isinstance(found, list) else _dict(found)
    short = held.get("short_factor", held.get("factors"))
    long = held.get("long_factor", short)
    lists = [v for v in (short, long) if isinstance(v, list) and v]
    if len(lists) != 2 or not all(_is_number(v) for values in lists for v in values):
        raise Refused(
            f"{quoted_path(path)} holds no factors, expected a list of numbers or an object with "
            "short_factor and long_factor"
        )
    scaling = {k: held[k] for k in _ALONE if held.get(k) is not None}
    if "original_max_position_embeddings" not in scaling:
        length = schedule.context.trained
        if length is None and schedule.rope_theta is not None:
            raise Refused(
                "the trained length is not known; give original_max_position_embeddings in the file"
            )
        scaling["original_max_position_embeddings"] = length or 1
    return {**scaling, "short_factor": short, "long_factor": long}


def _dict(found: Any) -> Mapping[str, Any]:
    """The object that holds the lists: the file's own, or its rope settings."""
    if not isinstance(found, dict):
        return {}
    parts = [found, *(found[p] for p in _PARTS if isinstance(found.get(p), dict))]
    for part in parts:
        for name in _DICTS:
            inner = part.get(name)
            if isinstance(inner, dict) and "short_factor" in inner:
                top = part.get("original_max_position_embeddings")
                return inner if top is None else {"original_max_position_embeddings": top, **inner}
    return found


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
