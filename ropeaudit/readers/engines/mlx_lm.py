"""mlx-lm 0.32 and 0.28: what they build from config.json.

Each model file reads the raw config key by key into its ``ModelArgs`` (``models/base.py`` 13-24:
names of its fields only; a missing argument stops loading), so most families read ``rope_theta``
and ``rope_scaling`` alone and run a file of the new schema on their own defaults, without a word.
``utils.py`` 48-75 and 199-231 (0.32.2) choose the model file from ``model_type``; an unknown one
is refused. The rotary layers are described in ``_mlx_ropes``, the families in ``_mlx_models``,
``_mlx_layers`` and ``_mlx_special``.

Ran: rotary layers of the model classes on mlx 0.32.4 (CPU), and which layers have one, see
``tests/oracles/engines``. Cosines are computed in the fused kernel, from float32 frequencies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, Note
from ropeaudit.readers.engines._mlx_checks import CHECKS
from ropeaudit.readers.engines._mlx_models import Model
from ropeaudit.readers.engines._mlx_special import turns
from ropeaudit.readers.engines._raw_ignored import ignored
from ropeaudit.readers.engines._raw_keys import EXCERPT, POSITIONAL, Raw, architectures, is_excerpt
from ropeaudit.readers.engines._raw_tables import Turn, schedule
from ropeaudit.readers.engines.interface import Built, NotCovered, Refuses, Release, Request
from ropeaudit.records import replace

RELEASES = (
    Release(
        name="mlx-lm-0.32",
        engine="mlx-lm",
        version="0.32.2 (mlx 0.32.4)",
        covers=("0.32",),
        how="ran",
        source="mlx_lm/models/rope_utils.py 11-330 and models/*.py; utils.py 48-75, 199-231",
    ),
    Release(
        name="mlx-lm-0.28",
        engine="mlx-lm",
        version="0.28.4 (mlx 0.32.4)",
        covers=("0.28",),
        how="ran",
        source="mlx_lm/models/rope_utils.py 11-260 and models/*.py; utils.py 18-51",
    ),
)

REMAPPED = {
    "mistral": "llama", "llava": "mistral3", "phi-msft": "phixtral", "falcon_mamba": "mamba",
    "kimi_k2": "deepseek_v3", "qwen2_5_vl": "qwen2_vl",
}  # fmt: skip
REMAPPED_SINCE = {
    **REMAPPED, "joyai_llm_flash": "deepseek_v3", "minimax_m2": "minimax", "iquestcoder": "llama",
    "xverse": "llama", "gemma4_unified": "gemma4", "deepseek_v41_text": "deepseek_v41",
}  # fmt: skip


@cache
def families() -> Mapping[str, Any]:
    """Entries by model file, described in ``_mlx_models``."""
    path = Path(__file__).with_name("_mlx_families.json")
    found: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def build(request: Request, release: Release) -> Built:
    """Raises Refuses for what stops mlx-lm, NotCovered for model files that were not looked at."""
    document = request.document
    if document.file.replace("\\", "/").rsplit("/", 1)[-1] == "params.json":
        raise Refuses("it looks for config.json, and there is params.json only")
    old = release.name == "mlx-lm-0.28"
    raw = Raw(document, document.data)
    name, entry = _entry(raw, old=old)
    nodes = [raw]
    if entry["rope"] is None:
        raise NotCovered(f"its model file {name} was not looked at")
    name, entry, raw = _text(name, entry, raw, old=old)
    if raw is not nodes[0]:
        nodes.append(raw)
    if entry["rope"].get("still"):
        return Built(notes=(Note("no_rotary", f"the model file {name} has no rotary layer"),))
    check = CHECKS.get(entry["rope"].get("check", ""))
    if check is not None:
        check(raw)
    model = Model(name=name, raw=raw, rope=entry["rope"], request=request, old=old)
    made = [t for turn in turns(model) for t in _lengths(turn, request.lengths)]
    facts = tuple(raw.facts)
    schedules = tuple(schedule(request, release.name, turn, facts) for turn in made)
    return Built(
        schedules=schedules,
        ignored=ignored(nodes, schedules),
        notes=(*_notes(made), *((EXCERPT,) if is_excerpt(nodes[0]) else ())),
    )


def _entry(raw: Raw, *, old: bool) -> tuple[str, Mapping[str, Any]]:
    """The model file and its entry as of the release; raises Refuses where there is none."""
    kind = raw.data.get("model_type")
    if not isinstance(kind, str):
        raise Refuses(f"model_type is {shown(kind)}, and it looks for a model file of that name")
    v3 = "BailingMoeV3ForCausalLM" in architectures(raw.data)
    if kind == "bailing_hybrid" and v3 and not old:
        kind = "bailing_moe_v3"
    name = (REMAPPED if old else REMAPPED_SINCE).get(kind, kind)
    entry = families().get(name)
    if entry is None or (old and entry.get("since") == "0.32"):
        raise Refuses(f"it has no model file for {quoted(kind)}")
    return name, _as_of(entry, old=old)


def _as_of(entry: Mapping[str, Any], *, old: bool) -> Mapping[str, Any]:
    if not old:
        return entry
    changed = {key: entry[f"{key}28"] for key in ("need", "give", "rope") if f"{key}28" in entry}
    return {**entry, **changed}


def _text(
    name: str, entry: Mapping[str, Any], raw: Raw, *, old: bool
) -> tuple[str, Mapping[str, Any], Raw]:
    """The text model's file, entry and part of the config; raises Refuses for missing arguments."""
    rule = entry["rope"]
    wrap = rule.get("wrap")
    if wrap is None and "wrapped" not in entry:
        _require(name, entry["need"], raw)
        return name, entry, raw.with_defaults(entry["give"])
    given = {"text_config"} if rule.get("flat") and not raw.has("text_config") else set()
    _require(name, entry["need"] if wrap else entry.get("outer", ()), raw, given)
    inner = raw if given else raw.child("text_config")
    if inner is None:
        if not rule.get("empty"):
            raise Refuses("text_config is null, where it expects the text model's settings")
        inner = raw.inside("text_config", {})
    if wrap is None:
        _require(name, entry["need"], inner)
        return name, entry, inner.with_defaults(entry["give"])
    wrap = rule.get("inner", {}).get(str(inner.data.get("model_type")), wrap)
    entry = families()[wrap]
    if old and entry.get("since") == "0.32":
        raise Refuses(f"it has no model file {wrap}")
    entry = _as_of(entry, old=old)
    fill = {**rule.get("fill", {}), "vocab_size": None, "num_key_value_heads": None}
    _require(wrap, entry["need"], inner, set(fill) if "fill" in rule else set())
    return wrap, entry, inner.with_defaults({**entry["give"], **rule.get("fill", {})})


def _require(name: str, need: list[str], raw: Raw, given: set[str] | None = None) -> None:
    missing = [key for key in need if key not in raw.data and key not in (given or ())]
    if is_excerpt(raw):
        missing = [key for key in missing if key in POSITIONAL]
    if missing:
        shown_names = ", ".join(missing[:4]) + (" and more" if len(missing) > 4 else "")
        raise Refuses(f"its model file {name} needs {shown_names}, which the file lacks")


def _lengths(turn: Turn, lengths: tuple[int, ...]) -> list[Turn]:
    """One table a sequence length, where the base grows with the sequence."""
    if turn.law != "dynamic" or turn.declared is None:
        return [turn]
    wanted = lengths or (turn.declared, 2 * turn.declared)
    return [replace(turn, variant=f"@{n}", length=n) for n in dict.fromkeys(wanted)]


def _notes(made: list[Turn]) -> tuple[Note, ...]:
    said: dict[str, Json] = {}
    if any(turn.law == "longrope" for turn in made):
        said["longrope_list"] = "it takes the long list of factors at every length"
    if any(turn.law == "dynamic" for turn in made):
        said["dynamic_cache"] = "keys already cached keep the base of the length they came at"
    return tuple(Note(kind, message) for kind, message in said.items())
