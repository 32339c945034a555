"""What the checks of encodings share: one look at each encoding, its units, places and words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ropeaudit.checks.interface import Case
from ropeaudit.encodings.core import Encoding, Spectrum
from ropeaudit.encodings.interface import EncodingModule, of
from ropeaudit.facts import Location
from ropeaudit.findings import Outcome, Status

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

LISTED = 32
"""Heads that the evidence lists; the rest is counted."""


class Look:
    """One encoding under judgement; what is dear is computed when the first check asks."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding
        self.module: EncodingModule = of(encoding)

    @cached_property
    def spectrum(self) -> Spectrum:
        return self.module.spectrum(self.encoding)

    @cached_property
    def generators(self) -> Array | None:
        return self.module.generators(self.encoding)

    @property
    def name(self) -> str:
        return self.encoding.name

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Layers, heads, units, axes of the spectrum."""
        layers, heads, units, axes = self.spectrum.w.shape
        return layers, heads, units, axes

    @property
    def is_tree(self) -> bool:
        """Whether the axes are branches, so that a position is a path and not a vector."""
        return self.encoding.kind.endswith("-tree")

    @cached_property
    def is_bias(self) -> bool:
        """Whether it only adds to the score."""
        sector = self.spectrum.sector
        return bool(sector) and set(sector) == {"bias"}

    @cached_property
    def is_damped(self) -> bool:
        """Whether it damps or shears, so that its maps are not orthogonal."""
        mapped = ~self.added
        eta, gamma = (v[..., mapped] for v in (self.spectrum.eta, self.spectrum.gamma))
        return bool((gamma != 0).any() or (eta != 0).any())

    @cached_property
    def rotary(self) -> Any:
        """(units,): which units turn in planes, by their sector."""
        import numpy as np

        sector = self.spectrum.sector or ("rotary",) * self.shape[2]
        return np.array([s == "rotary" for s in sector], dtype=bool)

    @cached_property
    def added(self) -> Any:
        """(units,): which units are slopes of a bias and no maps."""
        import numpy as np

        sector = self.spectrum.sector or ("rotary",) * self.shape[2]
        return np.array([s == "bias" for s in sector], dtype=bool)

    @property
    def blocks(self) -> Any:
        """(units,): which units are Jordan blocks. Where planes stand beside blocks that do not
        turn, only the latter are."""
        return ~self.rotary if self.rotary.any() and not self.rotary.all() else self.rotary | True

    @cached_property
    def noise(self) -> Array:
        """(layers, heads): below it two values of the spectrum are not told apart."""
        import numpy as np

        return np.broadcast_to(np.asarray(self.spectrum.noise, dtype=float), self.shape[:2])

    @cached_property
    def still(self) -> Any:
        """(layers, heads, units): planes that turn with no axis, by the rounding of their file."""
        from ropeaudit.encodings._still import still

        return still(self.spectrum)

    def layer(self, index: int) -> int | None:
        """The model's layer at an index of the layer axis; None where one set serves all."""
        layers = self.encoding.layers
        return None if layers is None else int(layers[index])

    def head(self, index: int) -> int | None:
        """The head at an index of the head axis; None where one set serves all."""
        return index if self.shape[1] == self.encoding.heads else None

    def at(self, layer: int, head: int) -> str:
        """``layer 3, head 5`` for indices of the two axes."""
        names = (("layer", self.layer(layer)), ("head", self.head(head)))
        return ", ".join(f"{n} {v}" for n, v in names if v is not None) or "all heads"

    def heads(self, mask: Any) -> list[list[int | None]]:
        """``[layer, head]`` of the heads in a (layers, heads) mask, at most :data:`LISTED`."""
        found = zip(*mask.nonzero(), strict=True)
        return [[self.layer(int(i)), self.head(int(h))] for i, h in list(found)[:LISTED]]

    def worst(self, values: Any) -> tuple[int, int]:
        """Indices (layer, head) of the largest of (layers, heads) values."""
        import numpy as np

        layer, head = np.unravel_index(int(np.argmax(values)), values.shape)
        return int(layer), int(head)


def each(case: Case, judge: Callable[[Look], Outcome | Iterable[Outcome]]) -> Iterator[Outcome]:
    """What ``judge`` says of every encoding; looks are shared by all checks of a run."""
    if not case.subject.encodings:
        yield Outcome(status=Status.SKIP, message="the input holds no encoding of this kind")
    for look in looks(case):
        said = judge(look)
        if isinstance(said, Outcome):
            yield said
        else:
            yield from said


def looks(case: Case) -> tuple[Look, ...]:
    found = []
    for encoding in case.subject.encodings:
        key = ("encoding", id(encoding))
        if key not in case.memo:
            case.memo[key] = Look(encoding)
        found.append(case.memo[key])
    return tuple(found)


def extents(case: Case, look: Look) -> tuple[float | None, ...]:
    """Largest distance along each axis in the unit of the spectrum; None where nobody says.

    A length that the user asks for counts for an encoding of tokens in a row.
    """
    stated = look.encoding.positions.extent
    if not counts_tokens(look) or not case.lengths:
        return stated
    return (max(stated[0] or 0.0, max(case.lengths) - 1.0),)


def counts_tokens(look: Look) -> bool:
    """Whether positions are whole numbers along one axis."""
    return len(look.encoding.axes) == 1 and look.encoding.positions.integer and not look.is_tree


def place(look: Look) -> Location | None:
    """The first tensor or key that decided the numbers."""
    facts = look.encoding.provenance
    return next((f.location for f in facts if f.location is not None), None)


def passed(look: Look, message: str = "") -> Outcome:
    return Outcome(status=Status.PASS, schedule=look.name, message=message)


def skipped(look: Look, reason: str) -> Outcome:
    """``reason``: a clause; the encoding's name goes before it."""
    return Outcome(status=Status.SKIP, schedule=look.name, message=f"{look.name}: {reason}")


BIAS = "it adds to the score and turns nothing"
TREE = "positions are paths in a tree, not numbers"
NO_LENGTH = "the input does not say how far positions reach"
UNDAMPED = "it neither damps nor shears"


def rounded(value: float, digits: int = 6) -> float:
    """A computed number as the evidence holds it: the rest differs between machines."""
    return float(f"{float(value):.{digits}g}")


def several(count: int, noun: str) -> str:
    """``1 head`` or ``3 heads``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def axes(look: Look, which: Sequence[int]) -> str:
    """Names of axes for a sentence."""
    return ", ".join(look.encoding.axes[a] for a in which)
