"""Files that transformers refuses: we show the tables, and say who stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.resolve import resolve

SU = {
    "model_type": "phi3",
    "hidden_size": 192,
    "num_attention_heads": 4,
    "max_position_embeddings": 131072,
    "original_max_position_embeddings": 4096,
    "rope_scaling": {"type": "su", "short_factor": [1.0] * 24, "long_factor": [2.0] * 24},
}
REFUSED = {
    "su": SU,
    "falcon": {
        "model_type": "falcon",
        "hidden_size": 512,
        "num_attention_heads": 4,
        "head_dim": 64,
    },
    "modernbert": {
        "model_type": "modernbert",
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e5},
    },
}
LOADED = {
    "longrope": {**SU, "rope_scaling": {**SU["rope_scaling"], "type": "longrope"}},  # type: ignore[dict-item]
    "falcon": {"model_type": "falcon", "hidden_size": 512, "num_attention_heads": 4},
    "modernbert": {"model_type": "modernbert"},
    "modernbert nested": {
        "model_type": "modernbert",
        "rope_parameters": {
            kind: {"rope_type": "default", "rope_theta": 1e5}
            for kind in ("full_attention", "sliding_attention")
        },
    },
}


def write(config: dict[str, Any], folder: Path) -> str:
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


@pytest.mark.parametrize("name", REFUSED)
def test_a_refused_file_is_shown_with_a_note(name: str, tmp_path: Path) -> None:
    subject = resolve(write(REFUSED[name], tmp_path))
    assert subject.schedules
    assert [n.kind for n in subject.notes].count("engine_refuses") == 1


@pytest.mark.parametrize("name", LOADED)
def test_a_loaded_file_draws_no_such_note(name: str, tmp_path: Path) -> None:
    subject = resolve(write(LOADED[name], tmp_path))
    assert "engine_refuses" not in [n.kind for n in subject.notes]


@pytest.mark.parametrize("config", [*REFUSED.values(), *LOADED.values()])
def test_transformers_agrees_on_who_is_refused(config: dict[str, Any], tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    transformers.logging.set_verbosity_error()
    target = write(config, tmp_path)
    said = "engine_refuses" in [n.kind for n in resolve(target).notes]
    try:
        transformers.AutoConfig.from_pretrained(target)
    except Exception:
        assert said
    else:
        assert not said


MIXTRAL = {
    "model_type": "mixtral",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "max_position_embeddings": 8192,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}


@pytest.mark.parametrize("head", [{}, {"head_dim": None}, {"head_dim": 128}])
@pytest.mark.parametrize("scaling", [YARN, {"rope_type": "linear", "factor": 4.0}])
def test_a_head_width_that_stays_none(head: Any, scaling: Any, tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    transformers.logging.set_verbosity_error()
    target = write({**MIXTRAL, **head, "rope_scaling": scaling}, tmp_path)
    subject = resolve(target)
    assert subject.schedules
    said = "engine_refuses" in [n.kind for n in subject.notes]
    config = transformers.AutoConfig.from_pretrained(target)
    try:
        ROPE_INIT_FUNCTIONS[scaling["rope_type"]](config)
    except TypeError:
        assert said
    else:
        assert not said
