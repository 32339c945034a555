"""Whether a PyTorch file can hold a telling tensor, found without torch and without unpickling.

Importing torch takes more than a second and most checkpoints hold no rotary buffer at all. Tensor
names stand as plain text in the pickle, so searching its bytes settles most cases.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

from ropeaudit.errors import SourceError
from ropeaudit.sources._files import RegularFile
from ropeaudit.sources._safetensors_header import NEEDLES
from ropeaudit.sources._zip import require_modest
from ropeaudit.sources.interface import HEAD_BYTES, MAX_TABLE_BYTES

MAX_SCAN = 16 * 1024 * 1024
"""The pickle of an old-format file comes before its weights and is smaller than this."""


def may_tell(path: Path) -> int | None:
    """Bytes read to rule the file out; None when it has to be opened with torch.

    Raises SourceError for what is no readable file (missing, empty, an LFS pointer).
    """
    with RegularFile(path) as file:
        head = file.head(HEAD_BYTES)
        if not head.startswith(b"PK\x03\x04"):
            data = file.read(0, min(MAX_SCAN, file.size))
            return None if _tells(data) or not head.startswith(b"\x80") else file.touched
        try:
            require_modest(file)
            return _zip(path, file)
        except (SourceError, zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            return None  # the reader of the format says best what is wrong with it


def _zip(path: Path, file: RegularFile) -> int | None:
    with zipfile.ZipFile(path) as archive:
        pickles = [e for e in archive.infolist() if e.filename.endswith("data.pkl")]
        if not pickles or any(
            e.file_size > MAX_TABLE_BYTES or e.compress_type != zipfile.ZIP_STORED for e in pickles
        ):
            return None
        data = [archive.read(e) for e in pickles]
    return None if any(map(_tells, data)) else file.touched + sum(map(len, data))


def _tells(data: bytes) -> bool:
    return any(needle in data for needle in NEEDLES)
