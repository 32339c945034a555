"""A variant as a subject that the rules can judge: its tables lie beside the config they came from.

That is how an engine meets them, in a checkpoint's buffers or a factor list, and it lets the audit
compare with the schedule that the weights were trained with: a displaced table may be perfectly
regular, and a regular one ruinous.
"""

from __future__ import annotations

from collections.abc import Sequence

from ropeaudit.facts import Fact, Note, Origin
from ropeaudit.perturb.recipe import Recipe
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject


def apply(subject: Subject, recipe: str | Recipe) -> Subject:
    """``subject`` with the tables of the variant in it; one that cannot be read stays as it is.

    Raises UsageError as ``make`` does. Where a step has changed a schedule, it appears once as the
    config builds it and once as variant ``stored`` with the new numbers; a schedule that no step
    reached appears once. Tables that were stored already give way to what they have become; without
    a config the old one stands for it. A learned encoding gives way to what it has become: no
    config says what else it should be.
    """
    if subject.error is not None or not (subject.schedules or subject.encodings):
        return subject
    variant = make(subject.schedules, recipe, subject.encodings)
    beside = ", beside its own config" if subject.schedules else ""
    note = Note("variant", f"judged as the variant {variant.recipe.text}{beside}")
    return replace(
        subject,
        schedules=audited(variant),
        encodings=tuple(made.encoding for made in variant.encodings),
        notes=(*subject.notes, note),
    )


def audited(variant: Variant) -> tuple[Schedule, ...]:
    """Base schedules first, then what the changed ones have become, each with its own name."""
    changed = variant.changed()
    built = {s.component for s in variant.base if s.variant != "stored"}
    kept: dict[str, Schedule] = {}
    for base in variant.base:
        if base.variant != "stored" or not any(base is b for b, _ in changed):
            kept.setdefault(base.name, base)
        elif base.component not in built:
            # Nothing else says what the weights were trained with.
            named = replace(base, variant=None)
            kept.setdefault(named.name, named)
    out = list(kept.values())
    taken = set(kept)
    for base, made in changed:
        twin = _stored(base, made, taken)
        if any(twin.inv_freq == t.inv_freq and twin.name == t.name for t in out):
            continue
        taken.add(twin.name)
        out.append(twin)
    return tuple(out)


def _stored(base: Schedule, made: Schedule, taken: set[str]) -> Schedule:
    """``made`` as a table in a tensor; ``short``, ``long`` and lengths go into its layer type."""
    variant = made.variant if made.variant not in (None, "stored") else None
    kind = ".".join(p for p in (made.layer_type, variant) if p) or None
    facts = made.provenance
    if made.attention_scaling != base.attention_scaling:
        facts = (*facts, Fact("attention_scaling", made.attention_scaling, Origin.DERIVED))
    twin = replace(
        made,
        layer_type=kind,
        variant="stored",
        rope_type="learned" if made.rope_type == "learned" else "stored",
        rope_theta=None,
        parameters={"role": "inv_freq", "shape": [len(made.inv_freq)]},
        provenance=facts,
        law=None,
        inputs=None,
    )
    return _unused(twin, taken)


def _unused(twin: Schedule, taken: Sequence[str] | set[str]) -> Schedule:
    wanted, count = twin.layer_type or "variant", 1
    while twin.name in taken:
        count += 1
        twin = replace(twin, layer_type=f"{wanted}.{count}")
    return twin
