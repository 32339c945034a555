"""Scaling laws: from a law and its parameters to the closed form of every channel.

Written from the table in docs/certificates.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from ropeaudit.verifier import bands, numbers
from ropeaudit.verifier.bands import LENGTH, NoFormError, Parameters, ladder, scaled
from ropeaudit.verifier.reading import (
    Refused,
    counted,
    exact,
    keyed,
    listed,
    pointer,
    positive,
    refuse,
)
from ropeaudit.verifier.terms import Power, Term, power

MAX_CHANNELS = 65_536

_WIDTH = ("rope_theta", "rotary_dim")
PARAMETERS: dict[str, tuple[str, ...]] = {
    "default": _WIDTH,
    "linear": (*_WIDTH, "factor"),
    "proportional": ("rope_theta", "head_dim", "partial_rotary_factor", "factor"),
    "dynamic": (*_WIDTH, "factor", "max_position_embeddings", "length"),
    "ntk_alpha": (*_WIDTH, "alpha"),
    "ntk_fixed": (*_WIDTH, "factor"),
    "longrope": (*_WIDTH, "factors"),
    "yarn": (*_WIDTH, "factor", LENGTH, "beta_fast", "beta_slow", "truncate"),
    "llama3": (*_WIDTH, "factor", "low_freq_factor", "high_freq_factor", LENGTH),
    "axial": _WIDTH,
    "axial_thirds": _WIDTH,
    "axial_dealt": _WIDTH,
    "ernie_3d": (*_WIDTH, "mrope_section"),
    "dinov3": _WIDTH,
    "ladders": ("rope_theta", "axes_dim"),
}
_COUNTS = {"rotary_dim": 2 * MAX_CHANNELS, "head_dim": 2 * MAX_CHANNELS, "length": 10**12}
_LISTS = ("factors", "mrope_section", "axes_dim")


def parameters(law: Any, given: Any, where: str) -> Parameters:
    """The parameters of a law as numbers; refuses what is missing, odd or out of range."""
    if not isinstance(law, str) or law not in PARAMETERS:
        raise refuse(f"{where}/law", "a known law", law)
    place = f"{where}/parameters"
    found = keyed(given, PARAMETERS[law], place)
    return {name: _parameter(name, value, pointer(place, name)) for name, value in found.items()}


def _parameter(name: str, value: Any, where: str) -> Any:
    if name in _COUNTS:
        return counted(value, where, 1, _COUNTS[name])
    if name in _LISTS:
        if len(listed(value, where)) > MAX_CHANNELS:
            raise refuse(where, f"at most {MAX_CHANNELS} entries", value)
        return [positive(item, pointer(where, place)) for place, item in enumerate(value)]
    if name == "truncate":
        if type(value) is not bool:
            raise refuse(where, "true or false", value)
        return value
    if name == "partial_rotary_factor":
        share = exact(value, where)
        if share < 0:
            raise refuse(where, "a number of at least 0", value)
        return share
    return positive(value, where)


def closed_form(law: str, given: Parameters, where: str) -> list[Term]:
    """The terms of every channel. Raises Refused where the law states none."""
    try:
        return [*_LAWS[law](given)]
    except NoFormError as error:
        raise Refused(f"{where}/parameters: {error}, so no closed form is stated") from None
    except numbers.Undecided:
        raise Refused(
            f"{where}/parameters: enclosures as narrow as this verifier makes them do not tell "
            "which channels the law changes, so the terms cannot be checked"
        ) from None


def _default(p: Parameters) -> list[Power]:
    return ladder(p["rope_theta"], p["rotary_dim"])


def _linear(p: Parameters) -> list[Term]:
    return [scaled(theta, 1 / p["factor"]) for theta in _default(p)]


def _proportional(p: Parameters) -> list[Term]:
    channels = p["head_dim"] // 2
    turning = min(math.floor(p["partial_rotary_factor"] * p["head_dim"]) // 2, channels)
    thetas = ladder(p["rope_theta"], p["head_dim"], turning)
    still = [power(Fraction(0))] * (channels - turning)
    return [*(scaled(theta, 1 / p["factor"]) for theta in thetas), *still]


def _grown(p: Parameters, growth: Fraction) -> list[Term]:
    """b**(-k/n) * growth**(-k/(n-1))."""
    width = p["rotary_dim"]
    if width <= 2:
        raise NoFormError("a width of at most 2 has no second radical")
    return [
        power(Fraction(1), [*theta.factors, (growth, Fraction(-2 * k, width - 2))])
        for k, theta in enumerate(_default(p))
    ]


def _dynamic(p: Parameters) -> list[Term]:
    factor, declared = p["factor"], p["max_position_embeddings"]
    if p["length"] < declared:
        raise NoFormError("length is below max_position_embeddings")
    growth = factor * p["length"] / declared - (factor - 1)
    return _grown(p, growth)


def _ntk_alpha(p: Parameters) -> list[Term]:
    return _grown(p, p["alpha"])


def _ntk_fixed(p: Parameters) -> list[Term]:
    last = (p["factor"], Fraction(-2, p["rotary_dim"]))
    thetas = ladder(p["rope_theta"] * p["factor"], p["rotary_dim"])
    return [power(Fraction(1), [*theta.factors, last]) for theta in thetas]


def _longrope(p: Parameters) -> list[Term]:
    thetas = _default(p)
    if len(p["factors"]) != len(thetas):
        raise NoFormError(f"factors has {len(p['factors'])} entries for {len(thetas)} channels")
    return [scaled(theta, 1 / f) for theta, f in zip(thetas, p["factors"], strict=True)]


def _axial(p: Parameters) -> list[Term]:
    return [*ladder(p["rope_theta"], p["rotary_dim"] // 2)]


def _axial_thirds(p: Parameters) -> list[Term]:
    return [*ladder(p["rope_theta"], 2 * (p["rotary_dim"] // 6))]


def _dealt(thetas: Sequence[Power]) -> list[Term]:
    return [*thetas[0::2], *thetas[1::2]]


def _axial_dealt(p: Parameters) -> list[Term]:
    return _dealt(_default(p))


def _ernie_3d(p: Parameters) -> list[Term]:
    sections, thetas = p["mrope_section"], _default(p)
    whole = all(s.denominator == 1 for s in sections)
    if len(sections) != 3 or not whole or sum(sections) != len(thetas):
        raise NoFormError(f"mrope_section is not three counts that add up to {len(thetas)}")
    plane = int(sections[0] + sections[1])
    return [*_dealt(thetas[:plane]), *thetas[plane:]]


def _dinov3(p: Parameters) -> list[Term]:
    width = p["rotary_dim"]
    return [
        power(Fraction(1), [(p["rope_theta"], Fraction(-4 * k, width))])
        for k in range(-(-width // 4))
    ]


def _ladders(p: Parameters) -> list[Term]:
    widths = p["axes_dim"]
    if any(w.denominator != 1 for w in widths) or sum(widths) > 2 * MAX_CHANNELS:
        raise NoFormError("axes_dim are not widths of a head")
    return [theta for width in widths for theta in ladder(p["rope_theta"], int(width))]


_LAWS: dict[str, Callable[[Parameters], Sequence[Term]]] = {
    "default": _default,
    "linear": _linear,
    "proportional": _proportional,
    "dynamic": _dynamic,
    "ntk_alpha": _ntk_alpha,
    "ntk_fixed": _ntk_fixed,
    "longrope": _longrope,
    "yarn": bands.yarn,
    "llama3": bands.llama3,
    "axial": _axial,
    "axial_thirds": _axial_thirds,
    "axial_dealt": _axial_dealt,
    "ernie_3d": _ernie_3d,
    "dinov3": _dinov3,
    "ladders": _ladders,
}
