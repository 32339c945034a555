"""Data sets of the Hugging Face hub, and folders laid out like one, through ``datasets``.

    hf:org/name[@revision][:config][:split][:column]      hf:./folder[:config][:split][:column]

Rows are read as a stream, in their order, until there is text enough, and joined by an empty line.
A branch or tag is turned into the commit that it stands for, which the source names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from ropeaudit.errors import (
    MissingDependency,
    RopeAuditError,
    SourceError,
    UsageError,
    quoted,
    quoted_path,
    suggestion,
)
from ropeaudit.perplexity.corpora._place import FORM, PREFIX, PRESETS, Place, parse
from ropeaudit.perplexity.corpora.interface import corpus
from ropeaudit.perplexity.records import Corpus

NAMES = {name: place.about for name, place in PRESETS.items()}
ENOUGH = 8_000_000
"""Characters after which no further row is read: about two million tokens."""
SPLITS = ("test", "validation", "train")
"""Where no split is named it is the first of these that there is."""
_TIMEOUT = 20.0


def claims(reference: str) -> bool:
    return reference.startswith(PREFIX)


def load(reference: str, *, offline: bool) -> Corpus:
    """The text of the rows. Offline, the data set must be in the hub's cache on this machine.

    Raises MissingDependency without the extra ``datasets``; UsageError for a reference that cannot
    be, and for a config, split or column that there is not; SourceError for what cannot be read.
    """
    place = PRESETS.get(reference) or parse(reference)
    if find_spec("datasets") is None:
        raise MissingDependency(
            f"the text {quoted(reference)} needs the datasets package; "
            "pip install 'ropeaudit[datasets]'"
        )
    with _explained(place):
        where, commit = _located(place, offline=offline)
    cached = not place.local and where != place.repo
    with _explained(place, cached=cached):
        found = _opened(place, where, commit)
        split = _split(place, list(found))
        first, rows = _first(found[split])
        column = _column(place, first)
        parts, whole = _texts(place, rows, column)
    source = f"{place}{f'@{commit}' if commit else ''}, "
    source += place.files or f"config {place.config or 'default'}"
    source += f", split {split}, column {column}: {len(parts):,} rows"
    if not whole:
        source += f", the first with {ENOUGH:,} characters"
    return corpus(reference, "\n\n".join(parts), source)


def _located(place: Place, *, offline: bool) -> tuple[str, str | None]:
    """The folder or hub id to read from, and the commit where there is one."""
    if place.local:
        folder = Path(place.repo).expanduser()
        if not folder.is_dir():
            raise SourceError(f"there is no folder {quoted_path(folder)}; check the spelling")
        return str(folder), None
    hub = import_module("huggingface_hub")
    if not offline and not import_module("huggingface_hub.constants").HF_HUB_OFFLINE:
        api = hub.HfApi(library_name="ropeaudit")
        info = api.dataset_info(
            place.repo, revision=place.revision, timeout=_TIMEOUT, expand=["sha"]
        )
        return place.repo, str(info.sha)
    try:
        folder = Path(
            hub.snapshot_download(
                place.repo, repo_type="dataset", revision=place.revision, local_files_only=True
            )
        )
    except hub.errors.LocalEntryNotFoundError:
        raise _absent(place, "is not on this machine") from None
    return str(folder), folder.name


def _absent(place: Place, what: str) -> SourceError:
    """What to do where the network is not to be used."""
    command = f"hf download --repo-type dataset {quoted(place.repo)}"
    if place.revision is not None:
        command += f" --revision {quoted(place.revision)}"
    if place.files is not None:
        command += f" --include '{place.files}'"
    return SourceError(f"{place} {what} and the network is not to be used; run `{command}` before")


def _opened(place: Place, where: str, commit: str | None) -> Any:
    """Split -> rows, nothing read yet."""
    options: dict[str, Any] = {"streaming": True}
    if place.config is not None:
        options["name"] = place.config
    if place.files is not None:
        options["data_files"] = {place.split: place.files}
    if where == place.repo and not place.local:
        options["revision"] = commit
    return import_module("datasets").load_dataset(where, **options)


def _split(place: Place, known: Sequence[str]) -> str:
    if place.split is not None:
        return _known(place, "split", place.split, known)
    found = next((name for name in SPLITS if name in known), None)
    if found is None and len(known) == 1:
        found = known[0]
    if found is None:
        raise UsageError(f"{place} has the splits {_listed(known)}; name one: {FORM}")
    return found


def _known(place: Place, what: str, name: str, known: Iterable[str]) -> str:
    """``name`` if it is there; raises UsageError with what is."""
    listed = tuple(known)
    if name not in listed:
        near = suggestion(name, listed)
        raise UsageError(
            f"{place} has no {what} {quoted(name)}{near}; there are: {_listed(listed)}"
        )
    return name


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _first(rows: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], Iterator[dict[str, Any]]]:
    """The first row, and all rows."""
    rest = iter(rows)
    head = [row for row in (next(rest, None),) if row is not None]
    return (head[0] if head else {}), chain(head, rest)


def _column(place: Place, row: dict[str, Any]) -> str:
    """The column to read: the one that is named, ``text``, or the only one with text in it."""
    if not row:
        raise SourceError(f"{place} has no rows; take another split")
    if place.column is not None:
        return _known(place, "column", place.column, row)
    if "text" in row:
        return "text"
    found = [name for name, value in row.items() if isinstance(value, str)]
    if len(found) != 1:
        raise UsageError(
            f"{place} has the columns {_listed(row)}; name the one with the text: {FORM}"
        )
    return found[0]


def _texts(place: Place, rows: Iterable[dict[str, Any]], column: str) -> tuple[list[str], bool]:
    """Texts of the rows until there is enough, and whether these are all; empty cells left out."""
    parts: list[str] = []
    size = 0
    for number, row in enumerate(rows):
        if size >= ENOUGH:
            return parts, False
        value = row[column]
        if value is None:
            continue
        if not isinstance(value, str):
            raise UsageError(
                f"column {quoted(column)} of {place} holds {quoted(value)} in row {number}, "
                "expected text; name another column"
            )
        parts.append(value)
        size += len(value)
    return parts, True


@contextmanager
def _explained(place: Place, *, cached: bool = False) -> Iterator[None]:
    """Turns what the client and ``datasets`` raise, which may be anything, into one sentence.

    ``cached``: rows are read from the hub's cache, where files may be missing.
    """
    errors = import_module("huggingface_hub.errors")
    try:
        yield
    except RopeAuditError:
        raise
    except errors.GatedRepoError:
        raise SourceError(
            f"{place} is gated; accept its terms on the hub and log in with `hf auth login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise SourceError(
            f"{place} has no revision {quoted(place.revision)}; name a branch, a tag or a commit"
        ) from None
    except errors.RepositoryNotFoundError:
        raise SourceError(
            f"{place} does not exist or is private; check the spelling, or log in with "
            "`hf auth login`"
        ) from None
    except Exception as error:
        if cached and isinstance(error, FileNotFoundError):
            raise _absent(place, "is on this machine only in part") from None
        said = quoted(" ".join(str(error).split()), 240)
        if isinstance(error, ValueError) and "onfig" in said:
            raise UsageError(f"{place}: {said}; expected {FORM}") from None
        raise SourceError(
            f"{place} cannot be read: {type(error).__name__}: {said}; try again, or download it "
            "and give hf:./folder"
        ) from None
