"""Telling values apart by enclosures: the precision is raised until they no longer overlap."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import TypeVar

from ropeaudit.exact.enclosure import enclose
from ropeaudit.exact.terms import Ramp
from ropeaudit.proofs._shapes import Shapes

T = TypeVar("T")
START = 64
"""Bits of the first enclosures; two float64 apart are told apart at once."""


def precisions(limit: int) -> Iterator[int]:
    """64 bits, then twice as many each time, ``limit`` last."""
    bits = START
    while bits < limit:
        yield bits
        bits *= 2
    yield limit


def decide(question: Callable[[int], T | None], limit: int) -> T | None:
    """The first answer that ``question(bits)`` gives; None if ``limit`` bits give none.

    A ramp without a value (an end that is no number) has no enclosure and so no answer.
    """
    try:
        answers = (question(bits) for bits in precisions(limit))
        return next((answer for answer in answers if answer is not None), None)
    except ValueError:
        return None


def separated(shapes: Shapes, channels: Sequence[int], limit: int) -> bool:
    """Whether all values are different, shown by ``limit`` bits at most.

    The channels have different keys, so two algebraic ones differ already: only what overlaps a
    ramp is looked at more closely.
    """
    waiting = [list(channels)]

    def apart(bits: int) -> bool | None:
        waiting[:] = [run for group in waiting for run in _overlaps(shapes, group, bits)]
        return None if waiting else True

    return decide(apart, limit) is True


def _overlaps(shapes: Shapes, channels: Sequence[int], bits: int) -> Iterator[list[int]]:
    """Runs of channels that hang together by overlapping enclosures, a ramp among them."""
    runs: list[list[int]] = []
    reach = Fraction(0)
    for lo, hi, k in sorted((*enclose(shapes.terms[k], bits), k) for k in channels):
        if not runs or lo > reach:
            runs.append([])
            reach = hi
        runs[-1].append(k)
        reach = max(reach, hi)
    for run in runs:
        if len(run) > 1 and any(isinstance(shapes.terms[k], Ramp) for k in run):
            yield run
