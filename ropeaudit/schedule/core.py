"""The Schedule: one table of rotary frequencies and everything that decided it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ropeaudit.facts import Fact
from ropeaudit.records import field, record
from ropeaudit.schedule.float32 import Table


@record()
class Axis:
    """One coordinate (``t``, ``h``, ``w``, ...) and the channels of ``inv_freq`` that turn with it.

    ``channels`` is an inclusive range; several axes may name the same range (shared ladder), and an
    axis may have several entries.
    """

    axis: str
    channels: tuple[int, int]


def axis_runs(named: Iterable[tuple[str, int]]) -> tuple[Axis, ...]:
    """Axes of (axis, channel) pairs: neighbours that follow each other on one axis are one run."""
    runs: list[list[Any]] = []
    for name, k in named:
        if runs and runs[-1][0] == name and runs[-1][2] == k - 1:
            runs[-1][2] = k
        else:
            runs.append([name, k, k])
    return tuple(Axis(name, (first, last)) for name, first, last in runs)


@record()
class Context:
    """Lengths in positions.

    ``trained`` is the original length where the scaling states one, else the declared one with
    ``assumed`` True. ``window`` is the sliding-attention window that the layers are limited to.
    """

    trained: int | None = None
    declared: int | None = None
    assumed: bool = False
    window: int | None = None


@record(kw_only=True)
class Schedule:
    """One rotary table as one engine holds it.

    ``inv_freq``: float32 values in the engine's order, radians per position, shape (channels,).
    ``unscaled``: the same channels before any context extension (linear, yarn, ...), i.e. what the
    weights were first trained with; None where it cannot be known. ``parameters``: the scaling
    law's own inputs after defaults (``factor``, ``beta_fast``, ...). ``static_channels``: channels
    that the family defines as exactly zero. ``dtype``: the format the table is held in. ``law`` and
    ``inputs`` (``families.Inputs``): the module that built the table and what it was given, None
    where no law did.
    """

    component: str = "text"
    layer_type: str | None = None
    variant: str | None = None
    layers: tuple[int, ...] | None = None
    rope_type: str
    rope_theta: float | None
    head_dim: int | None
    rotary_dim: int
    pairing: str = "half"
    axes: tuple[Axis, ...] | None = None
    inv_freq: Table
    unscaled: Table | None = None
    dtype: str = "float32"
    static_channels: frozenset[int] = frozenset()
    attention_scaling: float = 1.0
    softmax_scale: float = 1.0
    context: Context = Context()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    provenance: tuple[Fact, ...] = ()
    reader: str | None = None
    law: str | None = field(default=None, compare=False)
    inputs: Any = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """``<component>[/<layer_type>][/<variant>]``, unique in its subject."""
        return "/".join(p for p in (self.component, self.layer_type, self.variant) if p)

    @property
    def is_text(self) -> bool:
        """Whether positions are token positions of a language model (so lengths apply)."""
        return self.component == "text"

    def fact(self, name: str) -> Fact | None:
        """The first provenance entry for ``name``."""
        return next((f for f in self.provenance if f.field == name), None)

    @property
    def is_grown(self) -> bool:
        """Whether this is a dynamic table beyond the declared length: a state that an engine
        reaches, not what the config starts with."""
        return self.rope_type == "dynamic" and self.inv_freq != self.unscaled

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Channels that share one coordinate: equal values across groups are no coincidence.

        Without axes, and for shared ladders, that is a single group of all channels.
        """
        if self.axes is None:
            return (tuple(range(len(self.inv_freq))),)
        by_axis: dict[str, set[int]] = {}
        for axis in self.axes:
            first, last = axis.channels
            by_axis.setdefault(axis.axis, set()).update(range(first, last + 1))
        return tuple(dict.fromkeys(tuple(sorted(c)) for c in by_axis.values()))
