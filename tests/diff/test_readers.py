"""Two targets as named engines read them: verdict, refusals, GGUF files, the page and the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import ropeaudit
from ropeaudit.cli.app import run
from ropeaudit.diff.compare import Options
from ropeaudit.diff.likeness import Likeness
from ropeaudit.diff.readers import compare_readings
from ropeaudit.errors import UsageError
from ropeaudit.findings import Severity
from ropeaudit.readers.engines.compare import seen
from ropeaudit.readers.engines.interface import Built
from ropeaudit.readers.engines.known import find, names
from ropeaudit.records import replace
from tests.diff.sides import side
from tests.engine_vectors import vectors
from tests.report.test_schemas import _closed, _schema
from tests.schedules import plain, subject

Capture = pytest.CaptureFixture[str]

OLD: dict[str, Any] = vectors()["cases"]["llama3_old"]["config"]
NEW: dict[str, Any] = {
    key: value for key, value in OLD.items() if key not in ("rope_theta", "rope_scaling")
} | {"rope_parameters": OLD["rope_scaling"] | {"rope_theta": OLD["rope_theta"]}}
"""Llama 3.1, in the schema of transformers 5 alone."""


def written(folder: Path, name: str, config: dict[str, Any]) -> str:
    return side({"config": config}, folder / name)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    """A rewrite that is harmless for the reference and not for engines of the old schema."""
    return written(tmp_path, "old", OLD), written(tmp_path, "new", NEW)


def in_json(capsys: Capture, *arguments: str, code: int) -> dict[str, Any]:
    assert run(["diff", *arguments, "-f", "json", "--no-config"]) == code
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    Draft202012Validator(_closed(_schema("diff-1.json"))).validate(document)
    return document


def test_a_rewrite_that_only_some_engines_misread(pair: tuple[str, str]) -> None:
    assert ropeaudit.diff(*pair).verdict is Likeness.SAME
    found = ropeaudit.diff(*pair, readers="transformers,tgi")
    assert [(r.reader, r.verdict.value) for r in found.readers] == [
        ("transformers-5.24", "same"),
        ("tgi-2026.01", "different"),
    ]
    assert (found.verdict, found.severity, found.exit_code) == (
        Likeness.DIFFERENT,
        Severity.ERROR,
        1,
    )
    assert [p.reader for p in found.pairs] == ["transformers-5.24", "tgi-2026.01"]
    assert [lost.name for lost in found.pairs[1].lost] == ["base defaulted", "scaling dropped"]
    assert ropeaudit.diff(*pair, readers="transformers").exit_code == 0


def test_every_engine_is_equal_to_itself(tmp_path: Path) -> None:
    for name in ("phi3_longrope_old", "yarn_card", "dynamic_old", "gemma3_old", "deepseek_v2_old"):
        target = written(tmp_path, name, vectors()["cases"][name]["config"])
        found = ropeaudit.diff(target, target, readers="all")
        assert {r.reader for r in found.readers} == set(names())
        built = {r.verdict for r in found.readers if r.found is not None}
        assert built == {Likeness.SAME}, name
        assert (found.verdict, found.exit_code) == (Likeness.SAME, 0)


def test_refusing_one_side_is_a_difference(tmp_path: Path) -> None:
    kept = written(tmp_path, "kept", OLD)
    lacks = {k: v for k, v in OLD.items() if k != "architectures"}
    found = ropeaudit.diff(kept, written(tmp_path, "lacks", lacks), readers="llama.cpp")
    (reading,) = found.readers
    assert reading.reason is not None
    assert reading.reason.startswith("refuses B: its converter goes by architectures")
    assert (found.verdict, found.severity, found.exit_code) == (
        Likeness.DIFFERENT,
        Severity.ERROR,
        1,
    )
    back = ropeaudit.diff(written(tmp_path, "lacks", lacks), kept, readers="llama.cpp")
    assert back.readers[0].reason is not None
    assert back.readers[0].reason.startswith("refuses A: ")


def test_refusing_both_proves_nothing(tmp_path: Path) -> None:
    lacks = {k: v for k, v in OLD.items() if k != "architectures"}
    target = written(tmp_path, "lacks", lacks)
    found = ropeaudit.diff(target, target, readers="llama.cpp")
    assert found.readers[0].reason is not None
    assert found.readers[0].reason.startswith("refuses both: its converter goes by")
    assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 3)
    assert ropeaudit.diff(target, target, readers="llama.cpp", allow_unknown=True).exit_code == 0
    # Of all engines one may know neither side; the verdict then rests on the others.
    every = ropeaudit.diff(target, target, readers="all")
    assert {r.counts for r in every.readers if r.reader.startswith("llama.cpp")} == {False}
    assert every.exit_code == 0


def test_a_side_that_is_not_covered_is_unknown(tmp_path: Path, pair: tuple[str, str]) -> None:
    bare = side({"table": {"rope_type": "default", "rope_theta": 1e4, "dim": 64}}, tmp_path / "t")
    found = ropeaudit.diff(pair[0], bare, readers="vllm")
    assert (found.verdict, found.exit_code) == (Likeness.UNKNOWN, 3)
    assert found.readers[0].reason is not None
    assert found.readers[0].reason.startswith("is not known to read B: there is no config")
    every = ropeaudit.diff(pair[0], bare, readers="all")
    assert (every.verdict, every.exit_code) == (Likeness.UNKNOWN, 3)


def test_unknown_is_not_hidden_by_a_difference_that_passes(pair: tuple[str, str]) -> None:
    a, _ = pair
    nearly = ropeaudit.diff(a, a, overrides="b:rope_theta=500000.5", readers="vllm")
    assert nearly.verdict is Likeness.DIFFERENT
    assert nearly.severity in (Severity.INFO, Severity.WARNING)
    options = {"overrides": "b:rope_theta=500000.5", "fail_on": "error"}
    assert ropeaudit.diff(a, a, readers="vllm", **options).exit_code == 0
    open_ = written(Path(a).parent, "x", OLD | {"model_type": "nothing-known", "auto_map": {}})
    found = ropeaudit.diff(open_, open_, readers="vllm,transformers", **options)
    assert found.exit_code == 3


def converted(folder: Path, config: dict[str, Any], base: float, **more: Any) -> str:
    """A file with the keys that llama.cpp's converter writes for a Llama."""
    keys = {
        "general.architecture": "llama",
        "llama.context_length": config["max_position_embeddings"],
        "llama.embedding_length": config["hidden_size"],
        "llama.block_count": config["num_hidden_layers"],
        "llama.attention.head_count": config["num_attention_heads"],
        "llama.rope.dimension_count": config["hidden_size"] // config["num_attention_heads"],
        "llama.rope.freq_base": base,
    }
    return side({"gguf": keys | more}, folder)


PLAIN: dict[str, Any] = vectors()["cases"]["plain_new"]["config"]


def test_a_gguf_file_is_equal_to_the_last_bit(tmp_path: Path) -> None:
    """Both tables are what llama.cpp computes; the reference's arithmetic is another one."""
    config = written(tmp_path, "hf", PLAIN)
    right = converted(tmp_path / "right", PLAIN, 500000.0)
    assert ropeaudit.diff(config, right, readers="llama.cpp", ulp=0).verdict is Likeness.SAME
    assert ropeaudit.diff(config, right).verdict is Likeness.EQUIVALENT
    wrong = ropeaudit.diff(config, converted(tmp_path / "w", PLAIN, 10000.0), readers="llama.cpp")
    assert [lost.name for lost in wrong.pairs[0].lost] == ["base defaulted"]
    assert wrong.exit_code == 1


def test_a_gguf_file_is_held_against_its_own_converter(tmp_path: Path) -> None:
    """The converter drops this scaling under transformers 5 and keeps it under 4.57."""
    case = vectors()["cases"]["type_vs_rope_type"]["config"]
    config = written(tmp_path, "hf", case)
    scaled = {"llama.rope.scaling.type": "linear", "llama.rope.scaling.factor": 4.0}
    plain = converted(tmp_path / "plain", case, 10000.0)
    linear = converted(tmp_path / "linear", case, 10000.0, **scaled)
    asked = "llama.cpp+tf5,llama.cpp+tf4.57"
    verdicts = {
        target: [r.verdict.value for r in ropeaudit.diff(config, target, readers=asked).readers]
        for target in (plain, linear)
    }
    assert verdicts == {plain: ["same", "different"], linear: ["different", "same"]}


def test_channels_that_stand_still_are_zero_on_both_sides(tmp_path: Path) -> None:
    """Gemma 4's converter divides them by 1e30, which the file alone gives as 1e-30."""
    width, turned = 256, 32
    keys = {
        "general.architecture": "gemma4",
        "gemma4.context_length": 8192,
        "gemma4.embedding_length": 512,
        "gemma4.block_count": 6,
        "gemma4.attention.head_count": 4,
        "gemma4.attention.key_length": width,
        "gemma4.attention.key_length_swa": 128,
        "gemma4.rope.dimension_count": width,
        "gemma4.rope.dimension_count_swa": 128,
        "gemma4.rope.freq_base": 1e6,
        "gemma4.rope.freq_base_swa": 1e4,
        "gemma4.attention.sliding_window": 512,
        "gemma4.attention.sliding_window_pattern": [True] * 5 + [False],
    }
    factors = [1.0] * turned + [1e30] * (width // 2 - turned)
    file = side({"gguf": keys, "tensors": {"rope_freqs.weight": factors}}, tmp_path)
    (view,) = ropeaudit.read(file, readers="llama.cpp").views
    whole = next(s for s in view.schedules if s.static_channels)
    assert set(whole.inv_freq[turned:]) == {0.0}
    assert min(whole.inv_freq[:turned]) > 0


def test_all_engines_of_a_gguf_file_rest_on_llama_cpp(tmp_path: Path) -> None:
    right = converted(tmp_path / "right", PLAIN, 500000.0)
    found = ropeaudit.diff(written(tmp_path, "hf", PLAIN), right, readers="all")
    assert found.exit_code == 0
    assert {r.reader for r in found.readers if r.counts} == {"llama.cpp+tf5", "llama.cpp+tf4.57"}


def test_lengths_reach_the_engines(tmp_path: Path) -> None:
    """vLLM takes the long list for all positions where max_model_len is above the original."""
    config = vectors()["cases"]["phi3_longrope_old"]["config"]
    a = written(tmp_path, "a", config)
    doubled = [2 * f for f in config["rope_scaling"]["short_factor"]]
    short = config["rope_scaling"] | {"short_factor": doubled}
    b = written(tmp_path, "b", config | {"rope_scaling": short})
    assert ropeaudit.diff(a, b, readers="vllm").exit_code == 1
    assert ropeaudit.diff(a, b, readers="vllm", contexts=65536).exit_code == 0
    assert ropeaudit.diff(a, b, readers="vllm", overrides="max_model_len=65536").exit_code == 0


@pytest.mark.parametrize(
    ("engine", "factors", "verdict"),
    [
        ("deepspeed", (1.0, 1.2), Likeness.UNKNOWN),
        ("deepspeed", (1.2, 1.2), Likeness.SAME),
        ("vllm", (1.2, 1.2), Likeness.SAME),
    ],
)
def test_a_factor_of_which_nothing_is_known_is_undecided(
    engine: str, factors: tuple[float, float], verdict: Likeness
) -> None:
    """What DeepSpeed multiplies the logits by was not looked at: equal tables are no proof."""
    (chosen,) = find([engine])
    sides = []
    for factor in factors:
        stated = replace(plain(), softmax_scale=factor)
        view = seen(chosen, "ok", None, Built(schedules=(plain(),)))
        sides.append(replace(subject(stated), views=(view,)))
    found = compare_readings(*sides, Options(readers=(engine,)))
    assert found.verdict is verdict
    assert bool(found.undecided) is (verdict is Likeness.UNKNOWN)


def test_the_page_has_a_block_for_each_way_of_differing(
    capsys: Capture, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    assert run(["diff", *pair, "--reader", "vllm,transformers,tgi,exllamav2"]) == 1
    page = capsys.readouterr().out
    assert "  vllm-0.33, transformers-5.24: same\n" in page
    assert "  tgi-2026.01, exllamav2-0.3: different\n" in page
    assert "does not read /rope_parameters of B" in page
    assert page.count("base defaulted") == 1
    assert "4 readers: 2 same, 2 different" in page


def test_json_and_markdown(capsys: Capture, pair: tuple[str, str]) -> None:
    document = in_json(capsys, *pair, "--reader", "vllm,tgi", code=1)
    assert document["readers"] == {
        "vllm-0.33": {
            "verdict": "same", "severity": None, "counts": True, "reason": None,
            "a": {"status": "ok", "reason": None}, "b": {"status": "ok", "reason": None},
        },
        "tgi-2026.01": {
            "verdict": "different", "severity": "error", "counts": True, "reason": None,
            "a": {"status": "ok", "reason": None}, "b": {"status": "ok", "reason": None},
        },
    }  # fmt: skip
    assert [p["reader"] for p in document["pairs"]] == ["vllm-0.33", "tgi-2026.01"]
    assert document["subjects"][1]["readers"]["tgi-2026.01"]["ignored"] == ["/rope_parameters"]
    plain = in_json(capsys, *pair, code=0)
    assert "readers" not in plain
    assert [p["reader"] for p in plain["pairs"]] == [None]
    assert run(["diff", *pair, "--reader", "vllm,tgi", "-f", "markdown"]) == 1
    text = capsys.readouterr().out
    assert "| `vllm-0.33` | same |" in text
    assert "| `tgi-2026.01` | different (error) | does not read" in text
    assert "### `tgi-2026.01 text`" in text


def test_the_setting_and_unknown_names(
    capsys: Capture, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROPEAUDIT_READER", "tgi")
    assert run(["diff", *pair, "-q"]) == 1
    assert run(["diff", *pair, "-q", "--reader", "vllm"]) == 0
    capsys.readouterr()
    assert run(["diff", "nowhere", "nowhere", "--reader", "vlm"]) == 2
    assert "no reader vlm" in capsys.readouterr().err
    with pytest.raises(UsageError, match="did you mean"):
        ropeaudit.diff(*pair, readers="trasnformers")


def test_a_setting_stands_back_where_its_engines_know_nothing(
    capsys: Capture, tmp_path: Path, pair: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project that names vLLM still compares tables and GGUF files."""
    bare = side({"table": {"rope_type": "default", "rope_theta": 1e4, "dim": 64}}, tmp_path / "t")
    monkeypatch.setenv("ROPEAUDIT_READER", "vllm")
    assert run(["diff", bare, bare]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the setting reader names vllm-0.33, which builds neither side" in said
    assert run(["diff", bare, bare, "--reader", "vllm", "-q"]) == 3
    # An engine that knows the targets is left to judge alone.
    monkeypatch.setenv("ROPEAUDIT_READER", "vllm,ctranslate2,tgi")
    assert run(["diff", pair[0], pair[0], "-f", "json"]) == 0
    capsys.readouterr()
    assert run(["diff", bare, "nowhere.json", "-q"]) == 2


def test_an_engine_that_rotates_one_side_alone(tmp_path: Path) -> None:
    (chosen,) = find(["vllm"])
    turning = seen(chosen, "ok", None, Built(schedules=(plain(),)))
    still = seen(chosen, "ok", None, Built())
    sides = {view is still: replace(subject(plain()), views=(view,)) for view in (turning, still)}
    found = compare_readings(sides[False], sides[True], Options(readers=("vllm",)))
    assert found.readers[0].reason == "rotates no layer of B"
    assert (found.verdict, found.severity, found.exit_code) == (
        Likeness.DIFFERENT,
        Severity.ERROR,
        1,
    )
    both = compare_readings(sides[True], sides[True], Options(readers=("vllm",)))
    assert both.verdict is Likeness.UNKNOWN


def test_a_side_that_cannot_be_read(capsys: Capture, pair: tuple[str, str]) -> None:
    document = in_json(capsys, pair[0], "nowhere.json", "--reader", "vllm", code=2)
    assert document["verdict"] == "unknown"
    assert "readers" not in document
