"""Checkpoints of Jordan-RoPE: which parameters they hold, checked against what their method has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ropeaudit.encodings._alibi import tokens
from ropeaudit.encodings._grid import whole
from ropeaudit.encodings._jordan_method import (
    KEY,
    NAMED,
    PLAIN,
    SHOWN,
    Plan,
    Values,
    method_of,
    parse,
)
from ropeaudit.encodings._stored import facts, finite, misshaped, numbers
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, UsageError, quoted, quoted_path, suggestion
from ropeaudit.facts import Fact, Origin, StoredTensor

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding

LEAVES = ("raw_gamma", "raw_eta", "raw_jet_coefficients", "raw_jet_base")
OPTIONS = {
    "method": "position_method of a checkpoint that lost its config, such as jordan_rope",
    "train-context": "context length in training, which bounds or scales the shear, such as 1024",
}


def stored(sources: Sources, module: str) -> tuple[Plan, dict[str, list[StoredTensor]]] | None:
    """Plan and tensors (by leaf, in the order of layers) of a checkpoint that is ``module``'s.

    None where there is no such checkpoint. Raises InvalidValue for parameters without a config, an
    unknown method, and parameters that the method does not have.
    """
    found = {leaf: _layers(sources, leaf) for leaf in LEAVES}
    tensors = [t for group in found.values() for t in group]
    if not tensors:
        _require_known(sources.options.get("method"))
        return None
    method = method_of(sources.document, sources.options)
    if method is None:
        first = tensors[0]
        if ".positioner." not in first.name:
            return None
        raise InvalidValue(
            f"{quoted_path(first.location.file)} holds {quoted(first.name)} and no config, and "
            "what it means depends on the method; state it with --encoding method=jordan_rope",
            where=first.name,
        )
    if method in PLAIN:
        raise _foreign(tensors[0], method)
    plan = parse(method, sources.document, whole(sources.options, "train-context"))
    if plan.module != module:
        return None
    for leaf, group in found.items():
        if group and leaf not in plan.learned:
            raise _foreign(group[0], method)
    for leaf in plan.learned:
        if not found[leaf]:
            raise InvalidValue(
                f"{quoted_path(tensors[0].location.file)} holds no {leaf}, which the method "
                f"{quoted(method)} learns; the file is incomplete, or the config another model's",
                where=tensors[0].name,
            )
    return plan, {leaf: found[leaf] for leaf in plan.learned}


def _require_known(method: str | None) -> None:
    """Raises UsageError for a method that nobody has, which would otherwise be passed over."""
    if method is None or method in ("axial", *PLAIN):
        return
    try:
        parse(method, None)
    except InvalidValue:
        known, near = ", ".join(("axial", *SHOWN)), suggestion(method, ("axial", *NAMED))
        raise UsageError(f"method is {quoted(method)}, expected one of {known}{near}") from None


def _layers(sources: Sources, leaf: str) -> list[StoredTensor]:
    found = [t for t in sources.tensors if t.name.rpartition(".")[2] == leaf]
    return sorted(found, key=lambda t: numbers(t.name)[-1:])


def _foreign(tensor: StoredTensor, method: str) -> InvalidValue:
    return InvalidValue(
        f"{quoted_path(tensor.location.file)} holds {quoted(tensor.name)}, which the method "
        f"{quoted(method)} does not have; the config belongs to another model",
        where=tensor.name,
    )


def encoded(sources: Sources, module: str, share: int = 1) -> Encoding | None:
    """The checkpoint as an encoding of ``module``, whose blocks take 1/``share`` of a head."""
    from ropeaudit.encodings.core import Encoding

    found = stored(sources, module)
    if found is None:
        return None
    plan, tensors = found
    heads, head_dim = _sizes(plan, tensors, sources, share)
    blocks = head_dim // (2 * plan.order * share)
    parameters = {leaf: _array(leaf, group, plan, heads, blocks) for leaf, group in tensors.items()}
    every = [t for group in tensors.values() for t in group]
    layers = tuple(numbers(t.name)[-1] if numbers(t.name) else 0 for t in tensors[plan.learned[0]])
    if any(len(group) != len(layers) for group in tensors.values()):
        raise InvalidValue(
            f"{quoted_path(every[0].location.file)} holds "
            f"{', '.join(f'{len(g)} {leaf}' for leaf, g in tensors.items())}, expected as many of "
            "each; the file is incomplete",
            where=every[0].name,
        )
    return Encoding(
        name=plan.kind,
        kind=plan.kind,
        module=module,
        head_dim=head_dim,
        heads=heads,
        layers=layers,
        parameters=parameters,
        dtype=every[0].dtype,
        positions=tokens(plan.train_context),
        settings=plan.settings(),
        assumed=plan.assumed,
        provenance=(*_method_fact(sources), *facts(every)),
    )


def _method_fact(sources: Sources) -> tuple[Fact, ...]:
    document = sources.document
    if document is None or document.data.get(KEY) is None:
        return (Fact(KEY, sources.options.get("method"), Origin.OVERRIDE),)
    return (Fact(KEY, document.data[KEY], location=document.location(f"/{KEY}")),)


def _sizes(
    plan: Plan, tensors: dict[str, list[StoredTensor]], sources: Sources, share: int
) -> tuple[int, int]:
    """Heads and head size: of the config, else of the shapes. Raises InvalidValue."""
    first = tensors[plan.learned[0]][0]
    unit = 2 * plan.order * share
    values = Values(sources.document)
    if "d_model" not in values.data and "n_heads" not in values.data:
        if len(first.shape) < 2:
            raise misshaped(first, "(heads, blocks)")
        return first.shape[-2], first.shape[-1] * unit
    width, heads = values.whole("d_model"), values.whole("n_heads")
    head_dim, rest = divmod(width, heads)
    if rest or head_dim % unit:
        why = f"{width} channels in {heads} heads" + (f": {head_dim} each" if not rest else "")
        raise InvalidValue(
            f"{quoted_path(values.file)}: d_model and n_heads make {why}, and the method "
            f"{quoted(plan.method)} needs heads that are divisible by {unit}",
            where="/d_model",
        )
    return heads, head_dim


def _array(leaf: str, group: Sequence[StoredTensor], plan: Plan, heads: int, blocks: int) -> Array:
    """(layers, heads, blocks), jets (layers, orders - 1, heads, blocks)."""
    import numpy as np

    shape: tuple[int, ...] = (heads, blocks)
    if leaf == "raw_jet_coefficients":
        shape = (plan.order - 1, *shape)
    for tensor in group:
        if tensor.shape != shape:
            raise misshaped(tensor, f"{list(shape)} for {heads} heads of {blocks} blocks")
    return np.stack([finite(t) for t in group])
