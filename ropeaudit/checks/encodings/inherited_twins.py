"""The angles of an APE head stand in twos, as its public initialisation leaves them.

What it checks
    APE: heads in which at least half of the planes have exactly one partner within 1 % of their
    angle and none has two; in trees on every branch.

Why it matters
    The public code starts a head from ``10000^(-2 floor(j/2) / n)``, j = 0..n-1, for n planes, so
    every angle occurs twice, while RoPE has n different ones. The fit of its generator moves twins
    apart by about 1e-5, too little to matter within any sequence except at the slow end. A head of
    64 channels then has 16 angles instead of 32, unless training moved them.

Passes when
    Fewer planes stand in twos, or more than two stand together.

Fails when
    At least half of a head does. It is a property of the initialisation and no damage.

Exactness
    Angles are eigenvalues of the generator in float64, paired within 1 %.

Options
    None.

References
    Kogkalidis et al., 2312.16045; ape/nn/position/schemes.py of its public code.
"""

from __future__ import annotations

from collections.abc import Iterator

from ropeaudit.checks.encodings._look import Look, each, passed, place, several, skipped
from ropeaudit.checks.encodings._pairs import distances, groups, inherited, twins
from ropeaudit.checks.interface import Case
from ropeaudit.findings import Outcome, Status
from ropeaudit.records import record

SLUG = "inherited-twins"
NEEDS = "encoding"


@record()
class Params:
    """No options."""


def run(case: Case, params: Params) -> Iterator[Outcome]:
    return each(case, _judge)


def _judge(look: Look) -> Outcome:
    if look.encoding.module != "ape":
        return skipped(look, "only APE starts this way")
    heads = inherited(look)
    if not heads.any():
        return passed(look)
    found = [(twins(look, g) & heads[..., None, None], distances(look, g)) for g in groups(look)]
    gap = max(float(apart[close].max()) for close, apart in found)
    pairs = max(int(close.sum((-1, -2)).max()) for close, _ in found)
    units = look.shape[2]
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"Angles stand in twos in {several(int(heads.sum()), 'head')} of {heads.size}, "
        f"inherited from the public initialisation: {pairs} pairs among {units} planes, twins at "
        f"most {gap:.2g} rad apart.",
        evidence={
            "max_cluster": 2,
            "heads": look.heads(heads),
            "head_count": int(heads.sum()),
            "largest_twin_gap": float(f"{gap:.3g}"),
            "pairs": pairs,
            "planes": units,
        },
        location=place(look),
    )
