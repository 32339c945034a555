"""Perplexity by others' code and by ours, one contestant in a process of its own.

    python perplexity_peers.py NAME MODEL.gguf LENGTH TOKENS

prints JSON: tokens, seconds, perplexity, and the peak memory of the process in bytes. Nothing of
this project is imported but by the contestant ``ropeaudit``, so that another virtual environment
can run a peer.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

OFFSET = 10_000

Score = Callable[[list[int]], tuple[float, int]]
"""Log-loss in nats and number of targets of one window of tokens."""


def text() -> str:
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


def hf(path: str) -> tuple[Any, Any]:
    """Model in float32 and tokenizer, as transformers loads them from GGUF."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = Path(path)
    model = AutoModelForCausalLM.from_pretrained(
        place.parent, gguf_file=place.name, dtype=torch.float32
    )
    return model.eval(), AutoTokenizer.from_pretrained(place.parent, gguf_file=place.name)


def transformers_loop(model: Any) -> Score:
    """The loop of the documentation of transformers, window by window."""
    import torch

    def score(window: list[int]) -> tuple[float, int]:
        tokens = torch.tensor([window], device=model.device)
        with torch.no_grad():
            loss = model(tokens, labels=tokens.clone()).loss
        return float(loss) * (len(window) - 1), len(window) - 1

    return score


def ropeaudit(loaded: Any) -> Score:
    from ropeaudit.perplexity.evaluate import score as scored
    from ropeaudit.perplexity.records import Window

    def score(window: list[int]) -> tuple[float, int]:
        (found,) = scored(loaded, window, [Window(index=0, start=0, length=len(window))])
        return found.nll, found.tokens

    return score


def lm_eval(model: Any, tokenizer: Any, length: int) -> Score:
    """lm-evaluation-harness's rolling log-likelihood; it scores the first token as well."""
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=1, max_length=length)

    def score(window: list[int]) -> tuple[float, int]:
        harness.tok_encode = lambda *_, **__: window
        request = Instance("loglikelihood_rolling", {}, ("text",), 0)
        return -harness.loglikelihood_rolling([request], disable_tqdm=True)[0], len(window)

    return score


def contestant(name: str, path: str, length: int) -> tuple[Score, list[int]]:
    """A score function and the ids of the text."""
    if name == "ropeaudit":
        from ropeaudit.perplexity.loading import load

        loaded = load(path, device="cpu", dtype="float32")
        assert loaded.encode is not None
        return ropeaudit(loaded), loaded.encode(text())
    model, tokenizer = hf(path)
    ids = tokenizer.encode(text(), add_special_tokens=False)
    if name == "transformers":
        return transformers_loop(model), ids
    return lm_eval(model, tokenizer, length), ids


def main(name: str, path: str, length: int, tokens: int) -> None:
    import torch

    torch.set_num_threads(2)
    score, ids = contestant(name, path, length)
    nll, count, started = 0.0, 0, time.perf_counter()
    for start in range(OFFSET, OFFSET + tokens, length):
        loss, targets = score(ids[start : start + length])
        nll, count = nll + loss, count + targets
    found = {
        "tokens": tokens,
        "seconds": time.perf_counter() - started,
        "perplexity": math.exp(nll / count),
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
