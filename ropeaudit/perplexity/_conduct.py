"""The course of a run: which block is next, what comes back, what is kept.

One rule for one process and for a cluster: the base goes first, a cell asks for blocks until it is
whole or decided, and every block is in the store before the next is asked for.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ropeaudit.errors import UsageError
from ropeaudit.perplexity._plan import Plan, Track
from ropeaudit.perplexity.launch.interface import Ended, Launcher, Part, Task
from ropeaudit.perplexity.store import Store, StoreFull

Progress = Callable[[int, int, "float | None"], None]
"""Tokens done, tokens in all (an upper bound where cells may stop early), seconds left or None."""


class Conductor:
    """Runs ``plans`` to their ends with one launcher; what was measured is in their tracks.

    ``about(plan)``: what the store says of a finished cell. ``interrupted``: the run was ended from
    outside. ``notes``: what went wrong beside the measuring itself.
    """

    def __init__(
        self,
        plans: Sequence[Plan],
        launcher: Launcher,
        store: Store | None,
        progress: Progress | None,
        about: Callable[[Plan], Mapping[str, Any]],
    ) -> None:
        self.interrupted = False
        self.notes: list[str] = []
        self.places: dict[str, None] = {}
        self._plans = plans
        self._tracks = list({p.track.key: p.track for p in plans}.values())
        if not launcher.streams:
            # A cell that decides by itself needs the base's scores of all windows beforehand.
            for plan in plans:
                plan.base.wanted = len(plan.base.blocks)
        self._launcher = launcher
        self._store = store
        self._progress = progress
        self._about = about
        self._flying: dict[int, Track] = {}
        self._number = 0
        self._since = time.perf_counter()
        self._new = 0
        self._refused = False

    def run(self) -> None:
        """Measure until nothing is left; an interrupt ends it early and is no error."""
        try:
            self._tell()
            while self._submit():
                self._take(self._launcher.next())
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._launcher.close()
        self._finish()

    def _submit(self) -> bool:
        """Hand out tasks as long as the launcher takes them; whether any is in flight."""
        for plan in self._plans:
            while len(self._flying) < self._launcher.capacity:
                track, blocks = self._next(plan)
                if not blocks:
                    break
                self._number += 1
                track.task = self._number
                self._flying[self._number] = track
                alone = not self._launcher.streams and track is not plan.base
                self._launcher.submit(
                    Task(
                        number=self._number,
                        variant=track.variant,
                        blocks=tuple(track.blocks[n] for n in blocks),
                        stop=plan.stop(blocks) if alone else None,
                    )
                )
        return bool(self._flying)

    def _next(self, plan: Plan) -> tuple[Track, tuple[int, ...]]:
        """The track that a cell needs work on, and the blocks; none while it has to wait."""
        track, base = plan.track, plan.base
        if base.error is not None or not self._open(track):
            return track, ()
        if track is base:
            return base, base.missing(base.wanted)
        if plan.sequential is None:
            return track, track.missing()
        plan.look()
        if plan.done:
            self._keep_cell(plan)
            return track, ()
        number = plan.settled
        if not base.has(number):
            base.wanted = max(base.wanted, number + 1)
            return base, base.missing(base.wanted) if self._open(base) else ()
        # As far as the base goes: the task is stopped where the cell is decided.
        stop = next((n for n in range(number, len(base.blocks)) if not base.has(n)), None)
        return track, tuple(n for n in track.missing(stop) if n >= number)

    def _open(self, track: Track) -> bool:
        """Whether work on a track can be handed out now; looks into the store the first time."""
        if track.task is not None or track.error is not None:
            return False
        if not track.looked_up and self._store is not None:
            known = self._store.known(track.key)
            indices = {w.index for b in track.blocks for w in b}
            for index, score in known.scores.items():
                if index in indices:
                    track.scores[index] = score
            track.seconds, track.peak_bytes = known.seconds, known.peak_bytes
            track.kept = known.finished
        track.looked_up = True
        return True

    def _take(self, event: Part | Ended) -> None:
        track = self._flying.get(event.task)
        if track is None:  # of a task that was stopped
            return
        if isinstance(event, Ended):
            del self._flying[event.task]
            track.task = None
            if event.kind is not None:
                track.error = event
            return
        for score in event.scores:
            track.scores.setdefault(score.index, score)
        track.seconds += event.seconds
        track.peak_bytes = max(track.peak_bytes, event.peak_bytes)
        self._new += len(event.scores) * track.context
        self.places[str(event.where.get("device"))] = None
        plan = next(p for p in self._plans if p.track is track)
        plan.look()
        if plan.done and plan.base is not track:
            self._keep_cell(plan)
            if not track.whole:
                self._stop(track)
        elif track.whole:
            self._keep_cell(plan)
        else:
            self._keep_part(track, event)
        self._tell()

    def _stop(self, track: Track) -> None:
        if track.task is not None:
            self._launcher.stop(track.task)
            self._flying.pop(track.task, None)
            track.task = None

    def _keep_part(self, track: Track, part: Part) -> None:
        if self._store is not None:
            self._kept(
                lambda store: store.part(
                    track.key, part.scores, seconds=part.seconds, peak_bytes=part.peak_bytes
                )
            )

    def _keep_cell(self, plan: Plan) -> None:
        track = plan.track
        if self._store is None or not track.scores or track.kept >= len(track.scores):
            return
        scores = [track.scores[n] for n in sorted(track.scores)]
        track.kept = len(scores)
        self._kept(
            lambda store: store.cell(
                track.key,
                scores,
                seconds=track.seconds,
                peak_bytes=track.peak_bytes,
                about=self._about(plan),
            )
        )

    def _kept(self, write: Callable[[Store], None]) -> None:
        """Write to the store; where that fails the run goes on, and says so once."""
        assert self._store is not None
        try:
            write(self._store)
        except StoreFull as error:
            if not self._refused:
                self.notes.append(str(error))
            self._refused = True
        except UsageError as error:
            if str(error) not in self.notes:
                self.notes.append(str(error))

    def _finish(self) -> None:
        """The base is finished when nobody asks for more of it; last lines go to the store."""
        if self._store is None:
            return
        for plan in self._plans:
            asked = plan.track is plan.base and not self.interrupted and plan.track.error is None
            if asked or plan.done:
                self._keep_cell(plan)
        if self._store.unwritten:
            self._kept(lambda store: store.flush())
        if self._store.unwritten:
            self.notes.append(
                f"{self._store.unwritten} results are in this report only, not in the store"
            )

    def _tell(self) -> None:
        if self._progress is None:
            return
        done = total = 0
        finished = {p.track.key for p in self._plans if p.track is not p.base and p.done}
        for track in self._tracks:
            have = len(track.scores) * track.context
            over = track.error is not None or track.key in finished
            done += have
            total += have if over else track.windows * track.context
        spent = time.perf_counter() - self._since
        left = spent / self._new * (total - done) if self._new else None
        self._progress(done, total, left)
