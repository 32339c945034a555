"""The real client against a hub on loopback, which counts the bytes that it hands out."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ropeaudit
from ropeaudit.errors import (
    InvalidValue,
    SourceError,
)
from ropeaudit.sources.opening import open_target
from tests.sources.hub_models import CONFIG, NAME, SMALL, TABLE, WEIGHT, read, safetensors
from tests.sources.hub_server import COMMIT, Hub

pytest.importorskip("huggingface_hub")


def test_config_and_table_without_a_weight(hub: Hub) -> None:
    hub.repos["org/name"] = {
        "config.json": json.dumps(CONFIG).encode(),
        "model.safetensors": SMALL,
        "tokenizer.json": b"x" * 100_000,
    }
    reading = read("hf:org/name")
    assert reading.format == "hub"
    assert reading.target == "hf:org/name"
    assert reading.document.data == CONFIG
    assert reading.document.file == "hf:org/name/config.json"
    (table,) = reading.tables
    assert table.values == struct.unpack("<8f", TABLE)
    assert (table.location.tensor, table.location.file, table.layer) == (
        NAME,
        "hf:org/name/model.safetensors",
        0,
    )
    weights = range(SMALL.index(WEIGHT), SMALL.index(WEIGHT) + len(WEIGHT))
    for first, count in hub.sent("model.safetensors"):
        assert first + count <= weights.start or first >= weights.stop
    assert hub.sent("tokenizer.json") == []
    received = {f.path: f.bytes_read for f in reading.files}
    assert received["hf:org/name/model.safetensors"] == sum(
        n for _, n in hub.sent("model.safetensors")
    )
    assert sum(n for _, _, n in hub.served) < 2_000
    assert COMMIT in reading.notes[0].message


def test_everything_comes_from_the_resolved_commit(hub: Hub) -> None:
    hub.repos["org/name"] = {"config.json": json.dumps(CONFIG).encode()}
    assert read("hf:org/name@v1").document.data == CONFIG
    paths = [path for path, _ in hub.requests]
    assert paths == [
        "/api/models/org/name/revision/v1",
        f"/org/name/resolve/{COMMIT}/config.json",
    ]


def test_ranges_survive_the_redirect_to_a_store(hub: Hub) -> None:
    hub.redirect = True
    hub.repos["org/name"] = {"model.safetensors": SMALL}
    reading = read("hf:org/name")
    assert len(reading.tables) == 1
    assert reading.document is None
    assert sum(n for path, _, n in hub.served if path.startswith("/cdn/")) < 1_000


def sharded(count: int) -> dict[str, bytes]:
    names = [f"model-{i:05}-of-{count:05}.safetensors" for i in range(count)]
    files = {
        n: safetensors({
            f"model.layers.{i}.w": ([500, 500], WEIGHT),
            f"model.layers.{i}.rotary_emb.inv_freq": ([8], TABLE),
        })
        for i, n in enumerate(names[:-1])
    }  # fmt: skip
    files[names[-1]] = safetensors({"lm_head.weight": ([500, 500], WEIGHT)})
    weight_map = {f"model.layers.{i}.rotary_emb.inv_freq": n for i, n in enumerate(names[:-1])}
    weight_map |= {"lm_head.weight": names[-1]}
    index = json.dumps({"metadata": {}, "weight_map": weight_map}).encode()
    return files | {"model.safetensors.index.json": index}


def test_only_shards_with_tables_are_touched(hub: Hub) -> None:
    hub.repos["org/name"] = sharded(12)
    reading = read("hf:org/name")
    assert [t.layer for t in reading.tables] == list(range(11))
    assert hub.sent("model-00011-of-00012.safetensors") == []
    assert sum(n for _, _, n in hub.served) < 20_000


@pytest.mark.parametrize("shard", [5, None, ["x"]])
def test_index_that_names_no_file(hub: Hub, shard: Any) -> None:
    index = json.dumps({"weight_map": {"a.inv_freq": shard}}).encode()
    files = {"config.json": json.dumps(CONFIG).encode(), "model.safetensors.index.json": index}
    hub.repos["org/name"] = files
    with pytest.raises(InvalidValue, match="expected the name of a file"):
        read("hf:org/name")


def test_index_that_names_an_absent_shard(hub: Hub) -> None:
    files = sharded(3)
    del files["model-00001-of-00003.safetensors"]
    hub.repos["org/name"] = files
    with pytest.raises(SourceError, match="which the repository does not hold"):
        read("hf:org/name")


def test_caches_need_two_rows_only(hub: Hub) -> None:
    rows = struct.pack("<8f", 1, 1, 1, 1, *([0.5403023058681398] * 4)) + bytes(4 * 4 * 10_000)
    sines = struct.pack("<8f", 0, 0, 0, 0, *([0.8414709848078965] * 4)) + bytes(4 * 4 * 10_000)
    content = safetensors({"cos_cached": ([10_002, 4], rows), "sin_cached": ([10_002, 4], sines)})
    hub.repos["org/name"] = {"model.safetensors": content}
    (table,) = read("hf:org/name").tables
    assert table.values == pytest.approx((1.0, 1.0), rel=1e-7)
    assert sum(n for _, n in hub.sent("model.safetensors")) < 500


def test_params_json_and_pipelines(hub: Hub) -> None:
    params = {"dim": 64, "n_layers": 2, "n_heads": 4, "rope_theta": 1e6}
    hub.repos["mistral/one"] = {"params.json": json.dumps(params).encode()}
    hub.repos["org/pipeline"] = {
        "model_index.json": b"{}",
        "transformer/config.json": json.dumps(CONFIG).encode(),
        "transformer/diffusion_pytorch_model.safetensors": SMALL,
        "vae/diffusion_pytorch_model.safetensors": b"not read",
    }
    assert read("hf:mistral/one").document.data == params
    reading = read("hf:org/pipeline")
    assert reading.document.data == CONFIG
    assert len(reading.tables) == 1


def test_the_whole_pipeline(hub: Hub) -> None:
    params = {"dim": 64, "n_layers": 2, "n_heads": 4, "rope_theta": 1e6, "head_dim": 16}
    hub.repos["mistral/one"] = {"params.json": json.dumps(params).encode()}
    lost = CONFIG | {"num_hidden_layers": 2, "rope_theta": 5e5, "max_position_embeddings": 4096}
    hub.repos["org/name"] = {
        "config.json": json.dumps(lost).encode(),
        "model.safetensors": SMALL,
    }
    report = ropeaudit.audit("hf:mistral/one", "hf:org/name", "hf:org/absent")
    mistral, broken, absent = report.subjects
    assert [s.rope_theta for s in mistral.subject.schedules] == [1e6]
    assert broken.subject.format == "hub"
    assert "RA401" in {f.rule for f in broken.findings}
    assert absent.subject.error is not None
    assert report.exit_code == 2


def test_pytorch_weights_are_left_alone(hub: Hub) -> None:
    files = {"config.json": json.dumps(CONFIG).encode(), "pytorch_model.bin": b"x" * 10_000}
    hub.repos["org/name"] = files
    reading = read("hf:org/name")
    assert [n.kind for n in reading.notes] == ["revision", "torch_skipped"]
    assert hub.sent("pytorch_model.bin") == []


def test_an_adapter_leads_to_its_base(hub: Hub) -> None:
    adapter = {"base_model_name_or_path": "org/base", "peft_type": "LORA"}
    hub.repos["me/lora"] = {"adapter_config.json": json.dumps(adapter).encode()}
    hub.repos["org/base"] = {"config.json": json.dumps(CONFIG).encode()}
    reading = read("hf:me/lora")
    assert (reading.target, reading.document.data) == ("hf:me/lora", CONFIG)
    assert reading.notes[0].kind == "adapter"
    adapter["base_model_name_or_path"] = "/home/me/base"
    hub.repos["me/lora"] = {"adapter_config.json": json.dumps(adapter).encode()}
    assert [n.kind for n in read("hf:me/lora").notes] == ["adapter", "insufficient"]
    adapter["base_model_name_or_path"] = "me/lora"
    hub.repos["me/lora"] = {"adapter_config.json": json.dumps(adapter).encode()}
    with pytest.raises(InvalidValue, match="name the base model"):
        read("hf:me/lora")


def test_an_existing_path_wins(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "hf:org" / "name"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    assert open_target("hf:org/name").format == "hf-config"
    assert hub.requests == []


def test_the_environment_is_honoured_in_a_new_process(hub: Hub) -> None:
    hub.repos["org/name"] = {"config.json": json.dumps(CONFIG).encode()}
    code = (
        "from ropeaudit.sources import hub; "
        "print(hub.read('hf:org/name', offline=False).document.data['model_type'])"
    )
    env = {**os.environ, "HF_ENDPOINT": hub.url}
    run = [sys.executable, "-c", code]
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    assert done.stdout == "llama\n", done.stderr
    env["HF_HUB_OFFLINE"] = "1"
    before = len(hub.requests)
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    assert "HF_HUB_OFFLINE forbids it" in done.stderr
    assert len(hub.requests) == before


def test_parameters_of_encodings_are_fetched_when_they_are_read(hub: Hub) -> None:
    numpy = pytest.importorskip("numpy")
    values = numpy.arange(32, dtype=numpy.float32).reshape(2, 4, 4)
    name = "positional_encoder._primitives"
    hub.repos["org/name"] = {
        "model.safetensors": safetensors({name: ([2, 4, 4], values.tobytes())}, pad=8)
    }
    (tensor,) = read("hf:org/name").tensors
    before = sum(n for _, n in hub.sent("model.safetensors"))
    assert (tensor.name, tensor.location.file) == (name, "hf:org/name/model.safetensors")
    assert numpy.array_equal(tensor.read(), values)
    assert sum(n for _, n in hub.sent("model.safetensors")) == before + values.nbytes
