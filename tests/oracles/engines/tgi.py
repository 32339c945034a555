"""Tables of TGI's own rotary layer for random configs. Opt-in.

Run it with a Python that has torch and transformers 4.57, with this repository on PYTHONPATH and
``server/text_generation_server/layers/rotary.py`` of the server's repository in a file:

    PYTHONPATH=. python tests/oracles/engines/tgi.py rotary.py --write

The layer is built as the calls in ``models/custom_modeling/flash_*_modeling.py`` build it (width
and base of each model type are repeated here from there); its kernels are not needed for that.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import io
import json
import logging
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

from ropeaudit.readers.engines import tgi
from tests.attribute_rows import COUNT, SEED, Row, problems, short, write
from tests.oracles.engines.converted_configs import drawn

RELEASE = "tgi-2026.01"
EVEN = {"llama", "granite", "phi3", "qwen2", "mixtral", "starcoder2", "cohere"}
OWN = {"mistral", "gemma", "gemma2", "gemma3_text"}
KINDS = EVEN | OWN | {"phi", "deepseek_v2", "deepseek_v3"}
DEEPSEEK = {"rope_theta": 10000.0, "rope_scaling": None, "max_position_embeddings": 2048}
"""Defaults of TGI's own config class, which checks nothing."""


def layer_module(path: str) -> Any:
    """``rotary.py`` as a module, with the parts of the server that it asks for."""
    package = "text_generation_server"
    for name in (package, f"{package}.utils", f"{package}.utils.import_utils"):
        sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[f"{package}.utils.import_utils"])["SYSTEM"] = "cpu"
    spec = importlib.util.spec_from_file_location("tgi_rotary", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measured(rotary: Any, config: dict[str, Any]) -> Row:
    """Tables by the name of their schedule; None where the config or the layer stops."""
    from transformers import AutoConfig, PretrainedConfig

    kind = config["model_type"]
    try:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "config.json").write_text(json.dumps(config))
            if kind.startswith("deepseek"):
                own = {k: v for k, v in config.items() if k != "model_type"}
                loaded = PretrainedConfig(**{**DEEPSEEK, **own})
            else:
                loaded = AutoConfig.from_pretrained(folder)
        found: dict[str, list[Any]] = {}
        for name, width, base, scaling in _calls(kind, loaded):
            loaded.rope_scaling = scaling
            layer = rotary.PositionRotaryEmbedding.static(loaded, width, base, "cpu")
            if kind.startswith("deepseek"):
                rotary.get_mscale(layer.scaling_factor, layer.mscale_all_dim)
            found |= {f"{name}{tag}": table for tag, table in _tables(layer, loaded)}
    except Exception:
        return None
    return found


def _calls(kind: str, config: Any) -> list[tuple[str, int, float, Any]]:
    even = config.hidden_size // config.num_attention_heads
    scaling = getattr(config, "rope_scaling", None)
    width = even
    if kind in OWN and (kind != "mistral" or config.head_dim is not None):
        width = config.head_dim
    if kind == "phi":
        width = int(config.partial_rotary_factor * even)
    if kind.startswith("deepseek"):
        width = config.qk_rope_head_dim
    if kind != "gemma3_text":
        return [("text", width, config.rope_theta, scaling)]
    plain = {"rope_type": "default"}
    return [
        ("text/full_attention", width, config.rope_theta, scaling),
        ("text/sliding_attention", width, config.rope_local_base_freq, plain),
    ]


def _tables(layer: Any, config: Any) -> list[tuple[str, list[Any]]]:
    import torch

    cpu = torch.device("cpu")
    if hasattr(layer, "short_inv_freq"):
        gain = layer.scaling_factor
        lists = (("/short", layer.short_inv_freq), ("/long", layer.long_inv_freq))
        return [(tag, short(table.tolist(), gain)) for tag, table in lists]
    if type(layer).__name__.startswith("Dynamic"):
        length = config.max_position_embeddings
        start = short(layer.inv_freq.tolist())
        layer._update_cos_sin_cache(torch.float32, cpu, 2 * length)
        return [(f"/@{length}", start), (f"/@{2 * length}", short(layer.inv_freq.tolist()))]
    layer._update_cos_sin_cache(torch.float32, cpu, 8)
    return [("", short(layer.inv_freq.tolist(), getattr(layer, "mscale", 1.0)))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rotary", help="server/text_generation_server/layers/rotary.py")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    logging.disable(logging.CRITICAL)
    rotary = layer_module(given.rotary)
    count, seed = (COUNT, SEED) if given.write else (given.random, given.seed)
    rows = []
    for name, config in drawn(count, seed):
        if config["model_type"] in KINDS:
            with contextlib.redirect_stderr(io.StringIO()):
                rows.append((name, config, measured(rotary, config)))
    if given.write:
        write(RELEASE, rows)
    wrong = 0
    for name, config, found in rows:
        for problem in problems(tgi, RELEASE, config, found):
            wrong += 1
            print(f"{name}: {problem}")
    print(f"{RELEASE}: {len(rows) - wrong} of {len(rows)} agree")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
