"""Every position field with every kind of wrong value, through reading, rules and reports.

Whatever a field holds, the outcome is a report or one clear sentence; it comes at once, in little
memory; and a value that means nothing never passes in silence.
"""

# ruff: noqa: SIM905 (word lists are easier to read than as many quoted words)
from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ropeaudit.audit import audit_subject, bind
from ropeaudit.document import Document
from ropeaudit.errors import SourceError
from ropeaudit.facts import Reading
from ropeaudit.findings import Verdict
from ropeaudit.packs import load_pack
from ropeaudit.report import console, github, json_v1, markdown
from ropeaudit.report._terminal import View
from ropeaudit.resolve import build, resolve
from ropeaudit.schedule.families import family
from ropeaudit.schedule.subject import Problem, Subject
from ropeaudit.verdict import Report, SubjectReport

PACK = load_pack("core")
RULES = bind([PACK])
SECONDS = 1.0

MODELS = (
    "llama mistral qwen2 qwen2_vl qwen3_next gemma2 gemma3_text gemma4 gpt_neox gptj falcon phi3 "
    "deepseek_v3 deepseek_v4 gpt_oss modernbert llama4_text smollm3 step3p7 hunyuan_v1_dense "
    "chatglm pixtral dinov3_vit exaone4 stablelm nomic_bert granitemoehybrid nobody_knows_it"
).split()
CONFIG = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "max_position_embeddings": 4096,
}
LAWS: dict[str, dict[str, Any]] = {
    "default": {},
    "linear": {"factor": 2.0},
    "dynamic": {"factor": 2.0},
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 1024},
    "longrope": {
        "factor": 4.0,
        "original_max_position_embeddings": 1024,
        "short_factor": [1.0] * 32,
        "long_factor": [2.0 + i / 8 for i in range(32)],
    },
    "llama3": {
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 1024,
    },
    "proportional": {"partial_rotary_factor": 0.5},
}
NONSENSE: tuple[Any, ...] = (
    "", "x", "8", [], {}, [1], {"a": 1}, [None], [[1]], math.nan, math.inf, -math.inf, 10**398,
    "\x1b[31m[bold]\u202e::error::%0A\n", "a" * 100_000,
)  # fmt: skip
"""No number, and never meant as one."""
EXTREME: tuple[Any, ...] = (
    None, True, False, 0, -0.0, 1, -1, 2.5, -2.5, 1e308, -1e308, 5e-324, 1e-300, 1e38, 1e39, 1e-38,
    1e-45, 1e-46, 10**9, 10**18, [math.nan] * 32, ["x"] * 32, [1e308] * 32, [0] * 32, [-1] * 32,
    list(range(5000)),
)  # fmt: skip
VALUES = NONSENSE + EXTREME
INNER = (
    "rope_type type rope_theta factor attention_factor beta_fast beta_slow short_factor "
    "long_factor low_freq_factor high_freq_factor mscale mscale_all_dim truncate alpha "
    "original_max_position_embeddings partial_rotary_factor mrope_section mrope_interleaved"
).split()
OUTER = (
    "rope_theta rope_scaling rope_parameters partial_rotary_factor partial_rotary_factors "
    "rotary_pct rotary_dim rotary_emb_base rotary_emb_fraction rope_ratio rope_local_base_freq "
    "global_rope_theta local_rope_theta compress_rope_theta original_max_position_embeddings "
    "qk_rope_head_dim qk_nope_head_dim no_rope_layers no_rope_layer_interval rope_interleave "
    "hidden_size num_attention_heads head_dim num_hidden_layers max_position_embeddings "
    "sliding_window sliding_window_pattern layer_types use_sliding_window max_window_layers "
    "attention_chunk_size per_layer_config compress_ratios global_attn_every_n_layers "
    "kv_channels text_config vision_config dtype architectures auto_map image_size patch_size "
    "position_embedding_type layer_rope_theta"
).split()
KINDS = ("full_attention", "sliding_attention")


def judged(config: dict[str, Any], contexts: tuple[int, ...] = ()) -> SubjectReport:
    """The report on a config; one whose reading fails has ``error`` set, as for a file."""
    reading = Reading(
        target="config.json", format="hf-config", document=Document("config.json", config)
    )
    try:
        subject = build(reading, contexts)
    except SourceError as error:
        message = str(error)
        assert message.isprintable()
        assert len(message) < 1000
        problem = Problem(error.kind, message, error.where)
        subject = Subject(target="config.json", format="unknown", error=problem)
    return audit_subject(subject, RULES, contexts=contexts)


def written(report: SubjectReport) -> str:
    """The report in every format: valid JSON, and nothing that a terminal would obey."""
    whole = Report(packs=(PACK,), subjects=(report,))
    assert whole.exit_code in (0, 1, 2, 3)
    text = json_v1.render(whole)
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    pages = [console.render(whole, View(verbose=v)) for v in (True, False)]
    for page in (*pages, github.render(whole), markdown.render(whole)):
        shown = page.replace("\n", "").replace("@\u200b", "")
        assert shown.isprintable()
    return text


def configs(model: str, law: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
    """Ways to write the law down, each with the path of its rope dict."""
    scaling = {"rope_type": law, **LAWS[law]}
    new = {"rope_theta": 10000.0, **scaling}
    plain = {"model_type": model, **CONFIG}
    yield {**plain, "rope_parameters": new}, ["rope_parameters"]
    yield {**plain, "rope_theta": 10000.0, "rope_scaling": scaling}, ["rope_scaling"]
    kinds = [KINDS[i % 2] for i in range(4)]
    by_kind = {KINDS[0]: new, KINDS[1]: {"rope_type": "default", "rope_theta": 10000.0}}
    labelled = {**plain, "layer_types": kinds, "rope_parameters": by_kind}
    yield labelled, ["rope_parameters", KINDS[0]]
    whole = {"model_type": "llava", "text_config": {**plain, "rope_parameters": new}}
    yield whole, ["text_config", "rope_parameters"]


def put(config: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    """A copy of ``config`` with ``value`` at ``path``."""
    head, *rest = path
    return {**config, head: put(config[head], rest, value) if rest else value}


@pytest.mark.parametrize("model", MODELS)
def test_every_field_with_every_wrong_value(model: str) -> None:
    """Each pair of field and value under some law and spelling; which one goes round in turn."""
    ways = [way for law in LAWS for way in configs(model, law)]
    turn = 7 * MODELS.index(model)
    paths: list[tuple[str, bool]] = [(k, True) for k in INNER] + [(k, False) for k in OUTER]
    for key, inside in paths:
        for value in VALUES[turn % 4 :: 4]:
            turn += 1
            config, place = ways[turn % len(ways)]
            start = time.perf_counter()
            report = judged(put(config, [*(place if inside else place[:-1]), key], value))
            taken = time.perf_counter() - start
            assert taken < SECONDS, (key, value, place, taken)
            if turn % 5 == 0:
                written(report)


def numeric(law: str) -> list[str]:
    found = family(law)
    assert found is not None
    return sorted((found.REQUIRED | found.OPTIONAL | {"rope_theta"}) - {"truncate"})


@pytest.mark.parametrize("schema", [0, 1, 3])
@pytest.mark.parametrize("law", sorted(LAWS))
def test_nonsense_in_a_field_that_is_read_never_passes(law: str, schema: int) -> None:
    config, place = list(configs("llama", law))[schema]
    assert judged(config).subject.schedules, "the config itself is read"
    for key in numeric(law):
        at = place[:-1] if key == "rope_theta" and schema == 1 else place
        for value in NONSENSE:
            report = judged(put(config, [*at, key], value))
            assert report.verdict is not Verdict.PASS, (key, value)


@pytest.mark.parametrize(
    "key", ["head_dim", "num_hidden_layers", "max_position_embeddings", "sliding_window"]
)
def test_nonsense_in_a_size_never_passes(key: str) -> None:
    for value in (*NONSENSE, -5, 2.5, True):
        report = judged({"model_type": "mistral", "rope_theta": 1e4, **CONFIG, key: value})
        assert report.verdict is not Verdict.PASS, value


def test_truncate_is_true_or_false() -> None:
    config, place = next(configs("llama", "yarn"))
    for value in NONSENSE:
        assert judged(put(config, [*place, "truncate"], value)).subject.error is not None
    for value in (True, False, None, 0, 1):
        assert judged(put(config, [*place, "truncate"], value)).subject.error is None


MANY = 10_000
SIZES: dict[str, dict[str, Any]] = {
    "head": {"head_dim": 10**9},
    "wide head": {"head_dim": 131072},
    "layers": {"num_hidden_layers": 10**9},
    "many layers": {"num_hidden_layers": 100_000, "model_type": "gemma3_text"},
    "many sliding layers": {
        "model_type": "gemma3_text",
        "architectures": ["Gemma3ForCausalLM"],
        "num_hidden_layers": 100_000,
        "sliding_window": 512,
    },
    "heads": {"num_attention_heads": 10**9},
    "width": {"hidden_size": 10**9},
    "length": {"max_position_embeddings": 10**12, "rope_theta": 1e30},
    "unknown scaling keys": {
        "rope_scaling": {"rope_type": "linear", "factor": 2.0}
        | {f"rope_k{i}": i for i in range(MANY)}
    },
    "unknown keys": {f"rope_k{i}": i for i in range(MANY)},
    "misspelt keys": {f"rope_thet{i}a": i for i in range(MANY)},
    "layer types": {
        "model_type": "gemma3_text",
        "layer_types": [f"t{i}" for i in range(MANY)],
        "num_hidden_layers": MANY,
        "rope_parameters": {
            f"t{i}": {"rope_type": "default", "rope_theta": 1e4 + i} for i in range(MANY)
        },
    },
    "bases by layer": {
        "model_type": "granite_swa",
        "num_hidden_layers": MANY,
        "layer_rope_theta": [1e4 + i for i in range(MANY)],
    },
    "layers by index": {
        "model_type": "lfm2",
        "num_hidden_layers": 100_000,
        "full_attn_idxs": list(range(100_000)),
    },
    "sections": {
        "model_type": "qwen2_vl",
        "rope_scaling": {"type": "mrope", "mrope_section": [10**9] * 3},
    },
    "list of sections": {
        "model_type": "qwen2_vl",
        "rope_scaling": {"type": "mrope", "mrope_section": list(range(MANY))},
    },
    "factor lists": {
        "rope_scaling": {
            "rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 1024,
            "short_factor": [1.0] * 10 * MANY, "long_factor": [4.0] * 10 * MANY,
        }
    },
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(SIZES))
def test_no_size_costs_more_than_its_reading(tmp_path: Path, name: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({"model_type": "llama", "rope_theta": 1e4, **CONFIG, **SIZES[name]}))
    start = time.perf_counter()
    report = audit_subject(resolve(str(path)), RULES)
    assert time.perf_counter() - start < 3 * SECONDS
    assert len(written(report)) < 5_000_000


@pytest.mark.parametrize("length", [1, 4095, 4097, 10**12, 10**15, 10**300])
@pytest.mark.parametrize("law", sorted(LAWS))
def test_extreme_lengths(law: str, length: int) -> None:
    for config, _ in configs("llama", law):
        written(judged(config, (length,)))


PLACES = {
    "rope_theta": ("1e400", "-1e400", "NaN", "1e-300000", "-0.0", "9" * 400, "1" * 9999 + ".5"),
    "num_hidden_layers": ("9" * 5000, "1e9", "1e400", "4.5"),
    "head_dim": ("1e400", "NaN", "-1", "0.5"),
}


@pytest.mark.parametrize(("key", "text"), [(k, t) for k, texts in PLACES.items() for t in texts])
def test_numbers_as_they_are_spelt_in_a_file(tmp_path: Path, key: str, text: str) -> None:
    path = tmp_path / "config.json"
    data = json.dumps({"model_type": "llama", "rope_theta": 1e4, **CONFIG, key: "HERE"})
    path.write_text(data.replace('"HERE"', text))
    report = audit_subject(resolve(str(path)), RULES)
    assert report.subject.error is not None
    assert len(report.subject.error.message) < 500
    written(report)
