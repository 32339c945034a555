"""What a report format provides, and how one is found by name."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from ropeaudit.errors import UsageError, quoted, suggestion

if TYPE_CHECKING:
    from ropeaudit.audit import Report
    from ropeaudit.schedule.subject import Subject

ALIASES = {"json": "json-v1"}
"""Short names; ``json`` moves on with the newest version, ``json-v1`` stays."""

RenderSchedules = Callable[[Sequence["Subject"]], str]


class Format(Protocol):
    """A module of this package."""

    FORMAT: str

    def render(self, report: Report) -> str:
        """The whole report as text that ends with a newline (or is empty)."""


@cache
def names() -> tuple[str, ...]:
    """Every name that ``--format`` takes, sorted, without importing the modules."""
    import ropeaudit.report as package

    found = {
        info.name.replace("_", "-")
        for info in pkgutil.iter_modules(package.__path__)
        if info.name != "interface" and not info.name.startswith("_")
    }
    return tuple(sorted(found | set(ALIASES)))


def load(name: str) -> Format:
    """The format module called ``name``; raises UsageError for an unknown one."""
    if name not in names():
        raise UsageError(
            f"no report format {quoted(name)}; known: {', '.join(names())}"
            f"{suggestion(name, names())}"
        )
    module = ALIASES.get(name, name).replace("-", "_")
    return import_module(f"ropeaudit.report.{module}")


def for_schedules(name: str) -> RenderSchedules:
    """The function by which format ``name`` writes the result of ``show``; raises UsageError."""
    render: RenderSchedules | None = getattr(load(name), "render_schedules", None)
    if render is None:
        able = ", ".join(of_schedules())
        raise UsageError(f"format {name} cannot show schedules; use one of {able}")
    return render


def of_schedules() -> tuple[str, ...]:
    """Names of the formats that can show schedules; imports every format."""
    return tuple(n for n in names() if hasattr(load(n), "render_schedules"))
