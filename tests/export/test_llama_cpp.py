"""llama.cpp runs a GGUF variant of SmolLM2 as torch runs the wanted table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ropeaudit.export.writing import write
from ropeaudit.resolve import resolve
from tests.export.variants import variant
from tests.gguf_float32 import float32_copy
from tests.models import smollm2

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500)]

IDS = [(k * 7919) % 40_000 + 100 for k in range(192)]
"""Token ids below SmolLM2's 49,152; both engines get the same."""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 with every weight as float32, so that both engines compute with the same numbers."""
    gguf = pytest.importorskip("gguf")
    pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    return float32_copy(gguf, smollm2(), tmp_path_factory.mktemp("smollm2") / "f32.gguf")


def by_llama_cpp(path: Path) -> Any:
    llama_cpp = pytest.importorskip("llama_cpp")
    model = llama_cpp.Llama(
        str(path), n_ctx=256, n_batch=256, logits_all=True, verbose=False, n_threads=2
    )
    model.eval(IDS)
    found = np.array(model.scores[: len(IDS)], dtype=np.float64)
    model.close()
    return found


def by_torch(path: Path, table: tuple[float, ...]) -> Any:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    ).eval()
    model.model.rotary_emb.inv_freq.copy_(torch.tensor(table))
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0].double().numpy()


@pytest.fixture(scope="module")
def unchanged(plain: Path) -> tuple[Any, Any]:
    """Logits of the source, by llama.cpp and by torch."""
    (schedule,) = resolve(str(plain)).schedules
    return by_llama_cpp(plain), by_torch(plain, schedule.inv_freq)


@pytest.mark.parametrize("recipe", ["int8:sym", "int8:affine"])
def test_the_logits_change_as_torchs_do(
    plain: Path, unchanged: tuple[Any, Any], recipe: str
) -> None:
    """Divisors over the model's base, with zeros; and over base 1."""
    subject, made = variant(plain, recipe)
    out = plain.with_name("variant.gguf")
    written = write(made, f"gguf={out}", source=subject, force=True)
    assert written.max_ulp <= 2
    assert any("freq_base is 1" in n for n in written.notes) == (recipe == "int8:affine")
    engine = by_llama_cpp(out) - unchanged[0]
    torch_change = by_torch(plain, made.schedules[0].inv_freq) - unchanged[1]
    # The first token has position 0, which no table turns.
    a, b = engine[1:].ravel(), torch_change[1:].ravel()
    assert np.abs(b).max() > 1
    assert np.corrcoef(a, b)[0, 1] >= 0.99
    assert 0.95 < np.linalg.norm(a) / np.linalg.norm(b) < 1.05
