"""What the method name of a Jordan-RoPE checkpoint decides (ybzhang-nxu/jordan_rope, ``model.py``).

The config stored with a checkpoint keeps base values (``bounded_tau`` true, ``gamma_min`` 1e-4)
even where the method builds something else, so the method comes first and overrides them. In names,
``c`` and ``g`` count hundredths, ``eta`` thousandths, and ``_eta1`` sets the largest eta to 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ropeaudit.document import Document
from ropeaudit.errors import InvalidValue, quoted, suggestion, unexpected
from ropeaudit.facts import Json, as_number
from ropeaudit.records import record

KEY = "position_method"
DEFAULTS: Mapping[str, Any] = {
    "theta": 1e4,
    "gamma_min": 1e-4,
    "eta_max": 0.1,
    "train_context": 1024,
    "bounded_tau": True,
    "shear_time_scale": 1.0,
    "max_exponent": 30.0,
}
RANGES: Mapping[str, tuple[float, float]] = {
    "theta": (1e-6, 1e15),
    "gamma_min": (0.0, 1e6),
    "eta_max": (0.0, 1e6),
    "shear_time_scale": (0.0, 1e6),
    "max_exponent": (1e-6, 88.0),
}
"""What is beyond is a slip; ``exp`` of more than 88 is infinite in float32."""
PLAIN = ("nope", "rope", "alibi", "rope_alibi")
"""Methods of the same code that store no parameter at all."""
NAMED = (
    "jordan_rope", "jordan_raw_tau", "jordan_no_gamma", "jordan_m3", "jordan_m4", "real_jordan",
    "damped_rope", "direct_sum", "jordan_exact_scaled",
)  # fmt: skip
SHOWN = (*NAMED[:-1], "jordan_etaNNN", "jordan_exact_[mK_]cNNN[_etaNNN][_eta1]",
         "jordan_jetmix[full]_mK_cNNN_gNNN…")  # fmt: skip

_FIXED: Mapping[str, Mapping[str, Any]] = {
    "jordan_rope": {},
    "jordan_raw_tau": {"bounded": False},
    "jordan_no_gamma": {"learned": ("raw_eta",), "gamma_min": 0.0},
    "jordan_m3": {"order": 3},
    "jordan_m4": {"order": 4},
    "real_jordan": {"still": True, "kind": "jordan-real"},
    "damped_rope": {"learned": ("raw_gamma",), "kind": "damped-rope", "module": "damped"},
    "direct_sum": {"still": True, "kind": "direct-sum", "module": "direct_sum"},
}
_SPELLED = {"bounded": "bounded_tau", "shear_scale": "shear_time_scale"}
_TOKEN = re.compile(r"(?:m\d{1,3}|c\d{1,9}|eta\d{1,9}|g\d{1,9}|alibi|scaled)\Z")


@record(kw_only=True)
class Plan:
    """One encoding as its method builds it.

    ``order``: pairs of one block. ``learned``: leaves of the parameters that the checkpoint must
    hold. ``bounded``: shear ``tau(t) = t / (1 + |t|/L)`` of absolute positions. ``shear_scale``:
    factor on the shear coordinate. ``jet_max``: bound of jet coefficients, None without jets.
    ``assumed``: settings that neither config nor method states.
    """

    method: str
    kind: str
    module: str
    order: int
    learned: tuple[str, ...]
    theta: float
    gamma_min: float
    eta_max: float
    train_context: int
    bounded: bool
    shear_scale: float
    max_exponent: float
    still: bool = False
    """Whether the blocks do not rotate (w = 0)."""
    jet_max: float | None = None
    alibi: bool = False
    assumed: frozenset[str] = frozenset()

    def settings(self) -> dict[str, Any]:
        """As an Encoding keeps them: plain JSON."""
        found = {
            "method": self.method,
            "form": "position-wise",
            "order": self.order,
            "theta": self.theta,
            "gamma_min": self.gamma_min,
            "eta_max": self.eta_max,
            "train_context": self.train_context,
            "tau": "bounded" if self.bounded else "linear",
            "shear_scale": self.shear_scale,
            "max_exponent": self.max_exponent,
            "rotates": not self.still,
            "alibi": self.alibi,
        }
        return found if self.jet_max is None else {**found, "jet_max": self.jet_max}


class Values:
    """Numbers of the config, checked; an absent one is the code's default and counts as assumed."""

    def __init__(self, document: Document | None) -> None:
        self.data: Mapping[str, Json] = {} if document is None else document.data
        self.file = "" if document is None else document.file
        self.assumed: set[str] = set()

    def number(self, name: str) -> float:
        value, (least, most) = self._raw(name), RANGES[name]
        number = as_number(value)
        if number is None or not least <= number <= most:
            bound = f"a number from {least:g} to {most:g}"
            raise unexpected(name, value, bound, where=f"/{name}")
        return number

    def whole(self, name: str) -> int:
        value = self._raw(name)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= 1 << 31:
            raise unexpected(name, value, "a whole number from 1", where=f"/{name}")
        return value

    def flag(self, name: str) -> bool:
        value = self._raw(name)
        if not isinstance(value, bool):
            raise unexpected(name, value, "true or false", where=f"/{name}")
        return value

    def _raw(self, name: str) -> Json:
        if name not in self.data and name in DEFAULTS:
            self.assumed.add(name)
            return DEFAULTS[name]
        return self.data.get(name)


def method_of(document: Document | None, options: Mapping[str, str]) -> str | None:
    """The method that the config states, else the user; None where nobody does.

    Raises InvalidValue where they differ: the parameters mean what the code made of them.
    """
    value = None if document is None else document.data.get(KEY)
    asked = options.get("method")
    if value is None:
        return asked
    if not isinstance(value, str):
        raise unexpected(KEY, value, "the name of a method", where=f"/{KEY}")
    if asked not in (None, value):
        raise InvalidValue(
            f"the config says {KEY} {quoted(value)}, and the option method says {quoted(asked)}; "
            "leave the option out, or correct the config",
            where=f"/{KEY}",
        )
    return value


def parse(method: str, document: Document | None, length: int | None = None) -> Plan:
    """The plan of ``method``; ``length`` is the training context where the user states it.

    Raises InvalidValue for a name that the code does not know, and for values of a wrong type.
    """
    values = Values(document)
    base, tokens = _split(method)
    common: dict[str, Any] = {
        "method": method,
        "module": "jordan",
        "order": 2,
        "learned": ("raw_gamma", "raw_eta"),
        "theta": values.number("theta"),
        "gamma_min": values.number("gamma_min"),
        "eta_max": values.number("eta_max"),
        "train_context": length or values.whole("train_context"),
        "bounded": values.flag("bounded_tau"),
        "shear_scale": values.number("shear_time_scale"),
        "max_exponent": values.number("max_exponent"),
    }
    changes = _changes(base, tokens, method, common["train_context"])
    values.assumed -= {_SPELLED.get(key, key) for key in changes}
    plan = {**common, **changes}
    plan.setdefault("kind", "jordan-stabilized" if plan["bounded"] else "jordan-raw")
    if "raw_eta" not in plan["learned"]:
        values.assumed.discard("eta_max")
    return Plan(**plan, assumed=frozenset(values.assumed))


def _split(method: str) -> tuple[str, list[str]]:
    """The family of a method and the tokens behind it."""
    if method in NAMED and method != "jordan_exact_scaled":
        return method, []
    for family in ("jordan_exact", "jordan_jetmixfull", "jordan_jetmix"):
        rest = method.removeprefix(family)
        if rest != method and (not rest or rest[0] == "_"):
            return family, [t for t in rest.split("_") if t]
    if re.fullmatch(r"jordan_eta\d{1,9}", method):
        return "jordan_rope", []
    raise _unknown(method)


def _unknown(method: str, why: str = "") -> InvalidValue:
    near = suggestion(method, (*NAMED, *PLAIN))
    why = why or "names no method of Jordan-RoPE"
    return InvalidValue(
        f"{KEY} is {quoted(method) or 'empty'}, which {why}; expected {', '.join(SHOWN)}{near}",
        where=f"/{KEY}",
    )


def _changes(family: str, tokens: list[str], method: str, length: int) -> dict[str, Any]:
    """What the method puts in place of the config's values."""
    if not family.startswith(("jordan_exact", "jordan_jetmix")):
        return dict(_FIXED[family])
    for token in tokens:
        if not _TOKEN.match(token) or (token == "scaled" and family != "jordan_exact"):
            raise _unknown(method, f"has the part {quoted(token)}, and nothing reads it")
    jets = family != "jordan_exact"
    order = _count(tokens, "m", 4 if jets else 2)
    if order < 2:
        raise _unknown(method, f"asks for order {order}, and blocks begin at 2")
    found: dict[str, Any] = {
        "order": order,
        "gamma_min": 0.0,
        "shear_scale": 1.0 / length,
        "alibi": "alibi" in tokens,
    }
    if jets:
        return found | _jets(method, tokens, order, full=family.endswith("full"))
    if "eta1" in tokens:
        found["eta_max"] = 1.0
    return found | {"bounded": False, "kind": "jordan-exact"}


def _jets(method: str, tokens: list[str], order: int, *, full: bool) -> dict[str, Any]:
    gates = sum(t.startswith("g") for t in tokens)
    wanted = order if full else order - 1
    if gates != wanted:
        raise _unknown(method, f"has {gates} parts such as g050, and order {order} needs {wanted}")
    learned = ("raw_gamma", "raw_jet_coefficients", *(("raw_jet_base",) if full else ()))
    return {"learned": learned, "kind": "jordan-jetmix", "jet_max": 2.0 if full else 1.0}


def _count(tokens: list[str], letter: str, default: int) -> int:
    found = (t[1:] for t in tokens if t[0] == letter and t[1:].isdigit())
    return int(next(found, default))
