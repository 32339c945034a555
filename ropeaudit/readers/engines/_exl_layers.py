"""Which layers of an ExLlamaV3 architecture rotate, and by which settings.

``_exl_families.json`` holds one entry an architecture (``architecture/<file>.py`` of 1.6.5), made
from the source: ``need`` keys without which loading stops, ``assert`` values it insists on (where
they are stated; with 1 as third item, always), ``text`` the part with the language model, ``style``
the pairing (default half), ``theta`` the base of a file without one, ``head`` the width: a field or
a default for head_dim, ``ratio`` DeepSeek's mscale, ``strict`` a base of another type
stops loading, ``l`` a rule for layers, ``kind`` a function
below, ``still`` no rotary layers, ``skip`` not looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ropeaudit.errors import shown
from ropeaudit.facts import Json
from ropeaudit.readers.engines._exl_read import read, size
from ropeaudit.readers.engines._exl_three import Settings, settings, turns
from ropeaudit.readers.engines._raw_keys import (
    MAX_LAYERS,
    MAX_WIDTH,
    Raw,
    chunks,
    number,
    portion,
    whole,
)
from ropeaudit.readers.engines._raw_tables import Turn, attention_layers
from ropeaudit.readers.engines.interface import Refuses, Request
from ropeaudit.records import record, replace

SLIDING, FULL = "sliding_attention", "full_attention"


@record(kw_only=True)
class Arch:
    """One architecture with the part of the config that it reads; ``root`` is the whole."""

    entry: Mapping[str, Any]
    root: Raw
    raw: Raw
    request: Request

    def head(self) -> int:
        rule = self.entry.get("head")
        if isinstance(rule, str):
            return size(self.raw, rule)
        own = read(self.raw, "int", "head_dim", default=rule)
        if own:
            return whole(own, "head_dim", MAX_WIDTH)
        heads = size(self.raw, "num_attention_heads")
        return whole(size(self.raw, "hidden_size") // heads, "head_dim", MAX_WIDTH)

    def settings(self, **changes: Any) -> Settings:
        given = {
            "pairing": self.entry.get("style", "half"),
            "base": self.entry.get("theta", 10000.0),
            "ratio": self.entry.get("ratio", False),
            **changes,
        }
        return settings(given.pop("raw", self.raw), given.pop("head", None) or self.head(), **given)

    def count(self) -> int:
        return whole(size(self.raw, "num_hidden_layers"), "num_hidden_layers", MAX_LAYERS)

    def kinds(self, *known: str) -> list[Json] | None:
        """The list of layer types, None where there is none; Refuses for one that does not fit."""
        raw = self.root if self.entry.get("root_layers") else self.raw
        found: list[Json] | None = read(raw, "list", "layer_types")
        if not found:
            return None
        if len(found) != self.count():
            raise Refuses(f"layer_types has {len(found)} entries for {self.count()} layers")
        odd = next((kind for kind in found if known and kind not in known), None)
        if odd is not None:
            raise Refuses(f"it knows no layer type {shown(odd)}")
        return found

    def sliding(self, *, period: Json = None) -> list[bool] | None:
        """By the list, else by a period; None where neither is there."""
        kinds = self.kinds(SLIDING, FULL)
        if kinds is not None:
            return [kind == SLIDING for kind in kinds]
        raw = self.root if self.entry.get("root_layers") else self.raw
        step = read(raw, "int", "sliding_window_pattern", default=period)
        return [(i + 1) % step != 0 for i in range(self.count())] if step else None


def _indices(flags: list[bool]) -> tuple[int, ...]:
    return tuple(i for i, flag in enumerate(flags) if flag)


def _windowed(arch: Arch) -> list[bool]:
    """cohere2.py 34-58, 117: rotation where a layer has a window."""
    window = read(arch.raw, "int", "sliding_window", default=-1)
    return [s and window >= 0 for s in arch.sliding() or [False] * arch.count()]


def _exaone(arch: Arch) -> list[bool]:
    """exaone4.py 34-70, 120: as there, with letters instead of a period."""
    window = read(arch.raw, "int", "sliding_window", default=-1)
    kinds, count = arch.kinds(SLIDING, FULL), arch.count()
    letters = read(arch.raw, "str", "sliding_window_pattern")
    if kinds is not None:
        flags = [kind == SLIDING for kind in kinds]
    elif letters:
        flags = [i != count - 1 and letters[i % len(letters)] == "L" for i in range(count)]
    else:
        flags = [False] * count
    if window < 0 and (any(flags) or (letters and kinds is None)):
        raise Refuses("its layers ask for a window and sliding_window is switched off")
    return flags


def _no_rope(arch: Arch) -> list[bool]:
    """smollm3.py 33-35, 50, 92."""
    if any(kind != FULL for kind in arch.kinds() or ()):
        raise Refuses("it takes no layer types but full attention")
    flags, count = read(arch.raw, "list", "no_rope_layers"), arch.count()
    if flags is None or len(flags) < count:
        raise Refuses("it needs no_rope_layers with an entry for each layer")
    return [flag == 1 for flag in flags[:count]]


def _sliding(arch: Arch) -> list[bool]:
    """afmoe.py 103-104."""
    kinds = read(arch.raw, "list", "layer_types") or []
    if len(kinds) < arch.count():
        raise Refuses("layer_types is shorter than the number of layers")
    return [kind == SLIDING for kind in kinds[: arch.count()]]


RULES: dict[str, Callable[[Arch], list[bool]]] = {
    "windowed": _windowed, "exaone": _exaone, "no_rope": _no_rope, "sliding": _sliding,
}  # fmt: skip


def _two(full: Settings, local: Settings, flags: list[bool]) -> list[Turn]:
    """Tables of full and of sliding layers; a kind without layers is never built."""
    found = []
    for label, given, wanted in ((FULL, full, False), (SLIDING, local, True)):
        layers = _indices([flag is wanted for flag in flags])
        if layers:
            found += turns(given, label=label, layers=layers)
    return found


def gemma3(arch: Arch) -> list[Turn]:
    """gemma3.py 61-105, 184-228, 281: the local base is fixed, and a nested dict is not read."""
    flags = arch.sliding(period=6) or [False] * arch.count()
    head = arch.head()
    local = settings(arch.raw.inside("", {}), head)
    return _two(arch.settings(), local, flags)


def gemma4(arch: Arch) -> list[Turn]:
    """gemma4.py 62-63, 74-99, 110-130, 233: the dicts by layer type are all it reads."""
    if read(arch.raw, "int", "hidden_size_per_layer_input"):
        raise Refuses("it does not implement per-layer inputs")
    head = size(arch.raw, "head_dim")
    wide = size(arch.raw, "global_head_dim", default=head)
    kinds = arch.kinds(SLIDING, FULL)
    if kinds is None:
        raise Refuses("it needs layer_types, which the file lacks")
    made = {}
    for label, width, base in ((SLIDING, head, 10000.0), (FULL, wide, 1000000.0)):
        inner = read(arch.raw, "dict", f"rope_parameters->{label}", default={})
        parameters = arch.raw.inside("rope_parameters", {})
        raw = parameters.inside(label, inner)
        kind = read(raw, "str", "rope_type")
        made[label] = settings(raw, width, base=base, kind=kind)
    return _two(made[FULL], made[SLIDING], [kind == SLIDING for kind in kinds])


def olmo3(arch: Arch) -> list[Turn]:
    """olmo3.py 39-58, 100-104: sliding layers are plain; without a list all are full."""
    kinds = arch.kinds(SLIDING, FULL)
    flags = [kind == SLIDING for kind in kinds] if kinds else [False] * arch.count()
    return _two(arch.settings(), arch.settings(kind="default"), flags)


def laguna(arch: Arch) -> list[Turn]:
    """laguna.py 56-73: one dict a layer type, where top-level keys still come first."""
    parameters = read(arch.raw, "dict", "rope_parameters", default={})
    found = []
    for kind, layers in chunks(arch.kinds() or []):
        label = str(kind)
        if not isinstance(parameters.get(label), dict):
            raise Refuses(f"it needs rope_parameters for {shown(kind)}, which is missing")
        # The engine puts the layer type's dict in the place of the whole.
        raw = arch.raw.replaced({**arch.raw.data, "rope_parameters": parameters[label]})
        plain = "default" if kind == SLIDING else None
        found += turns(arch.settings(raw=raw, kind=plain), label=label, layers=layers)
    return found


def mimo_v2(arch: Arch) -> list[Turn]:
    """mimo_v2.py 125-143, 189-193, 262: two bases."""
    count = arch.count()
    pattern = read(arch.raw, "list", "hybrid_layer_pattern", default=[0] * count)
    if len(pattern) != count:
        raise Refuses(f"hybrid_layer_pattern has {len(pattern)} entries for {count} layers")
    if read(arch.raw, "int", "swa_head_dim", default=arch.head()) != arch.head():
        raise Refuses("it supports no other head width in sliding layers")
    swa = ("swa_rope_theta", "rope_theta", "rope_parameters->rope_theta")
    local = arch.settings(theta=swa)
    return _two(arch.settings(), local, [flag == 1 for flag in pattern])


def muse(arch: Arch) -> list[Turn]:
    """muse_glimmer.py 94-115: a base for each layer, 0 for none."""
    given, count = arch.settings(), arch.count()
    bases = read(arch.raw, "list", "layer_rope_theta", default=[given.base] * count)
    if len(bases) != count:
        raise Refuses(f"layer_rope_theta has {len(bases)} entries for {count} layers")
    kinds = arch.kinds() or [None] * count
    found = []
    for (base, kind), layers in chunks([list(pair) for pair in zip(bases, kinds, strict=True)]):
        if base:
            own = replace(given, base=number(base, "layer_rope_theta"))
            found += turns(own, label=str(kind) if kind else None, layers=layers)
    labels = {turn.label for turn in found}
    return [replace(turn, label=None) for turn in found] if len(labels) == 1 else found


def spark2_5(arch: Arch) -> list[Turn]:
    """spark2_5.py 62-84, 102-105: base and part by layer type, no scaling."""
    kinds = arch.kinds(SLIDING, FULL) or [FULL] * arch.count()
    parameters = read(arch.raw, "dict", "rope_parameters", default={})
    found, head = [], arch.head()
    for label in dict.fromkeys(map(str, kinds)):
        own = parameters.get(label)
        inner = arch.raw.inside("rope_parameters", {}).inside(label, own or {})
        base = inner.number("rope_theta", 10000.0)
        rotary = portion(inner.get("partial_rotary_factor", 1.0), head)
        layers = _indices([kind == label for kind in kinds])
        found.append(Turn(base=base, rotary=rotary, head=head, label=label, layers=layers))
    return found


def step3(arch: Arch) -> list[Turn]:
    """step3_5.py 60-72, step3_7.py 52-67: base and part by layer, where top-level numbers win."""
    rows = zip(
        read(arch.raw, "list", "rope_theta", default=[]),
        read(arch.raw, "list", "partial_rotary_factors", default=[]),
        read(arch.raw, "list", "layer_types", default=[]),
        strict=False,
    )
    only = [SLIDING] if "text" not in arch.entry else None
    yarn = read(arch.raw, "list", "yarn_only_types") if only is None else None
    listed = [list(row) for row in rows][: arch.count()]
    if len(listed) < arch.count():
        raise Refuses("its lists by layer are shorter than the number of layers")
    found = []
    for (base, part, kind), layers in chunks(listed):
        plain = kind == SLIDING if only else bool(yarn and kind not in yarn)
        given = arch.settings(base=base, partial=part, kind="default" if plain else None)
        found += turns(given, label=str(kind), layers=layers)
    return found


KINDS: dict[str, Callable[[Arch], list[Turn]]] = {
    f.__name__: f for f in (gemma3, gemma4, olmo3, laguna, mimo_v2, muse, spark2_5, step3)
}


def tables(arch: Arch) -> list[Turn]:
    """Every table of the architecture's language model."""
    kind, rule = arch.entry.get("kind"), arch.entry.get("l")
    if arch.entry.get("strict"):
        read(arch.raw, "float", "rope_theta")
    if kind is not None:
        return KINDS[kind](arch)
    if rule == "hybrid":
        layers = attention_layers(arch.request)
    elif rule is not None:
        layers = _indices(RULES[rule](arch))
        if not layers:
            return []
    else:
        layers = tuple(range(arch.count()))
    return turns(arch.settings(), layers=layers)
