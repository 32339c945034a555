"""Position values that a file states and an engine passed over, although they would matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite

from ropeaudit.facts import Json, as_number
from ropeaudit.readers.engines._raw_keys import Raw
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.families.yarn import mscale

BASES = ("rope_theta", "rotary_emb_base", "rope_local_base_freq", "global_rope_theta")
PARTS = ("partial_rotary_factor", "rotary_pct")
NUMBERS = (
    "factor", "original_max_position_embeddings", "beta_fast", "beta_slow", "low_freq_factor",
    "high_freq_factor",
)  # fmt: skip
TOP = (*BASES, *PARTS, "head_dim", "no_rope_layers", "original_max_position_embeddings")
SPELLED = {"su": "longrope", "mrope": "default", None: "default"}
NEAR = 1e-4


def ignored(nodes: Sequence[Raw], schedules: Sequence[Schedule]) -> tuple[str, ...]:
    """JSON pointers of values in ``nodes`` that nobody read and that ``schedules`` contradict."""
    if not schedules:
        return ()
    found: list[str] = []
    for node in nodes:
        found += (node.place(k) for k in TOP if k in node.data and _matters(node, k, schedules))
        for key in ("rope_scaling", "rope_parameters"):
            value = node.data.get(key)
            if isinstance(value, dict):
                found += _of_dict(node, key, value, schedules)
    return tuple(dict.fromkeys(found))


def _of_dict(
    node: Raw, key: str, value: Mapping[str, Json], schedules: Sequence[Schedule]
) -> Iterator[str]:
    """The whole object where nothing in it was read, else its keys one by one."""
    inner = node.inside(key, value)
    pointers = list(_leaves(inner, schedules))
    touched = any(p.startswith(f"{inner.pointer}/") for p in node.seen)
    if pointers and not touched:
        yield inner.pointer
    else:
        yield from pointers


def _leaves(inner: Raw, schedules: Sequence[Schedule]) -> Iterator[str]:
    for key, value in inner.data.items():
        if isinstance(value, dict):
            served = [s for s in schedules if s.layer_type == key] or list(schedules)
            yield from _leaves(inner.inside(key, value), served)
        elif _matters(inner, key, schedules):
            yield inner.place(key)


def _matters(node: Raw, key: str, schedules: Sequence[Schedule]) -> bool:
    """Whether ``key`` was passed over and says something else than the schedules."""
    value = node.data[key]
    if value is None or node.place(key) in node.seen:
        return False
    if key == "no_rope_layers":
        return _turns_otherwise(value, schedules)
    if key in ("rope_type", "type"):
        # The other spelling decides where both are there, and then this one says nothing.
        other = "type" if key == "rope_type" else "rope_type"
        wanted = SPELLED.get(value, value) if isinstance(value, str) else value
        return node.place(other) not in node.seen and all(s.rope_type != wanted for s in schedules)
    if key in ("short_factor", "long_factor"):
        return any(s.rope_type == "longrope" for s in schedules)
    if key == "truncate":
        yarn = [s for s in schedules if s.rope_type == "yarn"]
        return value is False and any(s.parameters.get(key, True) for s in yarn)
    found = as_number(value)
    if found is None or not isfinite(found):
        return False
    if key == "factor" and all(s.rope_type == "default" for s in schedules):
        kind = node.data.get("rope_type", node.data.get("type"))
        return found != 1 and kind not in (None, "default", "mrope")  # a law that came to nothing
    return _differs(node, key, found, schedules)


def _differs(node: Raw, key: str, value: float, schedules: Sequence[Schedule]) -> bool:
    if key in BASES:
        return all(s.rope_theta != value for s in schedules)
    if key in PARTS:
        part = min(value, 2.0)  # what turns more than the head is as wrong, and may overflow
        turned = [s for s in schedules if s.rope_type != "proportional"]  # its tables are padded
        return any(s.head_dim and int(s.head_dim * part) != s.rotary_dim for s in turned)
    if key == "head_dim":
        # Latent attention rotates a part with a width of its own, whatever the head's.
        latent = "qk_rope_head_dim" in node.data
        return not latent and all(s.head_dim not in (None, value) for s in schedules)
    if key in NUMBERS:
        used = [s.parameters.get(key, value) for s in schedules]
        if key == "original_max_position_embeddings":
            return any(
                u != value != s.context.trained for u, s in zip(used, schedules, strict=True)
            )
        return any(u != value for u in used)
    scaled = [s for s in schedules if s.rope_type in ("yarn", "longrope")]
    if key == "attention_factor":
        return any(abs(s.attention_scaling - value) > NEAR for s in scaled)
    if key == "mscale":
        weights = (value, as_number(node.data.get("mscale_all_dim")))
        return any(_other_ratio(s, *weights) for s in scaled)
    return False


def _other_ratio(schedule: Schedule, top: float, bottom: float | None) -> bool:
    """Whether DeepSeek's ratio is not the factor that the table has."""
    factor = schedule.parameters.get("factor")
    if not (top and bottom and factor) or schedule.rope_type != "yarn":
        return False
    ratio = mscale(factor, top) / mscale(factor, bottom)
    return abs(ratio - schedule.attention_scaling) > NEAR


def _turns_otherwise(value: Json, schedules: Sequence[Schedule]) -> bool:
    if not isinstance(value, list) or any(s.layers is None for s in schedules):
        return False
    if not value:
        return False  # an empty list is taken for none
    turning = {i for s in schedules for i in s.layers or ()}
    return turning != {i for i, turns in enumerate(value) if turns}
