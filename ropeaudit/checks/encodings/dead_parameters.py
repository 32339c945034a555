"""Stored parameters of an encoding that nothing reads.

What it checks
    LieRE: layers whose generators no block uses, and those that look as they were initialised.
    APE trees: matrices beyond those of the branches. Both: entries of the stored matrices that
    cancel when the generator is made, such as the lower triangle.

Why it matters
    The public LieRE code hands the generators of layer 0 to every block, so the others never get a
    gradient, although the file holds a set for each layer. The public APE code keeps a matrix for
    each branch and head and reads one for each branch. Who counts parameters, converts or prunes
    such a model by its file describes another model.

Passes when
    Every stored number takes part.

Fails when
    Whole layers or matrices do not. As info: only entries that cancel, which is the
    parameterisation.

Exactness
    Which code made a file is not in it: the layers count as dead where all of them still follow the
    law of the initialisation (uniform in [0, 2 pi), on both sides of the diagonal), or as the user
    states.

Options
    None.

References
    models/rope_vit.py and models/vit.py of LieRE; ape/nn/position/algebraic.py of APE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ropeaudit.checks.encodings._look import Look, each, passed, place, skipped
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Severity, Status
from ropeaudit.records import record
from ropeaudit.schedule.geometry import spans

SLUG = "dead-parameters"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(look: Look) -> Outcome:
    parameters = look.encoding.parameters
    if not parameters:
        return skipped(look, "it stores no parameters")
    settings = look.encoding.settings
    layers = list(settings.get("dead_layers", ()))
    matrices = list(settings.get("dead_matrices", ()))
    untouched = list(settings.get("untouched_layers", ()))
    stored = sum(int(p.size) for p in parameters.values())
    effective = _effective(look)
    if not (layers or matrices or untouched) and effective == stored:
        return passed(look)
    by_design = not (layers or matrices or untouched)
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        severity=Severity.INFO if by_design else None,
        message=f"{_said(layers, untouched, matrices, by_design)} {effective:,} of {stored:,} "
        "stored numbers count.",
        evidence={
            "dead_layers": layers,
            "untouched_layers": untouched,
            "dead_matrices": matrices,
            "effective": effective,
            "stored": stored,
        },
        location=place(look),
        fix="Nothing to do: it is how the generator is written down." if by_design else None,
    )


def _said(
    layers: Sequence[int], untouched: Sequence[int], matrices: Sequence[int], by_design: bool
) -> str:
    if layers:
        one = "looks as it was" if len(layers) == 1 else "look as they were"
        looks = f" and {one} initialised" if set(layers) <= set(untouched) else ""
        take = "takes" if len(layers) == 1 else "take"
        return f"{_named('Layer', layers)} {take} no part{looks}: every block uses layer 0."
    if untouched:
        looks = "looks" if len(untouched) == 1 else "look"
        return f"{_named('Layer', untouched)} {looks} as initialised, as if no gradient came."
    if matrices:
        take, them = ("takes", "it") if len(matrices) == 1 else ("take", "them")
        return f"{_named('Stored matrix', matrices)} {take} no part: no branch reads {them}."
    return "Entries that cancel in A - A^T take no part." * by_design


def _named(noun: str, numbers: Sequence[int]) -> str:
    many = noun.replace("matrix", "matrice")
    return f"{noun if len(numbers) == 1 else f'{many}s'} {', '.join(spans(numbers))}"


def _effective(look: Look) -> int:
    """Degrees of freedom of what is used: n (n - 1) / 2 for the generator of a block."""
    encoding = look.encoding
    if encoding.module == "liere":
        stored: Any = encoding.parameters["generator_raw_params"]
        axes, layers, total, g, _ = stored.shape
        used = layers - len(encoding.settings["dead_layers"])
        return int(axes * used * total * (g * (g - 1) // 2))
    if encoding.module == "ape" and "_primitives" in encoding.parameters:
        matrices: Any = encoding.parameters["_primitives"]
        count, n, _ = matrices.shape
        return int((count - len(encoding.settings.get("dead_matrices", ()))) * (n * (n - 1) // 2))
    return sum(int(p.size) for p in encoding.parameters.values())
