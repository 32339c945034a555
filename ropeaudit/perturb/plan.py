"""Plans: many recipes from one YAML file, by grids over their parameters.

    variants:
      - int8:sym                                  # a recipe as it stands
      - recipe: "noise:eps={eps},seed={seed}"     # every combination of the grid
        grid: {eps: [1e-4, 1e-3, 1e-2]}
        seeds: 3                                  # seed = 0, 1, 2

Every scalar is taken as its own text, so ``1e-4`` is what the recipe gets. Combinations come in the
order in which the grid is written, the last key changing fastest, ``seed`` last of all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from ropeaudit.errors import PackError, UsageError, quoted, quoted_path, suggestion
from ropeaudit.perturb.recipe import Recipe, parse

MAX_BYTES = 1 << 20
MAX_VARIANTS = 10_000
_ENTRY = ("recipe", "grid", "seeds")
_PLACE = re.compile(r"\{([^{}]*)\}")


def load(path: str) -> tuple[Recipe, ...]:
    """The recipes of a plan in order; raises UsageError, with the line, for anything unexpected."""
    shown = quoted_path(path)
    tree = read(path)
    require_known(tree, ("variants",), f"the plan {shown}")
    return recipes(tree.get("variants"), shown)


def read(path: str) -> Mapping[str, Any]:
    """The mapping in a plan's file, with the lines of its keys; raises UsageError without one."""
    from ropeaudit._yaml import parse as parse_yaml

    shown = quoted_path(path)
    try:
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot read the plan {shown}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"the plan {shown} is larger than {MAX_BYTES:,} bytes")
    try:
        tree = parse_yaml(data, path)
    except PackError as error:
        raise UsageError(str(error)) from None
    if not isinstance(tree, dict):
        raise UsageError(f"the plan {shown} is not a mapping with the key variants")
    return tree


def recipes(entries: Any, shown: str) -> tuple[Recipe, ...]:
    """The recipes of ``variants`` in the plan ``shown``, grids and seeds carried out."""
    if not isinstance(entries, list) or not entries:
        raise UsageError(f"the plan {shown}: variants is no list of recipes; write - int8:sym")
    found: dict[str, Recipe] = {}
    for number, entry in enumerate(entries, 1):
        for text, where in _texts(entry, f"the plan {shown}, variant {number}", shown):
            recipe = _parsed(text, where)
            if recipe.text in found:
                raise UsageError(f"{where}: {quoted(recipe.text)} stands twice; keep one")
            found[recipe.text] = recipe
            if len(found) > MAX_VARIANTS:
                raise UsageError(f"the plan {shown} has more than {MAX_VARIANTS:,} variants")
    return tuple(found.values())


def _texts(entry: Any, where: str, file: str) -> Iterator[tuple[str, str]]:
    """(recipe text, place) of one entry, a combination of its grid each."""
    if isinstance(entry, str):
        yield entry, where
        return
    if not isinstance(entry, dict):
        raise UsageError(f"{where} is neither a recipe nor a mapping with recipe and grid")
    require_known(entry, _ENTRY, where)
    template = entry.get("recipe")
    if not isinstance(template, str) or not template.strip():
        raise UsageError(f"{where}: recipe is missing; write recipe: int8:sym")
    lines = getattr(entry, "lines", {})
    where = f"the plan {file}, line {lines['recipe']}"
    grid = _grid(entry, file)
    places = list(dict.fromkeys(_PLACE.findall(template)))
    for name in places:
        if name not in grid:
            near = suggestion(name, grid) or "; give its values under grid"
            raise UsageError(f"{where}: {{{quoted(name)}}} has no values{near}")
    for name in grid:
        if name not in places:
            near = suggestion(name, places) or f"; write {{{quoted(name)}}} where it belongs"
            raise UsageError(f"{where}: nothing in the recipe takes {quoted(name)}{near}")
    for values in product(*grid.values()):
        yield _filled(template, dict(zip(grid, values, strict=True))), where


def _filled(template: str, chosen: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda match: chosen[match[1]], template)


def _grid(entry: Mapping[str, Any], file: str) -> dict[str, list[str]]:
    lines = getattr(entry, "lines", {})
    given = entry.get("grid") or {}
    if not isinstance(given, dict):
        raise UsageError(
            f"the plan {file}, line {lines['grid']}: grid is no mapping; write "
            "grid: {eps: [1e-3]}"
        )
    found: dict[str, list[str]] = {}
    inner = getattr(given, "lines", {})
    for name, values in given.items():
        listed = [values] if isinstance(values, str) else values
        if not isinstance(listed, list) or not listed or not all(map(_is_text, listed)):
            raise UsageError(
                f"the plan {file}, line {inner[name]}: {quoted(name)} has no list of values; "
                f"write {quoted(name)}: [1, 2]"
            )
        found[name] = listed
    if "seeds" in entry:
        found |= _seeds(entry["seeds"], f"the plan {file}, line {lines['seeds']}", found)
    return found


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _seeds(count: Any, where: str, grid: Mapping[str, Any]) -> dict[str, list[str]]:
    if "seed" in grid:
        raise UsageError(f"{where}: seeds and a grid over seed say the same; keep one")
    known = isinstance(count, str) and count.isascii() and count.isdecimal() and len(count) < 6
    if not known or not 1 <= int(count) <= MAX_VARIANTS:
        raise UsageError(
            f"{where}: seeds is {quoted(count)}, expected how many, from 1 to {MAX_VARIANTS}"
        )
    return {"seed": [str(n) for n in range(int(count))]}


def _parsed(text: str, where: str) -> Recipe:
    try:
        return parse(text)
    except UsageError as error:
        raise UsageError(f"{where}: {error}") from None


def require_known(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Raises UsageError, with the line, for a key that is none of ``known``."""
    for key in entry:
        if key not in known:
            line = getattr(entry, "lines", {}).get(key)
            near = suggestion(key, known) or f"; known: {', '.join(known)}"
            raise UsageError(f"{where}, line {line}: unknown key {quoted(key)}{near}")
