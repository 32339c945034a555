"""Steps of a recipe carried out on learned encodings, list by list."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any

from ropeaudit.encodings.core import Encoding, Spectrum
from ropeaudit.encodings.interface import of
from ropeaudit.errors import InvalidValue, UsageError, quoted
from ropeaudit.facts import Fact, Origin
from ropeaudit.perturb._encodings_lists import Listed, changed_spectrum, lists, rebuilt
from ropeaudit.perturb._encodings_measure import EncodingMeasure, measured
from ropeaudit.perturb.interface import Refused
from ropeaudit.perturb.recipe import Scope, Step
from ropeaudit.records import record, record_fields, replace

_SEED_BYTES = 8
_HELD = 1e-6
"""Of a frequency, and absolute beside frequencies of 1: more is no rounding of float64."""


@record(kw_only=True)
class Work:
    """An encoding on its way: ``lists`` hold what the steps so far have made of it."""

    base: Encoding
    spectrum: Spectrum
    lists: tuple[Listed, ...]

    def quantities(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(item.quantity for item in self.lists))


@record(kw_only=True)
class MadeEncoding:
    """``encoding`` is what ``base`` has become; itself where no step has changed a value."""

    base: Encoding
    encoding: Encoding
    lists: tuple[Listed, ...]
    measures: tuple[EncodingMeasure, ...]

    @property
    def changed(self) -> bool:
        return self.encoding is not self.base


def begin(encodings: Sequence[Encoding]) -> tuple[Work, ...]:
    """Every encoding with its spectrum as lists."""
    found = []
    for encoding in encodings:
        spectrum = of(encoding).spectrum(encoding)
        found.append(Work(base=encoding, spectrum=spectrum, lists=lists(encoding, spectrum)))
    return tuple(found)


def named(encoding: Encoding, kind: str | None) -> bool:
    """Whether a scope's name means this encoding: none means all."""
    return kind is None or kind in (encoding.name, encoding.kind)


def is_law(step: Step) -> bool:
    """Whether the step builds a table from the base of a RoPE config."""
    return step.module.RESCALES and step.head != "linear"


def run(step: Step, work: Sequence[Work]) -> tuple[tuple[Work, ...], list[Mapping[str, Any]]]:
    """The encodings after ``step``, and what it decided in each list.

    Raises UsageError for a step that cannot be carried out on one it applies to.
    """
    chosen = [w for w in work if named(w.base, step.scope.layer_type)]
    if is_law(step):
        raise UsageError(
            f"recipe {quoted(step.text)} on encoding {quoted(chosen[0].base.name)}: this law "
            "builds a table from the base of a RoPE config, and a learned encoding has none; use "
            "linear or a recipe that works on the values"
        )
    _require_quantity(step, chosen)
    said: list[Mapping[str, Any]] = []
    out = []
    for item in work:
        wanted = _quantity(item, step.scope) if any(item is c for c in chosen) else None
        out.append(item if wanted is None else _stepped(step, item, wanted, said))
    return tuple(out), said


def _quantity(work: Work, scope: Scope) -> str | None:
    """The quantity that a step changes: the one it names, else frequencies, else slopes."""
    offered = work.quantities()
    if scope.quantity is not None:
        return scope.quantity if scope.quantity in offered else None
    return next((q for q in ("frequency", "slope") if q in offered), None)


def _require_quantity(step: Step, chosen: Sequence[Work]) -> None:
    if any(_quantity(w, step.scope) is not None for w in chosen):
        return
    if step.head == "identity" and step.scope.quantity is None:
        return
    offered = dict.fromkeys(q for w in chosen for q in w.quantities())
    name, wanted = chosen[0].base.name, step.scope.quantity
    what = "turns nothing" if wanted is None else f"has no {wanted} that is not 0"
    ways = " or ".join(f"@{q}" for q in offered)
    rest = f"name what to change, with {ways}" if ways else "there is nothing to change"
    raise UsageError(f"recipe {quoted(step.text)}: encoding {quoted(name)} {what}; {rest}")


def _stepped(step: Step, work: Work, wanted: str, said: list[Mapping[str, Any]]) -> Work:
    """One encoding after a step on its lists of one quantity, those in the scope."""
    _require_place(step, work, wanted)
    out = []
    for item in work.lists:
        if item.quantity != wanted or not _inside(item, step.scope):
            out.append(item)
            continue
        made, found = _applied(step, item)
        out.append(made)
        if found:
            said.append({**_where(item), **found})
    return replace(work, lists=tuple(out))


def _inside(item: Listed, scope: Scope) -> bool:
    in_layers = scope.layers is None or item.layer in scope.layers
    return in_layers and scope.head in (None, item.head)


def _require_place(step: Step, work: Work, wanted: str) -> None:
    """Raises UsageError for layers and heads that have no list of their own."""
    scope, name = step.scope, quoted(work.base.name)
    where = f"recipe {quoted(step.text)}: encoding {name}"
    mine = [i for i in work.lists if i.quantity == wanted]
    if scope.layers is not None:
        held = {i.layer for i in mine}
        if held == {None}:
            raise UsageError(f"{where} has one set for all layers; leave @layers out")
        beyond = [n for n in scope.layers if n not in held]
        if beyond:
            last = max(n for n in held if n is not None)
            raise UsageError(
                f"{where} has no layer {beyond[0]}, the last one is {last}; correct it"
            )
    if scope.head is None:
        return
    if wanted == "slope":
        raise UsageError(
            f"{where} has one slope a head, and recipes act on the list of them all; leave @head "
            "out"
        )
    heads = {i.head for i in mine}
    if heads == {None}:
        raise UsageError(f"{where} has one set for all heads; leave @head out")
    if scope.head not in heads:
        last = max(n for n in heads if n is not None)
        raise UsageError(f"{where} has no head {scope.head}, the last one is {last}; correct it")


def _applied(step: Step, item: Listed) -> tuple[Listed, Mapping[str, Any]]:
    params = step.params
    if "seed" in record_fields(type(params)):
        params = replace(params, seed=seed_of(params.seed, item))
    try:
        made = step.module.apply(params, item.schedule())
    except (Refused, InvalidValue) as error:
        place = f", {item.place}" if item.place else ""
        raise UsageError(
            f"recipe {quoted(step.text)} on encoding {quoted(item.encoding)}{place}: {error}"
        ) from None
    table = made.schedules[0].inv_freq
    if not all(map(math.isfinite, table)):
        raise UsageError(
            f"recipe {quoted(step.text)} on encoding {quoted(item.encoding)}: a value would be "
            "beyond what float32 holds; take a smaller change"
        )
    return replace(item, now=table), made.found


def seed_of(seed: int, item: Listed) -> int:
    """The seed of one list, so that layers and heads get other numbers whatever else is chosen.

    The first 8 bytes of the SHA-256 of ``seed/encoding/quantity/layer/head/axis``, big-endian;
    what does not apply is empty.
    """
    parts = (seed, item.encoding, item.quantity, item.layer, item.head, item.axis)
    text = "/".join("" if p is None else str(p) for p in parts)
    return int.from_bytes(sha256(text.encode()).digest()[:_SEED_BYTES], "big")


def _where(item: Listed) -> dict[str, Any]:
    named = {"layer": item.layer, "head": item.head, "axis": item.axis}
    found: dict[str, Any] = {"encoding": item.encoding, "quantity": item.quantity}
    return found | {k: v for k, v in named.items() if v is not None}


def finish(work: Sequence[Work], text: str) -> tuple[MadeEncoding, ...]:
    """The encodings that the steps have made, with the numbers of what was done.

    ``text``: the recipe, for the provenance. Raises UsageError for values that an encoding cannot
    hold.
    """
    return tuple(_finished(w, text) for w in work)


def _finished(work: Work, text: str) -> MadeEncoding:
    moved = [item for item in work.lists if item.now != item.base]
    spectrum = changed_spectrum(work.spectrum, moved)
    made = work.base
    if moved:
        try:
            made = _stored(work.base, rebuilt(work.base, spectrum))
        except InvalidValue as error:
            raise UsageError(f"recipe {quoted(text)}: {error}") from None
        _require_held(made, spectrum, text)
        spectrum = _as_held(made, spectrum)
        fact = Fact("recipe", text, Origin.DERIVED)
        made = replace(made, provenance=(*made.provenance, fact))
    return MadeEncoding(
        base=work.base,
        encoding=made,
        lists=work.lists,
        measures=tuple(_measures(work, spectrum)),
    )


def _stored(base: Encoding, made: Encoding) -> Encoding:
    """``made`` with the numbers that a file of it holds, so that what is judged is what is written.

    Float64 stays; everything else is written as float32. What has not moved keeps every bit, and
    so does what no tensor holds.
    """
    import numpy as np

    is_stored = any(f.location and f.location.tensor for f in base.provenance)
    if not is_stored or made.dtype == "float64":
        return made
    held = dict(made.parameters)
    for name, before in base.parameters.items():
        values = held[name]
        narrow = values.astype(np.float32).astype(np.float64)
        held[name] = np.where(before == values, values, narrow)
    return replace(made, parameters=held)


def _as_held(made: Encoding, wanted: Spectrum) -> Spectrum:
    """The spectrum that ``made`` has, in the order of ``wanted``, where planes keep an order."""
    import numpy as np

    found = of(made).spectrum(made)
    if found.joint is not wanted.joint or found.w.shape != wanted.w.shape:
        return wanted
    if np.asarray(found.noise).any():
        return wanted  # planes of a matrix fall anew; to its rounding they are the wanted ones
    return found


def _require_held(made: Encoding, wanted: Spectrum, text: str) -> None:
    """Raises UsageError where the parameters mean other frequencies than they were made for.

    A stored rotation, as some APE checkpoints hold, knows angles up to pi alone.
    """
    import numpy as np

    found = of(made).spectrum(made)
    if found.joint is not wanted.joint or found.w.shape != wanted.w.shape:
        return  # axes that have come to commute are told as vectors
    noise = np.broadcast_to(np.asarray(found.noise, dtype=float), found.w.shape[:2])
    sizes = [np.linalg.norm(v.w, axis=-1)[..., None] if v.joint else np.abs(v.w)
             for v in (found, wanted)]  # fmt: skip
    a, b = (np.sort(v, axis=2) for v in sizes)
    if (np.abs(a - b) > noise[..., None, None] + _HELD * (1.0 + b)).any():
        raise UsageError(
            f"recipe {quoted(text)}: the parameters of encoding {quoted(made.name)} cannot hold "
            f"frequencies of up to {float(b.max()):.4g}; take a smaller change"
        )


def _measures(work: Work, spectrum: Spectrum) -> Iterator[EncodingMeasure]:
    """One for the first quantity, and for any other that a step has changed."""
    for number, quantity in enumerate(work.quantities()):
        mine = [item for item in work.lists if item.quantity == quantity]
        if number == 0 or any(item.now != item.base for item in mine):
            yield measured(work.base, work.spectrum, spectrum, mine)
