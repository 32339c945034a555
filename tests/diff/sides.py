"""Sides of a comparison, written to files from what a fixture says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ropeaudit.schedule.families import Inputs, family
from ropeaudit.schedule.float32 import round_to
from tests.gguf_files import write as write_gguf


def side(spec: dict[str, Any], folder: Path) -> str:
    """The target of one side: a config, a params.json, a GGUF file or a bare table."""
    folder.mkdir(parents=True, exist_ok=True)
    if "config" in spec:
        return _json(folder / "config.json", spec["config"])
    if "params" in spec:
        return _json(folder / "params.json", spec["params"])
    if "table" in spec:
        return _json(folder / "table.json", table(spec["table"]))
    keys = dict(spec["gguf"])
    architecture = keys.pop("general.architecture")
    bare = {k.removeprefix(f"{architecture}."): v for k, v in keys.items()}
    return str(write_gguf(folder / "model.gguf", architecture, bare, spec.get("tensors")))


def _json(path: Path, data: Any) -> str:
    path.write_text(json.dumps(data))
    return str(path)


def table(spec: dict[str, Any]) -> list[Any]:
    """Frequencies by a law, then cast, scaled, cut to the first ones, and single values replaced.

    NaN is the word ``nan``, as the tool itself writes it.
    """
    law = family(spec["rope_type"])
    assert law is not None
    inputs = Inputs(rope_theta=spec["rope_theta"], rotary_dim=spec["dim"], head_dim=spec["dim"])
    values: list[Any] = list(law.build(inputs).inv_freq)
    values = [round_to(v, spec["cast"]) if "cast" in spec else v for v in values]
    values = [v * spec.get("scale", 1.0) for v in values[: spec.get("first")]]
    for k, value in spec.get("set", {}).items():
        values[int(k)] = value
    return values
