"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ropeaudit.errors import UsageError
from ropeaudit.export import _target
from ropeaudit.export.writing import write
from tests.export.configs import LLAMA
from tests.export.variants import folder, variant


def names(path: Path) -> list[str]:
    return sorted(p.name for p in path.iterdir())


def made(target: Path, fill: Callable[[Path], None], *, folder: bool = False) -> None:
    with _target.replacing(target, folder=folder, force=True) as work:
        fill(work)


def never(work: Path) -> None:
    pytest.fail("the sibling was made")


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError, SystemExit])
@pytest.mark.parametrize("whole", [True, False])
def test_what_ends_early_leaves_nothing(
    tmp_path: Path, stop: type[BaseException], whole: bool
) -> None:
    def half(work: Path) -> None:
        (work / "a" if whole else work).write_text("half")
        raise stop

    with pytest.raises(stop):
        made(tmp_path / "out", half, folder=whole)
    assert names(tmp_path) == []


def test_a_forced_run_that_fails_keeps_the_old_folder(tmp_path: Path) -> None:
    old = tmp_path / "out"
    old.mkdir()
    (old / "kept").write_text("old")

    def half(work: Path) -> None:
        (work / "new").write_text("new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(old, half, folder=True)
    assert names(tmp_path) == ["out"]
    assert (old / "kept").read_text() == "old"


def test_a_folder_takes_the_place_of_an_old_one(tmp_path: Path) -> None:
    old = tmp_path / "out"
    old.mkdir()
    (old / "gone").write_text("old")
    with _target.replacing(old, folder=True, force=True) as work:
        (work / "new").write_text("new")
    assert names(tmp_path) == ["out"]
    assert names(old) == ["new"]
    assert old.stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_links_are_replaced_and_not_followed(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "weights").write_text("kept")
    link = tmp_path / "out"
    link.symlink_to(precious)
    with _target.replacing(link, folder=True, force=True) as work:
        (work / "new").write_text("new")
    assert names(link) == ["new"]
    assert not link.is_symlink()
    assert names(precious) == ["weights"]


def test_a_full_disk_gets_a_sentence(tmp_path: Path) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")

    def half(work: Path) -> None:
        work.write_text("half")
        full.write_bytes(b"0" * 4096)

    with pytest.raises(UsageError, match=r"out cannot be written: the disk is full; free"):
        made(tmp_path / "out", half)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.EROFS, "the disk is mounted read-only; write elsewhere"),
        (errno.EACCES, "permission denied; choose a folder"),
        (errno.EBUSY, "it is in use or the top of a mounted disk; name a new folder inside it"),
        (errno.ENOTEMPTY, "another run wrote it in the meantime; try again"),
        (errno.EDQUOT, "your quota on this disk is used up"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_refusals_of_the_system(number: int, said: str) -> None:
    error = _target.failure("out", OSError(number, os.strerror(number)))
    assert f"out cannot be written: {said}" in str(error)


def test_a_folder_without_permission(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):
        pytest.skip("this user may write anywhere")
    with pytest.raises(UsageError, match="permission denied"):
        made(locked / "out", never)


def test_a_missing_folder_and_a_file_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="its folder does not exist; create it first"):
        made(tmp_path / "no" / "out", never)
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="a part of the path is a file"):
        made(tmp_path / "file" / "out", never)


def test_nothing_is_overwritten_without_force(tmp_path: Path) -> None:
    old = tmp_path / "t.json"
    old.write_text("old")
    with pytest.raises(UsageError, match=r"t.json exists; .* --force"):
        _target.check(old, None, force=False)
    _target.check(old, None, force=True)
    _target.check(tmp_path / "new.json", None, force=False)


def test_force_spares_folders_of_others(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis").write_text("years")
    with pytest.raises(UsageError, match="did not write"):
        _target.check(tmp_path / "home", None, force=True)
    (tmp_path / "empty").mkdir()
    _target.check(tmp_path / "empty", None, force=True)
    with pytest.raises(UsageError, match="no regular file"):
        _target.check(Path("/dev/null"), None, force=True)


def test_the_source_is_out_of_bounds(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, wanted = variant(source, "int8:sym")
    for place, said in (
        (source, "is the source itself"),
        (source / "sub", "lies inside the source"),
        (tmp_path, "holds the source"),
    ):
        with pytest.raises(UsageError, match=said):
            write(wanted, f"hf={place}", source=subject, force=True)
    assert names(tmp_path) == ["model"]


_COPY = """
import resource, signal, sys
from ropeaudit.errors import UsageError
from ropeaudit.export.writing import write
from tests.export.variants import variant
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
subject, made = variant(sys.argv[1], "int8:sym")
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
try:
    write(made, "hf=" + sys.argv[2], source=subject, copy=True)
except UsageError as error:
    print(error)
"""


def test_a_copy_that_hits_a_limit_leaves_nothing(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    (source / "extra.bin").write_bytes(b"0" * 400_000)
    done = subprocess.run(
        [sys.executable, "-c", _COPY, str(source), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert "out cannot be written: the file would be larger than is allowed here" in done.stdout
    assert names(tmp_path) == ["model"]


_WAIT = """
import sys, time
from pathlib import Path
from ropeaudit.export._target import replacing
with replacing(Path(sys.argv[1]), folder=True) as work:
    (work / "config.json").write_text("half")
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_from_outside_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    # A child of a shell's background job would start with some of them ignored.
    child = subprocess.Popen(
        [sys.executable, "-c", _WAIT, str(tmp_path / "out")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL) and None,
    )
    assert child.stdout is not None
    with child:
        assert child.stdout.readline() == b"ready\n"
        assert len(names(tmp_path)) == 1
        child.send_signal(number)
        code = child.wait(30)
    assert code == 128 + number or number == signal.SIGINT
    assert code != 0
    assert names(tmp_path) == []


def test_signals_mean_afterwards_what_they_meant_before(tmp_path: Path) -> None:
    held = [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)]
    with _target.replacing(tmp_path / "out", folder=True):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGHUP)] == held


def test_other_threads_write_without_touching_signals(tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(made, tmp_path / "t", lambda work: work.write_text("x") and None).result()
    assert (tmp_path / "t").read_text() == "x"


@pytest.mark.parametrize("whole", [True, False])
def test_of_two_runs_at_once_the_second_overwrites_nothing(tmp_path: Path, whole: bool) -> None:
    target = tmp_path / "out"

    def fill(work: Path, text: str) -> None:
        (work / "a" if whole else work).write_text(text)

    def both() -> None:
        with _target.replacing(target, folder=whole) as slow:
            fill(slow, "slow")
            with _target.replacing(target, folder=whole) as quick:
                fill(quick, "quick")

    with pytest.raises(UsageError, match="out exists; choose another name, or add --force"):
        both()
    assert names(tmp_path) == ["out"]
    assert (target / "a" if whole else target).read_text() == "quick"


def test_the_weights_beside_a_config_are_not_replaced(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    subject, wanted = variant(source / "config.json", "int8:sym")
    before = (source / "model.safetensors").read_bytes()
    for name in ("model.safetensors", "tokenizer.json"):
        with pytest.raises(UsageError, match="belongs to the model .*config.json"):
            write(wanted, str(source / name), source=subject, force=True)
    assert (source / "model.safetensors").read_bytes() == before
    for name in ("t.safetensors", "t.json", "t.npy"):  # new files, and those written before
        write(wanted, str(source / name), source=subject)
        write(wanted, str(source / name), source=subject, force=True)


def test_what_the_sources_links_lead_to_is_not_replaced(tmp_path: Path) -> None:
    source = folder(tmp_path / "model", LLAMA)
    blob = tmp_path / "blob.safetensors"
    (source / "model.safetensors").rename(blob)
    (source / "model.safetensors").symlink_to(blob)
    subject, wanted = variant(source, "int8:sym")
    with pytest.raises(UsageError, match="belongs to the model"):
        write(wanted, str(blob), source=subject, force=True)


@pytest.mark.parametrize("name", [".", "..", "model/.."])
def test_places_that_are_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    subject, wanted = variant(folder(tmp_path / "model", LLAMA), "int8:sym")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(UsageError, match="is no name; name a new folder or file"):
        write(wanted, f"hf={name}", source=subject, force=True)
