"""What the reference reads from a config, each value in the spelling that the file has for it.

Class defaults and values that other values decide are stated too, so that nothing is left to what
an engine fills in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ropeaudit.document import Document, escape
from ropeaudit.errors import quoted
from ropeaudit.facts import Json, Oddity, Origin, as_number
from ropeaudit.normalise._text import Leaf, leaf_of
from ropeaudit.readers.transformers.rope_dicts import Node, Rope, Ropes, rope_dicts
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families import family, names
from ropeaudit.schedule.subject import Subject

_OTHER_CODE = frozenset({
    "attributes", "only", "theta_by_layer", "unscaled_outside", "base_times", "base_paths",
    "base_in_code", "partial_in_parameters", "flat_start", "law",
})  # fmt: skip
"""Rules of classes that take their numbers from elsewhere than a rope dict and its usual keys."""
_ORIGINAL = "original_max_position_embeddings"
_STATED = {
    "yarn": ("factor", _ORIGINAL, "beta_fast", "beta_slow"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor", _ORIGINAL),
}
"""Inputs of laws that are written out where the file leaves them to a default."""


@record(kw_only=True)
class Stated:
    """One rope dict in full: ``type`` as the reference reads it, ``spelled`` under ``type_key`` as
    the file has it where the reference takes it as another name (M-RoPE's ``type: mrope``).

    ``values``: all other keys. ``fraction`` is the rotated part of the head; ``partial`` tells
    whether it has to be stated. ``defaulted``: keys that the file leaves to the reference, and that
    engines fill in otherwise.
    """

    label: str | None
    type: str
    spelled: str
    type_key: str
    values: Mapping[str, Leaf]
    defaulted: frozenset[str]
    fraction: Leaf
    partial: bool
    schedule: Schedule

    @property
    def plain(self) -> bool:
        return self.type == "default"

    def dict_of(
        self,
        *,
        without: frozenset[str] = frozenset(),
        type_key: str = "rope_type",
        name: str | None = None,
    ) -> dict[str, Leaf]:
        """The dict with its type under ``type_key``, in full or without some keys."""
        kept = {k: v for k, v in self.values.items() if k not in without}
        return {type_key: Leaf(name or self.type)} | kept


@record(kw_only=True)
class Part:
    """A config object whose spelling can be chosen."""

    document: Document
    node: Node
    ropes: Ropes
    stated: tuple[Stated, ...]

    @property
    def pointer(self) -> str:
        return self.node.pointer

    def at(self, key: str) -> str:
        """Pointer of ``key`` in this object."""
        return f"{self.node.pointer}/{escape(key)}"


def parts(document: Document, subject: Subject) -> Iterator[Part]:
    """Every part of ``document`` whose spelling can be chosen, with what the reference reads."""
    counts: dict[tuple[str, str | None], int] = {}
    for node, ropes in rope_dicts(document):
        stated = []
        for rope in ropes.found:
            key = node.component, rope.label
            counts[key] = counts.get(key, 0) + 1
            schedule = _schedule(subject.schedules, rope, node.component, counts[key])
            if schedule is not None:
                stated.append(_stated(document, node, rope, schedule))
        if (
            why_not(document, node) is None
            and _is_read(node)
            and len(stated) == len(ropes.found) > 0
        ):
            yield Part(document=document, node=node, ropes=ropes, stated=tuple(stated))


def _is_read(node: Node) -> bool:
    """Whether engines look at this part: the language model, or one with a rope dict of its own."""
    dicts = (node.data.get(key) for key in ("rope_scaling", "rope_parameters"))
    return node.component == "text" or any(isinstance(d, dict) for d in dicts)


def why_not(document: Document, node: Node) -> str | None:
    """Why the spelling of this object cannot be chosen; None where it can."""
    name = quoted(node.model_type or "no model_type")
    if node.generic and "auto_map" in document.data:
        return f"{name} is read by code that comes with the model, and what it reads is not known"
    if node.generic:
        return f"the model type ({name}) is unknown, so what its code reads is not known"
    if "remote" in node.spec:
        return (
            f"{name} is read by code of its own, which does not come from the config's keys alone"
        )
    if not node.present:
        return "its settings are class defaults and stand nowhere in the file"
    if not _OTHER_CODE.isdisjoint(node.rope):
        return f"{name} takes its numbers from keys of its own, which have one spelling"
    return None


def reasons(document: Document, subject: Subject) -> str:
    """One clause that says why nothing of the file can be normalised."""
    odd = (
        o.message
        for o in subject.observations
        if o.kind in (Oddity.TYPE_UNKNOWN, Oddity.LENGTH_MISMATCH)
    )
    notes = (n.message for n in subject.notes if n.kind in ("no_rotary", "insufficient"))
    nodes = sorted((node for node, _ in rope_dicts(document)), key=lambda n: n.component != "text")
    whys = (why for node in nodes if (why := why_not(document, node)))
    return next(iter([*odd, *whys, *notes]), "it has no rotary schedule")


def _schedule(
    schedules: Iterable[Schedule], rope: Rope, component: str, count: int
) -> Schedule | None:
    wanted = component if count == 1 else f"{component}_{count}"
    found = (s for s in schedules if s.component == wanted and s.layer_type == rope.label)
    return next(found, None)


def law_keys() -> frozenset[str]:
    """Every key that some scaling law reads from a rope dict."""
    found = {"rope_type", "type", "rope_theta", "partial_rotary_factor"}
    for name in names():
        law = family(name)
        if law is not None:
            found |= law.REQUIRED | law.OPTIONAL
    return frozenset(found)


def _stated(document: Document, node: Node, rope: Rope, schedule: Schedule) -> Stated:
    fraction, partial = _fraction(document, rope, schedule)
    values: dict[str, Leaf] = {}
    for key, value in rope.values.items():
        if key in ("type", "rope_type", "partial_rotary_factor") or value is None:
            continue
        values[key] = _leaf(document, rope.places.get(key), value)
    for key in _STATED.get(str(rope.type), ()):
        value = schedule.parameters.get(key)
        if key not in values and as_number(value) is not None:
            values[key] = Leaf(value)
    if partial:
        values["partial_rotary_factor"] = fraction
    spelled = rope.outer.get("rope_type", rope.outer.get("type"))
    renamed = rope.label is None and spelled in node.rope.get("rename_first", {})
    return Stated(
        label=rope.label,
        type=str(rope.type),
        spelled=str(spelled) if renamed else str(rope.type),
        type_key="type" if renamed and "rope_type" not in rope.outer else "rope_type",
        defaulted=frozenset({_ORIGINAL}) if rope.original_defaulted else frozenset(),
        values=values,
        fraction=fraction,
        partial=partial,
        schedule=schedule,
    )


def _leaf(document: Document, pointer: str | None, value: Json) -> Leaf:
    span = None if pointer is None else document._span(pointer)
    if span is None or document.text is None:
        return Leaf(value)
    return leaf_of(document.text, *span, value)


def _fraction(document: Document, rope: Rope, schedule: Schedule) -> tuple[Leaf, bool]:
    """The rotated part of the head as the reference has it, and whether to state it.

    A fraction that the file states and the reference does not read is not what it says.
    """
    head, rotary = schedule.head_dim, schedule.rotary_dim
    value = as_number(rope.values.get("partial_rotary_factor"))
    if schedule.rope_type == "proportional" and value is not None:
        return _leaf(document, rope.places.get("partial_rotary_factor"), value), True
    if head and value is not None and int(head * value) == rotary:
        place = rope.places.get("partial_rotary_factor")
        given = None if place is None else rope.values["partial_rotary_factor"]
        leaf = Leaf(value) if given is None else _leaf_of_number(document, place, given)
        return leaf, rotary != head or rope.places.get("partial_rotary_factor") is not None
    whole = head is None or rotary == head
    return Leaf(1.0 if whole or head is None else rotary / head), not whole or value is not None


def _leaf_of_number(document: Document, pointer: str | None, value: Json) -> Leaf:
    """As the file spells it; a width that stands for the fraction (rotary_dim) is not copied."""
    leaf = _leaf(document, pointer, value)
    spelled = None if leaf.text is None else as_number(_number(leaf.text))
    return leaf if spelled == as_number(value) else Leaf(value)


def _number(text: str) -> Json:
    try:
        return float(text)
    except ValueError:
        return None


def head_dim_default(part: Part) -> Leaf | None:
    """The head width, where it is the config class's own and the file does not say it."""
    node = part.node
    first = next(iter(node.spec["head_dim"]), None)
    if first != "head_dim" or node.data.get("head_dim") is not None:
        return None
    fact = part.stated[0].schedule.fact("head_dim")
    defaulted = fact is not None and fact.origin is Origin.DEFAULT
    return Leaf(fact.value) if fact is not None and defaulted else None


def declared_against_factor(stated: Sequence[Stated]) -> Iterator[str]:
    """Advice on yarn whose declared length is not factor times original: only an author decides."""
    for one in stated:
        schedule = one.schedule
        factor = as_number(schedule.parameters.get("factor"))
        original, declared = schedule.context.trained, schedule.context.declared
        if one.type != "yarn" or factor is None or original is None or declared is None:
            continue
        if abs(factor * original - declared) > 0.5:
            yield (
                f"max_position_embeddings is {declared}, and factor x original length is "
                f"{factor:g} x {original} = {factor * original:.0f}: engines that take the factor "
                "from the lengths then build another table. It is the author's to say which holds"
            )
