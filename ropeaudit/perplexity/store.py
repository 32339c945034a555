"""What has been measured, line by line in a file that only grows.

Every line is one JSON object: a *part* (some windows of a cell in flight) or a *cell* (all windows
of a finished one, with what it was). A line ends with the CRC-32 of what stands before it, so that
a damaged one is told from a good one. Writers append whole lines under a lock, so several
processes may share a file; killing one of them costs at most the line it was writing.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ropeaudit.errors import UsageError, quoted, quoted_path
from ropeaudit.perplexity import _lines
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.records import field, record

SCHEMA = "ropeaudit/perplexity-store/"
VERSION = 1

_HEAD = re.compile(rb'\{"schema":"([^"\\]*)","kind":"(?:part|cell)","key":"([^"\\]*)",')


class StoreFull(UsageError):
    """A line could not be written; it is kept in memory and tried again with the next one."""

    kind = "store_full"


@record(kw_only=True)
class Known:
    """What a store holds of one cell: scores by window, seconds spent, largest memory use."""

    scores: Mapping[int, WindowScore] = field(default_factory=dict)
    seconds: float = 0.0
    peak_bytes: int = 0
    finished: int = 0
    """Windows of the longest finished cell, 0 where none is finished."""


class Store:
    """An append-only file of measurements, created where there is none.

    Opening repairs a last line that was cut off in writing and says so in ``notes``; a damaged
    line further up is left where it is, left out, and said. Raises UsageError for a path that is
    no store, for one that a newer version wrote, and for one that cannot be opened.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        self._shown = quoted_path(path)
        self._places: dict[str, list[tuple[int, int, int]]] = {}
        self._waiting: list[bytes] = []
        self._read_to = 0
        self._line = 0
        self._file = self._opened()
        try:
            with _lines.locked(self._file, self._shown):
                self._repair()
                self._read()
        except BaseException:
            os.close(self._file)
            raise

    def close(self) -> None:
        """Close the file; what is not written yet stays unwritten."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def unwritten(self) -> int:
        """Lines that the file system has refused so far."""
        return len(self._waiting)

    def known(self, key: str) -> Known:
        """All that is stored under ``key``, what other processes have written meanwhile included.

        A window that was scored twice keeps its first score.
        """
        with _lines.locked(self._file, self._shown):
            self._read()
        scores: dict[int, WindowScore] = {}
        seconds, parts, peak, finished = 0.0, 0.0, 0, 0
        for place in self._places.get(key, ()):
            line = self._at(place)
            if line is None:
                continue
            for score in map(_score, line["scores"]):
                scores.setdefault(score.index, score)
            peak = max(peak, line["peak_bytes"])
            if line["kind"] == "cell":
                finished = max(finished, len(line["scores"]))
                seconds = max(seconds, line["seconds"])
            else:
                parts += line["seconds"]
        return Known(scores=scores, seconds=max(seconds, parts), peak_bytes=peak, finished=finished)

    def _at(self, place: tuple[int, int, int]) -> Mapping[str, Any] | None:
        """The line at (number, offset, size); None, and a note, for one that cannot be used."""
        number, offset, size = place
        found = _lines.opened(os.pread(self._file, size, offset))
        if found is not None and _is_whole(found):
            return found
        self._note_damage(number)
        return None

    def part(
        self, key: str, scores: Sequence[WindowScore], *, seconds: float, peak_bytes: int
    ) -> None:
        """Keep some windows of a cell that is not finished; raises as ``cell`` does."""
        self._append("part", key, scores, {"seconds": seconds, "peak_bytes": peak_bytes})

    def cell(
        self,
        key: str,
        scores: Sequence[WindowScore],
        *,
        seconds: float,
        peak_bytes: int,
        about: Mapping[str, Any],
    ) -> None:
        """Keep a finished cell; ``about`` says in plain JSON what it is, for people and scripts.

        Raises StoreFull where the disk takes no more; the line is tried again by the next call.
        """
        said = {"seconds": seconds, "peak_bytes": peak_bytes, "about": dict(about)}
        self._append("cell", key, scores, said)

    def flush(self) -> None:
        """Try once more to write what could not be written; raises StoreFull."""
        while self._waiting:
            line = self._waiting[0]
            try:
                with _lines.locked(self._file, self._shown):
                    _lines.append(self._file, line)
            except OSError as error:
                raise StoreFull(
                    f"cannot write to the store {self._shown}: {error.strerror or error}; "
                    "make room, and run again to measure what was not kept"
                ) from None
            del self._waiting[0]

    def _append(
        self, kind: str, key: str, scores: Sequence[WindowScore], rest: Mapping[str, Any]
    ) -> None:
        body = {
            "schema": f"{SCHEMA}{VERSION}",
            "kind": kind,
            "key": key,
            **rest,
            "scores": [[s.index, s.tokens, s.nll, [list(b) for b in s.buckets]] for s in scores],
        }
        self._waiting.append(_lines.sealed(body))
        self.flush()

    def _opened(self) -> int:
        try:
            handle = os.open(
                self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(
                f"cannot open the store {self._shown}: {reason}; give a file that can be written"
            ) from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise UsageError(f"the store {self._shown} is no regular file; give another path")
        return handle

    def _repair(self) -> None:
        """Cut off a line that was never finished, once the file is known to be a store."""
        tail = _lines.unfinished(self._file)
        if not tail:
            return
        end = os.fstat(self._file).st_size
        size = len(tail)
        if size == end and not _is_start(tail):
            raise UsageError(f"{self._shown} is no store of measurements; give another path")
        if size < end:
            self._require_store()
        if _lines.opened(tail) is not None:
            _lines.append(self._file, b"")  # whole, only its line end is missing
            return
        os.ftruncate(self._file, end - size)
        os.fsync(self._file)
        self.notes.append(
            f"the last line of the store {self._shown} was cut off in writing; its {size} bytes "
            "are removed, and what they held is measured again"
        )

    def _require_store(self) -> None:
        if not any(_schema(_lines.opened(line)) for line in _lines.whole(self._file, 0)):
            raise UsageError(f"{self._shown} is no store of measurements; give another path")

    def _read(self) -> None:
        """Find the lines that are new since the last time; the lock is held.

        Only where they are: a store may hold far more than one run asks for.
        """
        damaged: list[int] = []
        ours = bool(self._line)
        for text in _lines.whole(self._file, self._read_to):
            offset = self._read_to
            self._read_to += len(text) + 1
            self._line += 1
            if not text:
                continue
            head = _HEAD.match(text) if _lines.sound(text) else None
            if head is None:
                self._require_version(_schema(_lines.opened(text)))
                damaged.append(self._line)
                continue
            self._require_version(head[1].decode())
            ours = True
            place = (self._line, offset, len(text))
            self._places.setdefault(head[2].decode(), []).append(place)
        if damaged and not ours:
            raise UsageError(f"{self._shown} is no store of measurements; give another path")
        for line in damaged:
            self._note_damage(line)

    def _note_damage(self, line: int) -> None:
        note = (
            f"line {line} of the store {self._shown} is damaged and left out; what it held is "
            "measured again"
        )
        if note not in self.notes:
            self.notes.append(note)

    def _require_version(self, schema: str) -> None:
        version = schema.removeprefix(SCHEMA)
        if version == schema:  # nobody's
            return
        if version.isdecimal() and int(version) <= VERSION:
            return
        raise UsageError(
            f"the store {self._shown} holds lines of the schema {quoted(schema)}, and this version "
            f"reads {SCHEMA}{VERSION}; use the newer ropeaudit, or another file"
        )


def _is_start(tail: bytes) -> bool:
    """Whether a file of this one unfinished line may have been begun by a store."""
    start = _lines.START + json.dumps(SCHEMA).encode()[:-1]
    return start.startswith(tail[: len(start)]) or _lines.opened(tail) is not None


def _schema(found: Mapping[str, Any] | None) -> str:
    """The schema of a line of ours, else nothing."""
    name = "" if found is None else str(found.get("schema", ""))
    return name if name.startswith(SCHEMA) else ""


def _is_whole(found: Mapping[str, Any]) -> bool:
    """Whether a line that is undamaged has what this version writes into it."""
    try:
        for row in found["scores"]:
            _score(row)
        numbers = (found["seconds"], found["peak_bytes"])
        return (
            found["kind"] in ("part", "cell")
            and isinstance(found["key"], str)
            and all(isinstance(n, int | float) for n in numbers)
        )
    except (KeyError, TypeError, ValueError):
        return False


def _score(row: Sequence[Any]) -> WindowScore:
    index, tokens, nll, buckets = row
    return WindowScore(
        index=int(index),
        tokens=int(tokens),
        nll=float(nll),
        buckets=tuple((int(n), float(x)) for n, x in buckets),
    )
