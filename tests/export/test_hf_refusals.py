"""What no config can say is refused, with a way out, and leaves nothing behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from ropeaudit.perturb.variant import make
from ropeaudit.resolve import resolve
from tests.export.configs import LLAMA
from tests.export.variants import folder, variant

GEMMA4 = {
    "model_type": "gemma4_text",
    "head_dim": 128,
    "global_head_dim": 256,
    "num_hidden_layers": 6,
    "max_position_embeddings": 4096,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
        "full_attention": {
            "rope_type": "proportional",
            "rope_theta": 1000000.0,
            "partial_rotary_factor": 0.25,
        },
    },
}


@pytest.mark.parametrize(
    ("config", "recipe", "said"),
    [
        (LLAMA | {"auto_map": {"AutoModel": "x.Y"}}, "int8:sym", r"code of its own \(auto_map\)"),
        (LLAMA | {"model_type": "novel"}, "int8:sym", "is not one that transformers knows"),
        (LLAMA, "int8:sym@layers=0-0", "cannot hold two tables"),
        (GEMMA4, "int8:sym", "differ in shape"),
        (
            {
                "model_type": "gptj",
                "n_embd": 256,
                "n_head": 2,
                "n_layer": 2,
                "rotary_dim": 64,
                "n_positions": 2048,
            },
            "int8:sym",
            "builds one kind of table|no settings of this config",
        ),
    ],
)
def test_what_cannot_be_said_is_refused(
    tmp_path: Path, config: dict[str, Any], recipe: str, said: str
) -> None:
    source = folder(tmp_path / "model", config)
    subject, made = variant(source, recipe)
    with pytest.raises(UsageError, match=said) as caught:
        write(made, f"hf={tmp_path / 'out'}", source=subject)
    assert "--to FILE.safetensors" in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    written = write(made, str(tmp_path / "patch.safetensors"), source=subject)
    assert written.schedules == made.schedules


@pytest.mark.parametrize("name", ["t.safetensors", "t.json"])
def test_sources_that_are_no_model_folder(tmp_path: Path, name: str) -> None:
    subject, made = variant(folder(tmp_path / "model", LLAMA), "int8:sym")
    write(made, str(tmp_path / name), source=subject)
    table, again = variant(tmp_path / name, "int4:sym")
    with pytest.raises(UsageError, match=r"needs a model folder with a config\.json"):
        write(again, f"hf={tmp_path / 'out'}", source=table)


def test_overrides_are_refused(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject = resolve(str(source), overrides=["rope_theta=5"])
    with pytest.raises(UsageError, match="leave the overrides out"):
        write(make(subject.schedules, "int8:sym"), f"hf={tmp_path / 'out'}", source=subject)
