"""The spellings among which the engines choose.

An *atom* is one statement of the file (the base on top, one rope dict, a list of layers); a
*spelling* is a set of atoms that say everything the reference reads. Spellings differ in what
engines differ in: the key of the type, the base inside the old dict, a plain dict written or not.
The first spelling is the one that is advised: both schemas in full, with equal values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from ropeaudit.document import escape
from ropeaudit.facts import Json
from ropeaudit.normalise._stated import Part, Stated, head_dim_default, law_keys
from ropeaudit.normalise._text import Leaf
from ropeaudit.readers.transformers import _layers
from ropeaudit.records import record
from ropeaudit.schedule.keys import BASES, FRACTIONS

_TYPE_KEYS = ("rope_type", "type")
_ORIGINAL = "original_max_position_embeddings"
OLD = "the old schema in full (rope_theta and rope_scaling), which many engines read alone"
NEW = "the new schema in full (rope_parameters), which transformers 5 reads and writes"
TOP = "on top, where engines that read key by key look for it"


@record(kw_only=True)
class Atom:
    """One statement: settings with the reason why they are written."""

    why: str
    settings: Mapping[str, Leaf | None]


@record(kw_only=True)
class Spelling:
    """One way to write everything; ``name`` tells it from the others."""

    name: str
    atoms: tuple[Atom, ...]


def spellings(part: Part) -> tuple[Spelling, ...]:
    """The ways to write ``part``, the advised one first."""
    if part.node.rope.get("nested"):
        return tuple(_nested(part))
    return tuple(_flat(part))


def _flat(part: Part) -> Iterator[Spelling]:
    stated = part.stated[0]
    # A value that engines fill in otherwise is left to them only where stating it loses one.
    for left in (frozenset(), stated.defaulted) if stated.defaulted else (frozenset(),):
        said = f", {'without' if left else 'with'} {', '.join(stated.defaulted)}"
        said = said if stated.defaulted else ""
        new = Atom(why=NEW, settings=_dict(part, "rope_parameters", stated.dict_of(without=left)))
        top = Atom(why=TOP, settings=_top(part, stated))
        for name, old in _old_dicts(part, stated, _lesser(stated), left):
            atoms = [top, Atom(why=OLD, settings=old)] if old else [top]
            yield Spelling(name=f"{name}{said}", atoms=(*atoms, new))


def _lesser(stated: Stated) -> tuple[frozenset[str], ...]:
    """Keys without which some engine reads ``rope_scaling``, nothing first."""
    base = frozenset({"rope_theta"})
    if stated.type != "longrope":
        return (frozenset(), base)
    # transformers 4.x counts the keys: type and the two lists.
    return (frozenset(), base, frozenset(stated.values) - {"short_factor", "long_factor"})


def _old_dicts(
    part: Part,
    stated: Stated,
    lesser: tuple[frozenset[str], ...],
    left: frozenset[str] = frozenset(),
) -> Iterator[tuple[str, Mapping[str, Leaf | None]]]:
    """Ways to write ``rope_scaling``; nothing where it is left as it is, which for a plain table is
    no dict at all."""
    if stated.plain and not isinstance(part.node.data.get("rope_scaling"), dict):
        yield "no rope_scaling, as there is no scaling", {}
    names = tuple(dict.fromkeys((stated.spelled, stated.type)))
    keys = tuple(dict.fromkeys((stated.type_key, *_TYPE_KEYS)))
    for name, key, less in product(names, keys, lesser):
        said = f"{key} {name} in rope_scaling{_without(less)}"
        held = stated.dict_of(without=less | left, type_key=key, name=name)
        yield said, _dict(part, "rope_scaling", held)


def _without(keys: frozenset[str]) -> str:
    if not keys:
        return ""
    return " without the base" if keys == {"rope_theta"} else " with the lists alone"


def _top(part: Part, stated: Stated) -> Mapping[str, Leaf | None]:
    """Base, rotated fraction and, for longrope, the original length beside the dicts."""
    node, rule = part.node, part.node.rope
    keys = rule.get("base_keys", ("rope_theta",))
    found: dict[str, Leaf | None] = {}
    own = [k for k in keys if k in node.data] or list(keys[:1])
    base = stated.values.get("rope_theta")
    if base is not None:
        for key in dict.fromkeys([*own, *(k for k in BASES if k in node.data)]):
            found[part.at(key)] = base
    fractions = [k for k in rule.get("partial_keys", ()) if k in node.data] or list(
        rule.get("partial_keys", ("partial_rotary_factor",))[:1]
    )
    present = [k for k in FRACTIONS if node.data.get(k) is not None]
    wanted = fractions if stated.partial else []
    for key in dict.fromkeys([*wanted, *sorted(present)]):
        found[part.at(key)] = stated.fraction
    original = stated.values.get(_ORIGINAL)
    if original is not None and (stated.type == "longrope" or node.data.get(_ORIGINAL) is not None):
        found[part.at(_ORIGINAL)] = original
    return found


def _dict(part: Part, key: str, full: Mapping[str, Leaf]) -> Mapping[str, Leaf | None]:
    """Settings that make the dict at ``key`` hold ``full``, and nothing stale beside it."""
    return _inside(part.at(key), part.node.data.get(key), full)


def _inside(pointer: str, held: Json, full: Mapping[str, Leaf]) -> dict[str, Leaf | None]:
    found: dict[str, Leaf | None] = {f"{pointer}/{escape(k)}": v for k, v in full.items()}
    if isinstance(held, dict):
        stale = (k for k, v in held.items() if k not in full and (k in law_keys() or v is None))
        found |= {f"{pointer}/{escape(k)}": None for k in stale}
    return found


def _nested(part: Part) -> Iterator[Spelling]:
    """One dict a layer type; the old schema has a key for each base and one for the scaling."""
    new = Atom(why=NEW, settings=_by_label(part))
    fill = part.node.rope.get("fill")
    if fill is None:
        yield Spelling(name="rope_parameters by layer type", atoms=(new,))
        return
    top = Atom(why=TOP, settings=_bases(part, fill))
    merged = [s for s in part.stated if s.label in part.node.rope.get("merge", ())]
    scaled = [s for s in merged if not s.plain]
    if not scaled or not _equal(merged):
        yield Spelling(name="rope_parameters by layer type", atoms=(top, new))
        return
    base = frozenset({"rope_theta"})
    lesser = (base, frozenset()) if len(merged) == 1 else (base,)
    for name, old in _old_dicts(part, merged[0], lesser):
        yield Spelling(name=name, atoms=(top, Atom(why=OLD, settings=old), new))


def _equal(stated: list[Stated]) -> bool:
    """Whether one dict can say the scaling of all of them."""
    base = frozenset({"rope_theta"})
    said = [{k: v.value for k, v in s.dict_of(without=base).items()} for s in stated]
    return all(s == said[0] for s in said)


def _by_label(part: Part) -> Mapping[str, Leaf | None]:
    held = part.node.data.get("rope_parameters")
    held = held if isinstance(held, dict) else {}
    found: dict[str, Leaf | None] = {}
    for stated in part.stated:
        label = str(stated.label)
        at = f"{part.at('rope_parameters')}/{escape(label)}"
        found |= _inside(at, held.get(label), stated.dict_of())
    stray = (k for k, v in held.items() if k in law_keys() and not isinstance(v, dict))
    return found | {f"{part.at('rope_parameters')}/{escape(k)}": None for k in stray}


def _bases(part: Part, fill: Mapping[str, Mapping[str, Json]]) -> Mapping[str, Leaf | None]:
    """The base of each layer type under its own top-level key; the first of a shared key counts."""
    found: dict[str, Leaf | None] = {}
    for label, how in fill.items():
        stated = next((s for s in part.stated if s.label == label), None)
        base = None if stated is None else stated.values.get("rope_theta")
        if base is not None:
            found.setdefault(part.at(how["key"]), base)
    return found


def advised(part: Part) -> Iterator[Atom]:
    """What is stated besides the schemas, so that nothing is left to an engine's defaults."""
    head = head_dim_default(part)
    if head is not None:
        yield Atom(
            why="a class default, which engines have of their own",
            settings={part.at("head_dim"): head},
        )
    if part.node.rope.get("nested"):
        yield from _layer_types(part)
    yield from _unrotated(part)


def _layer_types(part: Part) -> Iterator[Atom]:
    """The list of layer types, and the period by which older readers count."""
    node, rule = part.node, part.node.spec.get("layers") or {}
    kinds = _layers.types(node)
    if not kinds or rule.get("ignores_list"):
        return
    if node.data.get("layer_types") is None:
        why = "which layer has which table, for engines that do not count"
        yield Atom(why=why, settings={part.at("layer_types"): Leaf(list(kinds))})
    key = rule.get("key")
    if rule.get("law") != "cycle" or key is None or node.data.get(key) is not None:
        return
    period = _period(kinds, rule["cycle"])
    if period is not None:
        why = "the period of the layer types, for engines that read no list"
        yield Atom(why=why, settings={part.at(key): Leaf(period)})


def _period(kinds: list[str], cycle: list[str]) -> int | None:
    """Layers from one odd member of the pattern to the next; None where that is not seen."""
    odd = next((t for t in cycle if cycle.count(t) == 1), None)
    at = [i for i, t in enumerate(kinds) if t == odd]
    if not at:
        return None
    if cycle[0] == odd and cycle[-1] != odd:
        return at[1] - at[0] if len(at) > 1 else None
    return at[0] + 1


def _unrotated(part: Part) -> Iterator[Atom]:
    """Which layers turn, as a list and as an interval that says the same."""
    node, rule = part.node, part.node.spec.get("unrotated", {})
    layers = _layers.count(node)
    if "list" not in rule or not layers:
        return
    flags = [int(bool(f)) for f in _layers.no_rope_list(node, layers)[:layers]]
    if not node.data.get(rule["list"]):
        why = "which layers turn, for engines that read the list"
        yield Atom(why=why, settings={part.at(rule["list"]): Leaf(flags)})
    still = [i for i, f in enumerate(flags) if not f]
    if still and flags == [int((i + 1) % (still[0] + 1) != 0) for i in range(layers)]:
        why = "which layers turn, for engines that read the interval"
        yield Atom(why=why, settings={part.at(rule["interval"]): Leaf(still[0] + 1)})


def optional(part: Part) -> Iterator[Atom]:
    """What is written only where it makes one more engine agree."""
    for stated in part.stated:
        if stated.label is not None or stated.type not in ("yarn", "longrope"):
            continue
        if "attention_factor" not in stated.values:
            factor = Leaf(stated.schedule.attention_scaling)
            keys = [part.at("rope_scaling"), part.at("rope_parameters")]
            yield Atom(
                why="the attention factor itself, for engines that do not derive it",
                settings={f"{key}/attention_factor": factor for key in keys},
            )
    if not part.node.rope.get("nested"):
        yield from _layer_types(part)
