"""Two models are said to be two, one model before and after never is."""

from __future__ import annotations

from pathlib import Path

import pytest

import ropeaudit
from ropeaudit.diff.compare import compare
from ropeaudit.records import replace
from tests.schedules import plain, subject, yarn

ZOO = Path(__file__).parents[2] / "fixtures/zoo"


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        ("deepseek-ai__DeepSeek-V3", "Qwen__Qwen3-8B", "A has 61 layers and B 36"),
        ("meta-llama__Llama-3.2-1B-Instruct", "meta-llama__Llama-3.2-3B-Instruct", "B 28"),
        ("google__gemma-3-27b-it", "openai__gpt-oss-120b", "A has 62 layers and B 36"),
    ],
)
def test_two_models(a: str, b: str, said: str) -> None:
    found = ropeaudit.diff(ZOO / a, ZOO / b)
    (note,) = found.notes
    assert said in note
    assert "these are two models" in note
    assert len(ropeaudit.diff(ZOO / b, ZOO / a).notes) == 1


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("meta-llama__Llama-2-7b-chat-hf", "NousResearch__Yarn-Llama-2-7b-128k"),
        ("Qwen__Qwen2.5-7B-Instruct", "Qwen__Qwen2.5-7B-Instruct-1M"),
    ],
)
def test_a_model_and_what_was_made_of_it(a: str, b: str) -> None:
    assert ropeaudit.diff(ZOO / a, ZOO / b).notes == ()


def test_depth_alone_is_no_proof() -> None:
    """A reader may know only the layers that rotate, a format may count a draft head."""
    a = subject(yarn(layers=tuple(range(40))), model_type="own_text")
    cases = (
        (range(7, 40, 8), "own", 128, 0),
        (range(41), "other", 64, 0),
        (range(20), "other", 128, 1),
    )
    for layers, model_type, head, count in cases:
        b = replace(plain(layers=tuple(layers), head_dim=head), component="text")
        found = compare(a, subject(b, model_type=model_type))
        assert any(pair.lost for pair in found.pairs)
        assert len(found.notes) == count
    same = subject(yarn(layers=tuple(range(20))), model_type="other")
    assert compare(a, same).notes == ()  # nothing was lost, so there is nothing to explain
