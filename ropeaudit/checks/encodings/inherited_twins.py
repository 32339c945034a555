"""Every angle of an APE head stands twice, as its public initialisation leaves it.

What it checks
    APE: heads in which every plane has exactly one partner within 1 % of its angle; in trees on
    every branch.

Why it matters
    The public code starts a head from ``10000^(-2 floor(j/2) / n)``, j = 0..n-1, for n planes, so
    every angle occurs twice, while RoPE has n different ones. The fit of its generator moves twins
    apart by about 1e-5, too little to matter within any sequence. A head of 64 channels then has 16
    angles instead of 32, unless training moved them.

Passes when
    Some plane stands alone, or more than two stand together.

Fails when
    All planes of a head come in twos. It is a property of the initialisation and no damage.

Exactness
    Angles are eigenvalues of the generator in float64; the pairing tolerance is an option.

Options
    None. Pairs may differ by 1 %.

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
    pairs = ((twins(look, g) & heads[..., None, None], distances(look, g)) for g in groups(look))
    gap = max(float(apart[close].max()) for close, apart in pairs)
    units = look.shape[2]
    return Outcome(
        status=Status.FAIL,
        schedule=look.name,
        message=f"Every angle stands twice in {several(int(heads.sum()), 'head')} of "
        f"{heads.size}, inherited from the public initialisation: {units // 2} different angles "
        f"in {units} planes, twins at most {gap:.2g} rad apart.",
        evidence={
            "max_cluster": 2,
            "heads": look.heads(heads),
            "head_count": int(heads.sum()),
            "largest_twin_gap": float(f"{gap:.3g}"),
            "planes": units,
        },
        location=place(look),
    )
