"""llama.cpp: a config as its converter turns it into a GGUF file, and that file as it is run.

Two steps. The converter (``convert_hf_to_gguf.py``, ``conversion/``) asks the transformers that is
installed beside it for ``AutoConfig...to_dict()`` and falls back to the file's JSON where that
fails (``conversion/base.py`` 1270-1305), so the same folder gives different files under 5.x and
under 4.57. In both, ``rope_parameters`` beats ``rope_scaling``, even when it is null (1359). The
library then reads the file (``src/llama-model.cpp`` 1406-1447, 2329-2349, ``src/llama-context.cpp``
130-214), which ``ropeaudit.readers.llama_cpp`` does here. All from the sources bundled with
llama-cpp-python 0.3.36. Ran: the converter on configs, the library on tiny models. A
``params.json`` is converted with ``--mistral-format`` (``conversion/mistral.py`` 80-110).

Pairing is told relative to the rows of the Hugging Face weights: where the converter reorders
query and key rows, the interleaved pairs of the file are the half pairs of the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import Note, Reading
from ropeaudit.readers.engines._attributes_loaded import V4, V5, Unloadable, loaded
from ropeaudit.readers.engines._attributes_tables import passed_over
from ropeaudit.readers.engines._gguf_draft import Draft
from ropeaudit.readers.engines._gguf_families import Family, family
from ropeaudit.readers.engines._gguf_mistral import draft as mistral_draft
from ropeaudit.readers.engines._gguf_unread import NAMES
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.readers.interface import Resolution
from ropeaudit.readers.llama_cpp import read
from ropeaudit.readers.llama_cpp.architectures import ARCHITECTURES
from ropeaudit.readers.llama_cpp.factors import at_rest
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule

FILE = "converted.gguf"
"""Stands for the file that the converter writes."""

_SOURCE = (
    "conversion/base.py 1270-1305, 1359-1377, 1434-1543, conversion/*.py; src/llama-model.cpp "
    "1406-1447, 2329-2349; src/llama-context.cpp 130-214"
)

RELEASES = (
    Release(
        name="llama.cpp+tf5",
        engine="llama.cpp",
        version="sources in llama-cpp-python 0.3.36, converter on transformers 5.24.0",
        covers=("0.3.36",),
        how="ran",
        source=_SOURCE,
    ),
    Release(
        name="llama.cpp+tf4.57",
        engine="llama.cpp",
        version="sources in llama-cpp-python 0.3.36, converter on transformers 4.57.6",
        covers=("0.3.36",),
        how="ran",
        source=_SOURCE,
    ),
)

_ONLY_TOP = frozenset({"Exaone4_5_ForConditionalGeneration", "Step3p7ForConditionalGeneration"})
_RENAMED = ("llm_config", "lm_config", "language_config", "lfm")
"""Parts that the converter takes for text_config (``conversion/base.py`` 1290-1304)."""


def build(request: Request, release: Release) -> Built:
    """What the library builds from the converted file; raises Refuses or NotCovered."""
    said: str | None = None
    if request.document.file.endswith("params.json"):
        with _stopping():
            file = mistral_draft(request.config)
    else:
        file, said = _converted(request, V4 if release.name.endswith("4.57") else V5)
    reading = file.reading(FILE)
    found = _run(request, reading)
    stopped = next((n.message for n in found.notes if n.kind == "engine_refuses"), None)
    if stopped is not None:
        raise Refuses(f"the converted file does not load: {stopped}")
    if not found.schedules:
        raise NotCovered(_silence(found))
    chosen = [_as_model(s, file, release) for s in found.schedules if _wanted(s, request.lengths)]
    return Built(
        schedules=tuple(chosen),
        ignored=passed_over(request, chosen),
        notes=tuple(_notes(said, chosen)),
    )


def _converted(request: Request, version: str) -> tuple[Draft, str | None]:
    """The draft of the file, and why the raw JSON was taken, None if it was not."""
    said = None
    try:
        values = loaded(request, version).values
    except Unloadable as error:
        said = str(error)
        values = _raw(request.config)
    chosen = _family(request.config, values)
    draft = Draft(chosen.architecture, values)
    with _stopping():
        for step in chosen.steps:
            step(draft)
    return draft, said


@contextmanager
def _stopping() -> Iterator[None]:
    """Steps do the converter's own arithmetic: what stops them stops it."""
    try:
        yield
    except (TypeError, ValueError, ArithmeticError):
        raise Refuses("its converter stops at a value that it cannot calculate with") from None


def _raw(config: Mapping[str, Any]) -> dict[str, Any]:
    part = next((config[k] for k in (*_RENAMED, "text_config") if k in config), None)
    return {**config, **part} if isinstance(part, dict) else dict(config)


def _family(config: Mapping[str, Any], values: Mapping[str, Any]) -> Family:
    """By ``get_model_architecture`` (``conversion/base.py`` 2878-2906)."""
    name = _first(config.get("architectures"))
    inner = config.get("text_config")
    own = inner.get("architectures") if isinstance(inner, dict) else None
    if name not in _ONLY_TOP and own is not None:
        name = _first(own)
    if name is None:
        raise Refuses("its converter goes by architectures, which the config does not state")
    found = family(name)
    if found is None and name not in NAMES:
        raise Refuses(f"its converter knows no {quoted(name)}")
    if found is None:
        raise NotCovered(f"what its converter writes for {quoted(name)} was not looked at")
    if found.architecture == "mistral3" and values.get("model_type") == "mistral4":
        raise NotCovered("what its converter writes for Mistral 4 was not looked at")
    return found


def _first(value: Any) -> str | None:
    if isinstance(value, list) and value and isinstance(value[0], str):
        return value[0]
    return None


def _run(request: Request, reading: Reading) -> Resolution:
    """The library's reading of the file; files that come out alike are read once."""
    memo = request.memo.setdefault(("llama.cpp", "files"), {})
    mark = repr((reading.metadata, [(t.name, t.values) for t in reading.tables]))
    if mark not in memo:
        memo[mark] = read(reading, ())
    found: Resolution = memo[mark]
    return found


def _silence(found: Resolution) -> str:
    return next((n.message for n in found.notes), "the converted file has no rotary schedule")


def _wanted(schedule: Schedule, lengths: tuple[int, ...]) -> bool:
    """Whether a factor list is used: by n_ctx, which the lengths asked for stand for."""
    original = schedule.context.trained
    if schedule.variant not in ("short", "long") or not lengths or original is None:
        return True
    return any((n > original) == (schedule.variant == "long") for n in lengths)


def _as_model(schedule: Schedule, file: Draft, release: Release) -> Schedule:
    arch = ARCHITECTURES.get(file.architecture)
    pairing = "half" if arch is not None and arch.permuted else schedule.pairing
    found = at_rest(schedule)
    if (
        any(v != v for v in found.inv_freq)
        or schedule.attention_scaling != schedule.attention_scaling
    ):
        raise Refuses("the converted file holds values from which no number can be computed")
    return replace(found, reader=release.name, pairing=pairing)


def _notes(said: str | None, chosen: list[Schedule]) -> Iterator[Note]:
    if said is not None:
        yield Note("raw_config", f"the converter falls back to the file's JSON: {said}")
    if any(s.variant for s in chosen):
        yield Note(
            "run_time_choice",
            "n_ctx chooses the factor list: the long one where it is above the original length",
        )
