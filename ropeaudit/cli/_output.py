"""Where reports go: standard output, files, the step summary of a CI job."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ropeaudit.cli._targets import is_model_file
from ropeaudit.config import Settings, load, spelt
from ropeaudit.errors import ConfigError, UsageError, quoted, suggestion
from ropeaudit.report._terminal import View, detect
from ropeaudit.report.interface import names

Render = Callable[[str, View], str]
"""Text of the result in a format, by a view that only the console format uses."""
Formats = Sequence[str] | Callable[[], Sequence[str]]
"""Formats of a command, or what finds them; none where they are those of a report of findings."""


def settings(given: Mapping[str, object], *, no_config: bool, formats: Formats = ()) -> Settings:
    """Settings of this run, with the format and the engines checked before any work is done.

    ``formats``: those of this command, where they are not those of a report of findings.
    """
    found = load(given, env=os.environ, folder=None if no_config else Path.cwd())
    _require_format(found.format, formats)
    _require_readers(found)
    return found


def _require_format(name: str, formats: Formats) -> None:
    """Raises UsageError for a name that is no format; one of other commands is theirs to refuse."""
    if name in names() or (not callable(formats) and name in formats):
        return
    fitting = (formats() if callable(formats) else formats) or names()
    raise UsageError(
        f"no report format {quoted(name)}; known: {', '.join(fitting)}{suggestion(name, fitting)}"
    )


def _require_readers(found: Settings) -> None:
    """Raises ConfigError for an engine that is not known, where a file or a variable names it."""
    origin = found.origin("reader")
    if not found.reader or origin == "command line":
        return
    from ropeaudit.readers.engines.known import find

    try:
        find(found.reader)
    except UsageError as error:
        raise ConfigError(f"{spelt('reader', origin)}: {error}") from None


def chosen_format(settings: Settings) -> str:
    """The format for standard output: annotations in a GitHub job, unless a format was chosen."""
    in_actions = os.environ.get("GITHUB_ACTIONS") == "true"
    return "github" if in_actions and settings.origin("format") == "default" else settings.format


def outputs(
    specs: Sequence[str] | None,
    targets: Sequence[str] = (),
    *,
    formats: Formats = (),
) -> list[tuple[str, Path]]:
    """``FMT=PATH`` pairs; raises UsageError for an unknown format or a path given twice.

    A report never takes the place of a target, nor of a config or weights inside one.
    ``formats`` as in :func:`settings`.
    """
    found: list[tuple[str, Path]] = []
    for spec in specs or ():
        name, sign, path = spec.partition("=")
        if not sign or not path:
            raise UsageError(f"--output {quoted(spec)} is not FMT=PATH, such as json=report.json")
        _require_format(name, formats)
        target = Path(path)
        why = _why_not(target)
        if why is not None:
            raise UsageError(f"--output {quoted(spec)} cannot be written: {quoted(path)} {why}")
        real = os.path.realpath(target)
        if any(real == os.path.realpath(p) and not _is_device(p) for _, p in found):
            raise UsageError(f"--output names {quoted(path)} twice; give each report its own file")
        if _is_input(real, targets):
            raise UsageError(
                f"--output {quoted(spec)} would overwrite what is audited; give another path"
            )
        found.append((name, target))
    return found


def _why_not(path: Path) -> str | None:
    """Why no report can be written to ``path``; None as far as can be told beforehand."""
    try:
        if path.is_dir():
            return "is a folder"
        return None if path.absolute().parent.is_dir() else "lies in a folder that does not exist"
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return f"cannot be reached ({reason or error})"


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file()


def _is_input(real: str, targets: Sequence[str]) -> bool:
    """Whether ``real`` is a target, or a file that makes the folder around it a model."""
    if not os.path.lexists(real):
        return False
    return is_model_file(Path(real).name) or real in map(_real, targets)


def _real(target: str) -> str:
    try:
        return os.path.realpath(target)
    except ValueError:  # a NUL character; reading the target will say so
        return target


def for_pages(
    given: Mapping[str, object], output: Sequence[str] | None, *, no_config: bool
) -> tuple[Settings, list[tuple[str, Path]]]:
    """Settings and files of a command that writes pages of the catalogue, formats checked."""
    from ropeaudit.report._rules import FORMATS, check_format

    found = settings(given, no_config=no_config, formats=FORMATS)
    files = outputs(output, formats=FORMATS)
    for name in (found.format, *(name for name, _ in files)):
        check_format(name)
    return found, files


def write(
    render: Render,
    name: str,
    files: Sequence[tuple[str, Path]],
    *,
    color: str = "auto",
    verbose: bool = False,
    silent: bool = False,
) -> None:
    """Files first, then standard output, so that a closed pipe loses no file."""
    for file_format, path in files:
        write_file(path, render(file_format, View(verbose=verbose)))
    if not silent:
        if sys.stdout is None:
            raise UsageError("standard output is closed; use -o FMT=PATH with -q to write files")
        view = detect(sys.stdout, color=color, verbose=verbose, env=os.environ)
        _print(render(name, view))


def _print(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"cannot write to standard output: {error.strerror}") from None


def write_file(path: Path, text: str) -> None:
    """Write whole or not at all: a temporary file beside it, renamed. Raises UsageError."""
    data = text.encode("utf-8", "backslashreplace")
    real = Path(os.path.realpath(path))
    temporary = real.with_name(f".{real.name}.{os.getpid()}.tmp")
    try:
        if real.exists() and not real.is_file():
            real.write_bytes(data)  # a device or a pipe: renaming would replace it
            return
        try:
            temporary.write_bytes(data)
            temporary.replace(real)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {quoted(str(path), 300)}: {error.strerror}") from None


def append_summary(text: str) -> None:
    """Add Markdown to the job's step summary, where there is one; a full disk is no finding."""
    path = os.environ.get("GITHUB_STEP_SUMMARY")
    if not path:
        return
    try:
        with Path(path).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        print(f"ropeaudit: no step summary: {error.strerror}", file=sys.stderr)
