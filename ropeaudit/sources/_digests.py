"""What pins the files behind a schedule: their sha256, so that a certificate says which they were.

A config counts in full. Of a checkpoint the header counts, because weights take no part in a
schedule: 15 GB are not read to state what a hundred numbers came from. Where the parameters of a
learned encoding are among the weights, the whole file counts up to a size.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from ropeaudit.errors import quoted_path
from ropeaudit.facts import InputFile, Reading, file_name
from ropeaudit.sources._files import RegularFile

_WHOLE = 8 * 1024 * 1024
"""Files of other formats than weights are counted in full up to this size."""
_WHOLE_ENCODING = 1024 * 1024 * 1024
"""Weights that hold a learned encoding are counted in full up to this size."""
_BLOCK = 1 << 20


def inputs(reading: Reading) -> Iterator[dict[str, Any]]:
    """An entry for each file that was read: target, file, sha256, bytes, and ``part`` of weights.

    ``part`` is ``header``: the digest is of the leading ``bytes`` bytes. What cannot be read again
    (a live module, weights on a server) has no entry; its table stands in the certificate itself.
    """
    learned = {tensor.location.file for tensor in reading.tensors}
    for file in reading.files:
        found = _digest(file, _WHOLE_ENCODING if file.path in learned else 0)
        if found is not None:
            name = file_name(reading.target, file.path)
            yield {"target": reading.target, "file": name, **found}


def _digest(file: InputFile, whole: int) -> dict[str, Any] | None:
    """The entry's own part; all of a file of at most ``whole`` bytes counts."""
    if file.content is not None:
        return {"sha256": sha256(file.content).hexdigest(), "bytes": len(file.content)}
    if not Path(file.path).is_file():
        return None
    with RegularFile(file.path) as opened:
        header = None if opened.size <= whole else _header(file, opened)
        size = opened.size if header is None else header
        part = {} if header is None else {"part": "header"}
        return {"sha256": _leading(opened, size), "bytes": size, **part}


def _header(file: InputFile, opened: RegularFile) -> int | None:
    """Bytes of the header, None where the whole file counts."""
    if file.format == "safetensors":
        return 8 + int.from_bytes(opened.read(0, 8), "little")
    if file.format == "gguf":
        from ropeaudit.sources._gguf_walk import walk

        with mmap.mmap(opened.fileno(), opened.size, access=mmap.ACCESS_READ) as mapped:
            return walk(mapped, file.path).end
    if opened.size <= _WHOLE:
        return None
    return min(file.bytes_read or _WHOLE, opened.size)


def _leading(file: RegularFile, size: int) -> str:
    found = sha256()
    for start in range(0, size, _BLOCK):
        found.update(file.read(start, min(_BLOCK, size - start)))
    return found.hexdigest()


def differences(reading: Reading, expected: Iterable[Mapping[str, Any]]) -> list[str]:
    """Sentences on how the files of ``reading`` differ from the entries of a certificate.

    Raises SourceError when a file cannot be read again.
    """
    found = {entry["file"]: entry for entry in inputs(reading)}
    target = quoted_path(reading.target)
    said = []
    for entry in expected:
        name = entry["file"]
        own = found.pop(name, None)
        if own is None:
            said.append(f"{quoted_path(name)} is named by the certificate and no part of {target}")
        elif (own["sha256"], own["bytes"]) != (entry["sha256"], entry["bytes"]):
            what = quoted_path(name)
            what = f"the {own['part']} of {what}" if "part" in own else what
            said.append(
                f"{what} has sha256 {own['sha256'][:16]}… ({own['bytes']} bytes), the certificate "
                f"is about {entry['sha256'][:16]}… ({entry['bytes']} bytes)"
            )
    return said + [
        f"{quoted_path(name)} takes part in {target} and not in the certificate" for name in found
    ]
