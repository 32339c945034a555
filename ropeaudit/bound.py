"""Rules bound to the parameters of their checks, ready to run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ropeaudit.checks.interface import is_of_encodings, load
from ropeaudit.packs import Pack, Rule, params_for
from ropeaudit.records import field, record, replace
from ropeaudit.schedule.subject import Subject


@record()
class Bound:
    """A rule with its parameters made, ready to run.

    ``params`` None: the check's defaults, made when the first subject needs the check.
    """

    rule: Rule
    params: Any = field(compare=False)


def bind(packs: Iterable[Pack]) -> tuple[Bound, ...]:
    """Rules of all packs by id, the last pack winning; raises PackError for bad parameters."""
    rules = {rule.id: rule for pack in packs for rule in pack.rules}
    return tuple(Bound(r, _params(r)) for _, r in sorted(rules.items()))


def _params(rule: Rule) -> Any:
    later = not rule.with_ and is_of_encodings(rule.check)
    return None if later else params_for(rule, load(rule.check))


def named_readers(rules: Sequence[Bound]) -> tuple[str, ...]:
    """Engines that rules name in their parameters."""
    return tuple(dict.fromkeys(n for b in rules for n in getattr(b.params, "readers", ())))


def wants_views(subject: Subject, rules: Sequence[Bound]) -> bool:
    """Whether a rule asks what engines build of this subject."""
    names = (b.rule.check for b in rules if not is_of_encodings(b.rule.check))
    return bool(subject.schedules) and any(load(name).NEEDS == "views" for name in names)


def limited(subject: Subject, rule: Rule) -> Subject:
    """``subject`` with the components alone that ``rule`` applies to."""
    if not rule.applies_to:
        return subject
    kept = tuple(s for s in subject.schedules if s.component in rule.applies_to)
    return subject if len(kept) == len(subject.schedules) else replace(subject, schedules=kept)
