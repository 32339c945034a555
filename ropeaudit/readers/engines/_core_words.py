"""What an engine does otherwise than the reference, in words: which base, which scaling is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ropeaudit.facts import as_number
from ropeaudit.schedule.core import Schedule
from ropeaudit.schedule.geometry import spans

Pair = tuple[Schedule, Schedule]

_NAMED = (
    ("factor", "factor"),
    ("original_max_position_embeddings", "original length"),
    ("low_freq_factor", "low_freq_factor"),
    ("high_freq_factor", "high_freq_factor"),
    ("beta_fast", "beta_fast"),
    ("beta_slow", "beta_slow"),
    ("truncate", "truncate"),
    ("partial_rotary_factor", "partial_rotary_factor"),
)
"""Parameters of laws, with what a reader calls them."""
_SHOWN = 8
"""Layers, ranges or names that one clause tells."""
_PLAIN = frozenset({"default", "axial"})


def words(
    pairs: Sequence[Pair],
    differing: Iterable[Pair],
    *,
    factors: float,
    silent: frozenset[str],
    layers: tuple[int, ...],
    turning: frozenset[int] | None,
) -> tuple[str, ...]:
    """Clauses, the gravest first; empty where nothing but the arithmetic differs.

    ``pairs`` are (engine's, reference's), ``differing`` those whose tables are not the same,
    ``factors`` the tolerance of ratios, ``layers`` those that rotate on one side only and
    ``turning`` those that the engine rotates.
    """
    told: dict[str, list[Schedule]] = {}
    for ours, theirs in differing:
        for said in _of_table(ours, theirs):
            told.setdefault(said, []).append(theirs)
    for ours, theirs in pairs:
        for said in _of_factors(ours, theirs, factors, silent):
            told.setdefault(said, []).append(theirs)
    concerned = [theirs for _, theirs in pairs]
    found = [_placed(said, where, concerned) for said, where in told.items()]
    if layers and turning is not None:
        more = [i for i in layers if i in turning]
        less = [i for i in layers if i not in turning]
        found += [f"rotates {_layers(more)}, which it should not"] if more else []
        found += [f"does not rotate {_layers(less)}"] if less else []
    return tuple(found)


def _of_table(ours: Schedule, theirs: Schedule) -> Iterator[str]:
    """Clauses about one pair of tables that are not the same; never none."""
    found = list(_inputs(ours, theirs))
    if found:
        yield from found
    elif theirs.variant in ("short", "long") and ours.rope_type == theirs.rope_type:
        other = "long" if theirs.variant == "short" else "short"
        yield f"the {other} list where the {theirs.variant} one belongs"
    elif theirs.variant and theirs.variant.startswith("@"):
        yield f"another table at {theirs.variant[1:]} positions"
    else:
        yield "another table"


def _inputs(ours: Schedule, theirs: Schedule) -> Iterator[str]:
    if ours.rotary_dim != theirs.rotary_dim:
        yield f"rotates {ours.rotary_dim} dimensions instead of {theirs.rotary_dim}"
    a, b = ours.rope_theta, theirs.rope_theta
    if a is not None and b is not None and not _near(a, b):
        yield f"base {number(a)} instead of {number(b)}"
    if ours.rope_type == theirs.rope_type:
        yield from _parameters(ours, theirs)
    elif ours.rope_type in _PLAIN:
        yield f"{_scaling(theirs)} lost"
    elif theirs.rope_type in _PLAIN:
        yield f"{_scaling(ours)} added"
    else:
        yield f"{_scaling(ours)} instead of {_scaling(theirs)}"


def _parameters(ours: Schedule, theirs: Schedule) -> Iterator[str]:
    for key, name in _NAMED:
        a, b = ours.parameters.get(key), theirs.parameters.get(key)
        x, y = as_number(a), as_number(b)
        if isinstance(a, bool) and isinstance(b, bool):
            if a != b:
                yield f"{name} {str(a).lower()} instead of {str(b).lower()}"
        elif x is not None and y is not None and not _near(x, y):
            yield f"{name} {number(x)} instead of {number(y)}"


def _scaling(schedule: Schedule) -> str:
    factor = as_number(schedule.parameters.get("factor"))
    by = "" if factor is None else f" by {number(factor)}"
    return f"{schedule.rope_type} scaling{by}"


def _of_factors(
    ours: Schedule, theirs: Schedule, tolerance: float, silent: frozenset[str]
) -> Iterator[str]:
    a, b = ours.attention_scaling, theirs.attention_scaling
    if "attention" not in silent and not _near(a, b, tolerance):
        yield f"attention scaling {number(a)} instead of {number(b)}"
    a, b = ours.softmax_scale, theirs.softmax_scale
    if "softmax" not in silent and not _near(a, b, tolerance):
        yield f"softmax scale {number(a)} instead of {number(b)}"
    if "pairing" not in silent and ours.pairing != theirs.pairing:
        yield f"{ours.pairing} pairing instead of {theirs.pairing}"


def _placed(said: str, where: Sequence[Schedule], all_: Sequence[Schedule]) -> str:
    """``said`` with the layer types that it concerns, where it does not concern all."""
    kinds = {s.layer_type for s in all_}
    concerned = {s.layer_type for s in where}
    if concerned == kinds or None in concerned:
        return said
    return f"{said} ({', '.join(_first(sorted(k for k in concerned if k)))})"


def _layers(numbers: Sequence[int]) -> str:
    """``layers 0-3, 7``; of more ranges than are told the first, and how many layers follow."""
    shown, rest = spans(numbers), ""
    if len(shown) > _SHOWN:
        shown = spans(numbers[:_SHOWN])
        rest = f" and {len(numbers) - _SHOWN} more ({len(numbers)} in all)"
    return f"layer{'s' if len(numbers) > 1 else ''} {', '.join(shown)}{rest}"


def _first(names: Sequence[str]) -> list[str]:
    more = len(names) - _SHOWN
    return [*names[:_SHOWN], f"{more} more"] if more > 0 else list(names)


def _near(a: float, b: float, relative: float = 1e-6) -> bool:
    return abs(a - b) <= relative * max(abs(a), abs(b))


def number(value: float) -> str:
    """A base or factor in full where it is whole, else in four digits."""
    if abs(value) < 1e15 and value == int(value):
        return str(int(value))
    return f"{value:.4g}"
