"""Factor tensors: which channels are divided by what, and which law that is."""

from __future__ import annotations

import math
from collections.abc import Iterable

from ropeaudit.facts import Reading, StoredTable
from ropeaudit.readers.llama_cpp.architectures import Architecture
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.float32 import Table

STILL = 1e29
"""Converters write 1e30 for channels that do not turn (Gemma 4): 1e30 turns are none."""
INFINITE = 1e38
"""From here on a divisor stands for infinity, which no converter means by design."""
KNOWN_LOW = 1.0
"""``low_freq_factor`` of every published llama3 scaling; the tensor alone does not hold it."""
_FIT = 2e-5


@record()
class Divisors:
    """The factor tensors of a file. ``layers`` holds ``rope_freqs`` of single layers."""

    freqs: StoredTable | None = None
    long: StoredTable | None = None
    short: StoredTable | None = None
    layers: dict[int, StoredTable] = field(default_factory=dict)

    @property
    def lists(self) -> bool:
        return self.long is not None and self.short is not None

    def all(self) -> Iterable[StoredTable]:
        return (t for t in (self.freqs, self.long, self.short, *self.layers.values()) if t)


def collect(reading: Reading) -> Divisors:
    """The factor tensors of ``reading``; equal tables of all layers count as one."""
    found: dict[str, StoredTable] = {}
    layers: dict[int, StoredTable] = {}
    for table in reading.tables:
        if table.layer is None or table.role != "rope_factors":
            found.setdefault(table.role, table)
        else:
            layers[table.layer] = table
    if "rope_factors" not in found and layers and len({t.values for t in layers.values()}) == 1:
        found["rope_factors"] = next(iter(layers.values()))
        layers = {}
    return Divisors(
        found.get("rope_factors"),
        found.get("rope_factors_long"),
        found.get("rope_factors_short"),
        layers,
    )


def read_roles(arch: Architecture, kind: str) -> frozenset[str]:
    """Roles of the tensors that the engine loads for ``arch`` with scaling type ``kind``.

    A file with a factor tensor that its architecture does not create is refused.
    """
    longrope = arch.lists == "type" and kind == "longrope"
    roles = {"rope_factors"} if arch.freqs and not longrope else set()
    if arch.lists == "always" or longrope:
        roles |= {"rope_factors_long", "rope_factors_short"}
    return frozenset(roles)


def applied(divisors: Divisors, arch: Architecture, kind: str) -> Divisors:
    """The factor tensors that reach the rotation; tensors of one kind that differ by layer stay."""
    roles = frozenset() if arch.unused else read_roles(arch, kind)
    freqs = "rope_factors" in roles
    return Divisors(
        divisors.freqs if freqs else None,
        divisors.long if "rope_factors_long" in roles else None,
        divisors.short if "rope_factors_short" in roles else None,
        divisors.layers if freqs else {},
    )


def still_channels(divisors: Table) -> frozenset[int]:
    """Channels that a proportional schedule keeps still; empty unless the others are undivided."""
    still = frozenset(k for k, v in enumerate(divisors) if STILL <= v < INFINITE)
    turning = (v for k, v in enumerate(divisors) if k not in still)
    return still if still and all(v == 1.0 for v in turning) else frozenset()


def llama3_law(divisors: Table, base: float) -> dict[str, float] | None:
    """The llama3 scaling that gives these divisors, or None if none does.

    Fast channels are undivided, slow ones divided by the factor, and between them 1/divisor is
    linear in the frequency. The line gives two numbers and the law has three, so
    ``low_freq_factor`` is taken as 1; with fewer than two channels between, only ``factor`` is
    known.
    """
    n, factor = len(divisors), divisors[-1]
    if not (divisors[0] == 1.0 and 1.0 < factor < STILL):
        return None
    if base == 1.0:
        return None  # every frequency is 1, so nothing tells fast channels from slow ones
    thetas = [base ** (-k / n) for k in range(n)]
    between = [k for k in range(n) if 1.0 < divisors[k] < factor]
    if any(v != 1.0 for v in divisors[: between[0] if between else 0]):
        return None
    if any(v not in (1.0, factor) for k, v in enumerate(divisors) if k not in between):
        return None
    if len(between) < 2:
        falls = any(divisors[k] < divisors[k - 1] for k in range(1, n))
        return None if falls else {"factor": factor}
    smooth = [(1 / divisors[k] - 1 / factor) / (1 - 1 / factor) for k in between]
    first, last = between[0], between[-1]
    slope = (smooth[0] - smooth[-1]) / (thetas[first] - thetas[last])
    offset = smooth[0] - slope * thetas[first]
    off = (abs(slope * thetas[k] + offset - s) for k, s in zip(between, smooth, strict=True))
    if not (slope > 0 > offset and max(off) < _FIT):
        return None
    span = -KNOWN_LOW / offset
    original = slope * span * 2 * math.pi
    return {
        "factor": factor,
        "low_freq_factor": KNOWN_LOW,
        "high_freq_factor": _round(KNOWN_LOW + span),
        "original_max_position_embeddings": _round(original),
    }


def _round(value: float) -> float:
    """A whole number where float32 factors cannot tell it from one."""
    near = round(value)
    return float(near) if near and abs(value / near - 1) < 1e-4 else value


def at_rest(schedule: Schedule) -> Schedule:
    """``schedule`` with zeros where the file divides by 1e30: still at every length."""
    still = schedule.static_channels
    if not still:
        return schedule
    table = tuple(0.0 if k in still else v for k, v in enumerate(schedule.inv_freq))
    return replace(schedule, inv_freq=table)
