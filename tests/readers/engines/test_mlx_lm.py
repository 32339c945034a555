"""mlx-lm's reader: what its model files do with raw configs."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import InvalidValue
from ropeaudit.readers.engines import mlx_lm
from ropeaudit.readers.engines._mlx_checks import CHECKS
from ropeaudit.readers.engines._mlx_layers import KINDS as BY_LAYER
from ropeaudit.readers.engines._mlx_special import KINDS
from ropeaudit.readers.engines._mlx_turning import RULES
from ropeaudit.readers.engines.interface import NotCovered, Refuses
from ropeaudit.records import replace
from tests.engine_rows import build, disagreements, raw_request, refusal
from tests.engine_vectors import request, vectors
from tests.oracles.engines.mlx_configs import config_of, draw

NEW, OLD = "mlx-lm-0.32", "mlx-lm-0.28"
LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 2, "intermediate_size": 256,
    "num_attention_heads": 4, "rms_norm_eps": 1e-6, "vocab_size": 128, "rope_theta": 500000.0,
    "max_position_embeddings": 8192,
}  # fmt: skip
FAMILIES = sorted(
    name for name, e in mlx_lm.families().items() if e["rope"] and not e["rope"].get("still")
)


@pytest.mark.parametrize(("release", "least"), [(NEW, 160), (OLD, 150)])
def test_agrees_with_the_engine_on_random_configs_of_every_family(release: str, least: int) -> None:
    wrong, tables = disagreements(mlx_lm, release, draw)
    assert wrong == []
    assert tables >= least


def test_every_rule_of_the_family_data_is_known() -> None:
    for name, entry in mlx_lm.families().items():
        for rule in (entry["rope"], entry.get("rope28")):
            if rule is None:
                continue
            assert rule.get("kind") in {None, *KINDS, *BY_LAYER}, name
            assert rule.get("l") in {None, *RULES}, name
            assert rule.get("check") in {None, *CHECKS}, name
            assert rule.get("wrap") in {None, *mlx_lm.families()}, name


def test_a_file_of_the_new_schema_runs_on_the_class_default() -> None:
    config = {k: v for k, v in LLAMA.items() if k != "rope_theta"}
    config["rope_parameters"] = {"rope_type": "default", "rope_theta": 500000.0}
    built = build(mlx_lm, NEW, config)
    assert built.schedules[0].rope_theta == 10000
    assert built.ignored == ("/rope_parameters",)


def test_what_agrees_with_the_tables_is_not_called_ignored() -> None:
    same = {"rope_type": "default", "rope_theta": 500000.0}
    assert build(mlx_lm, NEW, {**LLAMA, "rope_parameters": same}).ignored == ()


def test_keys_that_yarn_passes_over_are_named() -> None:
    yarn = {
        "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048,
        "attention_factor": 1.0, "truncate": False,
    }  # fmt: skip
    built = build(mlx_lm, NEW, {**LLAMA, "rope_scaling": yarn})
    assert built.ignored == ("/rope_scaling/attention_factor", "/rope_scaling/truncate")
    assert built.schedules[0].attention_scaling == pytest.approx(1.138629, abs=1e-6)


def test_the_releases_differ_in_dynamic_scaling() -> None:
    config = {**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    assert [s.name for s in build(mlx_lm, NEW, config).schedules] == ["text/@8192", "text/@16384"]
    assert "dynamic" in refusal(mlx_lm, OLD, config)


def test_lengths_that_were_asked_for_replace_the_declared_one() -> None:
    config = {**LLAMA, "rope_scaling": {"type": "dynamic", "factor": 2.0}}
    built = mlx_lm.build(raw_request(config, (4096, 20000)), mlx_lm.RELEASES[0])
    assert [s.variant for s in built.schedules] == ["@4096", "@20000"]
    assert built.schedules[0].inv_freq[-1] > built.schedules[1].inv_freq[-1]


def test_refusals_name_what_is_missing() -> None:
    assert "rope_theta" not in refusal(mlx_lm, NEW, {"model_type": "llama"})
    assert "hidden_size" in refusal(mlx_lm, NEW, {"model_type": "llama"})
    assert "bert" in refusal(mlx_lm, NEW, {"model_type": "bert"})
    assert "model_type" in refusal(mlx_lm, NEW, {})
    assert "base" not in refusal(mlx_lm, NEW, {**LLAMA, "rope_theta": "big"})


def test_of_an_excerpt_only_missing_position_keys_count() -> None:
    excerpt = {k: v for k, v in LLAMA.items() if k not in ("vocab_size", "intermediate_size")}
    built = build(mlx_lm, NEW, excerpt)
    assert [s.rope_theta for s in built.schedules] == [500000.0]
    assert [n.kind for n in built.notes] == ["excerpt"]
    assert "intermediate_size" in refusal(mlx_lm, NEW, {**excerpt, "vocab_size": 128})
    assert "rotary_pct" in refusal(mlx_lm, NEW, {**excerpt, "model_type": "gpt_neox"})


def test_a_model_file_that_was_not_looked_at_is_not_covered() -> None:
    with pytest.raises(NotCovered, match="nanochat"):
        build(mlx_lm, NEW, {"model_type": "nanochat"})


def test_a_model_without_rotary_layers_has_no_schedules() -> None:
    built = build(mlx_lm, NEW, {"model_type": "kimi_k3", "text_config": {}})
    assert built.schedules == ()
    assert [n.kind for n in built.notes] == ["no_rotary"]


def test_every_schedule_names_its_release_and_the_keys_that_decided_it() -> None:
    case = vectors()["cases"]["gemma3_old"]
    for release in mlx_lm.RELEASES:
        built = mlx_lm.build(request(case), release)
        assert {s.reader for s in built.schedules} == {release.name}
        assert {"head_dim", "num_hidden_layers"} <= {f.field for f in built.schedules[0].provenance}


VALUES = st.sampled_from(
    [None, -1, 0, 1, 2.5, True, "x", [], [1, None], {}, {"factor": None}, 1e30]
)


@given(st.sampled_from(FAMILIES), st.integers(0, 2**32), st.data())
def test_odd_values_end_in_a_refusal_or_a_table(name: str, seed: int, data: st.DataObject) -> None:
    config = config_of(name, random.Random(seed))
    part = config["text_config"] if isinstance(config.get("text_config"), dict) else config
    key = data.draw(st.sampled_from(sorted(part)))
    inner = part[key]
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(VALUES)
    else:
        part[key] = data.draw(VALUES)
    for release in mlx_lm.RELEASES:
        try:
            built = mlx_lm.build(raw_request(config), release)
        except (Refuses, NotCovered, InvalidValue) as error:
            assert str(error)
        else:
            assert all(replace(s).inv_freq for s in built.schedules)
