"""The scaling keys of a GGUF file, with llama.cpp's defaults.

``load_hparams`` in ``src/llama-model.cpp`` reads them, the constructor in ``src/llama-context.cpp``
settles what is left open. Three keys are read for a few architectures only; the others ignore them
without a word.
"""

from __future__ import annotations

import math

from ropeaudit.errors import InvalidValue, quoted, unexpected
from ropeaudit.facts import Fact, Origin
from ropeaudit.readers.llama_cpp.architectures import Architecture
from ropeaudit.readers.llama_cpp.keys import Keys
from ropeaudit.records import record
from ropeaudit.schedule.families.yarn import mscale

TYPES = frozenset({"none", "linear", "yarn", "longrope"})
DEFAULT_BASE = 10_000.0
COMMON = frozenset({"type", "factor", "attn_factor", "original_context_length", "finetuned"})
NEUTRAL = {
    "yarn_ext_factor": 1.0,
    "yarn_attn_factor": 1.0,
    "yarn_beta_fast": 32.0,
    "yarn_beta_slow": 1.0,
    "yarn_log_multiplier": 0.0,
    "alpha": 0.0,
}
"""Values with which it does not matter whether the key is read."""


@record(kw_only=True)
class Scaling:
    """Settled scaling. ``ext`` is the weight of the YaRN ramp, ``pre`` what the engine passes as
    attention factor, before its kernel multiplies by ``1 + 0.1 ln(factor)``."""

    kind: str
    factor: float
    original: float | None
    ext: float
    pre: float
    beta_fast: float
    beta_slow: float
    log_multiplier: float


def base(keys: Keys, arch: Architecture, name: str, default: float) -> tuple[float, Fact]:
    """The base under the key ``name``, or ``default``, and where it comes from."""
    value = None if arch.fixed_base else keys.number(name)
    if value is None:
        return default, Fact("rope_theta", default, Origin.DEFAULT)
    return value, keys.fact("rope_theta", name, value)


def alpha(keys: Keys, arch: Architecture) -> float | None:
    """What the base grows by; None where the key is absent, not read or not above 0."""
    value = keys.number("rope.scaling.alpha") if "alpha" in arch.reads else None
    return value if value is not None and value > 0 else None


def grown(keys: Keys, arch: Architecture, value: float, dim: int) -> float:
    """The base after ``rope.scaling.alpha``: base * alpha ** (d / (d - 2)) (Hunyuan).

    Infinite where it overflows.
    """
    by = alpha(keys, arch)
    if by is None or dim <= 2:
        return value
    try:
        return float(value * by ** (dim / (dim - 2)))
    except OverflowError:
        return math.inf


def settle(keys: Keys, arch: Architecture) -> Scaling:
    """Reads the scaling keys; raises InvalidValue for values of a wrong type.

    ``kind`` may be a type that the engine does not know.
    """
    kind = keys.text("rope.scaling.type", "rope_type")
    if kind is None:
        kind = "linear"
    factor = keys.number("rope.scaling.factor", "factor")
    if factor is None:
        factor = keys.number("rope.scale_linear", "factor")
    factor = factor or 1.0  # the engine takes 0 as absent
    if factor < 0:
        raise unexpected(
            "rope.scaling.factor", factor, "a number above 0", where="rope.scaling.factor"
        )
    original = keys.count(
        "rope.scaling.original_context_length", "original_max_position_embeddings"
    )
    if kind == "none":
        factor = 1.0
    ext = _extra(keys, arch, "yarn_ext_factor", -1.0)
    if ext < 0:
        ext = 1.0 if kind == "yarn" else 0.0
    log_multiplier = _extra(keys, arch, "yarn_log_multiplier", 0.0) / arch.log_unit
    attention = keys.number("rope.scaling.attn_factor", "attention_factor")
    pre = _pre(keys, arch, factor, ext, log_multiplier)
    pre *= 1.0 if attention is None else attention
    if not math.isfinite(pre):
        raise InvalidValue(
            f"a scaling factor of {quoted(factor)} with yarn_log_multiplier "
            f"{quoted(log_multiplier)} gives no finite attention factor; correct either",
            where="rope.scaling.factor",
        )
    return Scaling(
        kind=kind,
        factor=factor,
        original=original or None,
        ext=ext,
        pre=pre,
        beta_fast=_extra(keys, arch, "yarn_beta_fast", arch.beta_fast),
        beta_slow=_extra(keys, arch, "yarn_beta_slow", 1.0),
        log_multiplier=log_multiplier,
    )


def _extra(keys: Keys, arch: Architecture, name: str, default: float) -> float:
    if name not in arch.reads:
        return default
    value = keys.number(f"rope.scaling.{name}", name)
    return default if value is None else value


def _pre(keys: Keys, arch: Architecture, factor: float, ext: float, log_multiplier: float) -> float:
    if ext == 0:
        return _extra(keys, arch, "yarn_attn_factor", 1.0)
    wanted = mscale(factor)
    if log_multiplier:
        # deepseek2 takes mscale = mscale_all_dim unless the latter is 1; the others assume 1.
        own = log_multiplier if arch.log_both and log_multiplier != 1.0 else 1.0
        divisor = mscale(factor, log_multiplier)
        wanted = mscale(factor, own) / divisor if divisor else math.inf
    kernel = kernel_gain(factor)
    return wanted / kernel if kernel else math.inf


def kernel_gain(factor: float) -> float:
    """What the kernel multiplies the attention factor by while ``ext`` is not 0."""
    return 1.0 + 0.1 * math.log(factor)


def attention(scaling: Scaling, factor: float, ext: float) -> float:
    """The factor on cos and sin of a layer that is scaled by ``factor`` and ``ext``."""
    return scaling.pre * (kernel_gain(factor) if ext else 1.0)


def softmax(scaling: Scaling, arch: Architecture) -> float:
    """DeepSeek's extra factor on the logits (``src/models/deepseek2.cpp``), 1 elsewhere."""
    if not arch.logits:
        return 1.0
    gain = kernel_gain(scaling.factor)
    log_gain = 1.0 + scaling.log_multiplier * (gain - 1.0)
    root = scaling.pre * gain * log_gain
    if not math.isfinite(root * root):
        raise InvalidValue(
            "the attention factor and yarn_log_multiplier give no finite factor on the logits; "
            "correct either",
            where="rope.scaling.attn_factor",
        )
    return root**2
