"""Answers for one release of an engine: a config a line in, the tables that it builds a line out.

    PYTHONPATH=. python tests/oracles/engines/serve.py mlx-lm-0.32 --source mlx-lm-0.32

Run by a Python that has what the release needs (``places.py``). An answer is ``{"tables": [...]}``
as in ``tables.py``, ``{"refused": why}``, or ``{"skipped": why}`` where the engine is not asked:
the family has a form that its oracle does not build. ``"fixed": true`` says that tables do not
depend on the length.
"""

from __future__ import annotations

import argparse
import importlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracles.engines.tables import Table, by_layer, table

Config = dict[str, Any]
Run = Callable[[Config], list[Table]]
LARGEST = 1 << 27
"""Numbers in the array by which mlx-lm's longest table is measured."""


class Skipped(Exception):
    """The engine is not asked, for a reason that is none of the config's."""


def mlx_lm(folder: Path) -> Run:
    from tests.oracles.engines import mlx_lm as oracle

    remapped = oracle.load(folder)

    def run(config: Config) -> list[Table]:
        model = oracle.model_of(config, remapped)
        found = by_layer(oracle.measured(model))
        if any(name in json.dumps(config) for name in oracle.STOP_LATE):
            oracle._forward(model)
        if "dynamic" in json.dumps(config):
            for length in (
                config["max_position_embeddings"],
                2 * config["max_position_embeddings"],
            ):
                if all(length * (2 * t["channels"]) ** 2 <= LARGEST for t in found):
                    found = found + by_layer(oracle.measured(model, length), f"@{length}")
        return found

    return run


def exllamav3(folder: Path) -> Run:
    from tests.oracles.engines import exllama as oracle

    layers = oracle.three(folder)
    return lambda config: by_layer(layers(config))


def exllamav2(folder: Path) -> Run:
    from tests.oracles.engines import exllama as oracle

    layers = oracle.two(folder)
    return lambda config: by_layer(layers(config))


def vllm(folder: Path) -> Run:
    return _served("vllm_models", folder)


def sglang(folder: Path) -> Run:
    return _served("sglang_models", folder)


def _served(script: str, folder: Path) -> Run:
    oracle = importlib.import_module(f"tests.oracles.engines.{script}")
    served = importlib.import_module("tests.oracles.engines.served_run")
    start = oracle.start(folder)

    def run(config: Config) -> list[Table]:
        if config["model_type"] not in oracle.FAMILIES.split():
            raise Skipped("its oracle does not build the family")
        return [_from_served(entry) for entry in served.filled(start, config)]

    return run


def _from_served(entry: dict[str, Any]) -> Table:
    return table(
        entry["inv_freq"],
        variant=entry["variant"],
        layers=entry["layers"] or None,
        rotary_dim=entry["rotary_dim"],
        # Weights that are permuted on loading are laid out as they were before.
        pairing=None if entry["permuted"] else entry["pairing"],
        attention_scaling=entry["attention"],
        softmax_scale=entry["softmax"],
    )


def llama_cpp(folder: Path) -> Run:
    from tests.oracles.engines import llama_cpp as oracle

    sys.path[:0] = [str(folder), str(folder / "gguf-py")]

    def run(config: Config) -> list[Table]:
        found = oracle.measured(config)
        if not found:
            raise ValueError("the converter stops, or the file has no table")
        return [
            table(
                s.inv_freq, name=s.name, layers=s.layers, attention_scaling=s.attention_scaling,
                # Pairs are those of the file, whose weights may have been permuted.
                softmax_scale=s.softmax_scale, rotary_dim=s.rotary_dim,
            )
            for s in found
        ]  # fmt: skip

    return run


def transformers(folder: Path) -> Run:
    from tests.oracles.engines import transformers_models as oracle

    return oracle.start()


ENGINES: dict[str, Callable[[Path], Run]] = {
    "transformers": transformers, "vllm": vllm, "sglang": sglang, "mlx-lm": mlx_lm,
    "llama.cpp": llama_cpp, "exllamav3": exllamav3, "exllamav2": exllamav2,
}  # fmt: skip
FIXED = frozenset({"vllm", "sglang", "exllamav3", "exllamav2"})


def engine_of(release: str) -> str:
    return release.split("+")[0] if "+" in release else release.rsplit("-", 1)[0]


def answer(run: Run, config: Config) -> dict[str, Any]:
    try:
        return {"tables": run(json.loads(json.dumps(config)))}
    except Skipped as error:
        return {"skipped": str(error)}
    except SystemExit:
        return {"skipped": "its model file asks for a package of its own"}
    except Exception as error:  # whatever stops the engine is its refusal
        return {"refused": f"{type(error).__name__}: {error}"[:300]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("release")
    parser.add_argument("--source", type=Path, default=Path())
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    # Engines print; what they print must not get between the answers.
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    engine = engine_of(given.release)
    run = ENGINES[engine](given.source.resolve())
    for line in sys.stdin:
        said = answer(run, json.loads(line))
        if engine in FIXED:
            said["fixed"] = True
        out.write(json.dumps(said) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
