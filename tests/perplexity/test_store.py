"""The store survives what happens to files: kills, full disks, two writers, damage."""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ropeaudit.errors import UsageError
from ropeaudit.perplexity import _lines
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.store import Store, StoreFull


def score(index: int, nll: float = 12.5) -> WindowScore:
    return WindowScore(index=index, tokens=7, nll=nll, buckets=((3, nll / 3), (4, nll / 7)))


def part(store: Store, key: str, *indices: int) -> None:
    store.part(key, [score(i) for i in indices], seconds=0.5, peak_bytes=100)


def cell(store: Store, key: str, *indices: int) -> None:
    scores = [score(i) for i in indices]
    store.cell(key, scores, seconds=2.0, peak_bytes=200, about={"recipe": "int8:sym"})


def test_what_is_stored_is_read_again_to_the_bit(tmp_path: Path) -> None:
    scores = [score(0, 0.1 + 0.2), score(3, 1e-300), score(1, 2 / 3)]
    with Store(tmp_path / "s.jsonl") as store:
        store.part("a", scores, seconds=1.5, peak_bytes=9)
        part(store, "b", 5)
    with Store(tmp_path / "s.jsonl") as again:
        known = again.known("a")
        assert known.scores == {s.index: s for s in scores}
        assert (known.seconds, known.peak_bytes, known.finished) == (1.5, 9, 0)
        assert set(again.known("b").scores) == {5}
        assert not again.known("c").scores
        assert not again.notes


def test_a_finished_cell_tells_its_windows_and_its_time(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl") as store:
        part(store, "a", 0, 1)
        cell(store, "a", 0, 1, 2)
        known = store.known("a")
        assert set(known.scores) == {0, 1, 2}
        assert (known.finished, known.seconds, known.peak_bytes) == (3, 2.0, 200)


def test_the_first_score_of_a_window_stays(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl") as store:
        for nll in (1.0, 2.0):
            store.part("a", [score(0, nll)], seconds=0, peak_bytes=0)
        assert store.known("a").scores[0].nll == 1.0


def test_each_writer_sees_what_the_other_wrote(tmp_path: Path) -> None:
    with Store(tmp_path / "s.jsonl") as one, Store(tmp_path / "s.jsonl") as two:
        part(one, "a", 0)
        part(two, "a", 1)
        assert set(one.known("a").scores) == set(two.known("a").scores) == {0, 1}


def _write(path: str, name: str, count: int) -> None:
    with Store(path) as store:
        for n in range(count):
            part(store, name, *range(10 * n, 10 * n + 10))


def test_processes_that_write_at_once_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_write, args=(str(path), f"k{n}", 25)) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with Store(path) as store:
        assert not store.notes
        for n in range(4):
            assert set(store.known(f"k{n}").scores) == set(range(250))
    assert len(path.read_bytes().splitlines()) == 100


_KILLED = """
import sys
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.store import Store
store = Store(sys.argv[1])
n = 0
while True:
    store.part("a", [WindowScore(index=n, tokens=1, nll=float(n))], seconds=0, peak_bytes=0)
    print(n, flush=True)
    n += 1
"""


def test_a_killed_writer_loses_nothing_that_it_had_written(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    child = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    for line in child.stdout:
        if int(line) >= 20:
            break
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read().split()
    child.stdout.close()
    child.wait()
    said = int(rest[-1]) if rest else 20
    with Store(path) as store:
        scores = store.known("a").scores
        assert set(range(said + 1)) <= set(scores)
        part(store, "b", 1)
        assert set(store.known("b").scores) == {1}


@given(cut=st.integers(1, 400))
def test_a_line_cut_off_anywhere_is_removed_and_said(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    path = tmp_path_factory.mktemp("store") / "s.jsonl"
    with Store(path) as store:
        part(store, "a", 0)
        whole = path.read_bytes()
        part(store, "a", 1)
    both = path.read_bytes()
    size = max(len(whole) + 1, len(both) - cut)
    os.truncate(path, size)
    with Store(path) as store:
        if size == len(both) - 1:  # only the line end was missing
            assert set(store.known("a").scores) == {0, 1}
            assert path.read_bytes() == both
            assert not store.notes
            return
        assert set(store.known("a").scores) == {0}
        assert "cut off" in store.notes[0]
        assert path.read_bytes() == whole
        part(store, "a", 2)
    with Store(path) as store:
        assert set(store.known("a").scores) == {0, 2}
        assert not store.notes


def test_a_store_whose_only_line_is_cut_off_starts_anew(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"schema":"ropeaudit/perplexity-store/1","kind":"pa')
    with Store(path) as store:
        assert "cut off" in store.notes[0]
        part(store, "a", 0)
        assert set(store.known("a").scores) == {0}


def test_half_a_line_of_a_dead_writer_does_not_swallow_the_next(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Store(path) as store:
        part(store, "a", 0)
        with path.open("ab") as other:
            other.write(b'{"schema":"ropeau')
        part(store, "a", 1)
        assert set(store.known("a").scores) == {0, 1}
        assert "line 2" in store.notes[0]


@pytest.mark.parametrize("at", [0.1, 0.5, 0.95])
def test_a_damaged_line_is_left_out_and_kept(tmp_path: Path, at: float) -> None:
    path = tmp_path / "s.jsonl"
    with Store(path) as store:
        for n in range(3):
            part(store, "a", n)
    lines = path.read_bytes().splitlines(keepends=True)
    place = int(at * len(lines[1]))
    lines[1] = lines[1][:place] + bytes([lines[1][place] ^ 1]) + lines[1][place + 1 :]
    path.write_bytes(b"".join(lines))
    with Store(path) as store:
        assert set(store.known("a").scores) == {0, 2}
        assert "line 2 of the store" in store.notes[0]
        part(store, "a", 1)
        assert set(store.known("a").scores) == {0, 1, 2}
    assert path.read_bytes().splitlines(keepends=True)[:3] == lines


@pytest.mark.parametrize(
    "body",
    [
        {"seconds": 1, "peak_bytes": 1, "scores": [[0, 1]]},
        {"seconds": "1", "peak_bytes": 1, "scores": []},
        {"peak_bytes": 1, "scores": []},
        {"seconds": 1, "peak_bytes": 1},
    ],
)
def test_an_undamaged_line_that_makes_no_sense_is_left_out(
    tmp_path: Path, body: dict[str, object]
) -> None:
    path = tmp_path / "s.jsonl"
    line = {"schema": "ropeaudit/perplexity-store/1", "kind": "part", "key": "a"} | body
    path.write_bytes(_lines.sealed(line) + b"\n")
    with Store(path) as store:
        assert not store.known("a").scores
        assert "line 1 of the store" in store.notes[0]
        part(store, "a", 3)
        assert set(store.known("a").scores) == {3}
        assert len(store.notes) == 1


def test_a_line_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    with Store(path) as store:
        part(store, "a", 0)
    newer = _lines.sealed({"schema": "ropeaudit/perplexity-store/2", "kind": "page"})
    path.write_bytes(path.read_bytes() + newer + b"\n")
    before = path.read_bytes()
    with pytest.raises(UsageError, match="store/2.*this version reads.*store/1"):
        Store(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content", [b"hello", b"hello\n", b"a,b\n1,2\n", b"\x00" * 300, b'{"schema": "x"}\n', b"\n\nx"]
)
def test_a_file_that_is_no_store_is_refused_untouched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(UsageError, match="is no store of measurements"):
        Store(path)
    assert path.read_bytes() == content


def test_a_path_that_cannot_be_a_store_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot open the store"):
        Store(tmp_path)
    with pytest.raises(UsageError, match="cannot open the store"):
        Store(tmp_path / "absent" / "s.jsonl")
    with pytest.raises(UsageError, match="no regular file"):
        Store("/dev/full")


_FULL = """
import resource, sys
from ropeaudit.perplexity.records import WindowScore
from ropeaudit.perplexity.store import Store, StoreFull
store = Store(sys.argv[1])
def part(n):
    store.part("a", [WindowScore(index=n, tokens=1, nll=0.5)], seconds=0, peak_bytes=0)
part(0)
soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
for n in (1, 2, 3):
    try:
        part(n)
    except StoreFull as error:
        print(error, "|", store.unwritten)
print(open(sys.argv[1], "rb").read().endswith(b"}\\n"))
resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
store.flush()
print(sorted(store.known("a").scores), store.unwritten)
"""


def test_a_full_disk_keeps_lines_whole_and_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(path)], capture_output=True, text=True, check=True
    )
    *errors, whole, last = done.stdout.splitlines()
    assert len(errors) >= 2
    assert all(f"cannot write to the store {path}: File too large" in e for e in errors)
    assert errors[-1].endswith("| 2") or errors[-1].endswith("| 3")
    assert whole == "True"
    assert last == "[0, 1, 2, 3] 0"


def test_a_refused_line_is_tried_again_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Store(tmp_path / "s.jsonl") as store:
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, limit[1]))
        try:
            with pytest.raises(StoreFull, match="make room"):
                part(store, "a", 0)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, before)
        assert store.unwritten == 1
        part(store, "a", 1)
        assert store.unwritten == 0
        assert set(store.known("a").scores) == {0, 1}
