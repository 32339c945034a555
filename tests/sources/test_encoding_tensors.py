"""Parameters of learned encodings as tensors that are read on demand, from every kind of source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.errors import SourceError
from ropeaudit.facts import Reading
from ropeaudit.resolve import build, resolve
from ropeaudit.sources import tensor_names as names
from ropeaudit.sources._tensors import array_of
from ropeaudit.sources.opening import open_target
from tests.encodings.make import write

torch = pytest.importorskip("torch")

KEY = "positional_encoder._primitives"
VALUES = np.random.default_rng(0).uniform(0, 1, (2, 4, 4)).astype(np.float32)


def opened(path: Path) -> Reading:
    return open_target(str(path))


@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".bin", ".ckpt", ".chk"])
def test_values_come_exactly_as_stored(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    write(path, {KEY: VALUES, "decoder.weight": np.ones((2, 2), np.float32)})
    (tensor,) = opened(path).tensors
    assert (tensor.name, tensor.shape, tensor.dtype) == (KEY, (2, 4, 4), "float32")
    assert (tensor.location.file, tensor.location.tensor) == (str(path), KEY)
    found = tensor.read()
    assert found.dtype == np.float64
    assert np.array_equal(found, VALUES.astype(np.float64))


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.float64, "float64"),
        (torch.float16, "float16"),
        (torch.bfloat16, "bfloat16"),
        (torch.float8_e4m3fn, "float8_e4m3"),
        (torch.float8_e5m2, "float8_e5m2"),
    ],
)
def test_every_format_is_a_part_of_float64(tmp_path: Path, dtype: Any, name: str) -> None:
    from safetensors.torch import save_file

    stored = torch.from_numpy(VALUES).to(dtype)
    expected = stored.to(torch.float64).numpy()
    save_file({KEY: stored}, tmp_path / "model.safetensors")
    torch.save({KEY: stored}, tmp_path / "model.pt")
    for file in ("model.safetensors", "model.pt"):
        (tensor,) = opened(tmp_path / file).tensors
        assert tensor.dtype == name
        assert np.array_equal(tensor.read(), expected)


@pytest.mark.parametrize(
    "name",
    [
        "positional_encoder._primitives",
        "positional_encoder.identity",
        "positional_encoder.thetas",
        "model.position_encoder.generator_raw_params",
        "blocks.0.attn.positioner.raw_gamma",
        "blocks.0.attn.positioner.raw_eta",
        "blocks.0.attn.positioner.raw_jet_coefficients",
        "blocks.0.attn.positioner.raw_jet_base",
    ],
)
def test_names_of_public_layouts(tmp_path: Path, name: str) -> None:
    assert names.interesting(name) == names.LEARNED
    for file in ("model.safetensors", "model.pt"):
        write(tmp_path / file, {KEY: VALUES, name: VALUES})
        assert name in {t.name for t in opened(tmp_path / file).tensors}


def test_vectors_are_tensors_and_tables_are_not(tmp_path: Path) -> None:
    state = {"rope.freqs": np.ones((2, 3, 4), np.float32), "x.inv_freq": np.ones(4, np.float32)}
    for file in ("model.safetensors", "model.pt"):
        write(tmp_path / file, state)
        assert [t.name for t in opened(tmp_path / file).tensors] == ["rope.freqs"]


def test_other_identities_are_not_ours() -> None:
    assert names.interesting("layer1.0.identity") is None
    assert names.interesting("identity.weight") is None


def test_wrappers_add_no_steps(tmp_path: Path) -> None:
    write(tmp_path / "a.safetensors", {f"module._orig_mod.{KEY}": VALUES})
    (tensor,) = opened(tmp_path / "a.safetensors").tensors
    assert tensor.name == KEY
    assert tensor.location.tensor == f"module._orig_mod.{KEY}"


@pytest.mark.parametrize("wrap", ["state_dict", "model"])
def test_containers_of_training_loops(tmp_path: Path, wrap: str) -> None:
    write(tmp_path / "a.ckpt", {KEY: VALUES}, wrap=wrap)
    (tensor,) = opened(tmp_path / "a.ckpt").tensors
    assert tensor.name == KEY


@pytest.mark.parametrize("key", ["config", "hyper_parameters", "args"])
def test_stored_config(tmp_path: Path, key: str) -> None:
    settings = {"position_method": "jordan_rope", "head_dim": 64, "betas": (0.9, 0.95)}
    content = {"model": {KEY: torch.from_numpy(VALUES)}, key: settings, "step": 3}
    torch.save(content, tmp_path / "a.pt")
    config = opened(tmp_path / "a.pt").stored_config
    assert config is not None
    assert config.data == {**settings, "betas": [0.9, 0.95]}
    assert config.location("/head_dim").file == str(tmp_path / "a.pt")


def test_no_stored_config(tmp_path: Path) -> None:
    write(tmp_path / "a.pt", {KEY: VALUES})
    assert opened(tmp_path / "a.pt").stored_config is None


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
def test_a_file_that_changed_is_not_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    write(path, {KEY: VALUES})
    (tensor,) = opened(path).tensors
    longer = path.with_name(f"other{suffix}")
    write(longer, {KEY: VALUES, "b": np.ones(100, np.float32)})
    longer.replace(path)
    with pytest.raises(SourceError, match="has changed since it was opened"):
        tensor.read()


def test_a_file_that_is_gone_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write(path, {KEY: VALUES})
    (tensor,) = opened(path).tensors
    path.unlink()
    with pytest.raises(SourceError, match="does not exist"):
        tensor.read()


def test_bytes_have_to_fit() -> None:
    with pytest.raises(SourceError, match="has 8 bytes of float32"):
        array_of(b"\0" * 8, "float32", (3,))


class TestFolders:
    def test_config_beside_safetensors(self, tmp_path: Path) -> None:
        write(tmp_path / "model.safetensors", {KEY: VALUES})
        (tmp_path / "config.json").write_text('{"model_type": "none_of_ours"}')
        reading = opened(tmp_path)
        assert [t.name for t in reading.tensors] == [KEY]
        assert reading.document is not None

    def test_config_inside_torch(self, tmp_path: Path) -> None:
        write(tmp_path / "pytorch_model.bin", {KEY: VALUES}, {"position_method": "x"})
        reading = opened(tmp_path)
        assert reading.stored_config.data == {"position_method": "x"}  # type: ignore[union-attr]

    def test_one_training_checkpoint(self, tmp_path: Path) -> None:
        write(tmp_path / "last.ckpt", {KEY: VALUES}, wrap="state_dict")
        assert [t.name for t in opened(tmp_path).tensors] == [KEY]

    def test_several_training_checkpoints(self, tmp_path: Path) -> None:
        for epoch in (1, 2):
            write(tmp_path / f"{epoch}.chk", {KEY: VALUES})
        with pytest.raises(SourceError, match=r"holds 2 checkpoints \(1\.chk, 2\.chk\); name one"):
            opened(tmp_path)

    def test_training_checkpoints_beside_a_model_stay_closed(self, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_text('{"model_type": "llama", "hidden_size": 64}')
        (tmp_path / "1.ckpt").write_bytes(b"no checkpoint at all")
        assert opened(tmp_path).tensors == ()

    def test_several_models_in_one_folder(self, tmp_path: Path) -> None:
        for seed in (0, 1):
            write(tmp_path / f"damped_seed{seed}.pt", {KEY: VALUES})
        with pytest.raises(SourceError, match="several models, name one"):
            opened(tmp_path)


def test_live_modules_bring_their_parameters() -> None:
    class Encoder(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._primitives = torch.nn.Parameter(torch.from_numpy(VALUES))

    model = torch.nn.ModuleDict({"positional_encoder": Encoder()})
    subject = resolve(model)
    assert subject.error is None
    (encoding,) = subject.encodings
    assert np.array_equal(encoding.parameters["_primitives"], VALUES.astype(np.float64))


def test_live_trees_bring_their_start_symbol() -> None:
    class Encoder(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self._primitives = torch.nn.Parameter(torch.ones(5, 4, 4))
            self.identity = torch.nn.Parameter(torch.eye(4)[None, None], requires_grad=False)

    class Block(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.identity = torch.nn.Parameter(torch.ones(3))

    model = torch.nn.ModuleDict({"positional_encoder": Encoder(), "block": Block()})
    subject = resolve(model)
    assert [e.kind for e in subject.encodings] == ["ape-tree"]
    assert subject.reading is not None
    assert {t.name for t in subject.reading.tensors} == {
        "positional_encoder._primitives",
        "positional_encoder.identity",
    }


def test_learned_tensors_that_nobody_recognises_are_said_to_be_there(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write(path, {"arm.thetas": np.ones(4, np.float32)})
    subject = build(opened(path))
    assert subject.encodings == ()
    assert {n.kind for n in subject.notes} == {"learned", "insufficient"}


def test_options_reach_the_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    write(path, {KEY: VALUES})
    (encoding,) = resolve(str(path), encoding={"ape-skew": "tril"}).encodings
    assert encoding.settings["ape-skew"] == "tril"
