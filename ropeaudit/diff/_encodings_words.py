"""What is said of two encodings that differ: shapes, constants of the score, numbers, planes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ropeaudit.diff._encodings_interface import EncodingUnit, QuantityDiff, Said
from ropeaudit.diff._encodings_sides import Side
from ropeaudit.diff.likeness import Likeness
from ropeaudit.findings import Severity

_SCORE = {
    "decay": "decay",
    "method": "method",
    "gamma_min": "least damping",
    "eta_max": "bound of the shear",
    "jet_max": "bound of the jets",
    "max_exponent": "clamp of exponents",
    "alibi": "bias of ALiBi",
    "added": "place of the bias",
    "softmax_scale": "softmax scale",
    "pairing": "pairing layout",
    "ape-skew": "skewing",
    "ape-tree-layout": "tree layout",
    "ape-stores": "what is stored",
    "layers_used": "layers in use",
    "form": "form",
}
"""Settings that decide a score beyond the spectrum, and what they are called."""
_FELT = 0.1
"""Change of a logit from which slopes are another bias."""
_FACTS = ("training grid", "grid in use", "step")
_NAMES = {"frequency": "frequencies", "damping": "damping", "shear": "shear", "slope": "slopes"}


def said(name: str, rest: str, severity: Severity = Severity.INFO) -> Said:
    return Said(name, f"{name}: {rest}", severity)


def shapes(a: Side, b: Side) -> tuple[Said, ...]:
    """Kinds, heads, layers, axes and planes that are not the same."""
    return tuple(_shapes(a, b))


def _shapes(a: Side, b: Side) -> Iterator[Said]:
    # A table beside an encoding, or an encoding and what it was converted to.
    single = a.is_schedule or b.is_schedule
    if a.kind != b.kind and not (a.is_plain or b.is_plain):
        yield said("another encoding", f"{a.kind} in A, {b.kind} in B", Severity.WARNING)
    if len(a.axes) != len(b.axes):
        text = f"{', '.join(a.axes)} in A, {', '.join(b.axes)} in B"
        yield said("other axes", text, Severity.ERROR)
    if a.heads != b.heads and not single:
        yield said("other heads", f"{a.heads} in A, {b.heads} in B", Severity.ERROR)
    if (a.layers or ()) != (b.layers or ()) and not single:
        yield said("other layers", f"{_layers(a)} in A, {_layers(b)} in B", Severity.ERROR)
    m, n = a.w.shape[2], b.w.shape[2]
    if m != n:
        yield said("planes", f"{m} a head in A, {n} in B", Severity.ERROR)


def _layers(side: Side) -> str:
    if side.layers is None:
        return "one set for all layers"
    return f"{len(side.layers)} layers"


def constants(a: Side, b: Side) -> tuple[Said, ...]:
    """Constants of the score and of the positions that changed or were lost."""
    return tuple(_constants(a, b))


def _constants(a: Side, b: Side) -> Iterator[Said]:
    if a.is_schedule or b.is_schedule:
        yield from _beside_schedule(a, b)
        return
    if a.is_plain is not b.is_plain:
        yield from _beside_schedule(a, b)
    for key, name in _SCORE.items() if a.is_plain is b.is_plain else ():
        x, y = a.settings.get(key), b.settings.get(key)
        if x == y or (a.module != b.module and (x is None or y is None) and key != "decay"):
            continue
        if key == "decay" and y in (None, 1.0):
            yield said("decay lost", f"{_value(x)} a step in A, none in B", Severity.WARNING)
        else:
            yield said(f"{name} changed", f"{_value(x)} in A, {_value(y)} in B", Severity.WARNING)
    for name in dict.fromkeys((*a.facts, *b.facts)):
        x, y = a.facts.get(name), b.facts.get(name)
        if x == y:
            continue
        severity = Severity.INFO if name in _FACTS else Severity.WARNING
        yield said(f"{name} changed", f"{_value(x)} in A, {_value(y)} in B", severity)


def _beside_schedule(a: Side, b: Side) -> Iterator[Said]:
    """A schedule multiplies no score, so an encoding's own factor is a difference."""
    x, y = (s.settings.get("decay", 1.0) for s in (a, b))
    if x != y and "decay" not in a.assumed | b.assumed:
        name, where = ("decay lost", "A") if y == 1.0 else ("decay added", "B")
        other = "none in B" if where == "A" else "none in A"
        text = f"{_value(x if where == 'A' else y)} a step in {where}, {other}"
        yield said(name, text, Severity.WARNING)


def assumptions(a: Side, b: Side) -> tuple[Said, ...]:
    """What code is known to do and no file states, where only one side is such code."""
    learned = next((s for s in (a, b) if not s.is_plain), a)
    factor = learned.settings.get("decay", 1.0)
    if not (a.is_plain or b.is_plain) or factor == 1.0 or "decay" not in learned.assumed:
        return ()
    text = (
        f"the public code multiplies scores by {_value(factor)} a step, which no checkpoint states "
        "and no schedule does; state --encoding ape-decay=none for code that leaves it out"
    )
    return (said("decay", text),)


def numbers(found: Sequence[QuantityDiff]) -> tuple[Said, ...]:
    """Each quantity that differs, with the place where it does most."""
    return tuple(
        said(f"{_NAMES[q.quantity]} {_verb(q)}", _where(q), _weight(q))
        for q in found
        if q.likeness is Likeness.DIFFERENT
    )


def _weight(q: QuantityDiff) -> Severity:
    """Of frequencies the phase drift decides; what damps or adds is a warning, if it is felt."""
    felt = q.quantity in ("damping", "shear") or (q.max_bias_drift or 0.0) >= _FELT
    return Severity.WARNING if felt else Severity.INFO


def _verb(q: QuantityDiff) -> str:
    gone = all(not any(u.b) for u in q.units)
    new = all(not any(u.a) for u in q.units)
    return "lost" if gone else "added" if new else "changed"


def _where(q: QuantityDiff) -> str:
    worst = q.worst
    assert worst is not None, q.quantity  # a difference has a unit
    of = f"{q.differing:,} of {q.count:,} values"
    index = None if q.quantity == "slope" else worst.index
    return f"{of}, most at {place(worst, index)} by {log_word(worst.dlog)} in log"


def place(unit: EncodingUnit, index: int | None) -> str:
    """``layer 3, head 2, axis y, unit 5``."""
    named = (("layer", unit.layer), ("head", unit.head), ("axis", unit.axis), ("unit", index))
    return ", ".join(f"{n} {v}" for n, v in named if v is not None)


def log_word(value: float) -> str:
    """A displacement with its sign, or a word for one that is beyond logs."""
    if math.isnan(value):
        return "a change of sign"
    return f"{value:+.4g}"


def other_planes(distance: float) -> Said:
    """The same spectrum that turns other planes."""
    return said(
        "the same spectrum in other planes",
        f"the generators are {distance:.3g} of their size apart, so scores agree only where the "
        "change of basis went into W_Q and W_K",
        Severity.WARNING,
    )


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return " x ".join(map(_value, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
