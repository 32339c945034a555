"""Rotary tables of mlx-lm itself, measured by rotating unit vectors. Opt-in, needs mlx.

Run it with a Python that has mlx (its CPU build will do) and this repository on PYTHONPATH:

    pip install mlx mlx-cpu
    pip download mlx-lm==0.32.2 --no-deps && unzip mlx_lm-0.32.2*.whl -d mlx-lm-0.32
    PYTHONPATH=. python tests/oracles/engines/mlx_lm.py mlx-lm-0.32 --config config.json
    PYTHONPATH=. python tests/oracles/engines/mlx_lm.py mlx-lm-0.32 --random 400 --seed 1

With ``--config`` it prints what every layer of the model does, as JSON; with ``--random`` it draws
configs over the families that ``ropeaudit`` covers and compares. The package is taken from the
folder, so that its own dependencies are not needed: the model files need mlx alone.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import json
import math
import sys
import types
from pathlib import Path
from typing import Any

from tests.oracles.engines.random_rows import row, write
from tests.oracles.engines.tables import by_layer, differences

ROPES = ("rope", "rotary_emb")
STOP_LATE = ("mistral4", "ministral3")
"""Families some of whose configs build and stop at the first token."""


def load(folder: Path) -> dict[str, str]:
    """Makes ``mlx_lm.models`` importable from ``folder``; returns the remapping of model types."""
    package = types.ModuleType("mlx_lm")
    package.__path__ = [str(folder / "mlx_lm")]
    sys.modules["mlx_lm"] = package
    tree = ast.parse((folder / "mlx_lm" / "utils.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "MODEL_REMAPPING":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    raise SystemExit(f"{folder} holds no mlx_lm with a MODEL_REMAPPING")


def model_of(config: dict[str, Any], remapped: dict[str, str]) -> Any:
    """The model with random weights, which mlx never computes unless somebody asks."""
    kind = config["model_type"]
    module = importlib.import_module(f"mlx_lm.models.{remapped.get(kind, kind)}")
    return module.Model(module.ModelArgs.from_dict(json.loads(json.dumps(config))))


def measured(model: Any, length: int | None = None) -> list[dict[str, Any] | None]:
    """For each layer the table that its rotary module applies, None where it does not rotate.

    ``length``: the sequence that the vectors are part of, for tables that grow with it.
    """
    return [_layer(layer, length) for layer in model.layers]


def _forward(model: Any) -> None:
    """Three tokens through the model, where some configs build and stop only then.

    Not for every family: widths that no model has can crash mlx's own kernels."""
    import mlx.core as mx

    mx.eval(model(mx.array([[1, 2, 3]])))


def _layer(layer: Any, length: int | None) -> dict[str, Any] | None:
    for _, module in layer.named_modules():
        # A rotary module without parameters is an empty dict to Python, so false.
        held = [getattr(module, n) for n in ROPES if getattr(module, n, None) is not None]
        rope = held[0] if held else None
        if rope is None or "Indexer" in type(module).__name__:
            continue
        if getattr(module, "use_rope", True) and getattr(module, "use_sliding_window", True):
            return _table(rope, module, length)
        return None
    return None


def _table(rope: Any, module: Any, length: int | None) -> dict[str, Any] | None:
    import mlx.core as mx

    width = getattr(rope, "dims", None) or getattr(rope, "dim", None)
    width = width or getattr(module, "qk_rope_head_dim", None) or module.head_dim
    if type(rope).__name__ == "NoPE":
        return None
    x = mx.zeros((width, 1, length or 2, width))
    x[:, 0, 1, :] = mx.eye(width)
    y = rope(x)[:, 0, 1, :].tolist()
    half = width // 2
    adjacent = abs(y[0][1]) > abs(y[0][half]) if half > 1 else False
    pairs = [(2 * k, 2 * k + 1) if adjacent else (k, k + half) for k in range(half)]
    sizes = [math.hypot(y[a][a], y[a][b]) for a, b in pairs]
    table = {
        "rotary_dim": width,
        "pairing": "interleaved" if adjacent else "half",
        "inv_freq": [math.atan2(y[a][b], y[a][a]) for a, b in pairs],
        "attention_scaling": sum(sizes) / len(sizes),
    }
    nope = getattr(module, "qk_nope_head_dim", None)
    if nope and getattr(module, "qk_rope_head_dim", None):
        scale = getattr(module, "scale", None) or module.softmax_scale
        table["softmax_scale"] = scale * math.sqrt(nope + module.qk_rope_head_dim)
    return table


def compare(config: dict[str, Any], release: str, remapped: dict[str, str]) -> tuple[str, str]:
    """(verdict, reason): same, both refuse, not covered, or how the two differ."""
    from ropeaudit.readers.engines.interface import NotCovered
    from ropeaudit.records import replace

    try:
        ours = _ours(config, release)
        theirs = _theirs(config, remapped)
    except (NotCovered, Skipped) as error:
        return "skipped", str(error)
    if isinstance(ours, str) and isinstance(theirs, str):
        return "both refuse", f"{ours} | {theirs}"
    if isinstance(ours, str) or isinstance(theirs, str):
        return "one refuses", f"ours: {ours!s:.200} | theirs: {theirs!s:.300}"
    model, layers = theirs
    seen, used = by_layer(layers), []
    for schedule in ours.schedules:
        variant = schedule.variant or ""
        if variant.startswith("@"):
            seen += by_layer(measured(model, int(variant[1:])), variant)
            used.append(schedule)
        else:  # of longrope's lists it holds one
            used.append(replace(schedule, variant=None))
    found = list(differences(used, seen))
    return ("differs", "; ".join(found[:3])) if found else ("same", "")


class Skipped(Exception):
    """The engine cannot say, for a reason that is none of the config's."""


def _ours(config: dict[str, Any], release: str) -> Any:
    """What ropeaudit builds, or the text of the refusal; raises NotCovered."""
    from ropeaudit.document import parse
    from ropeaudit.errors import InvalidValue
    from ropeaudit.readers.engines import mlx_lm
    from ropeaudit.readers.engines.interface import Refuses, Request

    document = parse(json.dumps(config), "config.json")
    one = next(r for r in mlx_lm.RELEASES if r.name == release)
    try:
        return mlx_lm.build(Request(document=document, reference=None), one)
    except (Refuses, InvalidValue) as error:
        return str(error)


def _theirs(config: dict[str, Any], remapped: dict[str, str]) -> Any:
    """The model with its layers' tables, or the text of what stopped it."""
    try:
        model = model_of(config, remapped)
        layers = measured(model)
        if any(name in json.dumps(config) for name in STOP_LATE):
            _forward(model)
    except SystemExit:
        raise Skipped("the model file asks for a package of its own") from None
    except Exception as error:  # whatever stops the engine is its refusal
        return f"{type(error).__name__}: {error}"
    return model, layers


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("release", choices=("mlx-lm-0.32", "mlx-lm-0.28"))
    parser.add_argument("--folder", type=Path, help="unpacked wheel, default: the release's name")
    parser.add_argument("--config", type=Path)
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--family", action="append")
    parser.add_argument("--golden", type=Path, help="a file for what the engine does with them")
    asked = parser.parse_args()
    remapped = load(asked.folder or Path(asked.release))
    if asked.config:
        config = json.loads(asked.config.read_text(encoding="utf-8"))
        print(json.dumps(measured(model_of(config, remapped))))
        return 0
    from tests.oracles.engines.mlx_configs import draw

    if asked.golden:
        rows = []
        for name, config in draw(asked.random, asked.seed, asked.release):
            with contextlib.suppress(Skipped):
                found = _theirs(config, remapped)
                rows.append(row(name, config, None if isinstance(found, str) else found[1]))
        write(asked.golden, asked.release, asked.seed, asked.random, rows)
        return 0
    verdicts: dict[str, int] = {}
    families: dict[str, set[str]] = {}
    for name, config in draw(asked.random, asked.seed, asked.release, asked.family):
        verdict, reason = compare(config, asked.release, remapped)
        verdicts[verdict] = verdicts.get(verdict, 0) + 1
        families.setdefault(verdict, set()).add(name)
        if verdict in ("differs", "one refuses"):
            print(f"{verdict}: {name}: {reason}\n    {json.dumps(config)}")
    print(json.dumps(verdicts))
    print(
        f"families with a same: {len(families.get('same', ()))}; with both refuse only: "
        f"{sorted(families.get('both refuse', set()) - families.get('same', set()))}"
    )
    return 1 if verdicts.keys() & {"differs", "one refuses"} else 0


if __name__ == "__main__":
    raise SystemExit(main())
