"""What a run has to measure: every cell with its key, its table and its windows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ropeaudit.perplexity import _settings, environment, keys
from ropeaudit.perplexity._order import blocks, shuffled
from ropeaudit.perplexity.launch.interface import Ended, Prepared, Stop
from ropeaudit.perplexity.records import Settings, Window, WindowScore
from ropeaudit.perplexity.statistics.sequence import Sequential
from ropeaudit.perturb.recipe import Recipe
from ropeaudit.perturb.variant import Variant, make
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import dlog, phase_drift


@record(frozen=False, kw_only=True)
class Track:
    """The measuring of one key; cells whose tables are the same share it.

    ``blocks`` hold the windows in the order of scoring. ``wanted``: blocks asked for so far.
    ``kept``: windows of the finished cell that the store holds. ``task``: the number of the task in
    flight.
    """

    key: str
    context: int
    variant: Variant | None
    blocks: tuple[tuple[Window, ...], ...]
    wanted: int = 0
    scores: dict[int, WindowScore] = field(default_factory=dict)
    seconds: float = 0.0
    peak_bytes: int = 0
    kept: int = 0
    looked_up: bool = False
    task: int | None = None
    error: Ended | None = None

    @property
    def windows(self) -> int:
        return sum(map(len, self.blocks))

    @property
    def whole(self) -> bool:
        return len(self.scores) == self.windows

    def has(self, number: int) -> bool:
        """Whether every window of a block is scored."""
        return all(w.index in self.scores for w in self.blocks[number])

    def missing(self, stop: int | None = None) -> tuple[int, ...]:
        """Blocks before ``stop`` (None: all) that are not scored."""
        stop = len(self.blocks) if stop is None else stop
        return () if self.whole else tuple(n for n in range(stop) if not self.has(n))


@record(frozen=False, kw_only=True)
class Plan:
    """One cell to be: ``base`` is the track of the unchanged model, its own for the base itself.

    ``settled`` blocks have been shown to ``sequential``, which is None where every window counts.
    """

    recipe: Recipe | None
    schedule_id: str
    track: Track
    base: Track
    max_abs_dlog: float = 0.0
    max_phase_drift: float = 0.0
    notes: tuple[str, ...] = ()
    sequential: Sequential | None = None
    settled: int = 0

    @property
    def done(self) -> bool:
        if self.sequential is None:
            return self.track.whole
        return self.sequential.done

    def look(self) -> None:
        """Show the sequential test the blocks that base and variant both have, in order."""
        test = self.sequential
        if test is None:
            return
        while not test.done and self.settled < len(self.track.blocks):
            if not (self.track.has(self.settled) and self.base.has(self.settled)):
                return
            for difference, targets in self._compared(self.settled):
                test.add(difference, targets)
            self.settled += 1

    def _compared(self, number: int) -> Iterator[tuple[float, int]]:
        for window in self.track.blocks[number]:
            mine, other = self.track.scores[window.index], self.base.scores[window.index]
            yield mine.nll - other.nll, mine.tokens

    def stop(self, numbers: Sequence[int]) -> Stop | None:
        """What a worker needs to end the cell by itself in one of these blocks."""
        test = self.sequential
        if test is None:
            return None
        indices = [w.index for n in numbers for w in self.track.blocks[n]]
        return Stop(
            precision=test.precision,
            threshold=test.threshold,
            population=self.track.windows,
            seen=tuple(pair for n in range(self.settled) for pair in self._compared(n)),
            base={n: self.base.scores[n] for n in indices},
        )


def plans(prepared: Prepared, settings: Settings, recipes: Sequence[Recipe]) -> tuple[Plan, ...]:
    """Every cell, by length, the base of each length first.

    Raises UsageError for a recipe that cannot be carried out on this model.
    """
    variants = [make(prepared.schedules, recipe) for recipe in recipes]
    tracks: dict[str, Track] = {}
    found = []
    for length in settings.contexts:
        base, *others = _at(prepared, settings, length, [None, *variants], tracks)
        found += [base, *others]
        for plan in others:
            plan.base = base.track
            if settings.precision is not None or settings.threshold is not None:
                plan.sequential = Sequential(
                    settings.precision, settings.threshold, population=base.track.windows
                )
        if all(p.sequential is None for p in others):
            base.track.wanted = len(base.track.blocks)
    return tuple(found)


def _at(
    prepared: Prepared,
    settings: Settings,
    length: int,
    variants: Sequence[Variant | None],
    tracks: dict[str, Track],
) -> Iterator[Plan]:
    windows = blocks(shuffled(prepared.windows[length], settings.seed))
    deciding = {
        "context": length,
        **_settings.choosing(settings),
        "dtype": prepared.environment["dtype"],
        "device": prepared.environment["device_name"],
    }
    tokens = keys.token_digest(prepared.ids)
    for variant in variants:
        made = prepared.schedules if variant is None else served(variant)
        table = keys.schedule_id(keys.in_force(made, length))
        key = keys.cell_key(
            model=prepared.digest,
            table=table,
            text=prepared.corpus.sha256,
            tokens=tokens,
            settings=deciding,
            versions={name: prepared.environment[name] for name in environment.DECIDING},
        )
        track = tracks.setdefault(
            key, Track(key=key, context=length, variant=variant, blocks=windows)
        )
        logs, drift = (0.0, 0.0) if variant is None else _moved(variant, length)
        yield Plan(
            recipe=None if variant is None else variant.recipe,
            schedule_id=table,
            track=track,
            base=track,
            max_abs_dlog=logs,
            max_phase_drift=drift,
            notes=() if variant is None else _nudged(variant),
        )


def served(variant: Variant) -> tuple[Schedule, ...]:
    """What a variant has made, by the layer types of the model: parts that were split by layers
    are named after these layers only as long as they are tables of their own."""
    pairs = zip(variant.base, variant.schedules, strict=True)
    return tuple(replace(made, layer_type=base.layer_type) for base, made in pairs)


def _moved(variant: Variant, length: int) -> tuple[float, float]:
    """Largest change of a frequency in log, and largest drift of a phase within ``length``."""
    logs, drifts = [0.0], [0.0]
    used = keys.in_force(variant.schedules, length)
    for base, made in variant.changed():
        if not any(made is s for s in used) or not made.is_text:
            continue
        reach = _reach(made, length)
        for a, b in zip(base.inv_freq, made.inv_freq, strict=True):
            change = dlog(a, b)
            logs.append(math.inf if math.isnan(change) else abs(change))  # NaN: another sign
            drifts.append(phase_drift(a, b, reach))
    return max(logs), max(drifts)


def _reach(schedule: Schedule, length: int) -> int:
    """The longest distance between two tokens that attend to each other, at most ``length``."""
    return min(length, schedule.context.window or length)


def _nudged(variant: Variant) -> tuple[str, ...]:
    """What a recipe's table forced it to do, which its text does not say."""
    said = []
    for step, found in zip(variant.recipe.steps, variant.found, strict=True):
        for one in found:
            where = f"{step.text} on {one['schedule']}"
            said += [
                f"{where}: channel {n['channel']} would have met another one, so it moved on by "
                f"{n['moved_dlog']:g} in log"
                for n in one.get("nudged") or ()
            ]
            if one.get("landed_on"):
                channels = ", ".join(map(str, one["landed_on"]))
                said.append(f"{where}: the target is the frequency of channel {channels} too")
    return tuple(said)
