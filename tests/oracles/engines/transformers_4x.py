"""Rotary tables of transformers 4.x itself: the models are built and their buffers taken. Opt-in.

Run it with a Python that has torch and the release, and with this repository on PYTHONPATH:

    pip install transformers==4.57.6 torch
    PYTHONPATH=. python tests/oracles/engines/transformers_4x.py --random 400 --seed 1
    PYTHONPATH=. python tests/oracles/engines/transformers_4x.py --write

With ``--random`` it draws configs over the model types that ``ropeaudit`` covers and compares; with
``--write`` it measures the grid and writes this release's part of
``fixtures/readers/transformers_4x.json``.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

from tests.oracles.engines.transformers_configs import BASE, drawn, grid

FIXTURE = Path(__file__).parents[3] / "fixtures" / "readers" / "transformers_4x.json"
REFUSED = "refused"


def classes() -> dict[str, Any]:
    """Config classes by model type, those of parts included."""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

    found = {}
    for name in CONFIG_MAPPING_NAMES:
        try:
            found[name] = CONFIG_MAPPING[name]
        except (AttributeError, ImportError):
            continue  # a class of a package that is not here
    return found


def measured(config: dict[str, Any], known: dict[str, Any], lengths: dict[str, int]) -> Any:
    """Modules with their table and attention scaling at first and at each of ``lengths``.

    REFUSED where the config or the model cannot be built.
    """
    from transformers import AutoModel
    from transformers.modeling_utils import no_init_weights

    kind = known.get(config["model_type"])
    if kind is None:
        return REFUSED
    try:
        made = kind.from_dict(json.loads(json.dumps(config)))
        made._attn_implementation = "eager"
        with no_init_weights():
            model = AutoModel.from_config(made)
    except Exception:
        return REFUSED
    found: list[dict[str, Any]] = []
    for name, module in model.named_modules():
        if hasattr(module, "inv_freq") and "vis" not in name.lower():
            row = _states(module, lengths)
            if row not in found:
                found.append(row)
    return found


def _states(module: Any, lengths: dict[str, int]) -> dict[str, Any]:
    rows = {"first": _state(module)}
    for tag, length in lengths.items():
        _call(module, length)
        rows[tag] = _state(module)
    return rows


def _state(module: Any) -> list[Any]:
    return [module.inv_freq.tolist(), float(getattr(module, "attention_scaling", 1.0))]


def _call(module: Any, length: int) -> None:
    """One token at the last position of a sequence, which is what makes tables grow."""
    import torch

    x = torch.zeros(1, 1, 4)
    for shape in ((1, 1), (3, 1, 1)):
        try:
            module(x, position_ids=torch.full(shape, length - 1))
        except (IndexError, TypeError):
            continue
        return


def lengths_of(config: dict[str, Any]) -> dict[str, int]:
    """Lengths at which the variants of growing tables are in use."""
    scaling = config.get("rope_scaling") or {}
    declared = config["max_position_embeddings"]
    original = config.get("original_max_position_embeddings")
    original = original or scaling.get("original_max_position_embeddings") or declared
    return {"short": min(original, declared), "long": declared, "@2": 2 * declared}


def _grows(config: dict[str, Any]) -> bool:
    scaling = config.get("rope_scaling") or {}
    kinds = {scaling.get("type"), scaling.get("rope_type")}
    return bool(kinds & {"dynamic", "longrope", "su"})


def compact(rows: Any) -> Any:
    """A table as count, three values and the attention scaling; states like the first left out."""
    if rows == REFUSED:
        return None
    marks = [{tag: fingerprint(*state) for tag, state in row.items()} for row in rows]
    return [
        {tag: mark for tag, mark in row.items() if tag == "first" or mark != row["first"]}
        for row in marks
    ]


def fingerprint(table: Any, attention: float) -> list[Any]:
    middle = len(table) // 2
    return [len(table), *(float(f"{table[k]:.7g}") for k in (1, middle, -1)), round(attention, 6)]


def write(release: str, types: list[str]) -> None:
    known = classes()
    out: dict[str, Any] = {}
    for model_type in types:
        if model_type not in known:
            continue
        rows = {}
        for name, config in grid(model_type):
            found = measured(config, known, lengths_of(config) if _grows(config) else {})
            rows[name] = compact(found)
        if any(rows.values()):
            out[model_type] = rows
    old = json.loads(FIXTURE.read_text(encoding="utf-8")) if FIXTURE.exists() else {}
    old[release] = out
    parts = []
    for name in sorted(old, reverse=True):
        lines = (f"{_json(t)}:{_json(rows)}" for t, rows in sorted(old[name].items()))
        parts.append(f"{_json(name)}:" + "{\n" + ",\n".join(lines) + "\n}")
    FIXTURE.write_text("{" + ",\n".join(parts) + "}\n", encoding="utf-8")
    print(release, sum(map(len, out.values())), "configs of", len(out), "model types")


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def compare(release: str, types: list[str], count: int, seed: int) -> int:
    """Draws configs and counts those where ``ropeaudit`` and the release disagree."""
    from tests.transformers_4x import disagreement

    known, wrong = classes(), 0
    for name, config in drawn([t for t in types if t in known], count, seed):
        rows = compact(measured(config, known, lengths_of(config)))
        said = disagreement(release, config, rows)
        if said:
            wrong += 1
            print(f"{name}: {said}\n  {_json({k: config[k] for k in config.keys() - BASE})}")
    print(f"transformers {release}: {count - wrong} of {count} configs agree")
    return wrong


def main() -> None:
    warnings.filterwarnings("ignore")
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    transformers = importlib.import_module("transformers")
    transformers.logging.set_verbosity_error()
    release = ".".join(transformers.__version__.split(".")[:2])
    from tests.transformers_4x import covered

    if given.write:
        write(release, covered(release))
    sys.exit(compare(release, covered(release), given.random, given.seed) > 0)


if __name__ == "__main__":
    main()
