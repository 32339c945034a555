"""What the vLLM and SGLang oracles share: layers without content, tables and verdicts.

A model class is constructed on the meta device with its layers stubbed. Its ``get_rope`` is
replaced by a recorder, so that every attention layer tells what it asked for; the real ``get_rope``
then builds the table of each call, and the frequencies are taken where it multiplies them with the
positions.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import os
import re
import sys
import tempfile
import types
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ropeaudit.document import parse
from ropeaudit.errors import InvalidValue
from ropeaudit.facts import Reading
from ropeaudit.readers.engines.interface import Engine, NotCovered, Refuses, Request
from ropeaudit.readers.transformers import read
from ropeaudit.schedule.core import Schedule
from tests.oracles.engines.served_configs import draw
from tests.oracles.engines.served_stubs import SPECIAL, nothing

GUESSES = {
    "score_func": "sigmoid", "scoring_func": "sigmoid", "zero_expert_type": "identity",
    "topk_method": "noaux_tc", "is_moe_layer": [True] * 128,
}  # fmt: skip
"""Values of fields that have nothing to do with positions and that config classes lack."""
SHORT = re.compile(r"'\w+Config' object has no attribute '(\w+)'")
POSITION = ("rope", "rotary", "head_dim", "sliding_window", "layer_types")


class Layer(nn.Module):
    """Any layer: takes all arguments, holds nothing."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def tie_weights(self, *args: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return nothing(name)()


def layers(names: str) -> None:
    """Hands out a Layer subclass for each of ``names``."""
    for name in names.split():
        SPECIAL[name] = type(name, (Layer,), {})


def recorder(call: dict[str, Any]) -> Any:
    """What stands for a rotary embedding: a module that remembers what it was made from."""
    made = Layer()
    object.__setattr__(made, "call", copy.deepcopy(call))
    made.is_neox_style = call["neox"]
    made.rotary_dim = made.head_size = call["head"]
    made.cos_sin_cache = torch.zeros(4, 8)
    return made


def tables(build: Callable[[], Any]) -> list[dict[str, Any]]:
    """Frequencies, width and factor of each table that ``build`` makes."""
    seen: list[list[float]] = []
    plain = torch.einsum

    def einsum(equation: str, *terms: Any) -> Any:
        if equation.replace(" ", "") != "i,j->ij" or len(terms) != 2:
            return plain(equation, *terms)
        positions, frequencies = terms
        step = float(positions[1] - positions[0])  # linear scaling divides the positions
        seen.append((frequencies * step).tolist())
        return positions[:4, None] * frequencies

    torch.einsum = einsum
    try:
        made = build()
    finally:
        torch.einsum = plain
    if hasattr(made, "short_mscale"):
        factors = (made.short_mscale, made.long_mscale)
        names = ("short", "long")
    else:
        factors, names = (float(getattr(made, "mscale", 1.0)),), (None,)
    return [
        {"variant": name, "inv_freq": table, "attention": factor, "rotary_dim": made.rotary_dim}
        for name, table, factor in zip(names, seen, factors, strict=True)
    ]


def observed(
    model: nn.Module,
    rotates: Callable[[Any], bool],
    build: Callable[[dict[str, Any]], Any],
) -> list[dict[str, Any]]:
    """One entry for each table of ``model`` with the layers that it serves."""
    calls: dict[str, dict[str, Any]] = {}
    for name, module in model.named_modules():
        rotary = module._modules.get("rotary_emb")
        if rotary is None or not hasattr(rotary, "call") or not rotates(module):
            continue
        numbers = [int(step) for step in name.split(".") if step.isdigit()]
        call = {**rotary.call, "neox": rotary.is_neox_style}
        softmax = 1.0
        if "qk_head_dim" in vars(module) and "scaling" in vars(module):
            softmax = float(module.scaling) * module.qk_head_dim**0.5
        key = json.dumps([call, round(softmax, 9)], default=str, sort_keys=True)
        entry = calls.setdefault(key, {"call": call, "layers": set(), "softmax": softmax})
        entry["layers"].update(numbers[:1])
    found = []
    for entry in calls.values():
        call = entry["call"]
        pairing = "half" if call["neox"] else "interleaved"
        for table in tables(lambda call=call: build(copy.deepcopy(call))):
            # Its weights are permuted on loading, which is read and not run.
            permuted = type(model).__name__.startswith("Llama4")
            extra = {"layers": sorted(entry["layers"]), "pairing": pairing, "permuted": permuted}
            found.append({**table, **extra, "head_dim": call["head"], "softmax": entry["softmax"]})
    return found


def filled(
    run: Callable[[dict[str, Any]], list[dict[str, Any]]], config: dict[str, Any]
) -> list[dict[str, Any]]:
    """``run`` with the fields added that real files have and a class's defaults lack."""
    config = dict(config)
    for _ in range(30):
        try:
            return run(config)
        except AttributeError as error:
            match = SHORT.match(str(error))
            if match is None or match[1] in config or any(p in match[1] for p in POSITION):
                raise
            config[match[1]] = GUESSES.get(match[1], 1)
    raise RuntimeError("more than 30 fields are missing")


def written(config: dict[str, Any], load: Callable[[str], Any]) -> Any:
    """``load`` of a folder with ``config`` in it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "config.json").write_text(json.dumps(config), encoding="utf-8")
        return load(folder)


def verdict(engine: Engine, config: dict[str, Any], run: Callable[..., Any]) -> tuple[str, str]:
    """``agree``, ``not covered`` or ``differ``, and in what."""
    try:
        wanted: list[dict[str, Any]] | str = filled(run, config)
    except Exception as error:  # whatever the engine raises is its refusal
        wanted = f"{type(error).__name__}: {str(error)[:120]}"
    document = parse(json.dumps(config), "config.json")
    reading = Reading(target="config.json", format="hf-config", document=document)
    try:
        reference = read(reading, ())
    except InvalidValue:
        reference = None
    try:
        built = engine.build(Request(document=document, reference=reference), engine.RELEASES[0])
    except NotCovered:
        return "not covered", ""
    except (Refuses, InvalidValue) as error:
        return ("agree", "") if isinstance(wanted, str) else ("differ", f"ours refuses: {error}")
    if isinstance(wanted, str):
        return "differ", f"the engine refuses: {wanted}"
    problems = [p for s in built.schedules for p in _problems(s, wanted)]
    return ("differ", "; ".join(problems)) if problems else ("agree", "")


def _problems(found: Schedule, wanted: list[dict[str, Any]]) -> Iterator[str]:
    served = {i for i in found.layers or () if i < 8}
    variant = found.variant if found.variant in ("short", "long") else None
    same = [w for w in wanted if w["variant"] == variant]
    match = next((w for w in same if not w["layers"] or served <= set(w["layers"])), None)
    if match is None:
        yield f"{found.name}: the engine rotates {[w['layers'] for w in same]}, not {served}"
        return
    pairs = list(zip(found.inv_freq, match["inv_freq"], strict=False))
    if len(found.inv_freq) != len(match["inv_freq"]):
        yield f"{found.name}: {len(found.inv_freq)} channels, not {len(match['inv_freq'])}"
    elif any(a != b and (a <= 0 or b <= 0 or abs(math.log(a / b)) > 2e-5) for a, b in pairs):
        yield f"{found.name}: another table ({found.rope_type}, base {found.rope_theta})"
    permuted = found.pairing == "interleaved" and match["permuted"]
    if found.pairing != match["pairing"] and not permuted:
        yield f"{found.name}: {found.pairing} pairing, not {match['pairing']}"
    for key in ("head_dim", "rotary_dim"):
        if getattr(found, key) != match[key]:
            yield f"{found.name}: {key} {getattr(found, key)}, not {match[key]}"
    for key, value in (("attention", found.attention_scaling), ("softmax", found.softmax_scale)):
        if abs(value - match[key]) > 1e-4:
            yield f"{found.name}: {key} {value}, not {match[key]}"


def main(
    engine: Engine,
    variable: str,
    start: Callable[[Path], Callable[[dict[str, Any]], list[dict[str, Any]]]],
    drawn: Callable[[], dict[str, dict[str, Any]]],
) -> int:
    """The command line of both oracles."""
    options = argparse.ArgumentParser()
    options.add_argument("--source", default=os.environ.get(variable))
    options.add_argument("--config", help="print what the engine does with this file")
    options.add_argument("--random", type=int, default=200)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if not given.source or not Path(given.source).is_dir():
        print(f"no source: unpack the release and name its folder in {variable}", file=sys.stderr)
        return 3
    run = start(Path(given.source))
    if given.config:
        print(json.dumps(filled(run, json.loads(Path(given.config).read_text("utf-8")))))
        return 0
    counts: Counter[str] = Counter()
    for config in draw(drawn(), given.random, given.seed):
        status, why = verdict(engine, config, run)
        counts[status] += 1
        if status == "differ":
            kept = {k: v for k, v in config.items() if "rope" in k or "partial" in k}
            print(config["model_type"], why[:300], json.dumps(kept)[:300])
    print(dict(counts))
    return 1 if counts["differ"] else 0


def space(**values: Any) -> Any:
    """An object with these attributes, and a Nothing for any other."""

    class Space(types.SimpleNamespace):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return nothing(name)()

    return Space(**values)
