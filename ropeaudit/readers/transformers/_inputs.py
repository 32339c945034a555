"""Which table a rope dict asks for, and the numbers it is built from."""

from __future__ import annotations

from collections.abc import Mapping

from ropeaudit.errors import InvalidValue, quoted, shown, unexpected
from ropeaudit.facts import MAX_LENGTH, Fact, Json, Observation, Oddity, Origin
from ropeaudit.readers.transformers import _remote
from ropeaudit.readers.transformers._dicts import Rope
from ropeaudit.readers.transformers._node import Node, head_width, number
from ropeaudit.records import replace
from ropeaudit.schedule.families import Built, Family, Inputs, family

KNOWN_TYPES = ("default", "linear", "dynamic", "yarn", "longrope", "llama3", "proportional")
"""Types with a table in ``ROPE_INIT_FUNCTIONS``; axial ones are built by the towers themselves."""


def choose_law(
    node: Node, rope: Rope, observations: list[Observation]
) -> tuple[str, Family | None]:
    """The table's kind and its law; (kind, None) with an observation where there is none."""
    rule, wanted = node.rope, rope.type
    own = rule.get("kind", "default")
    only = rule.get("only")
    if only == "axial" and wanted == "axial":
        return own, family(own)
    if only == "default" or (only is None and wanted == "default"):
        if only == "default" and wanted not in ("default", "axial"):
            observations.append(_unknown(node, rope, "only the plain type"))
            return str(wanted), None
        return own, family(own)
    for renamed, key in rule.get("alpha_types", {}).items():
        if wanted == renamed and rope.values.get(key):
            return "ntk_alpha", family("ntk_alpha")
    if "types" in rule and wanted not in rule["types"]:
        limit = f"only {' and '.join(rule['types'])}"
        observations.append(_unknown(node, rope, limit))
        return str(wanted), None
    if (
        isinstance(wanted, str)
        and (wanted in KNOWN_TYPES or _is_own(node, wanted))
        and only is None
    ):
        return wanted, family(wanted)
    observations.append(_unknown(node, rope, "only axial" if only else None))
    return str(wanted), None


def _is_own(node: Node, kind: str) -> bool:
    """Whether ``kind`` is a type that only this model type's own code builds."""
    return kind in node.rope.get("own_types", ())


def is_scaling(node: Node, kind: str) -> bool:
    """Whether ``kind`` is a rope type other than the plain one, and no tower's own table."""
    return kind != "default" and (kind in KNOWN_TYPES or _is_own(node, kind))


def _unknown(node: Node, rope: Rope, limit: str | None) -> Observation:
    pointer = rope.places.get("rope_type")
    what = f"this model type builds {limit}" if limit else "transformers builds no such table"
    return Observation(
        kind=Oddity.TYPE_UNKNOWN,
        message=f"rope_type is {shown(rope.type)} and {what}, so no schedule can be derived",
        location=node.place(pointer) if pointer else None,
        schedule=schedule_name(node, rope, None),
        evidence={"rope_type": quoted(rope.type), "known": list(KNOWN_TYPES)},
    )


def schedule_name(node: Node, rope: Rope, variant: str | None) -> str:
    return "/".join(p for p in (node.component, rope.label, variant) if p)


def inputs_of(node: Node, rope: Rope, kind: str, declared: int | None) -> tuple[Inputs, list[Fact]]:
    rule, values = node.rope, rope.values
    base = number(values.get("rope_theta"), "rope_theta", where(node, rope, "rope_theta"))
    head = head_width(node, rope.label)
    partial = _partial(node, rope, kind)
    plain = not is_scaling(node, kind)
    if plain and not rule.get("partial"):
        rotary = head
    elif kind == "proportional":
        rotary = 2 * (head // 2)
    else:
        rotary = int(head * partial)
    if "partial_rotary_factor" not in values:
        rotary = _remote.stated_width(node, head) or rotary
    _check_rotary(node, head, rotary, partial)
    scaling: Mapping[str, Json] = values
    if rope.label is not None and kind == "yarn":
        # transformers looks truncate up beside the nested dicts, not inside them.
        scaling = {k: v for k, v in values.items() if k != "truncate"}
        if "truncate" in rope.outer:
            scaling["truncate"] = rope.outer["truncate"]
    inputs = Inputs(
        rope_theta=base,
        rotary_dim=rotary,
        head_dim=head,
        partial_rotary_factor=partial,
        max_position_embeddings=declared,
        scaling=scaling,
    )
    return inputs, _facts(node, rope, kind)


def where(node: Node, rope: Rope, key: str) -> str:
    return rope.places.get(key) or f"{rope.origin or node.pointer}/{key}"


def _partial(node: Node, rope: Rope, kind: str) -> float:
    value = rope.values.get("partial_rotary_factor")
    if value is None:
        missing = node.rope.get("partial_missing", 1.0)
        return float(missing) if kind == "default" else 1.0
    partial = number(value, "partial_rotary_factor", where(node, rope, "partial_rotary_factor"))
    most = node.rope.get("partial_most", 1.0)
    if not 0 < partial <= most:
        raise unexpected(
            "partial_rotary_factor",
            value,
            f"a fraction above 0, up to {most}",
            where=where(node, rope, "partial_rotary_factor"),
        )
    return partial


def _check_rotary(node: Node, head: int, rotary: int, partial: float) -> None:
    place = node.find("head_dim")[1] or "head_dim"
    if rotary < 2:
        raise InvalidValue(
            f"{shown(partial)} of a head of {head} leaves a rotary width of {rotary}, expected at "
            "least 2; correct either",
            where=place,
        )
    # An odd partial width is rounded up and fits in the head; an odd full head does not fit.
    derived = any(f.field == "head_dim" and f.origin is Origin.DERIVED for f in node.facts)
    allowed = derived and node.rope.get("odd_ok")
    if rotary == head and head > 4 and head % 2 and not allowed:
        raise InvalidValue(
            f"the head width is {head} and all of it turns, expected an even width; correct it",
            where=place,
        )


def _facts(node: Node, rope: Rope, kind: str) -> list[Fact]:
    """Provenance: what the node recorded, then every key of the dict."""
    facts = list(node.facts)
    for key, value in rope.values.items():
        if key == "type" and "rope_type" in rope.places:
            continue
        facts.append(node.fact(key, value, rope.places.get(key)))
    return facts


def list_problem(node: Node, rope: Rope, kind: str, inputs: Inputs) -> Observation | None:
    """A factor list of the wrong length: transformers cannot build the table."""
    if kind != "longrope":
        return None
    expected = (inputs.rotary_dim + 1) // 2
    for key in ("short_factor", "long_factor"):
        value = rope.values.get(key)
        if isinstance(value, list) and len(value) != expected:
            return Observation(
                kind=Oddity.LENGTH_MISMATCH,
                message=f"{key} has {len(value)} entries, expected one for each of {expected} "
                "channels; transformers cannot build the table",
                location=node.place(where(node, rope, key)),
                schedule=schedule_name(node, rope, key.removesuffix("_factor")),
                evidence={"field": key, "expected": expected, "found": len(value)},
            )
    return None


def variants(
    kind: str, inputs: Inputs, declared: int | None, lengths: tuple[int, ...]
) -> list[tuple[str | None, int | None]]:
    """Variant names with the sequence length that each is built for."""
    if kind == "longrope":
        original = inputs.scaling.get("original_max_position_embeddings")
        beyond = None  # what is no length is refused when the table is built
        if isinstance(original, int | float) and 0 < original < MAX_LENGTH:
            beyond = int(original) + 1
        return [("short", None), ("long", beyond)]
    if kind == "dynamic" and declared:
        wanted = lengths or (declared, 2 * declared)
        return [(f"@{n}", n) for n in dict.fromkeys(wanted)]
    return [(None, None)]


def at_length(inputs: Inputs, length: int | None) -> Inputs:
    if length is None:
        return inputs
    return replace(inputs, length=length)


def call(node: Node, rope: Rope, law: Family, inputs: Inputs) -> Built:
    """The law's table; its errors get the full pointer of the key they name."""
    try:
        built: Built = law.build(inputs)
    except InvalidValue as error:
        key = error.where
        if key is None or "/" in key:
            raise
        raise InvalidValue(str(error), where=where(node, rope, key)) from None
    return built
