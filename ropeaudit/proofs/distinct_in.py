"""Whether the table as held has no two equal values in a given floating-point format."""

from __future__ import annotations

import math

from ropeaudit.proofs._shapes import decided, turning
from ropeaudit.proofs.interface import Claim, Exhibit, Status
from ropeaudit.schedule.float32 import round_to
from ropeaudit.schedule.geometry import clusters

_FORMATS = {
    "distinct:float32": "float32",
    "distinct:bf16": "bfloat16",
    "distinct:fp16": "float16",
    "distinct:fp8_e4m3": "float8_e4m3",
    "distinct:fp8_e5m2": "float8_e5m2",
}
CLAIMS = tuple(_FORMATS)
_METHOD = "The table's values are rounded to nearest even and compared."


def prove(exhibit: Exhibit, claim: str) -> Claim:
    """Rounds the table and compares; about the numbers that are held, not about a closed form.

    ``claim`` is one of :data:`CLAIMS`. What is no number is never proved to differ from another:
    a table with NaN or infinity and no equal values is left undecided, and so is an empty one.
    """
    groups, table = turning(exhibit), exhibit.schedule.inv_freq
    rounded = [round_to(value, _FORMATS[claim]) for value in table]
    found = clusters(rounded, groups)
    evidence = {"max_cluster": len(found[0]) if found else 1, "clusters": found}
    if found:
        return decided(exhibit, claim, Status.REFUTED, _METHOD, evidence)
    broken = [k for group in groups for k in group if not math.isfinite(rounded[k])]
    if broken or not table:
        reason = f"Channel {min(broken)} is no finite number." if broken else "The table is empty."
        return decided(exhibit, claim, Status.UNDECIDED, _METHOD, {"reason": reason})
    return decided(exhibit, claim, Status.PROVED, _METHOD, evidence)
