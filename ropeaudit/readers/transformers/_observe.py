"""What is odd about a node: messages say what the file means and what is built."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ropeaudit.document import escape
from ropeaudit.errors import quoted, shown
from ropeaudit.facts import Json, Observation, Oddity
from ropeaudit.readers.transformers import _conflicts, _vocabulary
from ropeaudit.readers.transformers._axes import section_widths
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._node import Node
from ropeaudit.readers.transformers._odd import SAME_TYPE, odd, small
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import family


def observe(node: Node, ropes: Ropes, schedules: list[Schedule]) -> list[Observation]:
    """Every oddity of ``node``; cheap where there is none."""
    out: list[Observation] = []
    if not node.present:
        return out
    out.extend(_conflicts.schemas(node, ropes))
    for rope in ropes.found:
        name = next((s.name for s in schedules if s.layer_type == rope.label), None)
        out.extend(_types(node, rope, name))
        out.extend(_keys(node, rope, name))
        out.extend(_lengths(node, rope, name))
        out.extend(_order(node, rope, name))
        out.extend(_sections(node, rope, schedules, name))
    if not any("rope_theta" in rope.places for rope in ropes.found):
        out.extend(_base(node, ropes.found[0], None) if ropes.found else ())
    out.extend(_conflicts.stray(node, ropes))
    out.extend(_conflicts.top_level(node, schedules))
    return out


def _types(node: Node, rope: Rope, name: str | None) -> Iterator[Observation]:
    values = rope.values
    at = rope.origin
    if at is None:
        return
    written = rope.outer if rope.label is None else rope.values
    given, other = written.get("rope_type"), written.get("type")
    if other is not None and given is not None and other != given:
        same = SAME_TYPE.get(other, other) if isinstance(other, str) else other
        if same != given and same != rope.type:
            yield odd(
                node,
                Oddity.TYPE_CONFLICT,
                f"type is {shown(other)} and rope_type is {shown(given)}: transformers 5 takes "
                "rope_type, 4.x and others take type",
                f"{at}/type",
                name,
                type=other,
                rope_type=given,
            )
    if _untyped(rope):
        yield odd(
            node,
            Oddity.TYPE_MISSING,
            f"factor {shown(values['factor'])} stands without a rope_type, so the plain table is "
            "built and the factor does nothing",
            rope.places["factor"],
            name,
            factor=values["factor"],
        )


def _untyped(rope: Rope) -> bool:
    """Whether a factor of the file stands in a dict without a type, which makes it dead."""
    written = rope.outer if rope.label is None else rope.values
    named = written.get("rope_type") is not None or written.get("type") is not None
    return not named and "factor" in rope.values and bool(rope.places.get("factor"))


def _keys(node: Node, rope: Rope, name: str | None) -> Iterator[Observation]:
    """Keys of the dict that the law does not read."""
    if rope.origin is None:
        return
    law = family(rope.type) if isinstance(rope.type, str) else None
    read = _vocabulary.COMMON
    if law is not None:
        read = read | law.REQUIRED | law.OPTIONAL
        read = read | _vocabulary.READ_ELSEWHERE.get(rope.type, frozenset())
    read = read | frozenset(node.rope.get("keys", ()))
    if _untyped(rope):
        read = read | _vocabulary.SCALING  # dead for want of a type, which is said once
    for key, place in rope.places.items():
        if key in read or not place or place == f"{node.pointer}/{key}":
            continue
        if rope.values[key] is None:
            continue
        if isinstance(rope.values[key], dict):
            yield odd(
                node,
                Oddity.NOT_APPLIED,
                f"{quoted(key)} holds a dict, as for models with one schedule per layer type, but "
                f"{quoted(node.model_type)} has one schedule and does not look inside",
                place,
                name,
                key=key,
            )
            continue
        meant = _vocabulary.meant(key, rope.outer)
        if meant is not None:
            yield odd(
                node,
                Oddity.KEY_MISSPELT,
                f"{quoted(key)} is not a key that any reader knows; {meant} is",
                place,
                name,
                key=key,
                meant=meant,
            )
        else:
            yield odd(
                node,
                Oddity.KEY_IGNORED,
                f"{quoted(key)} is not read for rope_type {quoted(rope.type)}",
                place,
                name,
                key=key,
                value=small(rope.values[key]),
                rope_type=quoted(rope.type),
            )


def _lengths(node: Node, rope: Rope, name: str | None) -> Iterator[Observation]:
    key = "original_max_position_embeddings"
    if rope.original_defaulted and rope.origin is not None:
        yield odd(
            node,
            Oddity.ORIGINAL_DEFAULTED,
            f"{quoted(rope.type)} scaling without {key}: max_position_embeddings "
            f"({shown(rope.values.get(key))}) takes its place",
            rope.origin,
            name,
            taken=rope.values.get(key),
            rope_type=quoted(rope.type),
        )
    nested = rope.label is not None and rope.type == "yarn"
    if nested and rope.values.get("truncate") is False and rope.outer.get("truncate", True):
        yield odd(
            node,
            Oddity.NOT_APPLIED,
            "truncate false is nested by layer type, but transformers looks it up beside the "
            "nested dicts, so the ramp is truncated; the file means it is not",
            rope.places.get("truncate"),
            name,
            key="truncate",
        )


def _order(node: Node, rope: Rope, name: str | None) -> Iterator[Observation]:
    values = rope.values
    pairs = {"yarn": ("beta_slow", "beta_fast"), "llama3": ("low_freq_factor", "high_freq_factor")}
    if not isinstance(rope.type, str) or rope.type not in pairs:
        return
    small, large = pairs[rope.type]
    low, high = values.get(small), values.get(large)
    if rope.type == "yarn":
        low, high = low or 1, high or 32
    if not all(type(v) in (int, float) for v in (low, high)):
        return
    assert low is not None
    assert high is not None
    if high < low or (high == low and rope.type == "llama3"):
        yield odd(
            node,
            Oddity.BETA_ORDER,
            f"{large} is {shown(high)} and {small} is {shown(low)}: the blend between kept and "
            "divided channels has no width or runs backwards",
            rope.places.get(large) or rope.places.get(small),
            name,
            low=low,
            high=high,
            rope_type=rope.type,
        )


def _sections(
    node: Node, rope: Rope, schedules: Iterable[Schedule], name: str | None
) -> Iterator[Observation]:
    given = rope.values.get("mrope_section")
    if given is None or node.rope.get("axes") is None:
        return
    schedule = next((s for s in schedules if s.layer_type == rope.label), None)
    widths = section_widths(given)
    if schedule is None:
        return
    expected = len(schedule.inv_freq)
    if widths is None or sum(widths) != expected:
        yield odd(
            node,
            Oddity.LENGTH_MISMATCH,
            f"mrope_section is {shown(given)}, expected widths that add up to {expected} channels",
            rope.places.get("mrope_section"),
            name,
            field="mrope_section",
            expected=expected,
            found=sum(widths) if widths else None,
        )


def _base(node: Node, rope: Rope, name: str | None) -> Iterator[Observation]:
    """No base in the file: the class default is built without a word."""
    if "rope_theta" in rope.places or node.rope.get("base_in_code"):
        return
    if rope.type == "axial" or node.component != "text":
        return
    base = rope.values.get("rope_theta")
    scaled = rope.type not in ("default", None)
    hidden = _vocabulary.hidden_base(node.data)
    evidence: dict[str, Json] = {
        "rope_theta": base,
        "scaled": scaled,
        "model_type": node.model_type,
    }
    if hidden is not None:
        evidence["elsewhere"] = hidden
    yield odd(
        node,
        Oddity.BASE_DEFAULTED,
        f"no rope_theta in the file: {quoted(node.model_type)} takes its class default "
        f"{shown(base)}" + (f", although {hidden} is there" if hidden else ""),
        f"{node.pointer}/{escape(hidden)}" if hidden else (node.pointer or None),
        name,
        **evidence,
    )
