"""Variants of learned encodings as files: parameters as a checkpoint holds them, and the recipe.

Other tensors of the source are not copied. What is written is read back by this package's own
sources, and its spectrum has to be the wanted one to the rounding of the format.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ropeaudit.encodings.interface import of
from ropeaudit.errors import UsageError, quoted, quoted_path
from ropeaudit.export import _document, _encoding_layout, _table, _target
from ropeaudit.export._encoding_layout import Tensor
from ropeaudit.export.interface import Request, Written
from ropeaudit.perturb._encodings_run import MadeEncoding

MAX_LISTED = 1 << 18
"""Values that a JSON file lists."""
_ROUNDING = 1e-5
"""Of a value: float32 parameters are up to 20 times as sensitive (softplus of -18)."""


def write(request: Request, kind: str) -> Written:
    """The encodings as ``kind``; raises UsageError for kinds and values that do not fit."""
    if kind not in ("json", "npy", "safetensors"):
        raise UsageError(
            f"a learned encoding is a parameter and no setting, so {kind}= cannot hold it; write a "
            "FILE.safetensors, and put its tensors in place of the model's own"
        )
    found = request.variant.encodings
    tensors = _tensors(request, kind)
    target = request.path
    _target.check(target, _table.source_path(request), force=request.force)
    if kind == "npy" and len(tensors) != 1:
        raise UsageError(
            f"{quoted_path(target)} can hold one tensor, and the encoding has {len(tensors)}; "
            "write a .safetensors or .json file instead"
        )
    plain = Written(
        kind=kind,
        path=str(target),
        schedules=request.variant.schedules,
        notes=tuple(_notes(request, kind, tensors)),
    )
    written = _document.recorded(request, plain, _more(request, kind, tensors))
    with _target.replacing(target, force=request.force) as work:
        _save(work, kind, written.document, tensors)
        if tensors and kind != "npy":
            _compare(work, target, found)
    return written


def _tensors(request: Request, kind: str) -> list[Tensor]:
    """Parameters of all encodings; none where a JSON file records values that nothing stores."""
    reading = request.source.reading
    stored = {} if reading is None else {str(t.location.tensor): t for t in reading.tensors}
    found: list[Tensor] = []
    for made in request.variant.encodings:
        try:
            found += _encoding_layout.tensors(made.encoding, stored)
        except UsageError:
            if kind != "json":
                raise
            return []
    if kind == "json" and sum(t.values.size for t in found) > MAX_LISTED:
        raise UsageError(
            f"{quoted_path(request.path)} would list {sum(t.values.size for t in found):,} values; "
            "write a FILE.safetensors instead"
        )
    return found


def _notes(request: Request, kind: str, tensors: Sequence[Tensor]) -> list[str]:
    notes = []
    if not tensors:
        notes.append("a record: no checkpoint stores these numbers, so nothing reads them back")
    else:
        notes.append("only the encoding is written; the other tensors of the source are not copied")
    if kind == "npy":
        notes.append(
            "an .npy file holds numbers alone: neither the tensor's name nor the recipe is in it, "
            "so it is not read back as an encoding"
        )
    narrow = sorted({t.source for t in tensors if t.source != t.dtype})
    if narrow:
        notes.append(f"stored as {', '.join(narrow)} in the source, written as float32")
    stated: dict[str, str] = {}
    for made in request.variant.encodings if tensors and kind != "npy" else ():
        stated |= _encoding_layout.stated(made.encoding)
    if stated:
        options = " ".join(f"--encoding {k}={v}" for k, v in sorted(stated.items()))
        notes.append(f"read it with {options}")
    if request.variant.schedules:
        notes.append("the model's schedules are not in this file")
    return notes


def _more(request: Request, kind: str, tensors: Sequence[Tensor]) -> dict[str, Any]:
    """What a reader needs beyond the tensors: the model's settings, and in JSON their values."""
    reading = request.source.reading
    found: dict[str, Any] = {}
    if not tensors:
        return found
    config = None if reading is None else reading.stored_config or reading.document
    if config is not None:
        found["model_config"] = dict(config.data)
    if kind == "json":
        found["tensors"] = [
            {
                "name": t.name,
                "dtype": t.dtype,
                "shape": list(t.values.shape),
                "values": _rounded(t).ravel().tolist(),
            }
            for t in tensors
        ]
    return found


def _rounded(tensor: Tensor) -> Any:
    return tensor.values.astype("f8" if tensor.dtype == "float64" else "f4")


def _save(path: Path, kind: str, document: str, tensors: Sequence[Tensor]) -> None:
    import numpy as np

    if kind == "json":
        path.write_text(document, encoding="utf-8")
    elif kind == "npy":
        with path.open("wb") as file:
            np.save(file, _rounded(tensors[0]), allow_pickle=False)
    else:
        from safetensors.numpy import save_file

        whole = {t.name: np.ascontiguousarray(_rounded(t)) for t in tensors}
        # One key: the library writes several in an order that changes from run to run.
        save_file(dict(sorted(whole.items())), path, metadata={"ropeaudit": document})


def _compare(work: Path, target: Path, made: Sequence[MadeEncoding]) -> None:
    """Read the file back; raises UsageError unless it holds the wanted spectra."""
    from ropeaudit.resolve import resolve

    options: dict[str, str] = {}
    for item in made:
        options |= _encoding_layout.options(item.encoding)
    subject = resolve(str(work), encoding=options)
    if subject.error is not None:
        raise UsageError(f"{quoted_path(target)} cannot be read back: {subject.error.message}")
    found = {e.name: e for e in subject.encodings}
    for item in made:
        again = found.get(item.encoding.name)
        if again is None or not _alike(item.encoding, again):
            raise UsageError(
                f"{quoted_path(target)} read back gives another spectrum of "
                f"{quoted(item.encoding.name)} than was written; report this"
            )


def _alike(a: Any, b: Any) -> bool:
    """Whether two encodings have one spectrum, to the rounding of their parameters."""
    import numpy as np

    x, y = of(a).spectrum(a), of(b).spectrum(b)
    noise = np.maximum(np.asarray(x.noise, float), np.asarray(y.noise, float))
    floor = np.broadcast_to(noise, x.w.shape[:2])[..., None]
    for p, q, least in ((x.w, y.w, floor[..., None]), (x.gamma, y.gamma, 0), (x.eta, y.eta, 0)):
        if p.shape != q.shape or not (np.abs(p - q) <= _ROUNDING * np.abs(p) + least).all():
            return False
    return True
