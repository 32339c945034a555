"""Keys that are not read, misspelt, or in conflict with each other.

**What it checks.** What the reader noticed in the config: ``type`` and ``rope_type`` that differ;
old and new schema, or top level and block, both present and different; position keys that the
engine does not read; keys that look like known ones; a type that no engine knows; a list of layers
without rotation that the model's code does not read; ramp bounds in the wrong order; values outside
their range (GGUF's ``yarn_ext_factor``, a mix weight in 0..1). It also looks at lists of rotated
layers that leave most layers without rotation. A factor without a type is scaling-no-effect's.

**Why it matters.** A key that is not read changes nothing, however much its author meant it to, and
two keys that differ are read differently by different engines.

**Passes when.** Nothing was noticed.

**Fails when.** Something was. Severity follows the harm: two values of which only one can be meant,
layers rotated that should not be, a value out of range, a misspelt base that is not the one used,
and a ramp that runs backwards have the rule's severity; a dead key that would change the table, an
unknown type, an inverted list, and equal llama3 bounds are warnings; spellings that mean the same,
values that change nothing or agree with what is built, and dead keys that no table depends on are
information.

**Exactness.** The reader's evidence ``changes_table`` decides where it is given.

**Options.** None.

**References.** ``transformers/modeling_rope_utils.py`` (5.24); llama.cpp ``gguf-py/constants.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.checks._lengths import passed, skipped
from ropeaudit.checks._words import sentence
from ropeaudit.checks.interface import Case
from ropeaudit.document import unescape
from ropeaudit.facts import Location, Observation, Oddity
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.keys import BASES, FRACTIONS, WIDTHS

SLUG = "ignored-key"
NEEDS = "subject"
NEUTRAL: Mapping[str, tuple[Any, ...]] = {
    "factor": (1, 1.0),
    "attention_factor": (1, 1.0),
    "partial_rotary_factor": (1, 1.0),
    "truncate": (True,),
}
"""Values with which a key says nothing, so that reading it would change nothing."""
MEANINGFUL = frozenset(
    {
        "factor", "rope_theta", "rope_scaling", "rope_parameters", "rope_type", "attention_factor",
        "truncate", "short_factor", "long_factor", "low_freq_factor", "high_freq_factor",
        "partial_rotary_factor", "rotary_dim", "rotary_pct", "alpha", "rope_ratio",
        "rope_local_base_freq", "rotary_emb_base", "rope_scaling_factor", "scaling_factor",
        "rope_freq_base", "rope_freq_scale", "rope_base",
    }
)  # fmt: skip
"""Keys that would change a table if they were read."""
SAME = (frozenset({"longrope", "su"}), frozenset({"default", "mrope"}))
"""Type names of one law."""
ROTATED = ("no_rope_layers",)
"""Lists with 1 for a layer that rotates, 0 for one that does not, whatever the name suggests."""
LIST_READ = frozenset({"smollm3", "llama4", "llama4_text"})


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    """One outcome for each thing noticed, or one that passes."""
    subject = case.subject
    found = [o for o in (_observed(case, x) for x in subject.observations) if o is not None]
    found.extend(_inverted_list(case))
    yield from found
    if not found:
        reading = subject.reading
        plain = reading is not None and reading.document is None and reading.metadata is None
        yield skipped("there is no config whose keys could be read") if plain else passed()


def _observed(case: Case, o: Observation) -> Outcome | None:
    severity: Severity | None
    match o.kind:
        case Oddity.TYPE_CONFLICT:
            severity = _type_conflict(o)
        case Oddity.SCHEMA_CONFLICT | Oddity.OUT_OF_RANGE:
            severity = None
        case Oddity.PER_LAYER_IGNORED:
            flags = _written(case, o)
            idle = isinstance(flags, list) and all(flags)
            severity = Severity.INFO if idle else None
        case Oddity.KEY_IGNORED | Oddity.KEY_MISSPELT:
            severity = _dead_key(case, o)
        case Oddity.TYPE_UNKNOWN:
            severity = Severity.WARNING
        case Oddity.BETA_ORDER:
            severity = _bounds(case, o)
        case _:
            return None
    if o.evidence.get("changes_table") is False:
        severity = Severity.INFO
    return Outcome(
        status=Status.FAIL,
        severity=severity,
        schedule=o.schedule,
        message=sentence(o.message),
        evidence=dict(o.evidence),
        location=o.location,
        fix=_fix(o.kind, severity),
    )


def _fix(kind: Oddity, severity: Severity | None) -> str | None:
    if kind is Oddity.BETA_ORDER and severity is not None:
        return "Nothing to do where a sharp step is meant; otherwise move the two bounds apart."
    return _FIXES.get(kind)


_FIXES = {
    Oddity.TYPE_CONFLICT: "Keep rope_type and drop type.",
    Oddity.SCHEMA_CONFLICT: "Write one value, in every spelling that is kept.",
    Oddity.KEY_IGNORED: "Move the key to where it is read, or remove it.",
    Oddity.KEY_MISSPELT: "Correct the spelling.",
    Oddity.TYPE_UNKNOWN: "Use a type that the engine knows; the schedule cannot be derived.",
    Oddity.PER_LAYER_IGNORED: "Use the model_type whose code reads the list.",
    Oddity.BETA_ORDER: "Swap the two bounds.",
    Oddity.OUT_OF_RANGE: "Write a value inside the range, or leave the key out.",
}


def _type_conflict(o: Observation) -> Severity | None:
    names = {str(o.evidence.get(k)) for k in ("type", "rope_type") if o.evidence.get(k)}
    same = any(names <= group for group in SAME)
    return Severity.INFO if same and names else None


def _dead_key(case: Case, o: Observation) -> Severity | None:
    """A dead key is as grave as what it would do: a lost intention, or with a slip a lost base."""
    if o.evidence.get("changes_table") is True:
        return Severity.WARNING
    pointer = o.location.pointer or o.location.key if o.location else None
    key = str(o.evidence.get("key") or pointer or "").rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    meant = str(o.evidence.get("meant") or key).rsplit("/", 1)[-1]
    value = o.evidence.get("value", _written(case, o))
    known = "value" in o.evidence or value is not None
    idle = value is None or value is False or value in NEUTRAL.get(meant, ())
    if known and (idle or any(_agrees(meant, value, s) for s in case.subject.built())):
        return Severity.INFO
    misspelt = o.kind is Oddity.KEY_MISSPELT
    if misspelt and meant in BASES and known:
        return None
    return Severity.WARNING if misspelt or meant in MEANINGFUL else Severity.INFO


def _agrees(key: str, value: Any, schedule: Schedule) -> bool:
    """Whether the schedule as built already is what the dead key asks for."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if key in BASES:
        return value == schedule.rope_theta
    if key in WIDTHS:
        return value == schedule.rotary_dim
    head = schedule.head_dim or 0
    return key in FRACTIONS and 0 < value <= 1 and int(value * head) == schedule.rotary_dim


def _written(case: Case, o: Observation) -> Any:
    """What the document holds at the place of the observation; None if that cannot be told."""
    node: Any = case.document.data if case.document else None
    pointer = o.location.pointer if o.location else None
    if node is None or not pointer:
        return None
    for step in pointer.split("/")[1:]:
        node = node.get(unescape(step)) if isinstance(node, Mapping) else None
    return node


def _bounds(case: Case, o: Observation) -> Severity | None:
    """Equal llama3 bounds leave the blend empty, which works; reversed ones do not."""
    names = (("low", "low_freq_factor"), ("high", "high_freq_factor"))
    low, high = (_value(case, o, *keys) for keys in names)
    return Severity.WARNING if low is not None and low == high else None


def _value(case: Case, o: Observation, *keys: str) -> Any:
    """From the evidence, else from the parameters of the schedule that is meant."""
    schedules = [s for s in case.subject.schedules if o.schedule in (None, s.name)]
    held = [o.evidence, *(s.parameters for s in schedules)]
    return next((h[k] for h in held for k in keys if k in h), None)


def _inverted_list(case: Case) -> Iterator[Outcome]:
    document = case.document
    if document is None:
        return
    for prefix, data in (("", document.data), ("/text_config", document.data.get("text_config"))):
        if not isinstance(data, Mapping):
            continue
        for key in ROTATED:
            flags = data.get(key)
            if not isinstance(flags, list) or str(data.get("model_type")) not in LIST_READ:
                continue
            without = sum(1 for f in flags if f == 0)
            if len(flags) >= 4 and without > len(flags) / 2:
                yield Outcome(
                    status=Status.FAIL,
                    severity=Severity.WARNING,
                    schedule=next((s.name for s in case.subject.built() if s.is_text), None),
                    message=f"{without} of {len(flags)} layers are without rotation; released "
                    f"models rotate three of four. In {key} 1 means rotated, so the list looks "
                    "inverted.",
                    evidence={"without_rotation": without, "layers": len(flags)},
                    location=Location(file=document.file, pointer=f"{prefix}/{key}"),
                    fix="Write 1 for each layer that rotates and 0 for each that does not.",
                )
