"""A language model, ready to be measured: weights, tokenizer, live schedules and a digest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropeaudit.errors import (
    MissingDependency,
    SourceError,
    UsageError,
    quoted,
    quoted_path,
    suggestion,
)
from ropeaudit.facts import Note
from ropeaudit.perplexity import _layers, _slots
from ropeaudit.perplexity.records import DTYPES
from ropeaudit.records import field, record, replace
from ropeaudit.resolve import resolve
from ropeaudit.schedule.core import Schedule

_HUB = "hf:"
_BLOCK = 1 << 22
_FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")
"""What a model is read from; a hub's repository may hold more, and a folder a store or pictures."""
_OLDER = ("*.bin", "*.tiktoken")


@record(kw_only=True)
class Loaded:
    """A model in memory.

    ``encode`` turns text into token ids without special tokens, None without a tokenizer.
    ``schedules``: what the model multiplies positions with, live values, one for each table and
    length it differs at. ``digest``: SHA-256 over the files the model came from. ``device`` is
    where tokens go in; with ``auto`` the weights may lie on several.
    """

    reference: str
    model: Any
    tokenizer: Any = None
    encode: Callable[[str], list[int]] | None = None
    vocabulary: int
    bos_token_id: int | None = None
    schedules: tuple[Schedule, ...]
    slots: tuple[_slots.Slot, ...] = field(compare=False)
    digest: str
    device: str
    dtype: str
    notes: tuple[Note, ...] = ()


def load(
    reference: str,
    *,
    device: str | None = None,
    dtype: str | None = None,
    offline: bool = False,
    contexts: Sequence[int] = (),
) -> Loaded:
    """Load a folder, a GGUF file or a hub id (``hf:org/name[@revision]``).

    ``device``: ``cpu``, ``cuda``, ``cuda:1``, ``mps``, or ``auto`` to spread the model over what is
    there; None takes a GPU if there is one. ``dtype``: of the weights, None is float32 on a CPU and
    the checkpoint's own elsewhere; rotary tables are float32 in any case. ``contexts``: lengths for
    which a table that depends on the length (dynamic scaling) is wanted in ``schedules``.

    Raises SourceError for files that cannot be read, MissingDependency without the extra ``ppl``,
    UsageError for a device or dtype that is not there and for a model without rotary tables.
    """
    require_extra()
    if dtype is not None and dtype not in DTYPES:
        near = suggestion(dtype, DTYPES) or f"; known: {', '.join(DTYPES)}"
        raise UsageError(f"unknown dtype {quoted(dtype)}{near}")
    where = _device(device)
    from ropeaudit.perplexity import _transformers

    folder, file = _place(reference, offline=offline)
    _require_readable(file or folder)
    digest = _digest(file or folder)
    with _quiet():
        model, told = _transformers.model(
            reference, folder, file, dtype=dtype, device=where, auto=device == "auto"
        )
        tokenizer, said = _transformers.tokenizer(folder, file)
    loaded = of_model(model, tokenizer, reference=reference, digest=digest, contexts=contexts)
    return replace(loaded, notes=(*told, *said, *loaded.notes))


def of_model(
    model: Any,
    tokenizer: Any = None,
    *,
    reference: str = "model",
    digest: str = "",
    contexts: Sequence[int] = (),
) -> Loaded:
    """A causal language model of transformers that is in memory already, in evaluation mode.

    Tables that were cast with the weights are put back to float32. Raises UsageError for a model
    without rotary tables, or whose head cannot be run apart from its body.
    """
    from ropeaudit.perplexity import _head, _transformers

    model.eval()
    subject = resolve(model)
    if subject.error is not None:
        raise SourceError(subject.error.message, where=subject.error.where)
    notes = _transformers.widen(model, subject)
    # The lengths asked for besides those that the config itself speaks of.
    grown = {s.variant[1:] for s in subject.built() if s.variant and s.variant[0] == "@"}
    subject = resolve(model, contexts=(*map(int, grown), *contexts) if grown else ())
    _head.require(model)
    slots, said = _slots.find(model, subject)
    slots = _layers.with_layers(model, slots)
    head = model.get_output_embeddings()
    rows = model.get_input_embeddings().weight.shape[0]
    weight = next(model.parameters())
    return Loaded(
        reference=reference,
        model=model,
        tokenizer=tokenizer,
        encode=None if tokenizer is None else _transformers.encoder(tokenizer),
        vocabulary=min(rows, getattr(head, "out_features", rows)),
        bos_token_id=_transformers.bos(model, tokenizer),
        schedules=_named(slots),
        slots=slots,
        digest=digest,
        device=str(_head.entrance(model)),
        dtype=str(weight.dtype).removeprefix("torch."),
        notes=(*notes, *said),
    )


def _named(slots: Sequence[_slots.Slot]) -> tuple[Schedule, ...]:
    """Each schedule once: layers with a module each often hold the same table."""
    found: dict[tuple[Any, ...], Schedule] = {}
    for schedule in (s for slot in slots for s in slot.schedules):
        key = (schedule.name, schedule.inv_freq, schedule.attention_scaling)
        layers = {*(found[key].layers or ()), *(schedule.layers or ())} if key in found else None
        found[key] = replace(schedule, layers=tuple(sorted(layers))) if layers else schedule
    return tuple(found.values())


def require_extra() -> None:
    """Raises MissingDependency, with the line that installs it, where the extra ``ppl`` is not."""
    from importlib.util import find_spec

    missing = [n for n in ("torch", "transformers", "accelerate") if find_spec(n) is None]
    if missing:
        named = " and ".join(filter(None, (", ".join(missing[:-1]), missing[-1])))
        raise MissingDependency(f"measuring perplexity needs {named}; pip install 'ropeaudit[ppl]'")


def _device(device: str | None) -> str:
    """The device that weights go to; raises UsageError for one that is not there."""
    import torch

    cuda = torch.cuda.is_available()
    if device is None or device == "auto":
        return "cuda" if cuda else "cpu"
    try:
        wanted = torch.device(device)
    except RuntimeError:
        raise UsageError(
            f"unknown device {quoted(device)}; known: cpu, cuda, cuda:N, mps, auto"
        ) from None
    if wanted.type == "cuda" and (
        not cuda or (wanted.index is not None and wanted.index >= torch.cuda.device_count())
    ):
        count = torch.cuda.device_count() if cuda else 0
        raise UsageError(
            f"the device {quoted(device)} is not there: torch sees {count} CUDA devices; "
            "use --device cpu"
        )
    if wanted.type == "mps" and not torch.backends.mps.is_available():
        raise UsageError("the device mps is not there; use --device cpu")
    if wanted.type not in ("cpu", "cuda", "mps"):
        raise UsageError(f"the device {quoted(device)} is no place for a model; use --device cpu")
    return device


def _place(reference: str, *, offline: bool) -> tuple[Path, Path | None]:
    """(folder, GGUF file or None) on this machine; a hub id is downloaded first."""
    path = Path(reference.removeprefix("file://"))
    if path.is_dir():
        return path, None
    if path.is_file():
        return path.parent, _model_file(path)
    if reference.startswith(_HUB):
        return _download(reference.removeprefix(_HUB), offline=offline), None
    raise SourceError(
        f"there is no {quoted_path(reference)}; expected a folder with config.json, a GGUF file "
        "or hf:org/name"
    )


def _model_file(path: Path) -> Path | None:
    """The GGUF file, or None where the file only stands for its folder."""
    with path.open("rb") as opened:
        if opened.read(4) == b"GGUF":
            return path
    if path.name == "config.json" or path.suffix == ".safetensors":
        return None
    raise SourceError(
        f"{quoted_path(path)} is no GGUF file and no part of a transformers model; give the "
        "model's folder"
    )


def _download(name: str, *, offline: bool) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    repo, _, revision = name.partition("@")
    try:
        folder = snapshot_download(
            repo,
            revision=revision or None,
            local_files_only=offline,
            allow_patterns=list(_FILES),
        )
    except LocalEntryNotFoundError:
        why = "and --offline forbids the network" if offline else "and the hub cannot be reached"
        raise SourceError(
            f"hf:{quoted(name)} is not on this machine {why}; download it, or give a folder"
        ) from None
    except (HFValidationError, OSError) as error:
        raise SourceError(
            f"hf:{quoted(name)} cannot be fetched: {quoted(str(error), 200)}"
        ) from None
    return Path(folder)


def _require_readable(place: Path) -> None:
    """Raises the readers' own sentence for a file that is cut off, a pointer, or no model."""
    subject = resolve(str(place), offline=True)
    if subject.error is not None:
        raise SourceError(subject.error.message, where=subject.error.where)
    if not any(s.is_text for s in subject.schedules):
        said = next((n.message for n in subject.notes if n.kind in ("no_rotary",)), None)
        raise UsageError(
            f"{quoted_path(place)} has no rotary position embedding of text to measure"
            + (f": {said}" if said else "")
        )
    if place.is_dir() and not any(f.suffix in (".safetensors", ".bin") for f in place.iterdir()):
        raise SourceError(
            f"{quoted_path(place)} holds no weights, and measuring runs the model; expected "
            "*.safetensors or *.bin beside its config.json"
        )


def _digest(place: Path) -> str:
    """SHA-256 of a file, or of the names and contents of those files of a folder that count."""
    if place.is_file():
        return _sha256(place)
    total = sha256()
    found = {path for pattern in (*_FILES, *_OLDER) for path in place.glob(pattern)}
    for path in sorted(p for p in found if p.is_file()):
        total.update(f"{path.name} {_sha256(path)}\n".encode())
    return total.hexdigest()


def _sha256(path: Path) -> str:
    total = sha256()
    with path.open("rb") as opened:
        while block := opened.read(_BLOCK):
            total.update(block)
    return total.hexdigest()


@contextmanager
def _quiet() -> Iterator[None]:
    """No bars and no advice of transformers: stderr belongs to this tool's own progress."""
    from io import StringIO

    from transformers.utils import logging as untyped

    logging: Any = untyped
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with redirect_stderr(StringIO()):  # reading GGUF draws a bar that heeds no setting
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
