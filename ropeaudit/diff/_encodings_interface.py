"""What a comparison of learned encodings holds."""

from __future__ import annotations

from ropeaudit.diff.likeness import Likeness
from ropeaudit.findings import Severity
from ropeaudit.records import record


@record()
class Said:
    """One loss: ``text`` begins with its ``name``; ``severity`` is what it weighs at any drift."""

    name: str
    text: str
    severity: Severity = Severity.INFO


@record(kw_only=True)
class EncodingUnit:
    """One unit on both sides: radians per unit of position, or damping, shear, slope.

    ``index``: in the order of the spectrum, or by size where one side has no order of its own.
    ``a``, ``b``: a value an axis, a single one where ``axis`` is named. ``dlog``:
    ``ln(|b| / |a|)``, NaN for a change of sign. ``drift``: radians at the far end of the extent,
    None for other quantities than frequencies.
    """

    layer: int | None
    head: int | None
    axis: str | None
    index: int
    a: tuple[float, ...]
    b: tuple[float, ...]
    ulp: int
    dlog: float
    drift: float | None


@record(kw_only=True)
class HeadDiff:
    """A layer and head in which something differs; ``differing``: values beyond the tolerance."""

    layer: int | None
    head: int | None
    max_abs_dlog: float
    max_drift: float
    max_ulp: int
    differing: int


@record(kw_only=True)
class QuantityDiff:
    """Frequencies, damping, shear or slopes of all layers and heads.

    ``units``: those beyond the tolerance, or, where none is, those that differ at all; ``worst``
    the one of largest displacement. ``heads``: every layer and head with a difference.
    ``max_bias_drift``: of slopes, in units of the logits.
    """

    quantity: str
    likeness: Likeness
    max_abs_dlog: float
    max_phase_drift: float | None
    max_bias_drift: float | None
    max_ulp: int
    heads: tuple[HeadDiff, ...]
    units: tuple[EncodingUnit, ...]
    worst: EncodingUnit | None
    differing: int
    count: int


@record(kw_only=True)
class EncodingPair:
    """Two encodings, or an encoding and a schedule (kind ``schedule``), that answer to each other.

    ``extent``: distance along each axis at which phases are compared; ``extent_source``: given,
    trained, declared or reference (nothing states one). ``basis_distance``: relative distance of
    the generators where planes are learned, else None. ``notes``: what to know that is no
    difference.
    """

    a: str
    b: str
    kinds: tuple[str, str]
    extent: tuple[float, ...]
    extent_source: str
    tolerance: int
    quantities: tuple[QuantityDiff, ...]
    basis_distance: float | None
    lost: tuple[Said, ...]
    notes: tuple[Said, ...]
    likeness: Likeness
    severity: Severity | None

    @property
    def max_abs_dlog(self) -> float:
        return max((q.max_abs_dlog for q in self.quantities), default=0.0)

    @property
    def max_phase_drift(self) -> float:
        return max((q.max_phase_drift or 0.0 for q in self.quantities), default=0.0)


@record()
class UnpairedEncoding:
    """An encoding of ``side`` a or b that nothing answers to; ``matters``: that is a difference."""

    side: str
    name: str
    reason: str
    matters: bool
