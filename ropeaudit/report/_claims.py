"""What a claim came to, in one clause: from its evidence, and the closed form it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from ropeaudit.exact import encoding
from ropeaudit.exact.statement import term
from ropeaudit.proofs.recovery import NONE
from ropeaudit.report import _numbers as show
from ropeaudit.report._terminal import safe

if TYPE_CHECKING:
    from ropeaudit.proofs.interface import Claim, Exhibit

SHOWN = 4
"""Clusters, pairs or relations that a line names; the certificate holds all."""


def words(claim: Claim, exhibit: Exhibit, *, full: bool = False) -> str:
    """The outcome of ``claim`` as one clause; ``full`` cuts nothing."""
    evidence = claim.evidence
    kind = "".join(claim.claim.partition(":")[:2])
    tell = _TELLERS.get((kind, claim.status.value)) or _TELLERS.get((kind, ""))
    reason = safe(evidence.get("reason") or "")
    if reason and kind == "recovery":
        reason = _unrecovered(evidence, reason.rstrip("."))
    if reason and reason == safe(exhibit.why_not or ""):
        return "nothing states a closed form"
    if reason and kind != "candidates":
        bits = evidence.get("bits")
        return reason + (f" ({bits} bits)" if bits else "")
    if tell is None:
        return show.evidence(evidence, full=full)
    return tell(evidence, exhibit, None if full else SHOWN)


_Evidence = Mapping[str, Any]


def _form(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    if e["max_ulp"] == 0:
        return f"every {e['dtype']} value is its closed form, to a thousandth of an ulp"
    where = "" if e.get("channel") is None else f" (channel {e['channel']})"
    return (
        f"every {e['dtype']} value is within {e['tolerance']} ulp of its closed form; the farthest "
        f"is {_ulp(e['max_ulp'])} ulp off{where}"
    )


def _no_form(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    found = e["witness"]
    k = found["channel"]
    held = show.exact(_float(found["stored"]))
    return (
        f"channel {k} holds {held} and its closed form is {_term(exhibit, k)}, "
        f"{_ulp(found['ulp'])} ulp of {e['dtype']} away (tolerance {e['tolerance']})"
    )


def _distinct(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    count = e["channels"]
    if count < 2:
        return "no two channels turn, so none can be equal"
    return f"all {count} channels that turn have different closed forms"


def _duplicates(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    said = []
    for members in e["duplicates"][:limit]:
        forms = list(dict.fromkeys(_term(exhibit, k) for k in members))
        equal = f"all {forms[0]}" if len(forms) == 1 else f"equal: {' = '.join(forms[:SHOWN])}"
        said.append(f"channels {show.ranges(members)} are {equal}")
    return _listed(said, len(e["duplicates"]))


def _held(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    clusters = e["clusters"]
    if not clusters:
        return "no two values are equal"
    first, *rest = [show.ranges(c) for c in clusters[:limit]]
    also = f"; also {_listed(rest, len(clusters) - 1)}" if rest else ""
    return f"{e['max_cluster']} channels are equal: {first}{also}"


def _relations(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    turning = e["q_span_dimension"]
    head = f"the channels span {show.plural(turning, 'dimension')} over the rationals"
    torus = f"phases close on a torus of dimension {e['torus_dimension']}"
    generators = e["generators"]
    if not generators:
        return f"{head}, no two have a rational ratio; {torus}"
    shifts = {(g["j"] - g["k"], g["ratio"]) for g in generators}
    if len(shifts) == 1:
        step, ratio = next(iter(shifts))
        said = [f"θ_k = {_ratio(ratio)}θ_(k+{step})"]
    else:
        said = [f"θ_{g['k']} = {_ratio(g['ratio'])}θ_{g['j']}" for g in generators[:limit]]
        said = [_listed(said, len(generators))]
    return f"{head}: {said[0]}; {torus}"


def _geometric(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    ratios = e["ratio"] if isinstance(e["ratio"], list) else [e["ratio"]]
    stated = list(dict.fromkeys(_written(r) for r in ratios if r is not None))
    if not stated:
        return "neighbours have one ratio throughout"
    each = " within its axis" if len(ratios) > 1 else ""
    return f"each channel is {_listed(stated[:limit], len(stated))} times the next{each}"


def _uneven(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    runs = [f"{a}–{b}" for a, b in e["equal_runs"]]
    first = "" if e.get("first") is None else f"the ratio changes first at channel {e['first']}"
    even = f"one ratio within channels {_listed(runs[:limit], len(runs))}" if runs else ""
    return "; ".join(part for part in (first, even) if part)


def _aliasing(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    return (
        f"no two of {e['channels']} channels agree modulo 2π, or up to sign, at every integer "
        "position"
    )


def _aliases(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    said = [f"{i} and {j}" for i, j in e["pairs"][:limit]]
    return f"channels {_listed(said, len(e['pairs']))} agree at every integer position"


def _recovery(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    parts = [_fit(e)]
    if e.get("ambiguous"):
        count = len(e["ambiguous"])
        said = [_changed(e, other) for other in e["ambiguous"][:limit]]
        more = f" or {count - len(said)} more" if count > len(said) else ""
        parts.append(f"it could be {' or '.join(said)}{more} as well")
    if e.get("next"):
        law, off = e["next"], e["next"]["max_ulp"]
        near = "as near" if off == e["max_ulp"] else f"{_steps(off)} off"
        parts.append(f"next best: {_law(law)}, {near}")
    return "; ".join(parts)


def _unrecovered(e: _Evidence, reason: str) -> str:
    """Why no law was found: what rules them all out first, and the nearest last."""
    parts = [reason]
    if "witness" in e:
        channels, values = e["witness"]["channels"], e["witness"]["values"]
        held = [f"channel {k} holds {_float(v):.7g}" for k, v in zip(channels, values, strict=True)]
        does = "is negative" if len(channels) == 1 else "rises"
        more = reason.removeprefix(NONE).removeprefix(": ")
        parts = [f"{' and '.join(held)}, and with a base above 1 no table of a known law {does}"]
        parts += [more] if more else []
    if "rope_theta" in e:
        parts.append(f"the nearest is {_fit(e)}")
    return "; ".join(parts)


def _fit(e: _Evidence) -> str:
    """A law with all its parameters, and how near its table comes."""
    more = ", ".join(
        f"{safe(k)} {_told(v)}" for k, v in (e.get("parameters") or {}).items() if _scalar(v)
    )
    held = safe(e.get("dtype") or "float32")
    near = "exactly" if e["max_ulp"] == 0 else f"within {_steps(e['max_ulp'])}"
    return f"{_law(e)}{f' ({more})' if more else ''}, {near} in {held}"


def _changed(best: _Evidence, other: _Evidence) -> str:
    """How a set of parameters differs from the one that was found."""
    if other["rope_type"] != best["rope_type"] or other["rotary_dim"] != best["rotary_dim"]:
        return _law(other)
    said = []
    if other["rope_theta"] != best["rope_theta"]:
        said.append(f"base {show.exact(other['rope_theta'])}")
    for name, value in (other.get("parameters") or {}).items():
        if value != (best.get("parameters") or {}).get(name):
            said.append(f"{safe(name)} {_told(value)}")
    return ", ".join(said)


def _law(e: _Evidence) -> str:
    return f"{safe(e['rope_type'])}, base {show.exact(e['rope_theta'])}, {e['rotary_dim']} dims"


def _steps(off: Any) -> str:
    return show.plural(off, "step") if isinstance(off, int) else f"{_ulp(off)} steps"


def _told(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else safe(value)


def _candidates(e: _Evidence, exhibit: Exhibit, limit: int | None) -> str:
    found = e["relations"]
    if not found:
        return "no small integer relation was found"
    said = [
        " + ".join(f"{n}·θ_{k}" for k, n in r["coefficients"].items()) + " ≈ 0"
        for r in found[:limit]
    ]
    return _listed(said, len(found))


_TELLERS: Mapping[tuple[str, str], Callable[[_Evidence, Exhibit, int | None], str]] = {
    ("form", "proved"): _form,
    ("form", "refuted"): _no_form,
    ("distinct", "proved"): _distinct,
    ("distinct", "refuted"): _duplicates,
    ("distinct:", ""): _held,
    ("relations", ""): _relations,
    ("geometric", "proved"): _geometric,
    ("geometric", "refuted"): _uneven,
    ("aliasing", "proved"): _aliasing,
    ("aliasing", "refuted"): _aliases,
    ("recovery", ""): _recovery,
    ("candidates", ""): _candidates,
}


def _term(exhibit: Exhibit, k: int) -> str:
    return "unknown" if exhibit.form is None else term(exhibit.form.terms[k])


def _written(power: dict[str, Any]) -> str:
    return term(encoding.read_power(power))


def _ratio(text: str) -> str:
    """A factor before a channel, with its sign of multiplication; nothing for 1."""
    ratio = Fraction(text)
    if ratio == 1:
        return ""
    return f"{ratio}·" if ratio.denominator == 1 else f"({ratio})·"


def _float(text: str) -> float:
    return float(text) if text in ("nan", "inf", "-inf") else float(Fraction(text))


def _ulp(distance: Any) -> str:
    return safe(distance) if isinstance(distance, str) else show.exact(float(distance))


def _scalar(value: Any) -> bool:
    return isinstance(value, int | float | str)


def _listed(said: Sequence[str], count: int) -> str:
    more = f" and {count - len(said)} more" if count > len(said) else ""
    return ", ".join(said) + more
