"""Settings: command line over ``ROPEAUDIT_*`` variables over a settings file over the defaults.

The file is the nearest ``ropeaudit.toml``, or ``pyproject.toml`` with a ``[tool.ropeaudit]`` table,
from the working directory upwards. A key or variable that is not known is an error: a setting that
is quietly ignored is a gate that is quietly open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropeaudit.errors import ConfigError, quoted, suggestion
from ropeaudit.facts import MAX_LENGTH
from ropeaudit.records import field, record

PREFIX = "ROPEAUDIT_"
OTHER_VARIABLES = frozenset({"ROPEAUDIT_DEBUG", "ROPEAUDIT_MODELS"})
"""Variables that are no settings: the traceback switch, and where tests keep models."""
_MENTIONED = re.compile(rb"""tool\s*\.\s*["']?ropeaudit|^\s*(?:\[\s*tool\s*\]|tool\s*=)""", re.M)
"""What a pyproject.toml with a table for ropeaudit must hold, however it spells the table."""
MAX_FILE_BYTES = 4 * 1024 * 1024


def _choice(*words: str) -> Callable[[Any], str]:
    def parse(value: Any) -> str:
        if value not in words:
            raise ValueError(f"expected {', '.join(words[:-1])} or {words[-1]}")
        return str(value)

    return parse


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("expected a word")
    return value


def _flag(value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    found = value if isinstance(value, bool) else words.get(str(value).lower())
    if found is None:
        raise ValueError("expected true or false")
    return found


def _names(value: Any) -> tuple[str, ...]:
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(v, str) for v in items):
        raise ValueError("expected a list of names")
    names = tuple(n for n in (item.strip() for item in items) if n)
    if not names:
        raise ValueError("expected at least one name")
    return names


def _lengths(value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    parts = [p for v in items for p in (v.split(",") if isinstance(v, str) else [v])]
    lengths = []
    for part in parts:
        text = str(part).strip()
        if isinstance(part, bool) or not text.isascii() or not text.isdecimal():
            raise ValueError("expected positions as whole numbers, such as 8192 or 8192,32768")
        lengths.append(int(text) if len(text) < 20 else MAX_LENGTH + 1)
    if not lengths or not all(0 < n <= MAX_LENGTH for n in lengths):
        raise ValueError(f"expected lengths from 1 to {MAX_LENGTH}")
    return tuple(sorted(set(lengths)))


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    "format": _text,
    "rules": _names,
    "fail_on": _choice("error", "warning", "info"),
    "allow_unknown": _flag,
    "exit_zero": _flag,
    "context": _lengths,
    "reader": lambda value: tuple(n for item in _names(value) for n in _names(item)),
    "offline": _flag,
    "skip_unrecognised": _flag,
    "color": _choice("auto", "always", "never"),
}


@record(kw_only=True)
class Settings:
    """What a run is set to; ``origins`` says for each name where its value came from."""

    format: str = "console"
    rules: tuple[str, ...] = ("core",)
    fail_on: str = "error"
    allow_unknown: bool = False
    exit_zero: bool = False
    context: tuple[int, ...] = ()
    reader: tuple[str, ...] = ()
    offline: bool = False
    skip_unrecognised: bool = False
    color: str = "auto"
    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, name: str) -> str:
        return self.origins.get(name, "default")

    def lines(self) -> Iterator[str]:
        """``name = value  (origin)`` for each setting, sorted."""
        for name in sorted(_PARSERS):
            value = getattr(self, name)
            shown = ", ".join(map(str, value)) if isinstance(value, tuple) else value
            if isinstance(shown, bool):
                shown = str(shown).lower()
            yield f"{name} = {quoted(shown) or 'none'}  ({self.origin(name)})"


def load(
    given: Mapping[str, Any], *, env: Mapping[str, str], folder: Path | None = None
) -> Settings:
    """Settings of a run; raises ConfigError for unknown names and wrong values.

    ``given``: values of the command line, None where an option was not used. ``folder``: where the
    search for a settings file starts, None to look for none.
    """
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for found, origin in (
        _from_file(folder),
        _from_environment(env),
        ({k: v for k, v in given.items() if v is not None and v != []}, "command line"),
    ):
        for name, (value, place) in _parsed(found, origin).items():
            values[name], origins[name] = value, place
    return Settings(**values, origins=origins)


def _parsed(found: Mapping[str, Any], origin: str) -> dict[str, tuple[Any, str]]:
    parsed = {}
    for name, value in found.items():
        place = f"{PREFIX}{name.upper()}" if origin == "environment" else origin
        try:
            parsed[name] = _PARSERS[name](value), place
        except ValueError as error:
            shown = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
            raise ConfigError(f"{spelt(name, place)} is {quoted(shown)}, {error}") from None
    return parsed


def spelt(name: str, origin: str) -> str:
    """A setting as it is given there: an option, or the setting of a file or a variable."""
    option = name.replace("_", "-")
    given = origin == "command line"
    return f"--{option}" if given else f"the setting {option} of {quoted(origin, 300)}"


def _from_environment(env: Mapping[str, str]) -> tuple[dict[str, Any], str]:
    found = {}
    for variable in sorted(env):
        if not variable.startswith(PREFIX) or variable in OTHER_VARIABLES:
            continue
        name = variable.removeprefix(PREFIX).lower()
        if name not in _PARSERS:
            known = [PREFIX + n.upper() for n in _PARSERS]
            raise ConfigError(
                f"the environment variable {quoted(variable)} is no setting of ropeaudit"
                f"{suggestion(variable, known)}"
            )
        if env[variable]:
            found[name] = env[variable]
    return found, "environment"


def _from_file(folder: Path | None) -> tuple[dict[str, Any], str]:
    for place in () if folder is None else (folder, *folder.parents):
        for name in ("ropeaudit.toml", "pyproject.toml"):
            path = place / name
            table = _table(path, name)
            if table is not None:
                return _known(table, path), str(path)
    return {}, "file"


def _table(path: Path, name: str) -> Any | None:
    """The settings that a file holds, None when it is absent or says nothing about ropeaudit."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_FILE_BYTES:
            if name == "ropeaudit.toml" and path.exists():
                raise ConfigError(
                    f"{quoted(str(path), 300)} is no settings file: expected a regular file of at "
                    f"most {MAX_FILE_BYTES} bytes"
                )
            return None
        data = path.read_bytes()
    except OSError as error:
        if name == "pyproject.toml":
            return None  # somebody else's file, and unreadable: nothing was asked of us
        raise ConfigError(f"cannot read {quoted(str(path), 300)}: {error.strerror}") from None
    if name == "pyproject.toml" and not _MENTIONED.search(data):
        return None  # most projects: spare them the TOML parser
    import tomllib

    try:
        parsed = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = quoted(str(error), 200)
        raise ConfigError(f"{quoted(str(path), 300)} is not valid TOML: {why}") from None
    except RecursionError:
        raise ConfigError(f"{quoted(str(path), 300)} is nested too deep") from None
    tool = parsed.get("tool", {}) if name == "pyproject.toml" else {"ropeaudit": parsed}
    return tool.get("ropeaudit") if isinstance(tool, dict) else None


def _known(table: Any, path: Path) -> dict[str, Any]:
    where = quoted(str(path), 300)
    if not isinstance(table, dict):
        raise ConfigError(f"tool.ropeaudit of {where} is {quoted(table)}, expected a table")
    found: dict[str, Any] = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in _PARSERS:
            known = [n.replace("_", "-") if "-" in key else n for n in _PARSERS]
            raise ConfigError(f"{where}: unknown setting {quoted(key)}{suggestion(key, known)}")
        if name in found:
            raise ConfigError(f"{where}: the setting {name} stands twice, with - and with _")
        found[name] = _from_here(value, path.parent) if name == "rules" else value
    return found


def _from_here(value: Any, folder: Path) -> Any:
    """Pack files are named from the settings file, not from wherever the tool is started."""
    items: Sequence[Any] = [value] if isinstance(value, str) else value
    if not isinstance(items, list):
        return value
    return [
        str(folder / v) if isinstance(v, str) and v.endswith((".yaml", ".yml")) else v
        for v in items
    ]
