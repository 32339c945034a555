"""An adapter folder: it changes weights, not positions, so its base is what is audited."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from ropeaudit.errors import InvalidValue, SourceError, quoted, quoted_path
from ropeaudit.facts import InputFile, Note, Reading
from ropeaudit.records import replace
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources._json import document_of
from ropeaudit.sources.interface import MAX_CONFIG_BYTES

NAME = "adapter_config.json"
_CONFIGS = ("config.json", "params.json", NAME)


def read(
    path: Path,
    *,
    target: str,
    seen: frozenset[str],
    folder: Callable[[Path, frozenset[str]], Reading],
) -> Reading:
    """The base of the adapter in ``path``, where it lies beside; else a reading that names it.

    ``folder`` reads a model folder. Raises SourceError when the adapter or its base is broken.
    """
    base, size = _base(path)
    seen = seen | {str(path.resolve())}
    own = InputFile(path=str(path / NAME), format="hf-config", bytes_read=size)
    place = next(_beside(path, base), None)
    if place is None:
        notes = (
            Note("adapter", f"an adapter of {quoted(base)}, which does not lie beside it"),
            Note(
                "insufficient",
                f"the positions are those of the base {quoted(base)}; audit the base itself",
            ),
        )
        return Reading(target=target, format="hf-config", files=(own,), notes=notes)
    if str(place.resolve()) in seen:
        raise InvalidValue(
            f"{quoted_path(path / NAME)} names {quoted(base)}, which leads back to the adapter "
            "itself; name the base model",
            where="/base_model_name_or_path",
        )
    reading = folder(place, seen)
    note = Note(
        "adapter", f"an adapter of {quoted(base)}; its base at {quoted_path(place)} was read"
    )
    return replace(reading, files=(own, *reading.files), notes=(note, *reading.notes))


def note_of(path: Path) -> Note:
    """The note for an adapter that brings a config of its own."""
    try:
        base = quoted(_base(path)[0])
    except SourceError:
        base = "a base that its adapter_config.json does not name"
    return Note("adapter", f"an adapter of {base}; the config beside it was read")


def _base(path: Path) -> tuple[str, int]:
    """The base's name and the size of the file that names it."""
    file = path / NAME
    with RegularFile(file) as opened:
        opened.head(1024)
        data = opened.all(MAX_CONFIG_BYTES, "a config")
    base = document_of(data, str(file)).data.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise InvalidValue(
            f"{quoted_path(file)} names no base_model_name_or_path, and an adapter has no "
            "positions of its own; audit the base model",
            where="/base_model_name_or_path",
        )
    return base, len(data)


def _beside(path: Path, base: str) -> Iterator[Path]:
    """Folders that may be the base: as written, next to the adapter, or from where we stand."""
    tries = [path / base, path.parent / base, path.parent / Path(base).name, Path(base)]
    for place in tries:
        try:
            config = any((place / name).exists() for name in _CONFIGS)
            if config and place.resolve() != path.resolve():
                yield place
        except (OSError, ValueError, RuntimeError):
            continue
