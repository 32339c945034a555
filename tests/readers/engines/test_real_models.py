"""What engines make of well-known models' files, in the words that a user reads.

The rows follow from the rules that the readers' docstrings cite; what was measured of an engine is
held by the golden files beside ``vectors.json``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ropeaudit.readers.engines.known import names
from ropeaudit.resolve import resolve
from ropeaudit.schedule.views import View

ZOO = Path(__file__).parents[3] / "fixtures" / "zoo"
LLAMA, SCOUT = "meta-llama__Meta-Llama-3.1-70B", "meta-llama__Llama-4-Scout-17B-16E-Instruct"
GEMMA, KIMI, OSS = "google__gemma-3-27b-it", "moonshotai__Kimi-K2-Instruct", "openai__gpt-oss-120b"
V2, YARN = "deepseek-ai__DeepSeek-V2", "NousResearch__Yarn-Llama-2-7b-128k"
DYNAMIC, NEMO = "internlm__internlm2_5-7b-chat", "mistralai__Mistral-Nemo-Base-2407"
CODER, MINITRON = "deepseek-ai__deepseek-coder-6.7b-instruct", "nvidia__Minitron-8B-Base"


@cache
def seen(model: str) -> dict[str, View]:
    subject = resolve(str(ZOO / model / "config.json"), readers=("all",))
    return {view.reader: view for view in subject.views}


@pytest.mark.parametrize(
    ("model", "reader", "said", "unread"),
    [
        (LLAMA, "ctranslate2+tf5.20", ["llama3 scaling by 8 lost"], ["/rope_scaling"]),
        (
            LLAMA,
            "ctranslate2+tf4.57",
            ["base 10000 instead of 500000", "llama3 scaling by 8 lost"],
            ["/rope_theta", "/rope_scaling"],
        ),
        *(
            (GEMMA, reader, ["linear scaling by 8 lost (full_attention)"], None)
            for reader in ("mlx-lm-0.28", "tgi-2026.01", "ctranslate2+tf5.20")
        ),
        *(
            (OSS, reader, ["truncate true instead of false"], ["/rope_scaling/truncate"])
            for reader in ("mlx-lm-0.32", "llama.cpp+tf5")
        ),
        (KIMI, "llama.cpp+tf5", ["beta_fast 32 instead of 1"], ["/rope_scaling/beta_fast"]),
        (V2, "transformers-4.57", ["softmax scale 1 instead of 1.59"], []),
        (YARN, "exllamav2-0.3", ["original length 131072 instead of 4096"], []),
        (DYNAMIC, "exllamav2-0.3", ["dynamic scaling by 2 lost"], ["/rope_scaling/factor"]),
        (DYNAMIC, "llama.cpp+tf5", ["dynamic scaling by 2 lost"], ["/rope_scaling"]),
        (CODER, "tgi-2026.01", ["linear scaling by 4 lost"], ["/rope_scaling"]),
        (CODER, "ctranslate2+tf4.57", ["base 10000 instead of 100000"], ["/rope_theta"]),
        (NEMO, "deepspeed-0.19", ["rotates 160 dimensions instead of 128"], ["/head_dim"]),
        (
            MINITRON,
            "llama.cpp+tf5",
            ["rotates 42 dimensions instead of 64"],
            ["/partial_rotary_factor"],
        ),
    ],
)
def test_a_misreading_has_its_words(
    model: str, reader: str, said: list[str], unread: list[str] | None
) -> None:
    view = seen(model)[reader]
    assert view.distance is not None
    assert list(view.distance.words) == said
    assert unread is None or list(view.ignored) == unread


@pytest.mark.parametrize(
    ("model", "readers"),
    [
        (LLAMA, "vllm-0.33 sglang-0.5.23 mlx-lm-0.32 llama.cpp+tf5 exllamav3-1.6 tgi-2026.01"),
        (SCOUT, "vllm-0.33 sglang-0.5.23 mlx-lm-0.32 llama.cpp+tf5"),
        (KIMI, "vllm-0.33 sglang-0.5.23 mlx-lm-0.32 exllamav3-1.6"),
        (GEMMA, "vllm-0.33 sglang-0.5.23 mlx-lm-0.32 llama.cpp+tf5 exllamav3-1.6"),
        (V2, "vllm-0.33 sglang-0.5.23 mlx-lm-0.32 llama.cpp+tf5 tgi-2026.01"),
    ],
)
def test_who_reads_it_right(model: str, readers: str) -> None:
    for reader in readers.split():
        view = seen(model)[reader]
        assert view.distance is not None, (reader, view.reason)
        assert view.distance.same, (reader, view.distance.words)


@pytest.mark.parametrize(
    ("model", "reader", "why"),
    [
        (CODER, "exllamav2-0.3", "both type and rope_type"),
        (LLAMA, "deepspeed-0.19", "llama3"),
        ("EleutherAI__pythia-12b", "llama.cpp+tf5", "rotary_pct"),
        ("CallComply__zephyr-7b-beta-128k", "transformers-4.57", "no head_dim of its own"),
        ("moonshotai__Moonlight-16B-A3B", "tgi-2026.01", "mscale_all_dim"),
    ],
)
def test_a_refusal_names_its_cause(model: str, reader: str, why: str) -> None:
    view = seen(model)[reader]
    assert view.status == "refuses"
    assert view.reason is not None
    assert why in view.reason


def test_every_model_of_the_zoo_is_told_without_a_fault() -> None:
    for path in sorted(ZOO.glob("*/config.json")):
        views = seen(path.parent.name)
        assert tuple(views) == names()
        for view in views.values():
            assert "internal error" not in (view.reason or ""), path
            assert (view.status == "ok") == (view.reason is None)
            assert view.distance is None or view.distance.same or view.distance.words
