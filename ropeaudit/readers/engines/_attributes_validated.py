"""What config classes of transformers 4.57 do to ``rope_scaling`` as they load it.

``modeling_rope_utils.py`` 540-773 of 4.57.6 (``rope_config_validation``),
``configuration_phi3.py`` 185-240, ``configuration_phimoe.py`` 175-190,
``configuration_qwen2_vl.py`` 243-249.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ropeaudit.errors import quoted
from ropeaudit.facts import as_number
from ropeaudit.readers.engines._tf_types import NEEDED


def checked_v4(
    values: dict[str, Any], model_type: str | None, known: Mapping[str, Any]
) -> str | None:
    """Changes ``values["rope_scaling"]`` as the class does; why it stops, None if it does not."""
    scaling = values.get("rope_scaling")
    if scaling is None:
        return None
    if not isinstance(scaling, dict):
        return "rope_scaling is no object"
    scaling = values["rope_scaling"] = dict(scaling)
    if model_type == "phi3":
        return _phi3(scaling, values)
    if model_type in ("olmo", "olmo2"):
        return _olmo(scaling)
    if known.get("copies") and "type" in scaling:
        if scaling["type"] == "mrope" and "_vl" in (model_type or ""):
            scaling["type"] = "default"
        scaling["rope_type"] = scaling["type"]
    if model_type == "phimoe":
        problem = _phimoe(scaling, values)
        if problem is not None:
            return problem
    return _missing(scaling) if known.get("validates") else None


def _missing(scaling: Mapping[str, Any]) -> str | None:
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if not isinstance(kind, str) or kind not in NEEDED:
        return None  # a type that it does not know is only warned about
    absent = [key for key in NEEDED[kind] if key not in scaling]
    if "rope_type" not in scaling:
        absent.append("rope_type")
    if absent:
        return f"transformers 4.57 misses {', '.join(absent)} in rope_scaling"
    return None


def _phi3(scaling: dict[str, Any], values: Mapping[str, Any]) -> str | None:
    if scaling.get("type") in ("su", "yarn"):
        scaling["type"] = "longrope"
    if len(scaling) != 3:
        return f"transformers 4.57 wants exactly 3 keys in rope_scaling, there are {len(scaling)}"
    if scaling.get("type") != "longrope":
        return f"transformers 4.57 wants type longrope, found {quoted(scaling.get('type'))}"
    part = as_number(values.get("partial_rotary_factor", 1.0))
    try:
        head = values["hidden_size"] // values["num_attention_heads"]
        expected = int(head * (1.0 if part is None else part)) // 2
    except (KeyError, TypeError, ValueError, ArithmeticError):
        return "the rotary width cannot be told"
    for key in ("short_factor", "long_factor"):
        found = scaling.get(key)
        if not isinstance(found, list) or len(found) != expected:
            return f"transformers 4.57 wants {expected} numbers in {key}"
    return None


def _olmo(scaling: Mapping[str, Any]) -> str | None:
    """``configuration_olmo2.py``, at its end."""
    kind, factor = scaling.get("type"), scaling.get("factor")
    if len(scaling) != 2 or kind not in ("linear", "dynamic"):
        return "transformers 4.57 wants rope_scaling with type linear or dynamic and factor alone"
    if not isinstance(factor, float) or factor <= 1.0:
        return "transformers 4.57 wants a factor with a fraction point above 1"
    return None


def _phimoe(scaling: dict[str, Any], values: dict[str, Any]) -> str | None:
    scaling.setdefault("rope_type", scaling.get("type"))
    if "original_max_position_embeddings" in scaling:
        original = scaling["original_max_position_embeddings"]
        values["original_max_position_embeddings"] = original
    for key in ("short_mscale", "long_mscale"):
        if type(scaling.get(key)) not in (int, float):
            return f"transformers 4.57 wants a number as {key}"
    return None
