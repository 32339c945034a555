"""Model folders without weights of any use, and variants of what they hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from ropeaudit.export.interface import Written
from ropeaudit.export.writing import write
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import ulp_distance
from ropeaudit.schedule.subject import Subject


def folder(path: Path, config: dict[str, Any]) -> Path:
    """A model folder with a config, one weight file, a tokenizer and a file in a subfolder."""
    (path / "inner").mkdir(parents=True)
    (path / "config.json").write_text(json.dumps(config))
    (path / "tokenizer.json").write_text("{}")
    (path / "inner" / "pooling.json").write_text("{}")
    save_file({"w": np.zeros(4, np.float32)}, path / "model.safetensors")
    return path


def variant(path: Path, recipe: str) -> tuple[Subject, Variant]:
    subject = resolve(str(path))
    assert subject.error is None, subject.error
    return subject, make(subject.schedules, recipe)


def exported(path: Path, config: dict[str, Any], recipe: str) -> tuple[Written, dict[str, Any]]:
    """What was written for a recipe on a config, and the written config."""
    source = folder(path / "model", config)
    subject, made = variant(source, recipe)
    written = write(made, f"hf={path / 'out'}", source=subject)
    return written, json.loads((path / "out" / "config.json").read_text())


def same_shape(wanted: Schedule, found: tuple[float, ...], most: int = 2) -> None:
    """Within ``most`` float32 steps, equal channels equal, distinct ones distinct, zeros zero."""
    pairs = set(zip(wanted.inv_freq, found, strict=True))
    assert max(ulp_distance(a, b) or 0 for a, b in pairs) <= most
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert all((a == 0) == (b == 0) for a, b in pairs)
