"""Scores of a model while another table is in it, and the state that has to come back."""

from __future__ import annotations

import math
from typing import Any

from ropeaudit.perplexity import evaluate, patch
from ropeaudit.perplexity.loading import Loaded
from ropeaudit.perturb.variant import make
from tests.perplexity import tiny

torch = tiny.torch

LENGTH = 60


def losses(model: Any, length: int = LENGTH) -> list[float]:
    """By the plain loop, for comparison."""
    ids = tiny.text(3 * length)
    return [math.fsum(tiny.plain(model, ids, w)) for w in tiny.windows(length)]


def scores(loaded: Loaded, length: int = LENGTH) -> list[float]:
    ids = tiny.text(3 * length)
    return [s.nll for s in evaluate.score(loaded, ids, tiny.windows(length))]


def swapped_scores(loaded: Loaded, recipe: str, length: int = LENGTH) -> list[float]:
    with patch.swapped(loaded, make(loaded.schedules, recipe)):
        return scores(loaded, length)


def state(model: Any) -> dict[str, Any]:
    """Every buffer and attribute of the rotary modules, to the bit."""
    found: dict[str, Any] = {}
    for path, module in model.named_modules():
        if any(name.endswith("inv_freq") for name in module._buffers):
            for name, value in {**module.__dict__, **module._buffers}.items():
                if name not in ("_buffers", "_parameters", "_modules", "config"):
                    kept = value.clone() if hasattr(value, "clone") else value
                    found[f"{path}.{name}"] = dict(kept) if isinstance(kept, dict) else kept
        found[f"{path}.hooks"] = (len(module._forward_hooks), len(module._forward_pre_hooks))
        found[f"{path}.forward"] = module.__dict__.get("forward")
    return found


def require_equal(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert torch.equal(value, b[name]) if hasattr(value, "shape") else value == b[name], name
