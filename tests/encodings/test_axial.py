"""Axial 2-D RoPE: what Swin stores, what a name states, and the options where nothing does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.document import Document
from ropeaudit.encodings import axial
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import UsageError
from ropeaudit.resolve import resolve
from tests.encodings import layouts_rope_vit as layouts
from tests.encodings.make import recognised, write
from tests.encodings.peers import assert_torch_agrees, positions
from tests.encodings.vectors import VECTORS

DEIT, SWIN = VECTORS["axial_rope_vit_deit"], VECTORS["axial_rope_vit_swin"]


def named(name: str, **more: Any) -> tuple[Encoding, ...]:
    """What a config says that names a model and nothing else."""
    document = Document("config.json", {"architecture": name, **more})
    return tuple(axial.recognise(Sources(document=document)))


def asked(**options: str) -> Encoding:
    (found,) = axial.recognise(Sources(options={"method": "axial", **options}))
    return found


def test_the_deit_vector() -> None:
    (encoding,) = named("vit_base_patch16_rope_224")
    assert (encoding.kind, encoding.heads, encoding.head_dim) == ("rope-axial", 12, 64)
    w = axial.spectrum(encoding).w
    assert w.shape == (1, 1, DEIT["channels"], 2)
    assert w[0, 0, :16, 0] == pytest.approx(DEIT["per_axis"], rel=1e-15)
    assert w[0, 0, 16:, 1] == pytest.approx(DEIT["per_axis"], rel=1e-15)
    assert not w[0, 0, :16, 1].any()
    assert not w[0, 0, 16:, 0].any()
    assert np.unique(w[0, 0], axis=0).shape == (32, 2)
    lengths = np.linalg.norm(w[0, 0], axis=-1)
    assert np.unique(lengths, return_counts=True)[1].max() == DEIT["max_cluster_scalar_by_design"]


def test_swin_stores_zeros_that_are_none() -> None:
    (encoding,) = recognised(layouts.swin((3,), 2, axial=True))
    assert (encoding.kind, encoding.module) == ("rope-axial", "axial")
    assert (encoding.heads, encoding.layers, encoding.head_dim) == (3, (0, 1), 32)
    stored = encoding.parameters["freqs"]
    assert stored[0, 0, 0, 8] == SWIN["stored_zero_in_float32"]
    assert stored[0, 0, 0, :8] == pytest.approx(SWIN["per_axis"], rel=1e-6)
    assert stored[1, 0, 0, 8:] == pytest.approx(SWIN["per_axis"], rel=1e-6)
    w = axial.spectrum(encoding).w
    assert (w[..., 8:, 1] > 0).all()  # its sign is not that of the tiny zero
    assert np.array_equal(
        axial.rebuilt(encoding, axial.spectrum(encoding)).parameters["freqs"], stored
    )


def test_stopped_planes_leave_an_axial_table_axial() -> None:
    """A quantiser stops the slowest planes; one that stops a whole axis leaves nothing to tell."""
    state = layouts.swin((3,), 1, axial=True)
    (name,) = (n for n in state if n.endswith("rope_freqs"))
    stored = np.asarray(state[name])
    slow = stored.copy()
    slow[..., 5:8] = slow[..., 13:] = 0.0
    (encoding,) = recognised(state | {name: slow})
    assert encoding.kind == "rope-axial"
    assert np.array_equal(encoding.parameters["freqs"][:, 0], slow)
    half = stored.copy()
    half[..., :8] = 0.0
    assert [e.kind for e in recognised(state | {name: half})] == ["rope-mixed"]


def test_swin_by_name_equals_swin_stored() -> None:
    stated = named("swin_rope_axial_tiny_patch4_window7_224")
    assert [e.heads for e in stated] == [3, 6, 12, 24]
    assert stated[0].positions.trained == (7, 7)
    assert stated[0].settings["theta"] == 50.0
    stored = recognised(layouts.swin((3,), 1, axial=True))[0]
    for head in range(3):
        assert stored.parameters["freqs"][:, 0, head] == pytest.approx(
            stated[0].parameters["freqs"][:, 0, 0], abs=1e-7
        )


@pytest.mark.parametrize(
    ("name", "heads", "grid"),
    [
        ("vit_small_patch16_rope_224", 6, (14, 14)),
        ("vit_large_patch16_rope_ape_224.naver_in1k", 16, (14, 14)),
        ("rope_axial_deit_small_patch16_LS", 6, (14, 14)),
        ("rope_axial_ape_deit_base_patch16_LS", 12, (14, 14)),
    ],
)
def test_names(name: str, heads: int, grid: tuple[int, int]) -> None:
    (encoding,) = named(name)
    assert (encoding.heads, encoding.positions.trained) == (heads, grid)
    assert encoding.settings["theta"] == 100.0
    assert encoding.assumed == frozenset()
    assert encoding.provenance[0].value == name
    assert str(encoding.provenance[0].location) == "config.json /architecture"


def test_the_size_of_the_images_in_the_config_wins() -> None:
    (encoding,) = named("vit_base_patch16_rope_224", pretrained_cfg={"input_size": [3, 384, 512]})
    assert encoding.positions.trained == (32, 24)  # columns, rows


@pytest.mark.parametrize(
    "name",
    ["vit_base_patch16_rope_mixed_224", "rope_mixed_deit_small_patch16_LS", "vit_base_patch16_224",
     "vit_base_patch16_rope_reg1_gap_256", "swin_rope_mixed_tiny_patch4_window7_224"],
)  # fmt: skip
def test_nothing_is_said_where_nothing_is_stated(name: str) -> None:
    assert named(name) == ()


def test_a_config_resolves_to_an_encoding(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(layouts.timm_config("vit_small_patch16_rope_224")))
    subject = resolve(str(path))
    assert [e.kind for e in subject.encodings] == ["rope-axial"]
    assert (subject.error, subject.schedules, subject.notes) == (None, (), ())


def test_stored_vectors_are_no_learned_schedule_besides(tmp_path: Path) -> None:
    path = tmp_path / "swin.safetensors"
    write(path, layouts.swin((3, 6), 2))
    subject = resolve(str(path))
    assert [e.name for e in subject.encodings] == ["rope-mixed.stage0", "rope-mixed.stage1"]
    assert (subject.schedules, subject.notes) == ((), ())


def test_weights_win_over_the_name() -> None:
    config = layouts.timm_config("vit_small_patch16_rope_224")
    (encoding,) = recognised(layouts.timm(1), config)
    assert encoding.kind == "rope-mixed"


def test_options() -> None:
    encoding = asked(**{"head-dim": "64", "heads": "12", "grid": "14"})
    assert encoding.heads == 12
    assert encoding.assumed == {"theta"}
    assert axial.spectrum(encoding).w[0, 0, :16, 0] == pytest.approx(DEIT["per_axis"])
    swin = asked(**{"head-dim": "32", "theta": "50"})
    assert swin.assumed == frozenset()
    assert axial.spectrum(swin).w[0, 0, :8, 0] == pytest.approx(SWIN["per_axis"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "method=axial needs the head size, and head-dim is missing"),
        ({"head-dim": "66"}, "head-dim is 66; expected a multiple of 4"),
        ({"head-dim": "64", "theta": "-1"}, "theta is -1, expected a number from 1e-6 to 1e15"),
        ({"head-dim": "64", "theta": "nan"}, "theta is nan, expected a number from 1e-6 to 1e15"),
        ({"head-dim": "64", "heads": "0"}, "heads is 0, expected a whole number from 1"),
    ],
)
def test_options_that_do_not_suffice(options: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        asked(**options)


def test_torch_agrees_and_trains_nothing() -> None:
    (encoding,) = named("rope_axial_deit_small_patch16_LS")
    module = assert_torch_agrees(encoding, positions(2, (0, 0), (3, 1), (13, 7)))
    assert list(module.parameters()) == []
    assert [n for n, _ in module.named_buffers()] == ["freqs"]
