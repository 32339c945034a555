"""Recipes: the text that names a variant, read strictly and written in one canonical way.

recipe := step ("+" step)*            "+" separates only before a letter, so 1e+6 stays whole
step   := head [":" arguments] ("@" scope)*
arguments := value | key "=" value ("," key "=" value)*
scope  := layer_type | encoding | quantity | "layers=" 3-7,9 | "head=" 2
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.perturb.interface import Head, Perturbation, heads
from ropeaudit.records import record, record_fields
from ropeaudit.schedule.geometry import spans

MAX_TEXT = 4096
MAX_STEPS = 32
MAX_LAYER = 100_000
QUANTITIES = ("frequency", "damping", "shear", "slope")
"""What the lists of an encoding may hold. Schedules have frequencies alone, and never the word."""

_PLUS = re.compile(r"\+(?=[A-Za-z])")
_STRAY = re.compile(r"\+(?=\s|\+|$)")
_SCOPE = re.compile(r"@(layers=[^@]*|head=[^@]*|[A-Za-z][\w.-]*)$")
_SCOPE_OF_PATH = re.compile(r"@(layers=[^@]*|head=[^@]*|[A-Za-z]\w*)$")
"""After a file, whose name may hold an @ and a suffix."""
_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


@record(kw_only=True)
class Scope:
    """What a step applies to; all None means every text schedule and every encoding.

    ``layer_type``: also a component, or the name or kind of an encoding. ``quantity`` is one of
    :data:`QUANTITIES` and reaches encodings alone, as ``head`` does.
    """

    layer_type: str | None = None
    quantity: str | None = None
    layers: tuple[int, ...] | None = None
    head: int | None = None

    def __bool__(self) -> bool:
        return self != Scope()

    @property
    def text(self) -> str:
        """The suffix as the canonical text spells it."""
        parts = [p for p in (self.layer_type, self.quantity) if p is not None]
        parts += [f"layers={','.join(spans(self.layers))}"] if self.layers is not None else []
        parts += [f"head={self.head}"] if self.head is not None else []
        return "".join(f"@{p}" for p in parts)


@record(kw_only=True)
class Step:
    """One perturbation with its parameters, and what it applies to."""

    head: str
    params: Any
    scope: Scope = Scope()

    @property
    def module(self) -> Perturbation:
        return heads()[self.head][1]

    @property
    def text(self) -> str:
        head = heads()[self.head][0]
        said = list(_said(head, self.params))
        if len(said) == 1 and said[0][0] == head.bare:
            inner = f":{said[0][1]}"
        else:
            inner = ":" + ",".join(f"{k}={v}" for k, v in said) if said else ""
        return f"{head.name}{inner}{self.scope.text}"

    def parameters(self) -> dict[str, Any]:
        """Every parameter after defaults, those that the head fixes included."""
        names = record_fields(type(self.params))
        return {spelt(name): getattr(self.params, name) for name in names}


@record()
class Recipe:
    """Steps in the order in which they apply; none leaves every table as it is."""

    steps: tuple[Step, ...]

    @property
    def text(self) -> str:
        """The canonical text; parsing it gives this recipe again."""
        return "+".join(step.text for step in self.steps)


def parse(text: str | Recipe) -> Recipe:
    """Read a recipe; raises UsageError with one sentence for anything that is not exactly one."""
    if isinstance(text, Recipe):
        return text
    if not isinstance(text, str):
        raise UsageError(f"a recipe is text such as int8:sym, not {quoted(text)}")
    if len(text) > MAX_TEXT:
        raise UsageError(f"a recipe of {len(text)} characters, expected at most {MAX_TEXT}")
    if not text.strip():
        raise UsageError("the recipe is empty; name a perturbation, such as int8:sym")
    parts = _PLUS.split(text.strip())
    if len(parts) > MAX_STEPS:
        raise UsageError(f"a recipe of {len(parts)} steps, expected at most {MAX_STEPS}")
    if any(not part.strip() or (_STRAY.search(part) and not _holds_path(part)) for part in parts):
        raise UsageError(
            f"recipe {quoted(text)}: a + stands directly between two steps, with no space after "
            "it, as in int8:sym+log4"
        )
    return Recipe(tuple(map(_step, parts)))


def _holds_path(step: str) -> bool:
    """Whether the step's argument is a file, whose name may hold any sign."""
    found = heads().get(step.partition(":")[0].strip())
    return found is not None and any(key.path for key in found[0].keys.values())


def _step(text: str) -> Step:
    rest, scope = _scoped(text.strip(), text)
    name, colon, arguments = rest.partition(":")
    head, module = _head(name.strip(), text)
    if colon and not arguments.strip():
        raise UsageError(f"recipe {quoted(name)}: nothing follows the colon; write {head.usage}")
    values = _values(head, arguments.strip(), text)
    try:
        params = _params(module, head, values)
        module.check(params)
    except ValueError as error:
        raise UsageError(f"recipe {quoted(text)}: {error}; write {head.usage}") from None
    return Step(head=_canonical_head(module, params), params=params, scope=scope)


def _head(name: str, text: str) -> tuple[Head, Perturbation]:
    found = heads().get(name)
    if found is None:
        near = suggestion(name.lower(), heads())
        raise UsageError(
            f"recipe {quoted(text)}: no perturbation {quoted(name)}"
            f"{near or '; known: ' + ', '.join(sorted(heads()))}"
        )
    return found


def _scoped(rest: str, text: str) -> tuple[str, Scope]:
    """The step without its scope suffixes, and the scope; the last suffix comes off first."""
    found: dict[str, Any] = {}
    scope = _SCOPE_OF_PATH if _holds_path(text) else _SCOPE
    while (match := scope.search(rest)) is not None:
        word = match[1]
        name, sign, value = word.partition("=")
        key = name if sign else "quantity" if word in QUANTITIES else "layer_type"
        if key in found:
            raise UsageError(f"recipe {quoted(text)}: the scope gives {key} twice")
        found[key] = _layers(value, text) if key == "layers" else word
        if key == "head":
            if not re.fullmatch(r"\d{1,6}", value):
                raise UsageError(
                    f"recipe {quoted(text)}: head is {quoted(value)}, expected a number"
                )
            found[key] = int(value)
        rest = rest[: match.start()]
    place, sign, left = rest.partition("@")
    if sign and not _holds_path(rest):
        raise UsageError(
            f"recipe {quoted(text)}: @{quoted(left)} is no scope; write @layer_type or "
            f"@layers=3-7 after {quoted(place)}"
        )
    return rest, Scope(**found)


def _layers(value: str, text: str) -> tuple[int, ...]:
    found: set[int] = set()
    for part in value.split(","):
        match = _RANGE.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or first) if match else -1
        if not 0 <= first <= last <= MAX_LAYER:
            raise UsageError(
                f"recipe {quoted(text)}: layers={quoted(value)}, expected ranges such as 3-7 or 0,4"
            )
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def _values(head: Head, arguments: str, text: str) -> dict[str, str]:
    """Parameter -> text, by its own name; raises UsageError for unknown and doubled keys."""
    spellings = {s: name for name, key in head.keys.items() for s in (spelt(name), *key.aliases)}
    first = arguments.partition("=")[0].strip()
    if not arguments:
        return {}
    if head.bare is not None and first not in spellings:
        return {head.bare: arguments}
    found: dict[str, str] = {}
    for part in arguments.split(","):
        name, sign, value = (p.strip() for p in part.partition("="))
        if not sign or not value:
            said = (
                f"{quoted(part)} is not key=value" if part.strip() else "a comma separates nothing"
            )
            raise UsageError(f"recipe {quoted(text)}: {said}; write {head.usage}")
        if name not in spellings:
            near = suggestion(name, spellings) or f"; write {head.usage}"
            raise UsageError(f"recipe {quoted(text)}: {head.name} has no key {quoted(name)}{near}")
        if spellings[name] in found:
            raise UsageError(f"recipe {quoted(text)}: the key {quoted(name)} stands twice")
        found[spellings[name]] = value
    return found


def _params(module: Perturbation, head: Head, values: Mapping[str, str]) -> Any:
    """Raises ValueError for a missing key or a value that cannot be read."""
    read = dict(head.fixed)
    for name, value in values.items():
        try:
            read[name] = head.keys[name].read(value)
        except ValueError as error:
            raise ValueError(f"{spelt(name)} is {quoted(value)}, expected {error}") from None
    with_default = record_fields(module.Params)
    missing = [spelt(n) for n in head.keys if n not in read and not with_default[n]]
    if missing:
        raise ValueError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    return module.Params(**read)


def _canonical_head(module: Perturbation, params: Any) -> str:
    """The first head of the module whose fixed parameters are these: int:bits=8 is int8."""
    return next(
        head.name
        for head in module.HEADS
        if all(getattr(params, name) == value for name, value in head.fixed.items())
    )


def _said(head: Head, params: Any) -> Iterator[tuple[str, str]]:
    """Keys of the canonical text, in order, those at an optional default left out."""
    plain = record_fields(type(params))
    defaults = type(params)(**{n: getattr(params, n) for n, has in plain.items() if not has})
    for name, key in head.keys.items():
        value = getattr(params, name)
        if value is not None and (key.always or value != getattr(defaults, name)):
            yield spelt(name), key.write(value)


def spelt(parameter: str) -> str:
    """A parameter as recipes spell it: ``from`` is a word of Python, so its record says from_."""
    return parameter.rstrip("_")
