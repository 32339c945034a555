"""Which claims there are: the modules of this package that make one, found by folder."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.proofs.interface import Claim, Exhibit

REQUIRED = ("form", "distinct")
"""What ``prove`` requires unless it is told otherwise."""
ABOUT_ENCODINGS = ("skew", "distinct", "relative")
"""Claims about encodings that are no single table; they are always made."""
ON_REQUEST = frozenset({"candidates"})
"""Claims that decide nothing and take seconds: made only when somebody asks."""
_FIRST = ("form", "recovery", "distinct", "relations", "geometric", "aliasing", "candidates")
"""The order of a page, from what the numbers are to what follows from it."""


@cache
def provers() -> Mapping[str, Any]:
    """The module behind each claim, in the order in which a certificate makes them.

    A module states one claim (``CLAIM``) or several of a kind (``CLAIMS``, such as one a format).
    """
    import ropeaudit.proofs as package

    found: dict[str, Any] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name == "interface" or info.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        found |= dict.fromkeys(_names(module), module)
    return {name: found[name] for name in sorted(found, key=_place)}


def _names(module: Any) -> tuple[str, ...]:
    """The claims of a module; none for one that helps to make them."""
    one = getattr(module, "CLAIM", None)
    return tuple(getattr(module, "CLAIMS", () if one is None else (one,)))


def _place(name: str) -> tuple[int, str]:
    """Known kinds first; of one kind, the claim itself and then those about a format."""
    kind = name.partition(":")[0]
    return (_FIRST.index(kind) if kind in _FIRST else len(_FIRST), name)


def selected(required: Iterable[str] = (), *, candidates: bool = False) -> tuple[str, ...]:
    """Claims to make: all but those on request, and what is required.

    Raises UsageError for a required claim that nobody makes.
    """
    wanted = set(known(required)) | (ON_REQUEST if candidates else set())
    return tuple(n for n in provers() if n not in ON_REQUEST or n in wanted)


def known(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` without repetitions; raises UsageError for one that is no claim, or for none."""
    found = tuple(dict.fromkeys(names))
    every = tuple(dict.fromkeys((*provers(), *ABOUT_ENCODINGS)))
    for name in found:
        if name not in every:
            raise UsageError(
                f"no claim {quoted(name)}; known: {', '.join(every)}{suggestion(name, every)}"
            )
    return found


def claims(exhibit: Exhibit, names: Iterable[str]) -> Iterator[Claim]:
    """Each of the claims ``names`` about one schedule."""
    for name in names:
        module = provers()[name]
        yield module.prove(exhibit, name) if hasattr(module, "CLAIMS") else module.prove(exhibit)
