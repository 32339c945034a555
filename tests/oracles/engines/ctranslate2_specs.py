"""What CTranslate2's converter stores of random configs. Opt-in.

Run it with a Python that has torch, ctranslate2 4.8.5 and the transformers to be asked (4.57 or
5.20), with this repository on PYTHONPATH:

    PYTHONPATH=. python tests/oracles/engines/ctranslate2_specs.py --write

Each loader is given a tiny random model; base, width and factor of every layer are taken from the
specification that it fills, and the table from them by the library's formula.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import logging
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from ropeaudit.readers.engines import ctranslate2
from tests.attribute_rows import COUNT, SEED, Row, problems, short, write
from tests.oracles.engines.converted_configs import drawn

KINDS = {
    "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "gpt_neox", "falcon",
    "phi", "phi3", "olmo", "granite",
}  # fmt: skip
LABELS = {"full_attention": "text/full_attention", "sliding_attention": "text/sliding_attention"}


class Unbuilt(Exception):
    """transformers cannot build the model, so that the converter is never asked."""


def measured(config: dict[str, Any]) -> Row:
    """Tables by the name of their schedule; None where the config or the converter stops."""
    try:
        return _stored(config)
    except Unbuilt:
        raise
    except Exception:
        return None


def _stored(config: dict[str, Any]) -> dict[str, list[Any]]:
    from ctranslate2.converters import transformers as converter
    from ctranslate2.specs.model_spec import LayerSpec
    from transformers import AutoConfig, AutoModelForCausalLM

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(config))
        loaded = AutoConfig.from_pretrained(folder)
    loader = converter._MODEL_LOADERS[type(loaded).__name__]
    try:
        model = AutoModelForCausalLM.from_config(loaded)
    except Exception as error:
        raise Unbuilt from error
    spec = loader.get_model_spec(model)
    LayerSpec.validate(spec)  # all that saving checks but the vocabulary
    labels = loaded.layer_types if config["model_type"] == "gemma3_text" else None
    head = getattr(loaded, "head_dim", None) or loaded.hidden_size // loaded.num_attention_heads
    found: dict[str, list[Any]] = {}
    for index, layer in enumerate(spec.decoder.layer):
        name = "text" if labels is None else LABELS[labels[index]]
        found[name] = short(_table(layer.self_attention, head))
    return found


def _table(attention: Any, head: int) -> list[float]:
    width = int(_number(attention.rotary_dim)) or head
    base = _number(attention.rotary_base)
    factor = _number(getattr(attention, "rotary_scaling_factor", None) or 1.0)
    return [base ** (-2 * k / width) / factor for k in range(width // 2)]


def _number(value: Any) -> float:
    value = getattr(value, "array", value)
    return float(value.numpy() if hasattr(value, "numpy") else value)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    version = importlib.import_module("transformers").__version__
    release = f"ctranslate2+tf{'4.57' if version.startswith('4') else '5.20'}"
    count, seed = (COUNT, SEED) if given.write else (given.random, given.seed)
    rows = []
    for name, config in drawn(count, seed):
        if config["model_type"] in KINDS:
            with contextlib.suppress(Unbuilt), contextlib.redirect_stderr(io.StringIO()):
                rows.append((name, config, measured(config)))
    if given.write:
        write(release, rows)
    wrong = 0
    for name, config, found in rows:
        for problem in problems(ctranslate2, release, config, found):
            wrong += 1
            print(f"{name}: {problem}")
    print(f"{release}: {len(rows) - wrong} of {len(rows)} agree")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
