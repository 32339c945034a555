"""Claims about encodings in words, and their place on a certificate's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ropeaudit.report import _numbers as show
from ropeaudit.report._terminal import safe

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.proofs.certificate import Part
    from ropeaudit.proofs.interface import Claim

SHOWN = 4


def sections(part: Part) -> Iterator[tuple[str, str, list[Claim]]]:
    """Name, description and claims of each encoding of a part."""
    for encoding in part.subject.encodings:
        own = [c for c in part.encoding_claims if c.schedule == encoding.name]
        if own:
            yield encoding.name, described(encoding), own


def described(encoding: Encoding) -> str:
    """``liere, 12 heads of 64 channels in float32, axes x, y``, safe."""
    heads = f"{show.plural(encoding.heads, 'head')} of {show.plural(encoding.head_dim, 'channel')}"
    axes = f", axes {', '.join(map(safe, encoding.axes))}" if len(encoding.axes) > 1 else ""
    return f"{safe(encoding.kind)}, {heads} in {safe(encoding.dtype)}{axes}"


def words(claim: Claim, *, full: bool = False) -> str:
    """The outcome of a claim about an encoding as one clause; ``full`` cuts nothing."""
    evidence = claim.evidence
    if "reason" in evidence:
        return safe(evidence["reason"])
    if claim.claim == "skew":
        return safe(claim.method) if evidence else "every map is a rotation"
    if claim.claim == "relative":
        return _relative(evidence)
    return _distinct(evidence, None if full else SHOWN)


def _relative(e: Mapping[str, Any]) -> str:
    if "tau_steps" in e:
        first, second = (float(Fraction(v)) for v in e["tau_steps"])
        return (
            f"the bounded shear of one step is {first:.6g} at the start and then {second:.6g}, so "
            "positions count, not only their differences"
        )
    if "value" not in e:
        return "scores depend on the difference of positions alone"
    where = f"layer {e['layer']}, head {e['head']}"
    row, column = e["entry"]
    axes = " and ".join(map(safe, e["axes"]))
    return (
        f"the generators of {axes} do not commute ({where}: entry {row}, {column} of the "
        f"commutator is {float(Fraction(e['value'])):.4g}), so positions count, not only their "
        "differences"
    )


def _distinct(e: Mapping[str, Any], limit: int | None) -> str:
    if e.get("groups") == 0:
        return "nothing turns"
    if "clusters" not in e:
        alike = "two planes turn alike"
        return (
            f"no {alike}" if e["groups"] == 1 else f"in none of {e['groups']:,} groups do {alike}"
        )
    found = e["clusters"]
    if not found:
        return f"all {e['max_cluster']} planes turn alike"
    said = [_cluster(c) for c in found[:limit]]
    more = f" and {len(found) - len(said)} more" if len(found) > len(said) else ""
    return f"{e['max_cluster']} planes turn alike: {'; '.join(said)}{more}"


def _cluster(c: Mapping[str, Any]) -> str:
    where = ", ".join(f"{k} {c[k]}" for k in ("branch", "axis", "layer", "head") if k in c)
    if "units" in c:
        return f"{where}: planes {show.ranges(c['units'])}"
    times = show.plural(c["frequencies"], "frequency").replace("frequencys", "frequencies")
    return f"{where}: {times} on {c['planes']} planes each"
