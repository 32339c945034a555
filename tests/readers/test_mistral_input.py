"""Foreign keys and impossible values in ``params.json``: named, or one clear error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Oddity
from tests.params_json import LLAMA2, LLAMA31, MINISTRAL, resolve, without


def test_foreign_and_misspelt_keys_are_named() -> None:
    result = resolve(
        {
            **without(MINISTRAL, "rope_theta"),
            "rope_thetas": 5e5,
            "rope_scaling": {"type": "yarn"},
            "rope_parameters": None,
            "yarn": {**MINISTRAL["yarn"], "mscale": 1.0},  # type: ignore[dict-item]
        }
    )
    seen = {(o.kind, o.location.pointer) for o in result.observations if o.location}
    assert (Oddity.KEY_MISSPELT, "/rope_thetas") in seen
    assert (Oddity.KEY_IGNORED, "/rope_scaling") in seen
    assert (Oddity.KEY_IGNORED, "/yarn/mscale") in seen
    assert not any("rope_parameters" in str(p) for _, p in seen)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"rope_theta": "1e6"}, "/rope_theta"),
        ({"rope_theta": -1.0}, "/rope_theta"),
        ({"rope_theta": True}, "/rope_theta"),
        ({"head_dim": 128.5}, "/head_dim"),
        ({"head_dim": 10**30}, "/head_dim"),
        ({"n_layers": 10**9}, "/n_layers"),
        ({"yarn": [1]}, "/yarn"),
        ({"yarn": {"factor": 4}}, "/yarn/original_max_position_embeddings"),
        ({"yarn": {"original_max_position_embeddings": 4096}}, "/yarn/factor"),
        ({"sliding_window": ["x"]}, "/sliding_window"),
        ({"sliding_window": [10**398]}, "/sliding_window"),
        ({"sliding_window": [*range(1, 100)], "n_layers": 99}, "/sliding_window"),
        ({"max_position_embeddings": 0}, "/max_position_embeddings"),
        ({"vision_encoder": {"hidden_size": 100, "num_attention_heads": 3}}, "/vision_encoder"),
    ],
)
def test_a_value_that_gives_no_table_is_one_clear_error(change: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        resolve({**MINISTRAL, **change})
    assert caught.value.where == where
    assert "\n" not in str(caught.value)


def test_an_indivisible_width_is_an_error() -> None:
    with pytest.raises(InvalidValue, match="not a multiple"):
        resolve({"dim": 100, "n_heads": 7, "n_layers": 1})


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["factor", "beta"]), inner)
    ),
    max_leaves=6,
)
_keys = st.sampled_from(
    [
        *MINISTRAL,
        "use_scaled_rope",
        "rope_scaling_factor",
        "nope_layer_interval",
        "sliding_window",
        "qk_rope_head_dim",
        "vision_encoder",
        "multimodal",
        "max_seq_len",
    ]
)


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.dictionaries(_keys, _json, max_size=4), st.sampled_from([MINISTRAL, LLAMA31, LLAMA2]))
def test_any_values_give_a_table_or_one_clear_error(
    change: dict[str, Any], start: dict[str, Any]
) -> None:
    try:
        result = resolve({**start, **change})
    except InvalidValue:
        return
    names = [s.name for s in result.schedules]
    assert len(names) == len(set(names))
    assert all(2 * len(s.inv_freq) == s.rotary_dim for s in result.schedules)
    assert result.schedules or result.notes
