"""Opening a torch checkpoint safely, and saying in one sentence why it cannot be opened.

A checkpoint is a pickle, and a pickle is a program. Only ``torch.load(weights_only=True)`` of a
torch that is patched against CVE-2025-32434 (2.6 and later) opens it; whatever that refuses, this
refuses.
"""

from __future__ import annotations

import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

from ropeaudit.errors import (
    InvalidValue,
    MissingDependency,
    SourceError,
    TruncatedFile,
    UnsafePickle,
    quoted,
)
from ropeaudit.sources._files import RegularFile, failure
from ropeaudit.sources._zip import require_modest
from ropeaudit.sources.interface import HEAD_BYTES, MAX_HEADER_BYTES

MIN_TORCH = (2, 6)
ZIP = b"PK\x03\x04"
PICKLE = tuple(bytes((0x80, protocol)) for protocol in (2, 3, 4, 5))


def torch_module() -> Any:
    """The torch package; raises MissingDependency where it is absent or unsafe."""
    try:
        import torch
    except ImportError:
        raise MissingDependency(
            "reading PyTorch checkpoints needs torch: pip install 'ropeaudit[torch]'"
        ) from None
    version = str(torch.__version__)
    parts = version.split("+")[0].split(".")
    if tuple(int(p) for p in parts[:2] if p.isdigit()) < MIN_TORCH:
        raise MissingDependency(
            f"torch {quoted(version)} can run code from a checkpoint even with weights_only "
            "(CVE-2025-32434); torch 2.6 or later is needed: pip install 'ropeaudit[torch]'"
        )
    return torch


def load(torch: Any, path: Path) -> tuple[Any, int]:
    """The unpickled content, and how many bytes unpickling read.

    Raises UnsafePickle for what needs code from the file to run, TruncatedFile, LfsPointer,
    InvalidValue and SourceError for what is damaged or cannot be opened.
    """
    header, mapped = _inspect(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what torch warns of, the sentences below say
            content = torch.load(path, weights_only=True, mmap=mapped, map_location="cpu")
        return content, header
    except pickle.UnpicklingError as error:
        raise _refused(path, str(error)) from None
    except EOFError:
        raise _damaged(path) from None
    except OSError as error:
        raise failure(path, error) from None
    except MemoryError:
        raise _too_large(path) from None
    except RecursionError:
        raise InvalidValue(
            f"{quoted(str(path))} nests its objects deeper than any checkpoint does"
        ) from None
    except Exception as error:  # torch reports damage as anything from KeyError to RuntimeError
        raise _failed(path, error) from None


def _inspect(path: Path) -> tuple[int, bool]:
    """Bytes that unpickling will read, and whether the file can be memory-mapped."""
    with RegularFile(path) as file:
        head = file.head(HEAD_BYTES)
        size = file.size
        if head.startswith(ZIP):
            require_modest(file)
    if head[:2] in PICKLE:
        return size, False  # the old format is one stream
    if not head.startswith(ZIP):
        raise InvalidValue(
            f"{quoted(str(path))} is neither a zip archive nor a pickle, expected a torch "
            "checkpoint; give it the suffix of its real format"
        )
    try:
        with path.open("rb") as stream:
            return _pickle_size(stream, path), True
    except OSError as error:
        raise failure(path, error) from None


def _pickle_size(file: BinaryIO, path: Path) -> int:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        raise _damaged(path) from None
    pickles = [e for e in entries if e.filename.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise InvalidValue(
            f"{quoted(str(path))} is a zip archive with {len(pickles)} data.pkl, expected the one "
            "of a torch checkpoint"
        )
    if any(e.filename.endswith("/constants.pkl") for e in entries):
        raise UnsafePickle(
            f"{quoted(str(path))} is a TorchScript archive, a program; export its state_dict with "
            "torch.save, or better as safetensors, and audit that"
        )
    if any(e.compress_type != zipfile.ZIP_STORED for e in entries):
        raise InvalidValue(
            f"{quoted(str(path))} holds compressed entries, which torch never writes; save the "
            "checkpoint again with torch.save"
        )
    if pickles[0].file_size > MAX_HEADER_BYTES:
        raise InvalidValue(
            f"{quoted(str(path))} holds a data.pkl of {pickles[0].file_size} bytes, expected at "
            f"most {MAX_HEADER_BYTES}"
        )
    return pickles[0].file_size


def _refused(path: Path, message: str) -> SourceError:
    """The unpickler's refusal in one sentence: it names the one thing that it would not run."""
    lines = [line.strip() for line in message.splitlines()]
    global_ = next((line for line in lines if "GLOBAL" in line), None)
    if global_ is None:
        found = next((s for s in lines if s.startswith(("Unsupported operand", "Can only"))), "")
        said = f" ({quoted(found)})" if found else ""
        return UnsafePickle(
            f"{quoted(str(path))} holds what only running code from it could rebuild, or is "
            f"damaged{said}; compare its checksum, or convert it to safetensors where you trust it"
        )
    name = global_.split("GLOBAL", 1)[1].split()
    what = quoted(name[0]) if name else "foreign code"
    return UnsafePickle(
        f"{quoted(str(path))} cannot be read without running code from it (it calls for {what}); "
        "convert it to safetensors where you trust it, and audit that"
    )


def _damaged(path: Path) -> TruncatedFile:
    return TruncatedFile(
        f"{quoted(str(path))} ends before its own directory says it does, or is damaged; download "
        "it again and compare its checksum"
    )


def _too_large(path: Path) -> InvalidValue:
    return InvalidValue(
        f"{quoted(str(path))} does not fit into memory in the old torch format; save it again with "
        "a current torch, whose files are memory-mapped"
    )


def _failed(path: Path, error: Exception) -> SourceError:
    message = str(error).strip()
    first = message.splitlines()[0] if message else type(error).__name__
    if any(word in message for word in ("StreamReader failed", "unexpected EOF", "corrupt")):
        return _damaged(path)
    if "allocate memory" in message:
        return _too_large(path)
    return InvalidValue(
        f"torch cannot read {quoted(str(path))}: {quoted(first, 160)}; expected a checkpoint "
        "written by torch.save"
    )
