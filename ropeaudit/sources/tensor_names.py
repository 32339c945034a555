"""Which tensors tell how a model rotates, by name: shared by every source that lists tensors.

Names are matched on their last component, because the path in front of it is the model's own
business. What a name alone cannot decide (``rope.freqs`` is a table of 64 numbers in Meta's
checkpoints and a learned 4-D parameter in vision transformers) is decided with the shape, by
:func:`readable`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import lru_cache

from ropeaudit.errors import quoted
from ropeaudit.facts import Note

INV_FREQ = "inv_freq"
"""Radians per position."""
FREQS = "freqs"
"""``inv_freq`` when it has one axis, otherwise a learned parameter."""
COS = "cos"
"""Rows of cosines, one a position; needs its sine partner."""
SIN = "sin"
COS_SIN = "cos_sin"
"""Rows that hold all cosines, then all sines, of one position."""
SIN_COS = "sin_cos"
"""The same with the sines first (GPT-J)."""
CIS = "cis"
"""Complex rows ``cos + i sin``."""
ROPE_FACTORS = "rope_factors"
ROPE_FACTORS_LONG = "rope_factors_long"
ROPE_FACTORS_SHORT = "rope_factors_short"
"""Divisors of a table (GGUF)."""
LEARNED = "learned"
"""A parameter of a position encoding that is no table; ``ropeaudit.encodings`` interprets it."""

MAX_CHANNELS = 65_536
"""A table longer than this is not one rotary table."""

MAX_COSINE = 100.0
"""Above any attention scaling that caches are multiplied by."""
NO_COSINES = "holds values that are no cosines and sines, as memory does that was never written"
NOT_FROM_ZERO = "does not begin with position 0, so no angle can be taken"

_EXACT = {
    "freqs": FREQS,
    "rope_freqs": FREQS,
    "rotary_freqs": FREQS,
    "cos_cached": COS,
    "cos_cache": COS,
    "_cos_cached": COS,
    "rope_cos": COS,
    "sin_cached": SIN,
    "sin_cache": SIN,
    "_sin_cached": SIN,
    "rope_sin": SIN,
    "cos_sin_cache": COS_SIN,
    "freqs_cis": CIS,
    "freqs_ci": CIS,
    "rope_factors_long": ROPE_FACTORS_LONG,
    "rope_factors_short": ROPE_FACTORS_SHORT,
    "_primitives": LEARNED,
    "thetas": LEARNED,
    "generator_raw_params": LEARNED,
    "raw_gamma": LEARNED,
    "raw_eta": LEARNED,
    "raw_jet_coefficients": LEARNED,
    "raw_jet_base": LEARNED,
}
_START_SYMBOL = "positional_encoder.identity"
"""Stored by tree encodings of APE alone: it tells them from sequences of the same shape."""
_LIVE = {"embed_positions": SIN_COS}
"""A checkpoint's embed_positions is a learned embedding."""
_INV_FREQ = re.compile(r"(?:^|_)inv_freqs?(?:_|$)|(?:^|_)inverse_freq(?:s|uency|uencies)?$")
_NOT_A_TABLE = re.compile(r"inv_freq_expanded$")
_LAYER = re.compile(
    r"(?:^|[._])(?:layers?|h|blocks?|blk|stages?|resblocks|decoder_layers|encoder_layers)\.(\d+)(?=\.)"
)
_WRAPPERS = frozenset(
    {"module", "_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_forward_module"}
)
_ADAPTER = ("base_model", "model")
_WRAPPED = re.compile("module|_orig_mod|base_model")
"""Occurs in every name that a wrapper changed."""
_COMMON = frozenset(
    {"bias", "scales", "qweight", "qzeros", "g_idx", "weight_scale", "weight_scale_inv", "absmax"}
)
"""Last components of nearly all other tensors, so that most names cost one set look-up."""


@lru_cache(maxsize=4096)
def leaf_role(leaf: str) -> str | None:
    """The role that the last component of a name claims, such as the attribute of a module."""
    found = _EXACT.get(leaf)
    if found is not None:
        return found
    if _INV_FREQ.search(leaf) and not _NOT_A_TABLE.search(leaf):
        return INV_FREQ
    return None


def interesting(name: str) -> str | None:
    """The role that a tensor's name claims, None for tensors that have nothing to do with rotation.

    Costs one split and one dictionary look-up, since checkpoints list up to 80,000 names.
    """
    leaf = name[name.rfind(".") + 1 :]
    if leaf == "weight":  # GGUF spells a table rope_freqs.weight; rope_freqs are divisors there
        parent = name[:-7].rpartition(".")[2]
        if parent == "rope_freqs":
            return ROPE_FACTORS
        return _EXACT.get(parent) if parent.startswith("rope_factors_") else None
    if leaf in _COMMON:
        return None
    if leaf == "identity":
        return LEARNED if name.endswith(_START_SYMBOL) else None
    return leaf_role(leaf)


def live_role(name: str) -> str | None:
    """As :func:`interesting`, for modules: some tables are held by a module and never saved.

    Modules ask with the attribute's name first, and with its path where that tells something.
    """
    if name == "identity":
        return LEARNED
    return _LIVE.get(name[name.rfind(".") + 1 :]) or interesting(name)


def readable(role: str, shape: Sequence[int]) -> str | None:
    """The role to store a tensor under once its shape is known; None when it is not to be read.

    One axis (others of length 1 allowed) for ``inv_freq``, ``freqs`` and factors; for caches at
    least two rows. A table with more axes (per head, per layer) is a learned encoding: ``learned``.
    """
    axes = [n for n in shape if n != 1]
    if role in (INV_FREQ, FREQS):
        if len(axes) > 1:
            return LEARNED
        return INV_FREQ if shape and 0 < math.prod(shape) <= MAX_CHANNELS else None
    if role in (COS, SIN, COS_SIN, SIN_COS, CIS):
        return role if cache_rows(shape) else None
    if role.startswith(ROPE_FACTORS):
        return role if len(axes) <= 1 and 0 < math.prod(shape) <= MAX_CHANNELS else None
    return role


def cache_rows(shape: Sequence[int]) -> tuple[int, int] | None:
    """``(positions, width)`` of a cache with one row a position; None for any other shape.

    Old checkpoints carry axes of length 1 (``[1, 1, positions, width]``); the data lies the same.
    """
    axes = [n for n in shape if n != 1]
    if len(axes) == 1 and shape and shape[-1] == 1:  # a rotary width of one value
        axes = [*axes, 1]
    if len(axes) != 2 or axes[0] < 2 or not 0 < axes[1] <= MAX_CHANNELS:
        return None
    return axes[0], axes[1]


def partner(name: str) -> str | None:
    """The name of the sine cache that belongs to a cosine cache, and the reverse."""
    head, dot, leaf = name.rpartition(".")
    role = leaf_role(leaf)
    if role not in (COS, SIN):
        return None
    old, new = ("cos", "sin") if role == COS else ("sin", "cos")
    return f"{head}{dot}{leaf.replace(old, new)}"


def angles(
    cos: Sequence[float], sin: Sequence[float], cos_zero: Sequence[float], sin_zero: Sequence[float]
) -> tuple[float, ...] | None:
    """Radians per position from the cache rows of positions 1 and 0, one for each channel.

    Rows that repeat each angle, as two halves or as neighbours, yield it once. None when row 0 is
    not position 0 (its sines are not all zero), because then row 1 is no step of one position.
    """
    if any(s != 0.0 for s in sin_zero) or any(not c > 0.0 for c in cos_zero):
        return None
    found = tuple(math.atan2(s, c) for s, c in zip(sin, cos, strict=True))
    half, odd = divmod(len(found), 2)
    if not odd and half:
        if found[:half] == found[half:]:
            return found[:half]
        if found[::2] == found[1::2]:
            return found[::2]
    return found


def unread(name: str, what: str, role: str | None) -> Note:
    """A note on a tensor that yields no table, and ``what`` it is.

    Its kind is ``meta_tensor`` without memory, ``broken_table`` where the model's own table must
    stand and something else does (nothing may then be said of that table), else ``unread_tensor``.
    """
    kind = "meta_tensor" if "meta device" in what else "unread_tensor"
    if kind == "unread_tensor" and (role == INV_FREQ or what == NO_COSINES):
        kind = "broken_table"
    return Note(kind, f"the tensor {quoted(name)} {what}")


def why_no_angles(cos: Sequence[float], cos_zero: Sequence[float], sin: Sequence[float]) -> str:
    """Why :func:`angles` found none: memory that was never written, or another first position."""
    plausible = all(-MAX_COSINE <= v <= MAX_COSINE for row in (cos, cos_zero, sin) for v in row)
    return NOT_FROM_ZERO if plausible and any(cos_zero) else NO_COSINES


def layer_of(name: str) -> int | None:
    """The layer that a tensor belongs to (``model.layers.7.…`` is 7), None outside of layers."""
    match = _LAYER.search(name)
    return None if match is None or len(match.group(1)) > 9 else int(match.group(1))


def unwrapped(name: str) -> str:
    """``name`` without the path steps that training wrappers add.

    DDP ``module.``, torch.compile ``_orig_mod.``, FSDP ``_fsdp_wrapped_module.``, activation
    checkpointing ``_checkpoint_wrapped_module.``, DeepSpeed ``_forward_module.`` anywhere in the
    path; PEFT ``base_model.model.`` at its start.
    """
    if not _WRAPPED.search(name):  # nearly every name
        return name
    steps = [s for s in name.split(".") if s not in _WRAPPERS]
    while tuple(steps[:2]) == _ADAPTER:
        steps = steps[2:]
    return ".".join(steps)
