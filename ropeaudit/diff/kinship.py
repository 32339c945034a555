"""Whether the two sides can be one model at all, before and after something was done to it."""

from __future__ import annotations

from ropeaudit.diff.law import is_bare
from ropeaudit.schedule.subject import Subject


def bare_type(model_type: str | None) -> str:
    """A model type without what formats spell differently: ``gemma3_text``, ``gemma3``."""
    letters = (model_type or "").removesuffix("_text")
    return "".join(c for c in letters if c.isalnum())


def strangers(a: Subject, b: Subject) -> str | None:
    """A sentence where A and B are plainly two models: other depth, and other type or heads.

    Conversions change neither. Depth alone does not tell: a reader may know only the layers that
    rotate, and formats count the layers of a draft head or not.
    """
    depths = _depth(a), _depth(b)
    if None in depths or abs((depths[0] or 0) - (depths[1] or 0)) <= 1:
        return None
    if bare_type(a.model_type) == bare_type(b.model_type) and _heads(a) & _heads(b):
        return None
    return (
        f"A has {depths[0]} layers and B {depths[1]}, so these are two models: read what is said "
        "to be lost as what B has not"
    )


def _depth(subject: Subject) -> int | None:
    layers = [n for s in subject.schedules if s.is_text and not is_bare(s) for n in s.layers or ()]
    return max(layers) + 1 if layers else None


def _heads(subject: Subject) -> set[int | None]:
    return {s.head_dim for s in subject.schedules if s.is_text and not is_bare(s)}
