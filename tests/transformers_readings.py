"""Configs given as fields, and what the reader of transformers makes of them."""

from __future__ import annotations

from typing import Any

from ropeaudit.document import Document
from ropeaudit.facts import Observation, Oddity, Reading
from ropeaudit.readers import transformers as reader
from ropeaudit.readers.interface import Resolution
from ropeaudit.schedule.core import Schedule

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def read(lengths: tuple[int, ...] = (), /, **data: Any) -> Resolution:
    data.setdefault("model_type", "llama")
    document = Document("config.json", data)
    return reader.read(Reading(target="t", format="hf-config", document=document), lengths)


def only(resolution: Resolution) -> Schedule:
    (schedule,) = resolution.schedules
    return schedule


def named(resolution: Resolution) -> dict[str, Schedule]:
    return {s.name: s for s in resolution.schedules}


def seen(resolution: Resolution, kind: Oddity) -> list[Observation]:
    return [o for o in resolution.observations if o.kind is kind]
