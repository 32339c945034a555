"""From standardised rope dicts to schedules."""

from __future__ import annotations

import math

from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.facts import MAX_LENGTH, Fact, Note, Observation
from ropeaudit.readers.transformers import _layers
from ropeaudit.readers.transformers._axes import axes_of
from ropeaudit.readers.transformers._dicts import Rope, Ropes
from ropeaudit.readers.transformers._inputs import (
    at_length,
    call,
    choose_law,
    inputs_of,
    is_scaling,
    list_problem,
    variants,
    where,
)
from ropeaudit.readers.transformers._node import Node, number, whole
from ropeaudit.readers.transformers._standard import LENGTH_TYPES
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.core import Context, Schedule
from ropeaudit.schedule.families import Built, Family, Inputs, family
from ropeaudit.schedule.families.yarn import mscale

AXIAL_KINDS = frozenset({"axial", "axial_thirds", "axial_dealt", "dinov3"})


@record(kw_only=True)
class _Task:
    """One rope dict of a node: what it serves, and what its tables are built from."""

    node: Node
    rope: Rope
    kind: str
    law: Family
    inputs: Inputs
    facts: tuple[Fact, ...]
    layers: tuple[int, ...] | None
    declared: int | None
    window: int | None


@record(frozen=False)
class Result:
    schedules: list[Schedule] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def build(node: Node, ropes: Ropes, lengths: tuple[int, ...]) -> Result:
    """Schedules of every rope dict of ``node``."""
    out = Result()
    node.facts.clear()
    kinds = _layers.types(node)
    turning = _layers.turning(node, kinds)
    if turning == () and kinds is None and not node.rope.get("nested"):
        turning = None
    declared = node.integer("max_position_embeddings", 1, MAX_LENGTH)
    shared = tuple(node.facts)
    for rope in ropes.found:
        node.facts[:] = shared
        task = _task(node, rope, declared, kinds, turning, out)
        if task is not None:
            for variant, length in variants(task.kind, task.inputs, declared, lengths):
                out.schedules.append(_schedule(task, variant, length))
    return out


def _served(
    node: Node, rope: Rope, kinds: list[str] | None, turning: tuple[int, ...] | None
) -> tuple[int, ...] | None:
    """Layers that turn by this dict."""
    if rope.layers is not None:
        return rope.layers
    if rope.label is None or kinds is None or turning is None:
        return turning
    groups = node.rope.get("label_layers", {}).get(rope.label)
    wanted = {rope.label} if groups is None else set(groups)
    return tuple(i for i in turning if kinds[i] in wanted)


def _task(
    node: Node,
    rope: Rope,
    declared: int | None,
    kinds: list[str] | None,
    turning: tuple[int, ...] | None,
    out: Result,
) -> _Task | None:
    """What to build for ``rope``; None, with an observation, where no table can be built."""
    layers = _served(node, rope, kinds, turning)
    kind, law = choose_law(node, rope, out.observations)
    if law is None:
        return None
    inputs, facts = inputs_of(node, rope, kind, declared)
    problem = list_problem(node, rope, kind, inputs)
    if problem is not None:
        out.observations.append(problem)
        return None
    return _Task(
        node=node,
        rope=rope,
        kind=kind,
        law=law,
        inputs=inputs,
        facts=tuple(facts),
        layers=layers,
        declared=declared,
        window=_layers.window(node, kinds, layers),
    )


def _schedule(task: _Task, variant: str | None, length: int | None) -> Schedule:
    node, rope, kind, inputs = task.node, task.rope, task.kind, at_length(task.inputs, length)
    built = call(node, rope, task.law, inputs)
    channels = len(built.inv_freq)
    sections = rope.values.get("mrope_section")
    axes = axes_of(
        kind if is_scaling(node, kind) else node.rope.get("kind", "default"),
        node.rope.get("axes"),
        sections,
        channels,
    )
    parameters = dict(built.parameters)
    if sections is not None:
        parameters["mrope_section"] = sections
    return Schedule(
        component=node.component,
        layer_type=rope.label,
        variant=variant,
        layers=task.layers,
        rope_type=_shown_type(kind),
        rope_theta=inputs.rope_theta,
        head_dim=inputs.head_dim,
        rotary_dim=_rotated(kind, inputs, channels),
        pairing=_pairing(node),
        axes=axes,
        inv_freq=built.inv_freq,
        unscaled=_unscaled(node, kind, inputs, built),
        static_channels=built.static_channels,
        attention_scaling=built.attention_scaling,
        softmax_scale=_softmax(node, rope, kind),
        context=_context(task),
        parameters=parameters,
        provenance=task.facts,
        law=task.law.NAMES[0],
        inputs=inputs,
    )


def _shown_type(kind: str) -> str:
    if kind in AXIAL_KINDS:
        return "axial"
    return "default" if kind == "ernie_3d" else kind


def _rotated(kind: str, inputs: Inputs, channels: int) -> int:
    """Total rotated width over all axes."""
    if kind == "axial_thirds":
        return 6 * channels
    return inputs.rotary_dim


def _pairing(node: Node) -> str:
    rule: str = node.rope.get("pairing", "half")
    if rule.startswith("key:"):
        value = node.value(rule[4:])
        return "half" if value is False else "interleaved"
    return rule


def _unscaled(node: Node, kind: str, inputs: Inputs, built: Built) -> tuple[float, ...] | None:
    """The table before context extension, None where it cannot be known."""
    if kind == "ntk_alpha":
        return None
    if kind == "proportional":
        if inputs.number("factor", 1.0) == 1.0:
            return built.inv_freq
        law = family("proportional")
        plain = {k: v for k, v in inputs.scaling.items() if k != "factor"}
    elif is_scaling(node, kind):
        law, plain = family("default"), {}
    else:
        return built.inv_freq
    assert law is not None  # both laws are part of this package
    bare = replace(inputs, max_position_embeddings=None, length=None, scaling=plain)
    return law.build(bare).inv_freq


def _softmax(node: Node, rope: Rope, kind: str) -> float:
    """DeepSeek multiplies the logits by ``(0.1 m ln(factor) + 1) ** 2``, m = mscale_all_dim."""
    key = node.rope.get("softmax")
    weight = rope.values.get(key) if key else None
    if kind == "default" or not weight or key is None:
        return 1.0
    factor = number(rope.values.get("factor"), "factor", where(node, rope, "factor"))
    root = mscale(factor, number(weight, key, where(node, rope, key)))
    if not math.isfinite(root * root):
        raise InvalidValue(
            f"{key} is {quoted(weight)}, which makes the factor on the logits infinite",
            where=where(node, rope, key),
        )
    return root * root


def _context(task: _Task) -> Context:
    node, rope, declared, window = task.node, task.rope, task.declared, task.window
    key = "original_max_position_embeddings"
    original = rope.values.get(key)
    if original is None:
        top, pointer = node.find(key)
        original = top if pointer is not None else None
    stated = original is not None and not rope.original_defaulted
    if stated or (task.kind in LENGTH_TYPES and original is not None):
        trained = whole(original, key, where(node, rope, key), 1, MAX_LENGTH)
        return Context(trained, declared, assumed=not stated, window=window)
    return Context(declared, declared, assumed=task.kind != "dynamic", window=window)
