"""From a target to the Source of a conversion."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ropeaudit.convert._matrices import checked
from ropeaudit.convert.interface import SCHEMA, Refused, Source
from ropeaudit.errors import SourceError, UsageError, quoted, quoted_path
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.subject import Subject

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding

MATRICES = ("map", "generator", "parameter")
_BIAS = "what the encoding adds to the scores is not converted, and has to be kept"
_SUFFIXES = (".npy", ".safetensors")


def read(
    target: Any,
    *,
    matrix: str | None = None,
    name: str | None = None,
    encoding: Mapping[str, str] | None = None,
    contexts: tuple[int, ...] = (),
    overrides: Sequence[str] = (),
    offline: bool = False,
) -> Source:
    """The source of a conversion; ``target`` is a path, an id of the hub, or a live module.

    ``matrix``: the target is a file of plain matrices, each a ``map`` W (position p turns by
    ``W^p``), a skew ``generator`` B or a ``parameter`` A with ``B = A - A^T``. ``name``: which
    schedule or encoding, where there are several. Raises SourceError for what cannot be read,
    UsageError where a choice is missing, Refused for what no conversion takes.
    """
    if matrix is not None:
        return _matrices(str(target), matrix)
    made = _made(target) if isinstance(target, str) else None
    if made is not None:
        return made
    from ropeaudit.resolve import resolve

    subject = resolve(
        target, contexts=contexts, overrides=overrides, encoding=encoding or {}, offline=offline
    )
    return of_subject(subject, name)


def of_subject(subject: Subject, name: str | None = None) -> Source:
    """The one schedule or encoding of ``subject``, or the one called ``name``.

    Raises as :func:`read` does.
    """
    if subject.error is not None:
        raise SourceError(subject.error.message, where=subject.error.where)
    if not (subject.schedules or subject.encodings):
        why = "; ".join(dict.fromkeys(n.message for n in subject.notes)) or "no encoding was found"
        raise SourceError(f"nothing to convert in {quoted(subject.target)}: {quoted(why, 300)}")
    named = {s.name: s for s in subject.schedules}
    known: dict[str, Any] = {**named, **{e.name: e for e in subject.encodings}}
    if name is not None and name not in known:
        raise UsageError(
            f"nothing is called {quoted(name)} in {quoted(subject.target)}; it has "
            f"{', '.join(map(quoted, known))}"
        )
    usual = [s.name for s in subject.schedules if s.is_text] or list(named)
    several = [e.name for e in subject.encodings] or usual
    if name is None and len(several) > 1:
        matrices = ", or state --matrix for a file of matrices" if subject.format == "raw" else ""
        raise UsageError(
            f"{quoted(subject.target)} has {len(several)} to convert: "
            f"{', '.join(map(quoted, several))}; choose one by name (--name){matrices}"
        )
    chosen = known[several[0] if name is None else name]
    if isinstance(chosen, Schedule):
        return _of_schedule(subject, chosen)
    return _of_encoding(subject, chosen)


def _of_schedule(subject: Subject, schedule: Schedule) -> Source:
    import numpy as np

    if (
        schedule.axes is not None
        and len({a.axis for a in schedule.axes}) > 1
        and not schedule.is_text
    ):
        raise Refused(
            f"schedule {quoted(schedule.name)} turns with {len({a.axis for a in schedule.axes})} "
            "coordinates, and a sequence has one; take the encoding of one axis"
        )
    width, count = schedule.head_dim or schedule.rotary_dim, len(schedule.inv_freq)
    if 2 * count > width:
        raise Refused(
            f"schedule {quoted(schedule.name)} has {count} frequencies for {width} channels, which "
            "is more than one for two channels; its stored table needs repair first"
        )
    theta = np.array(schedule.inv_freq, dtype=np.float64)
    if not np.isfinite(theta).all():
        raise Refused(
            f"schedule {quoted(schedule.name)} holds numbers that are not finite; rebuild it first"
        )
    first = np.arange(count) if schedule.pairing == "half" else 2 * np.arange(count)
    second = first + count if schedule.pairing == "half" else first + 1
    generators = np.zeros((1, 1, 1, width, width))
    generators[..., second, first] = theta
    generators[..., first, second] = -theta
    heads, key_heads = _heads(subject)
    notes = []
    if schedule.layers is not None and len(subject.built()) > 1:
        notes.append(
            f"only {quoted(schedule.name)} is converted; the model's other layers have another one"
        )
    if schedule.axes is not None and schedule.is_text:
        notes.append(
            "text tokens have the same position on every axis; images do not, and are lost"
        )
    return Source(
        target=subject.target,
        name=schedule.name,
        origin="schedule",
        kind=schedule.rope_type,
        generators=generators,
        heads=heads,
        key_heads=key_heads,
        scale=schedule.attention_scaling,
        notes=tuple(notes),
    )


def _heads(subject: Subject) -> tuple[int | None, int | None]:
    """Query and key heads as the config states them."""
    document = subject.reading.document if subject.reading is not None else None
    data = document.data if document is not None else {}
    inner = data.get("text_config")
    found = inner if isinstance(inner, dict) and "num_attention_heads" in inner else data
    both = (found.get("num_attention_heads"), found.get("num_key_value_heads"))
    heads, key_heads = (n if type(n) is int and 0 < n <= 1 << 16 else None for n in both)
    return heads, key_heads


def _of_encoding(subject: Subject, encoding: Encoding) -> Source:
    import numpy as np

    from ropeaudit.encodings.interface import of

    if "tree" in encoding.kind or "branch" in encoding.kind:
        raise Refused(
            f"{quoted(encoding.name)} is an encoding of trees: its branches do not commute, so no "
            "common basis turns all of them into planes, and no list of frequencies says the same"
        )
    if encoding.settings.get("ape-stores") == "operator" and encoding.kind == "ape-sequence":
        return Source(
            target=subject.target,
            name=encoding.name,
            origin="map",
            kind=encoding.kind,
            maps=checked(encoding.parameters["_primitives"], "map", encoding.name),
            heads=encoding.heads,
            notes=tuple(n.message for n in encoding.notes),
        )
    module = of(encoding)
    generators, origin = module.generators(encoding), np.zeros((1, len(encoding.axes)))
    added = module.bias(encoding, origin, origin) is not None
    if generators is None:
        what = "adds to the score and turns nothing" if added else "is no group of maps"
        raise Refused(
            f"{quoted(encoding.name)} ({quoted(encoding.kind)}) {what}, so no frequencies say it"
        )
    if (generators != -np.swapaxes(generators, -1, -2)).any():
        raise Refused(
            f"{quoted(encoding.name)} ({quoted(encoding.kind)}) damps or shears; APE and RoPE turn "
            "and do nothing else"
        )
    return Source(
        target=subject.target,
        name=encoding.name,
        origin="encoding",
        kind=encoding.kind,
        generators=checked(generators, "generator", encoding.name),
        heads=encoding.heads,
        layers=encoding.layers,
        unit="rad/step" if encoding.positions.integer else "rad/unit",
        integer=encoding.positions.integer,
        axes=encoding.axes,
        positions=encoding.positions,
        notes=(*(n.message for n in encoding.notes), *([_BIAS] if added else [])),
    )


def _matrices(target: str, kind: str) -> Source:
    """A file of matrices (n, n) or (heads, n, n), one tensor."""
    if kind not in MATRICES:
        raise UsageError(f"--matrix is {quoted(kind)}, expected map, generator or parameter")
    found = checked(_loaded(target), kind, target)
    common: dict[str, Any] = {
        "target": target, "name": kind, "origin": kind, "kind": kind, "heads": len(found),
    }  # fmt: skip
    if kind == "map":
        return Source(**common, maps=found)
    return Source(**common, generators=found[None, None])


def _loaded(target: str) -> Array:
    import numpy as np

    path = Path(target)
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        if path.suffix == ".safetensors":
            from safetensors.numpy import load_file

            tensors = load_file(path)
            if len(tensors) == 1:
                return next(iter(tensors.values()))
            raise UsageError(
                f"{quoted_path(target)} holds {len(tensors)} tensors, expected one of matrices"
            )
    except OSError as error:
        raise SourceError(f"{quoted_path(target)} cannot be read: {error.strerror}") from None
    except UsageError:
        raise
    except Exception as error:  # numpy and safetensors each have their own
        raise SourceError(
            f"{quoted_path(target)} is no file of matrices: {quoted(str(error))}"
        ) from None
    raise UsageError(f"{quoted_path(target)} is no file of matrices; give {' or '.join(_SUFFIXES)}")


def _made(target: str) -> Source | None:
    """What this package has written as ``--to rope``; None for anything else."""
    if not target.endswith(".safetensors") or not Path(target).is_file():
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(target, framework="np") as file:
            said = (file.metadata() or {}).get("ropeaudit", "")
            document = json.loads(said) if SCHEMA in said else {}
            if document.get("schema") != SCHEMA or document.get("to") != "rope":
                return None
            w, q = file.get_tensor("rotary.freqs"), file.get_tensor("rotary.basis")
    except (OSError, ValueError, SafetensorError):
        return None  # the readers of weights say what is wrong
    from ropeaudit.convert.rope import generators
    from ropeaudit.document import Document
    from ropeaudit.encodings import _conversion

    if w.ndim != 4 or q.ndim != 4 or q.shape[-1] != q.shape[-2] or w.shape[-1] != q.shape[-1] // 2:
        raise SourceError(
            f"{quoted_path(target)}: rotary.freqs has the shape {list(w.shape)} and rotary.basis "
            f"{list(q.shape)}, expected (axes, layers, heads, n/2) and (layers, heads, n, n)"
        )
    name = document.get("source", {}).get("name")
    told = _conversion.stated(Document(file=target, data={SCHEMA: document}))
    return Source(
        target=target,
        name=name if isinstance(name, str) else "rotary",
        origin="conversion",
        kind="rope",
        generators=checked(generators(w, q), "generator", target),
        heads=w.shape[2],
        unit="rad/unit" if document.get("unit") == "rad/unit" else "rad/step",
        integer=document.get("unit") != "rad/unit",
        axes=None if told is None else told.axes,
        positions=None if told is None else told.positions,
    )
