"""A GGUF file without the factor tensor that its scaling lives in."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.facts import Reading

NAME = "factors missing"
GRAVE = True
TENSORS = {
    "llama3": ("rope_freqs.weight",),
    "proportional": ("rope_freqs.weight",),
    "longrope": ("rope_factors_long.weight", "rope_factors_short.weight"),
}
"""Where converters write the divisors of each law (``conversion/`` of llama.cpp)."""
_ROLES = {
    "rope_freqs.weight": "rope_factors",
    "rope_factors_long.weight": "rope_factors_long",
    "rope_factors_short.weight": "rope_factors_short",
}


def detail(case: Case) -> str | None:
    wanted = TENSORS.get(case.law_a.kind or "", ())
    if not case.tables_differ or not wanted or case.subject_b.format != "gguf":
        return None
    missing = [name for name in wanted if not _holds(case.subject_b.reading, name)]
    if not missing:
        return None
    return f"B has no {' and no '.join(missing)}, which {case.law_a.kind} needs in a GGUF file"


def _holds(reading: Reading | None, name: str) -> bool:
    return reading is not None and any(t.role == _ROLES[name] for t in reading.tables)
