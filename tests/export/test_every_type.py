"""Every text model type of the installed transformers: its config class takes the written config.

The default config of each class is written as a variant, loaded again, and its rotary module built:
the buffers are the wanted tables, or the export said beforehand that they could not be.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from ropeaudit.resolve import resolve
from ropeaudit.schedule import model_types
from tests.export.variants import same_shape, variant

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

pytestmark = pytest.mark.slow

REFUSED = {
    "builds one kind of table",
    "differ in shape",
    "knows only",
    "accepts the plain type alone",
    "tells its layers apart",
    "no config can be written that is known to work",
    "no settings of this config",
    "a plain table of its rotary width has",
}


def text_types() -> list[str]:
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
    found = []
    for name in model_types.names():
        spec = model_types.lookup(name) or {}
        if name in known and "rope" in spec and spec.get("component", "text") == "text":
            found.append(name)
    return found


def default(name: str) -> Any:
    return transformers.models.auto.configuration_auto.CONFIG_MAPPING[name]()


def rotary(config: Any, module: str) -> dict[str | None, tuple[float, ...]]:
    """The tables of the model type's own rotary module, by layer type."""
    home = type(config).__module__.replace("configuration", "modeling")
    made = getattr(importlib.import_module(home), module)(config=config)
    found = {}
    for name, buffer in made.named_buffers():
        if name.endswith("inv_freq") and "original" not in name:
            label = name.removesuffix("inv_freq").removesuffix("_") or None
            found[label] = tuple(buffer.tolist())
    return found


@pytest.mark.parametrize("name", text_types())
@pytest.mark.parametrize("recipe", ["noise:eps=0.05,seed=2", "int8:affine"])
def test_the_class_builds_the_wanted_tables(tmp_path: Path, name: str, recipe: str) -> None:
    module = (model_types.lookup(name) or {})["rope"].get("module")
    try:
        config = default(name)
        before = rotary(config, module)
    except (AttributeError, ImportError, TypeError, KeyError) as error:
        pytest.skip(f"the class does not build by default: {error}")
    source = tmp_path / "model"
    source.mkdir()
    (source / "config.json").write_text(json.dumps(config.to_dict()))
    if not any(s.is_text for s in resolve(str(source)).built()):
        pytest.skip("the default config does not rotate")
    subject, made = variant(source, recipe)
    try:
        write(made, f"hf={tmp_path / 'out'}", source=subject)
    except UsageError as error:
        assert any(said in str(error) for said in REFUSED), error
        return
    loaded = transformers.AutoConfig.from_pretrained(tmp_path / "out")
    held = rotary(loaded, module)
    assert held.keys() == before.keys()
    short = [s for s in made.schedules if s.variant != "long" and s.component == "text"]
    for wanted in short:
        table = held.get(wanted.layer_type) or held[None]
        same_shape(wanted, table)
