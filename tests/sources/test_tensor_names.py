import math

import pytest

from ropeaudit.sources import tensor_names as names


@pytest.mark.parametrize(
    ("name", "role"),
    [
        ("model.rotary_emb.inv_freq", names.INV_FREQ),
        ("inv_freq", names.INV_FREQ),
        ("model.layers.3.self_attn.rotary_emb.inv_freq", names.INV_FREQ),
        ("model.rotary_emb.sliding_attention_inv_freq", names.INV_FREQ),
        ("model.rotary_emb.full_attention_original_inv_freq", names.INV_FREQ),
        ("model.rotary_emb.long_inv_freq", names.INV_FREQ),
        ("rope.freqs", names.FREQS),
        ("layers.0.blocks.1.attn.rope_freqs", names.FREQS),
        ("rotary_emb.cos_cached", names.COS),
        ("rotary_emb.sin_cached", names.SIN),
        ("rotary_emb.cos_sin_cache", names.COS_SIN),
        ("freqs_cis", names.CIS),
        ("model.encoder.embed_positions", None),
        ("rope_freqs.weight", names.ROPE_FACTORS),
        ("blk.0.rope_freqs.weight", names.ROPE_FACTORS),
        ("rope_factors_long.weight", names.ROPE_FACTORS_LONG),
        ("rope_factors_short.weight", names.ROPE_FACTORS_SHORT),
        ("positional_encoder._primitives", names.LEARNED),
        ("model.position_encoder.generator_raw_params", names.LEARNED),
        ("model.layers.0.self_attn.q_proj.weight", None),
        ("model.rotary_emb.inv_freq_expanded", None),
        ("model.layers.0.mlp.experts.7.down_proj.weight", None),
        ("lm_head.bias", None),
        ("", None),
    ],
)
def test_role_comes_from_the_last_component(name: str, role: str | None) -> None:
    assert names.interesting(name) == role


def test_some_tables_live_in_modules_only() -> None:
    assert names.live_role("transformer.h.0.attn.embed_positions") == names.SIN_COS
    assert names.live_role("model.rotary_emb.inv_freq") == names.INV_FREQ
    assert names.live_role("model.encoder.embed_positions.weight") is None


@pytest.mark.parametrize(
    ("role", "shape", "expected"),
    [
        (names.INV_FREQ, (64,), names.INV_FREQ),
        (names.INV_FREQ, (1, 64), names.INV_FREQ),
        (names.INV_FREQ, (0,), None),
        (names.INV_FREQ, (1 << 30,), None),
        (names.FREQS, (64,), names.INV_FREQ),
        (names.FREQS, (2, 12, 384), names.LEARNED),
        (names.COS, (1, 1, 2048, 128), names.COS),
        (names.COS, (2048, 1, 128), names.COS),
        (names.COS, (128,), None),
        (names.COS_SIN, (2048, 128), names.COS_SIN),
        (names.COS, (2, 3, 4), None),
        (names.ROPE_FACTORS_LONG, (48,), names.ROPE_FACTORS_LONG),
        (names.LEARNED, (8, 64, 64), names.LEARNED),
    ],
)
def test_shape_decides_what_is_read(role: str, shape: tuple[int, ...], expected: str) -> None:
    assert names.readable(role, shape) == expected


def test_cache_rows_ignore_axes_of_length_one() -> None:
    assert names.cache_rows((1, 2048, 1, 64)) == (2048, 64)
    assert names.cache_rows((2048, 1)) == (2048, 1)
    assert names.cache_rows((1, 64)) is None


def test_partner_of_a_cache() -> None:
    assert names.partner("a.cos_cached") == "a.sin_cached"
    assert names.partner("a.sin_cache") == "a.cos_cache"
    assert names.partner("a.inv_freq") is None


@pytest.mark.parametrize("layout", ["single", "halves", "neighbours"])
@pytest.mark.parametrize("scale", [1.0, 1.19])
def test_angles_are_found_once_whatever_the_layout(layout: str, scale: float) -> None:
    thetas = [1.0, 0.1, 0.001]
    wide = {
        "single": thetas,
        "halves": thetas * 2,
        "neighbours": [t for t in thetas for _ in range(2)],
    }[layout]
    found = names.angles(
        [scale * math.cos(t) for t in wide],
        [scale * math.sin(t) for t in wide],
        [scale] * len(wide),
        [0.0] * len(wide),
    )
    assert found == pytest.approx(thetas, rel=1e-12)


def test_rows_that_do_not_start_at_position_zero_give_no_angles() -> None:
    assert names.angles([0.5], [0.8], [0.9], [0.4]) is None


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("model.layers.17.self_attn.rotary_emb.inv_freq", 17),
        ("gpt_neox.layers.5.attention.rotary_emb.inv_freq", 5),
        ("transformer.h.11.attn.rotary.inv_freq", 11),
        ("blk.3.rope_freqs.weight", 3),
        ("visual.blocks.2.attn.inv_freq", 2),
        ("model.rotary_emb.inv_freq", None),
        ("decoder.block.0.layer.4.x", 0),
        ("experts.9.inv_freq", None),
    ],
)
def test_layer_of(name: str, layer: int | None) -> None:
    assert names.layer_of(name) == layer


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("module.model.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
        ("_orig_mod.model.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
        ("model.layers.0._fsdp_wrapped_module.rotary.inv_freq", "model.layers.0.rotary.inv_freq"),
        ("base_model.model.model.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
        ("module._orig_mod.base_model.model.inv_freq", "inv_freq"),
        ("model.rotary_emb.inv_freq", "model.rotary_emb.inv_freq"),
    ],
)
def test_wrappers_disappear(name: str, plain: str) -> None:
    assert names.unwrapped(name) == plain
