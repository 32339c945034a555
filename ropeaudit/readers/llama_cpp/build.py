"""Schedules of the groups of layers that a plan names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ropeaudit.facts import Fact, Origin, StoredTable
from ropeaudit.readers.llama_cpp import factors, scaling
from ropeaudit.readers.llama_cpp.architectures import Architecture
from ropeaudit.readers.llama_cpp.arithmetic import Rotation, check, closed_form, corr_dims
from ropeaudit.readers.llama_cpp.factors import Divisors
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.readers.llama_cpp.laws import law_of
from ropeaudit.readers.llama_cpp.plan import Group
from ropeaudit.readers.llama_cpp.scaling import DEFAULT_BASE, Scaling
from ropeaudit.readers.llama_cpp.widths import Widths
from ropeaudit.records import record, replace
from ropeaudit.schedule.core import Axis, Context, Schedule


@record(kw_only=True)
class Model:
    """Everything that is read once a file."""

    keys: Keys
    arch: Architecture
    scaling: Scaling
    widths: Widths
    divisors: Divisors
    declared: int | None
    axes: tuple[Axis, ...] | None


@record(kw_only=True)
class Row:
    """One table to build: a group of layers, a rotation and what scales cos and sin."""

    group: Group
    rotation: Rotation
    attention: float
    head_dim: int | None
    base: Fact
    table: StoredTable | None = None
    variant: str | None = None
    label: str | None = None


def rows(model: Model, groups: Iterable[Group]) -> list[Row]:
    """One row for each table; groups that come out alike are one, without a window."""
    found: list[Row] = []
    for group in groups:
        for part, table, label in _parts(model, group):
            found.extend(_variants(model, part, table, label))
    merged: dict[tuple[Any, ...], Row] = {}
    for row in found:
        key = (row.rotation, row.attention, row.variant, row.head_dim)
        other = merged.get(key)
        merged[key] = row if other is None else _union(other, row)
    return list(merged.values())


def _union(a: Row, b: Row) -> Row:
    layers = None
    if a.group.layers is not None and b.group.layers is not None:
        layers = tuple(sorted((*a.group.layers, *b.group.layers)))
    alike = a.group.sliding and b.group.sliding
    group = Group(layers, alike, window=a.group.window if alike else None)
    return replace(a, group=group, label=None)


def _parts(model: Model, group: Group) -> Iterator[tuple[Group, StoredTable | None, str | None]]:
    """The group split by the ``rope_freqs`` of its layers, where these differ."""
    held = model.divisors
    if _bare(model, group):
        yield group, None, None
        return
    if not held.layers or group.layers is None:
        yield group, held.freqs, None
        return
    split: dict[tuple[float, ...] | None, list[int]] = {}
    for layer in group.layers:
        own = held.layers.get(layer)
        split.setdefault(None if own is None else own.values, []).append(layer)
    for layers in split.values():
        part = replace(group, layers=tuple(layers))
        label = f"layers_{layers[0]}-{layers[-1]}" if len(split) > 1 else None
        yield part, held.layers.get(layers[0], held.freqs), label


def _bare(model: Model, group: Group) -> bool:
    """Whether factor tensors do not apply to the group (sliding layers of Gemma 4, Step 3.5)."""
    window = model.arch.window
    return group.sliding and window is not None and not window.factors


def _variants(
    model: Model, group: Group, freqs: StoredTable | None, label: str | None
) -> Iterator[Row]:
    row = replace(_row(model, group), label=label)
    held = model.divisors
    if freqs is not None or held.long is None or held.short is None or _bare(model, group):
        yield _divided(row, freqs)
        return
    for variant, table in (("short", held.short), ("long", held.long)):
        yield _divided(replace(row, variant=variant), table)


def _divided(row: Row, table: StoredTable | None) -> Row:
    """``row`` with its divisors, unless the tensor is too short for the rotary width."""
    need = row.rotation.dim // 2
    if table is None or len(table.values) < need:
        return row
    rotation = replace(row.rotation, divisors=table.values[:need])
    return replace(row, rotation=rotation, table=table)


def _row(model: Model, group: Group) -> Row:
    keys, arch, settled = model.keys, model.arch, model.scaling
    full, full_fact = scaling.base(keys, arch, "rope.freq_base", DEFAULT_BASE)
    base, fact, factor, ext = full, full_fact, settled.factor, settled.ext
    plain = False
    if arch.compress:
        plain = not group.compressed
        if group.compressed:
            base, fact = scaling.base(keys, arch, "attention.compress_rope_freq_base", DEFAULT_BASE)
    elif group.sliding and arch.window is not None:
        plain = not arch.window.yarn
        if arch.window.base != "global":
            default = full if arch.window.base == "inherit" else DEFAULT_BASE
            base, fact = scaling.base(keys, arch, "rope.freq_base_swa", default)
            if fact.origin is Origin.DEFAULT and arch.window.base == "inherit":
                fact = full_fact
        factor = factor if arch.window.scaled else 1.0
    dim, head = model.widths.of(sliding=group.sliding)
    check(base, dim)
    grown = scaling.grown(keys, arch, base, dim)
    check(grown, dim)
    if plain:
        factor, ext = 1.0, 0.0
    original = settled.original or model.declared or 0
    ramp = (0.0, 0.0)
    if ext:
        ramp = corr_dims(dim, grown, original, settled.beta_fast, settled.beta_slow)
    gain = 1.0 if plain or arch.compress else scaling.attention(settled, factor, ext)
    return Row(
        group=group,
        rotation=Rotation(base=grown, dim=dim, factor=factor, ext=ext, ramp=ramp),
        attention=gain,
        head_dim=head,
        base=fact,
    )


def schedule(model: Model, row: Row, *, alone: bool) -> Schedule:
    """The schedule of a row; ``alone``: no other layer type needs telling apart."""
    settled, r = model.scaling, row.rotation
    plain = closed_form(Rotation(base=r.base, dim=r.dim))
    table = closed_form(r)
    law, parameters = _law(model, row)
    stated, inputs = law_of(
        r,
        row.base.value,
        scaling.alpha(model.keys, model.arch),
        settled,
        settled.original or model.declared,
    )
    still = factors.still_channels(r.divisors) if law == "proportional" and r.divisors else None
    trained = settled.original
    if law == "llama3":
        trained = trained or parameters.get("original_max_position_embeddings")
    return Schedule(
        layer_type=row.label or (None if alone else _layer_type(row.group)),
        variant=row.variant,
        layers=row.group.layers,
        rope_type=law,
        rope_theta=row.base.value,
        head_dim=row.head_dim,
        rotary_dim=r.dim,
        pairing=model.arch.pairing,
        axes=model.axes,
        inv_freq=table,
        unscaled=table if law == "proportional" else plain,
        static_channels=still or frozenset(),
        attention_scaling=row.attention,
        softmax_scale=scaling.softmax(settled, model.arch),
        context=Context(
            trained=int(trained) if trained else model.declared,
            declared=model.declared,
            assumed=not trained and model.declared is not None,
            window=row.group.window,
        ),
        parameters=parameters,
        provenance=_provenance(model, row, parameters),
        law=stated,
        inputs=inputs,
    )


def _layer_type(group: Group) -> str:
    if group.compressed:
        return "compressed_attention"
    return "sliding_attention" if group.sliding else "full_attention"


def _law(model: Model, row: Row) -> tuple[str, dict[str, Any]]:
    """The scaling law's name and its parameters after defaults."""
    r, settled = row.rotation, model.scaling
    parameters: dict[str, Any] = {}
    if model.arch.permuted:
        parameters["pairing_before_conversion"] = "half"
    if r.base != row.base.value:
        parameters["effective_rope_theta"] = r.base
    if r.factor != 1.0:
        parameters["factor"] = r.factor
    original = settled.original
    if row.variant is not None and r.divisors is not None:
        if original and model.declared:
            parameters |= {"factor": model.declared / original}
        return "longrope", parameters | _given(original) | {"long": row.variant == "long"}
    if r.divisors is not None and any(v != 1.0 for v in r.divisors):
        if factors.still_channels(r.divisors):
            return "proportional", parameters | {"factor": r.factor}
        law = factors.llama3_law(r.divisors, r.base) if r.factor == 1.0 else None
        return ("llama3", parameters | law) if law else ("stored", parameters)
    if r.ext and r.factor != 1.0:
        return "yarn", parameters | _given(original or model.declared) | {
            "beta_fast": settled.beta_fast,
            "beta_slow": settled.beta_slow,
            "truncate": True,
            "ramp": r.ramp,
            "extrapolation": r.ext,
        }
    return ("linear", parameters) if r.factor != 1.0 else ("default", parameters)


def _given(original: float | None) -> dict[str, Any]:
    return {"original_max_position_embeddings": original} if original else {}


def _provenance(model: Model, row: Row, parameters: dict[str, Any]) -> tuple[Fact, ...]:
    facts = [row.base, *model.keys.facts]
    if row.table is not None:
        shown = f"{row.table.dtype}{list(row.table.shape)}"
        facts.append(Fact(row.table.role, shown, location=row.table.location))
        for name in ("factor", "low_freq_factor", "high_freq_factor"):
            if name in parameters and not any(f.field == name for f in facts):
                where = row.table.location
                facts.append(Fact(name, parameters[name], Origin.DERIVED, where))
    return tuple(facts)
