"""The ramp between kept and divided channels lies elsewhere."""

from __future__ import annotations

from ropeaudit.diff.interface import Case
from ropeaudit.diff.losses._words import parameter_pair

NAME = "blend bounds changed"
GRAVE = False
KEYS = ("beta_fast", "beta_slow", "low_freq_factor", "high_freq_factor", "extrapolation")


def detail(case: Case) -> str | None:
    if not case.tables_differ or case.law_a.kind != case.law_b.kind:
        return None
    said = []
    for key in KEYS:
        found = parameter_pair(case.law_a, case.law_b, key, 1e-3)
        if found is not None:
            said.append(f"{key} is {found[0]:.7g} in A, {found[1]:.7g} in B")
    cut = [law.parameters.get("truncate") for law in (case.law_a, case.law_b)]
    if None not in cut and cut[0] != cut[1]:
        said.append("the ends of the ramp are whole channels on one side only (truncate)")
    return "; ".join(said) or None
