"""transformers 5.24 (the reference), 5.20, 4.57 and 4.46.

5.x: the rules of ``ropeaudit.readers.transformers``; 5.20.2 has the same tables and standardisation
(``modeling_rope_utils.py`` 783-884, 325-690), knows fewer model types, and indexes ``factor`` where
logits are scaled (``models/deepseek_v3/modeling_deepseek_v3.py``). 4.x: ``_tf_old``. Each
was run: the config loaded, a tiny model built, its buffers and factors taken, the forward called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ropeaudit.errors import shown
from ropeaudit.facts import Note, Oddity, Reading
from ropeaudit.readers.engines import _tf_old, _tf_types
from ropeaudit.readers.engines._attributes_loaded import Unloadable, lacks_mscale, text_part
from ropeaudit.readers.engines._attributes_tables import passed_over
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.transformers import read
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.model_types import lookup

RELEASES = (
    Release(
        name="transformers-5.24",
        engine="transformers",
        version="5.24.0",
        covers=("5.24",),
        how="ran",
        source="modeling_rope_utils.py 783-884, 325-690; the config classes",
    ),
    Release(
        name="transformers-5.20",
        engine="transformers",
        version="5.20.2",
        covers=("5.20",),
        how="ran",
        source="the same files of 5.20.2; models/auto/auto_mappings.py",
    ),
    Release(
        name="transformers-4.57",
        engine="transformers",
        version="4.57.6",
        covers=("4.57",),
        how="ran",
        source="modeling_rope_utils.py 95-500 and the model files of 4.57.6",
    ),
    Release(
        name="transformers-4.46",
        engine="transformers",
        version="4.46.3",
        covers=("4.46",),
        how="ran",
        source="modeling_rope_utils.py 30-400 and the model files of 4.46.3",
    ),
)

_NEEDS_HEAD = frozenset({"hunyuan_v1_dense", "hunyuan_v1_moe", "hunyuan_vl_text", "ministral"})
"""Model types whose attention takes head_dim as it is, also where the file has none."""
_NO_TABLE = frozenset({Oddity.TYPE_UNKNOWN, Oddity.LENGTH_MISMATCH})


def build(request: Request, release: Release) -> Built:
    """The schedules that ``release`` builds; raises Refuses, NotCovered or InvalidValue."""
    if request.is_params:
        raise Refuses("it looks for config.json and does not read params.json")
    version = release.name.removeprefix("transformers-")
    found = _reference(request) if version.startswith("5.") else request.reference
    _stop_at_other_code(request, found)
    if version != "5.24" and not _knows(version, request):
        raise Refuses(f"it does not know the model type {shown(request.config.get('model_type'))}")
    if found is None or version.startswith("4."):
        built = _tf_old.build(request, version, release.name)
        return replace(built, ignored=_ignored(request, built.schedules))
    _stop(request, found)
    _stop_at_building(request, found, version)
    named = tuple(replace(s, reader=release.name) for s in found.schedules)
    return Built(schedules=named, ignored=_ignored(request, named))


def _ignored(request: Request, schedules: Sequence[Schedule]) -> tuple[str, ...]:
    """Values that the text's schedules contradict."""
    return passed_over(request, [s for s in schedules if s.is_text])


def _knows(version: str, request: Request) -> bool:
    model_type = request.config.get("model_type")
    return isinstance(model_type, str) and model_type in _tf_types.known(version)


def _reference(request: Request) -> Resolution:
    """What the newest release builds; raises InvalidValue where it cannot."""
    if request.reference is not None:
        return request.reference
    reading = Reading(target="", format="hf-config", document=request.document)
    return read(reading, request.lengths)


def _stop_at_other_code(request: Request, found: Resolution | None) -> None:
    """Raises NotCovered where code that comes with the model decides."""
    kinds = {o.kind for o in found.observations} if found else set()
    brings = isinstance(request.config.get("auto_map"), dict)
    if Oddity.MODEL_SPECIFIC in kinds or (brings and Oddity.GENERIC_READING in kinds):
        raise NotCovered("its tables come from code that the model brings, which is not run")


def _stop(request: Request, found: Resolution) -> None:
    """Raises for what can be read here, and is not what the engine loads or builds."""
    for note in found.notes:
        if note.kind == "engine_refuses":
            raise Refuses(_why(note))
    if any(o.kind is Oddity.GENERIC_READING for o in found.observations):
        raise Refuses(f"it does not know the model type {shown(request.config.get('model_type'))}")
    stopped = next((o for o in found.observations if o.kind in _NO_TABLE), None)
    if stopped is not None:
        raise Refuses(stopped.message)
    if not found.schedules:
        raise NotCovered(_first(found.notes) or "there is no rotary schedule to build")


def _stop_at_building(request: Request, found: Resolution, version: str) -> None:
    """Raises Refuses where the reading holds, and this model type's own code stops."""
    if found.model_type == "phimoe":
        try:
            node, ropes = text_part(request)
        except Unloadable as error:
            raise Refuses(str(error)) from None
        missing = ropes and lacks_mscale(node, ropes)
        if missing:
            raise Refuses(f"it {missing}")
    for data in (request.config, request.config.get("text_config")):
        kind = data.get("model_type") if isinstance(data, dict) else None
        if not isinstance(kind, str) or not isinstance(data, dict):
            continue
        if kind in _NEEDS_HEAD and data.get("head_dim") is None:
            raise Refuses(f"{kind} needs a head_dim, and the file has none")
        rope = (lookup(kind) or {}).get("rope", {})
        if version == "5.20" and "softmax" in rope and any(map(_lacks_factor, found.schedules)):
            raise Refuses("the rope parameters lack factor, by which the logits are scaled")


def _lacks_factor(schedule: Schedule) -> bool:
    inputs = schedule.inputs
    scaled = schedule.is_text and schedule.rope_type != "default"
    return scaled and inputs is not None and "factor" not in inputs.scaling


def _first(notes: Iterable[Note]) -> str | None:
    return next((n.message for n in notes if n.kind in ("no_rotary", "insufficient")), None)


def _why(note: Note) -> str:
    """The reason inside a note that says who does not load the file."""
    _, bracket, rest = note.message.partition("(")
    return rest.partition("); ")[0] if bracket else note.message
