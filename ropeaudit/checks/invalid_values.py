"""Values that no frequency can have: not finite, negative, denormal, or plainly not computed.

What it checks
    NaN and infinities; negative values; numbers below the smallest normal one of the format; values
    far above any frequency in use; and, in tables from files or memory, the signs of a buffer that
    was never filled: an unscaled table that does not start at 1, a first value near 0, disorder.

Why it matters
    Buffers that a checkpoint does not hold are created empty when a model is loaded on a meta
    device. If nobody fills them, the model runs on leftover memory: sometimes NaN, more often
    finite and silent, with a loss of 11 instead of 3.6. A factor of 0 in a scaling list gives
    infinity; a negative base or a bad quantiser gives negative values.

Passes when
    Every value is finite, not negative and normal, and the table starts where its law does.

Fails when
    Any value is not. As a warning: numbers denormal in a narrow format only (float16 below 6.1e-5),
    which lose digits; and bare text tables with values above pi. In learned tables the sign means
    nothing and is left alone.

Exactness
    Exact comparisons; the first value may be off by 1 %. Zeros belong to zero-frequency.

Options
    largest: value above which a frequency is taken for garbage (default 1e4).

References
    IEEE 754-2019, section 3.3 (subnormal numbers).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise

from ropeaudit.checks._spectrum import Spectrum, counted, each, passed, place, strange
from ropeaudit.checks._words import sentence
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.float32 import FORMATS

SLUG = "invalid-values"
NEEDS = "schedule"

_TINY = 2.0**-126
"""Smallest normal float32."""
_FIRST_OFF = 0.01
_FIRST_LEAST = 1e-3
"""No scaling in use divides the fastest channel by more."""


@record()
class Params:
    largest: float = 1e4


@record()
class _Fault:
    key: str
    channels: list[int]
    message: str
    severity: Severity = Severity.ERROR


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, lambda spectrum: _judge(spectrum, params))


def _judge(spectrum: Spectrum, params: Params) -> Outcome:
    values = spectrum.values
    if spectrum.falling and values and values[0] == 1.0 and values[-1] >= _normal(spectrum):
        return passed(spectrum)
    faults = [*_values(spectrum, params)]
    if spectrum.stored and not spectrum.learned and values:
        faults.extend(_unfilled(spectrum))
    if not faults:
        return passed(spectrum)
    worst = max(f.severity for f in faults)
    said = "; ".join(f.message for f in faults)
    return Outcome(
        status=Status.FAIL,
        schedule=spectrum.schedule.name,
        severity=worst,
        message=sentence(said),
        evidence={f.key: f.channels for f in faults}
        | {"first": values[0], "dtype": spectrum.schedule.dtype},
        location=place(spectrum.schedule, "short_factor", "long_factor"),
    )


def _values(spectrum: Spectrum, params: Params) -> Iterator[_Fault]:
    """Faults of single values, each with the channels that have it."""
    values, dtype = spectrum.values, spectrum.schedule.dtype
    total = len(values)

    def fault(key: str, found: list[int], what: str, severity: Severity) -> _Fault:
        return _Fault(
            key,
            found,
            f"{len(found)} of {total} values {'is' if len(found) == 1 else 'are'} {what} "
            f"({counted(found)})",
            severity,
        )

    if not spectrum.finite:
        yield fault("not_finite", strange(spectrum), "NaN or infinite", Severity.ERROR)
    negative = [k for k, v in enumerate(values) if v < 0 and math.isfinite(v)]
    if negative and not spectrum.learned:
        yield fault("negative", negative, "negative", Severity.ERROR)
    huge = [k for k, v in enumerate(values) if params.largest < abs(v) < math.inf]
    if huge:
        yield fault("huge", huge, f"above {params.largest:g}", Severity.ERROR)
    normal = _normal(spectrum)
    denormal = [k for k, v in enumerate(values) if 0 < abs(v) < normal]
    if denormal:
        lost = any(abs(values[k]) < _TINY for k in denormal)
        level = Severity.ERROR if lost else Severity.WARNING
        yield fault("denormal", denormal, f"denormal in {dtype}", level)


def _normal(spectrum: Spectrum) -> float:
    """The smallest normal number of the table's format."""
    fmt = FORMATS.get(spectrum.schedule.dtype)
    return fmt.smallest if fmt else _TINY


def _unfilled(spectrum: Spectrum) -> Iterator[_Fault]:
    """Signs of memory that nobody wrote, in a table that was read rather than built."""
    values, law = spectrum.values, spectrum.law
    first = values[0]
    if law is not None and law.rope_type == "default" and law.inv_freq[0] == 1.0:
        if first != 0 and not abs(first - 1.0) <= _FIRST_OFF:
            yield _Fault("first_value", [0], f"the table starts at {first:.6g}, unscaled ones at 1")
        return
    if 0 < first < _FIRST_LEAST:
        yield _Fault(
            "first_value", [0], f"the table starts at {first:.6g}, far below any scaling in use"
        )
    rises = [k + 1 for k, (a, b) in enumerate(pairwise(values)) if a < b]
    if first != 1.0 and len(rises) >= max(3, len(values) // 8) and len(rises) < len(values) - 1:
        yield _Fault(
            "disorder", rises, "the values lie in no order and do not start at 1, as memory that "
            "was never filled does",
        )  # fmt: skip
    fast = [k for k, v in enumerate(values) if math.pi < v <= 1e4]
    if fast and spectrum.lawless and spectrum.schedule.is_text:
        yield _Fault(
            "above_pi", fast, f"{counted(fast)} turn{'s' * (len(fast) == 1)} by more than pi "
            "radians a position, where text models turn by at most 1", Severity.WARNING,
        )  # fmt: skip
