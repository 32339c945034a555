"""Rotary tables of the transformers that is installed: a tiny model is built, its buffers taken."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.oracles.engines.tables import Table, table

Config = dict[str, Any]


def start() -> Callable[[Config], list[Table]]:
    """A function from a config to the tables of its text model, for 4.x and for 5.x."""
    transformers = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    if transformers.__version__.startswith("4."):
        return _four()
    no_weights = importlib.import_module("transformers.initialization").no_init_weights

    def run(config: Config) -> list[Table]:
        made = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(config)
        made._attn_implementation = "eager"
        with no_weights():
            model = transformers.AutoModel.from_config(made)
        return list(_tables(model))

    return run


def _four() -> Callable[[Config], list[Table]]:
    from tests.oracles.engines import transformers_4x as oracle

    known = oracle.classes()

    def run(config: Config) -> list[Table]:
        grows = oracle._grows(config)
        rows = oracle.measured(config, known, oracle.lengths_of(config) if grows else {})
        if rows == oracle.REFUSED:
            raise ValueError("the config or the model cannot be built")
        declared = config["max_position_embeddings"]
        names = {"first": None, "short": "short", "long": "long", "@2": f"@{2 * declared}"}
        return [
            table(values, variant=names[tag], attention_scaling=attention)
            for row in rows
            for tag, (values, attention) in row.items()
        ]

    return run


def _tables(model: Any) -> Iterator[Table]:
    for name, module in model.named_modules():
        if "vis" in name.lower():
            continue
        for buffer, _ in list(module.named_buffers(recurse=False)):
            if buffer == "inv_freq" or (
                buffer.endswith("_inv_freq") and not buffer.endswith("original_inv_freq")
            ):
                label = buffer.removesuffix("inv_freq").removesuffix("_") or None
                yield from _states(module, buffer, label, _softmax(model))


def _softmax(model: Any) -> float | None:
    """The factor in the scale of latent attention, beyond the square root of its width."""
    for module in model.modules():
        own = vars(module)
        if "qk_head_dim" in own and "scaling" in own:
            return float(own["scaling"]) * float(own["qk_head_dim"]) ** 0.5
    return None


def _states(module: Any, buffer: str, label: str | None, softmax: float | None) -> Iterator[Table]:
    """As built, and for tables that depend on the length what they are at two of them."""
    rope = module.config.rope_parameters
    rope = rope[label] if label is not None else rope
    declared = module.config.max_position_embeddings
    lengths: dict[str | None, int] = {}
    if rope["rope_type"] == "dynamic":
        lengths = {f"@{declared}": declared, f"@{2 * declared}": 2 * declared}
    if rope["rope_type"] == "longrope":
        original = int(rope["original_max_position_embeddings"])
        lengths = {"short": original, "long": original + 1}
    gain = "attention_scaling" if label is None else f"{label}_attention_scaling"
    for variant, length in lengths.items() or ((None, 0),):
        if length:
            _call(module, length, label)
        yield table(
            getattr(module, buffer).tolist(), variant=variant, layer_type=label,
            attention_scaling=float(getattr(module, gain, 1.0)), softmax_scale=softmax,
        )  # fmt: skip


def _call(module: Any, length: int, label: str | None) -> None:
    """One token at the last position of a sequence, which is what makes tables grow."""
    import torch

    more = {} if label is None else {"layer_type": label}
    x = torch.zeros(1, 1, 4)
    for shape in ((1, 1), (3, 1, 1)):
        try:
            module(x, torch.full(shape, length - 1), **more)
        except (IndexError, TypeError, RuntimeError):
            continue
        return
