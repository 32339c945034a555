"""llama.cpp on the same file and the same token ids, second-half scoring."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.export.writing import write
from ropeaudit.perplexity import corpora
from ropeaudit.perplexity.windows import cut
from tests.export.variants import variant
from tests.gguf_float32 import float32_copy
from tests.models import smollm2

pytest.importorskip("torch")
pytest.importorskip("transformers")
gguf = pytest.importorskip("gguf")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3000)]

LENGTH = 1024
WINDOWS = 2
OFFSET = 10_000


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 in float32."""
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    folder = tmp_path_factory.mktemp("smollm2")
    return float32_copy(gguf, smollm2(), folder / "f32.gguf")


@pytest.fixture(scope="module")
def loaded(plain: Path) -> Iterator[Any]:
    from ropeaudit.perplexity.loading import load

    yield load(str(plain), device="cpu", dtype="float32")
    plain.unlink()  # 650 MB, which pytest would keep for three runs


def by_llama_cpp(path: Path, ids: list[int]) -> float:
    """Perplexity as llama.cpp's tool computes it: each window alone, targets L/2+1 .. L-1.

    The model asks for no BOS, so the tool would not replace the first token either.
    """
    llama_cpp = pytest.importorskip("llama_cpp")
    model = llama_cpp.Llama(
        str(path), n_ctx=LENGTH, n_batch=LENGTH, logits_all=True, verbose=False, n_threads=2
    )
    total, count = 0.0, 0
    for n in range(WINDOWS):
        window = ids[OFFSET + n * LENGTH : OFFSET + (n + 1) * LENGTH]
        model.reset()
        model.eval(window)
        first = LENGTH // 2
        logits = np.array(model.scores[first : LENGTH - 1], dtype=np.float64)
        targets = window[first + 1 :]
        top = logits.max(axis=1, keepdims=True)
        norm = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
        total += float((norm - logits[np.arange(len(targets)), targets]).sum())
        count += len(targets)
    model.close()
    return math.exp(total / count)


def by_ours(loaded: Any, ids: list[int], made: Any) -> float:
    from ropeaudit.perplexity.evaluate import score
    from ropeaudit.perplexity.patch import swapped

    windows = cut(len(ids), length=LENGTH, offset=OFFSET, count=WINDOWS, scoring="second-half")
    with swapped(loaded, made):
        found = list(score(loaded, ids, windows))
    return math.exp(sum(s.nll for s in found) / sum(s.tokens for s in found))


def test_perplexities_agree_for_the_model_and_for_a_variant(plain: Path, loaded: Any) -> None:
    from ropeaudit.perturb.variant import make

    ids = loaded.encode(corpora.load("pydoc_topics", offline=True).text)
    own = by_ours(loaded, ids, None)
    assert own == pytest.approx(by_llama_cpp(plain, ids), rel=0.01)

    subject, made = variant(plain, "int8:sym")
    file = plain.with_name("variant.gguf")
    write(made, f"gguf={file}", source=subject, force=True)
    ruined = by_ours(loaded, ids, make(loaded.schedules, "int8:sym"))
    assert ruined > 1.05 * own
    assert ruined == pytest.approx(by_llama_cpp(file, ids), rel=0.01)
    file.unlink()
