"""Layers that use the table of another layer type than in A."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.law import is_bare
from ropeaudit.diff.losses._words import spans

NAME = "layers moved"
GRAVE = False


def detail(case: Case) -> str | None:
    a, b = case.a, case.b
    if not case.tables_differ or is_bare(a) or is_bare(b):
        return None
    kinds = [{s.layer_type for s in side} for side in (case.beside_a, case.beside_b)]
    if a.layer_type == b.layer_type or a.layer_type not in kinds[1] or b.layer_type not in kinds[0]:
        return None
    common = sorted(set(a.layers or ()) & set(b.layers or ()))
    if not common:
        return None
    return f"layers {spans(common)} use {a.layer_type} in A and {b.layer_type} in B"
