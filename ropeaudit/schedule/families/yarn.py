"""YaRN (Peng et al., 2309.00071): keep fast channels, divide slow ones, a ramp between.

Ramp: from channel ``low`` (``beta_fast`` turns within the original length) to ``high``
(``beta_slow`` turns). cos and sin are multiplied by ``attention_factor``, by default
``0.1 ln(factor) + 1``, or the ratio of two such terms when ``mscale`` and ``mscale_all_dim`` are
both non-zero (DeepSeek).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ropeaudit.errors import InvalidValue
from ropeaudit.schedule.families.interface import Built, Inputs, powers, reciprocal
from ropeaudit.schedule.float32 import f32, f32s

if TYPE_CHECKING:
    from ropeaudit.exact.inputs import ExactInputs
    from ropeaudit.exact.terms import ClosedForm

NAMES = ("yarn",)
REQUIRED = frozenset({"factor", "original_max_position_embeddings"})
OPTIONAL = frozenset(
    {"attention_factor", "beta_fast", "beta_slow", "mscale", "mscale_all_dim", "truncate"}
)


def build(inputs: Inputs) -> Built:
    original = inputs.positive("original_max_position_embeddings")
    factor = _factor(inputs, original)
    beta_fast, beta_slow = _turns(inputs, "beta_fast", 32.0), _turns(inputs, "beta_slow", 1.0)
    truncate = inputs.flag("truncate", True)
    dim, base = inputs.rotary_dim, inputs.rope_theta
    turns = powers(base, dim)
    if dim % 2:
        raise InvalidValue(
            f"yarn over {dim} dimensions: the ramp has one channel less than the table, expected "
            "an even rotary width; correct it",
            where="partial_rotary_factor",
        )
    low, high = ramp_ends(dim, base, original, beta_fast, beta_slow, truncate=truncate)
    table = blend(turns, factor, ramp(low, high, dim // 2))
    attention = attention_factor(inputs, factor)
    return Built(
        tuple(table),
        attention_scaling=attention,
        parameters={
            "factor": factor,
            "original_max_position_embeddings": original,
            "beta_fast": beta_fast,
            "beta_slow": beta_slow,
            "truncate": truncate,
            "ramp": (low, high),
        },
    )


def closed_form(inputs: ExactInputs) -> ClosedForm:
    from ropeaudit.schedule.families import _yarn

    return _yarn.closed_form(inputs)


def _factor(inputs: Inputs, original: float) -> float:
    if inputs.scaling.get("factor") is not None:
        return inputs.positive("factor")
    if "factor" in inputs.scaling and inputs.max_position_embeddings:
        return inputs.max_position_embeddings / original
    raise InvalidValue("the yarn scaling needs factor, which is missing; add it", where="factor")


def _turns(inputs: Inputs, key: str, default: float) -> float:
    """A bound of the ramp; the engine takes 0 for absent (``get(key) or default``)."""
    return inputs.positive(key, default) if inputs.number(key, default) else default


def mscale(scale: float, weight: float = 1.0) -> float:
    """``0.1 * weight * ln(scale) + 1``, and 1 for scale <= 1."""
    return 1.0 if scale <= 1 else 0.1 * weight * math.log(scale) + 1.0


def attention_factor(inputs: Inputs, factor: float) -> float:
    """The factor on cos and sin (2309.00071 section 3.4; DeepSeek's ratio)."""
    if inputs.scaling.get("attention_factor") is not None:
        return inputs.number("attention_factor")
    top, bottom = (inputs.number(key, 0.0) for key in ("mscale", "mscale_all_dim"))
    if not (top and bottom):
        return mscale(factor)
    denominator = mscale(factor, bottom)
    found = mscale(factor, top) / denominator if denominator else math.inf
    if not math.isfinite(found):
        raise InvalidValue(
            "mscale and mscale_all_dim make the attention factor infinite; correct either",
            where="mscale_all_dim",
        )
    return found


def ramp_ends(
    dim: int, base: float, original: float, beta_fast: float, beta_slow: float, *, truncate: bool
) -> tuple[float, float]:
    """Channels where the ramp starts and ends (2309.00071 eq. 17-18 solved for the channel)."""
    if base in (0, 1):
        raise InvalidValue("yarn needs a base other than 1; correct it", where="rope_theta")

    def channel(turns: float) -> float:
        at_one_turn = original / (turns * 2 * math.pi)
        if not 0 < at_one_turn < math.inf:
            return math.inf
        return dim * math.log(at_one_turn) / (2 * math.log(base))

    low, high = channel(beta_fast), channel(beta_slow)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidValue(
            "beta_fast and beta_slow place no yarn ramp; correct either", where="beta_fast"
        )
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    return max(low, 0), min(high, dim - 1)


def ramp(low: float, high: float, channels: int) -> list[float]:
    """0 up to ``low``, 1 from ``high``, linear between; float32 steps as in the engine."""
    if low == high:
        high += 0.001
    start, width = f32(low), f32(high - low)
    rises = f32s(f32(k - start) / width for k in range(channels))
    return [min(max(r, 0.0), 1.0) for r in rises]


def blend(turns: list[float], factor: float, rises: list[float]) -> list[float]:
    """Mix of kept and divided frequencies by the ramp, in the engine's order of rounding."""
    kept = reciprocal(turns)
    factor32 = f32(factor)
    divided = reciprocal(f32s(factor32 * t for t in turns))
    keep = f32s(1.0 - r for r in rises)
    drop = f32s(1.0 - k for k in keep)
    a = f32s(d * w for d, w in zip(divided, drop, strict=True))
    b = f32s(k * w for k, w in zip(kept, keep, strict=True))
    return f32s(x + y for x, y in zip(a, b, strict=True))
