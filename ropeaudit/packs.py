"""Rule packs: policy over checks, in YAML, loaded strictly.

Every scalar is read as its own text and converted by the type of the field it is for, so YAML's
number traps cannot bite: PyYAML would load ``1e-6`` as a string, ``017`` as 15 and ``no`` as False.
Duplicate and unknown keys are errors with a line and a suggestion; anchors and aliases are refused,
so that no file can unfold into gigabytes.

Shipped packs are also kept compiled (``_packs.json``, keyed by the YAML's sha256; ``make packs``
renews it): importing PyYAML costs more than auditing a config. A stale entry is simply not used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, get_type_hints

from ropeaudit.checks.interface import Check, slugs
from ropeaudit.errors import PackError, quoted, suggestion
from ropeaudit.findings import Severity
from ropeaudit.records import field, record, record_fields, replace

MAX_WORD = 100
MAX_PACK_BYTES = 1024 * 1024
_PACKAGE = Path(__file__).parent
_COMPILED = _PACKAGE / "_packs.json"
_PACK_KEYS = ("name", "version", "title", "extends", "rules", "override")
_RULE_KEYS = (
    "id", "name", "check", "with", "severity", "applies_to", "why", "fix", "since",
)  # fmt: skip
_OVERRIDE_KEYS = ("severity", "with", "applies_to", "enabled")


@record(kw_only=True)
class Rule:
    """One rule: a check with parameters, a severity, and words for people.

    ``with_`` holds the parameters as text; :func:`params_for` makes the check's Params of them.
    ``applies_to`` names components (``text``, ``vision``, ...); empty means all. ``overridden``:
    the file of the pack that sets a parameter anew, for each that one does.
    """

    id: str
    name: str
    check: str
    severity: Severity
    with_: Mapping[str, Any]
    applies_to: tuple[str, ...] = ()
    why: str = ""
    fix: str = ""
    since: str = ""
    pack: str = ""
    overridden: Mapping[str, str] = field(default_factory=dict)

    def sets(self, key: str) -> str:
        """Where parameter ``key`` is set, in words: the pack's rule, or a pack's override of it."""
        if key in self.overridden:
            return f"{quoted(self.overridden[key], 300)}: override of {self.id}"
        return f"rule {self.id} of pack {quoted(self.pack)}"


@record(kw_only=True)
class Pack:
    """A named list of rules; ``sha256`` is of the YAML's bytes, so that a report can be traced."""

    name: str
    version: str
    sha256: str
    rules: tuple[Rule, ...]
    path: str
    title: str = ""


def rules_folder() -> Path:
    """Where shipped packs lie: inside the package, or beside it in a checkout."""
    inside = _PACKAGE / "rules"
    return inside if inside.is_dir() else _PACKAGE.parent / "rules"


@cache
def shipped() -> tuple[str, ...]:
    """Names of the packs that come with ropeaudit, ``core`` (the default) first."""
    found = sorted(p.stem for p in rules_folder().glob("*.yaml"))
    return tuple(sorted(found, key=lambda name: name != "core"))


def load_pack(name_or_path: str) -> Pack:
    """A shipped pack by name or any pack by path; raises PackError with file and line."""
    return _load(name_or_path, ())


def params_for(rule: Rule, check: Check) -> Any:
    """The check's Params for a rule; raises PackError for unknown or malformed parameters."""
    hints = get_type_hints(check.Params)
    known = record_fields(check.Params)
    values = {}
    for key, text in rule.with_.items():
        if key not in known:
            raise PackError(f"{rule.sets(key)}: unknown parameter {_suggest(key, known)}")
        values[key] = _convert(text, hints[key], f"{rule.sets(key)}, parameter {quoted(key)}")
    missing = [n for n, has_default in known.items() if n not in values and not has_default]
    if missing:
        raise PackError(f"{rule.sets(missing[0])}: parameter {quoted(missing[0])} is required")
    return check.Params(**values)


def _load(name_or_path: str, seen: tuple[str, ...]) -> Pack:
    path = rules_folder() / f"{name_or_path}.yaml" if name_or_path in shipped() else None
    if path is None:
        path = Path(name_or_path)
        if path.suffix not in {".yaml", ".yml"} and not path.is_file():
            raise PackError(f"no rule pack and no file {_suggest(name_or_path, shipped())}")
    key = str(path)
    if key in seen:
        raise PackError(f"rule packs extend each other in a circle: {' -> '.join((*seen, key))}")
    try:
        data = path.read_bytes() if path.stat().st_size <= MAX_PACK_BYTES else None
    except OSError as error:
        raise PackError(f"cannot read the rule pack {quoted(key)}: {error.strerror}") from None
    if data is None:
        raise PackError(f"the rule pack {quoted(key)} is larger than {MAX_PACK_BYTES} bytes")
    digest = sha256(data).hexdigest()
    tree = _compiled().get(digest)
    if tree is None:
        from ropeaudit._yaml import parse  # PyYAML costs 30 ms

        tree = parse(data, key)
    return _build(tree, digest, key, (*seen, key))


@cache
def _compiled() -> Mapping[str, Any]:
    try:
        found: Mapping[str, Any] = json.loads(_COMPILED.read_bytes())
    except (OSError, ValueError):
        return {}
    return found


def _build(tree: Any, digest: str, path: str, seen: tuple[str, ...]) -> Pack:
    if not isinstance(tree, dict):
        raise PackError(f"{quoted(path)} is not a rule pack: expected name, version and rules")
    _known_keys(tree, _PACK_KEYS, path)
    name = _word(tree.get("name") or Path(path).stem, f"{path}: name")
    rules: dict[str, Rule] = {}
    for parent in _list(tree.get("extends"), f"{path}: extends"):
        folder = Path(path).parent
        beside = folder / str(parent)
        inherited = _load(str(beside) if beside.is_file() else str(parent), seen)
        rules.update({r.id: r for r in inherited.rules})
    for entry in _list(tree.get("rules"), f"{path}: rules"):
        rule = _rule(entry, name, path)
        if rule.id in rules and rules[rule.id].pack == name:
            raise PackError(f"{quoted(path)}: rule {rule.id} stands twice")
        rules[rule.id] = rule
    _override(rules, tree.get("override") or {}, path)
    if not rules:
        raise PackError(f"{quoted(path)} holds no rules")
    return Pack(
        name=name,
        version=_word(tree.get("version") or "0", f"{path}: version"),
        sha256=digest,
        rules=tuple(rules[k] for k in sorted(rules)),
        path=path,
        title=str(tree.get("title") or ""),
    )


def _rule(entry: Any, pack: str, path: str) -> Rule:
    if not isinstance(entry, dict) or not entry.get("id"):
        raise PackError(f"{quoted(path)}: every rule is a mapping with an id")
    identity = _word(entry["id"], f"{path}: rule {entry['id']}: id")
    where = f"{path}: rule {identity}"
    _known_keys(entry, _RULE_KEYS, where)
    check = str(entry.get("check") or entry.get("name") or "")
    if check not in slugs():
        raise PackError(f"{quoted(where)}: no check {_suggest(check, slugs())}")
    return Rule(
        id=identity,
        name=_word(entry.get("name") or check, f"{where}: name"),
        check=check,
        severity=_severity(entry.get("severity", "error"), where),
        with_=_mapping(entry.get("with"), f"{where}: with"),
        applies_to=tuple(map(str, _list(entry.get("applies_to"), f"{where}: applies_to"))),
        why=str(entry.get("why") or "").strip(),
        fix=str(entry.get("fix") or "").strip(),
        since=str(entry.get("since") or ""),
        pack=pack,
    )


def _override(rules: dict[str, Rule], changes: Any, path: str) -> None:
    by_name = {r.name: r.id for r in rules.values()}
    for key, change in _mapping(changes, f"{path}: override").items():
        where = f"{path}: override of {key}"
        rule_id = by_name.get(key, key)
        if rule_id not in rules:
            raise PackError(f"{quoted(where)}: no rule {_suggest(key, [*rules, *by_name])}")
        change = _mapping(change, where)
        _known_keys(change, _OVERRIDE_KEYS, where)
        if not _convert(str(change.get("enabled", "true")), bool, f"{quoted(where)}: enabled"):
            del rules[rule_id]
            continue
        rule = rules[rule_id]
        anew = _mapping(change.get("with"), where)
        severity = _severity(change.get("severity", rule.severity.label), where)
        applies = tuple(map(str, _list(change.get("applies_to"), where))) or rule.applies_to
        rules[rule_id] = replace(
            rule, severity=severity, applies_to=applies, with_={**rule.with_, **anew},
            overridden={**rule.overridden, **dict.fromkeys(anew, path)},
        )  # fmt: skip


def _known_keys(entry: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in entry:
        if key not in known:
            line = getattr(entry, "lines", {}).get(key)
            place = quoted(where) if line is None else f"{quoted(where)}, line {line}"
            raise PackError(f"{place}: unknown key {_suggest(key, known)}")


def _word(value: Any, where: str) -> str:
    """A name that every report can print as it is."""
    text = str(value)
    if not text.isprintable() or len(text) > MAX_WORD:
        raise PackError(
            f"{quoted(where)}: {quoted(text)}, expected at most {MAX_WORD} printable characters"
        )
    return text


def _severity(text: Any, where: str) -> Severity:
    try:
        return Severity.parse(str(text))
    except KeyError:
        raise PackError(
            f"{quoted(where)}: severity {quoted(text)}, expected error, warning or info"
        ) from None


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if value in (None, ""):
        return {}
    if not isinstance(value, dict):
        raise PackError(f"{quoted(where)}: expected a mapping")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if value in (None, ""):
        return []
    if not isinstance(value, list):
        raise PackError(f"{quoted(where)}: expected a list, as in [a, b]")
    return value


def _convert(text: Any, kind: Any, where: str) -> Any:
    if kind is bool:
        if text in ("true", "false"):
            return text == "true"
        raise PackError(f"{where} is {quoted(text)}, expected true or false")
    if kind in (int, float):
        try:
            number = kind(text)
        except (TypeError, ValueError):
            number = math.nan
        if number != number:  # a limit that is no number would let everything pass
            raise PackError(
                f"{where} is {quoted(text)}, expected {'an integer' if kind is int else 'a number'}"
            )
        return number
    if kind is str:
        return str(text)
    if getattr(kind, "__origin__", None) is tuple:
        return tuple(_convert(item, kind.__args__[0], where) for item in _list(text, where))
    raise PackError(f"{where}: parameters of type {kind} cannot be set in a pack")


def _suggest(name: str, known: Any) -> str:
    return f"{quoted(name)}{suggestion(name, known)}"


def compiled_packs() -> Iterator[tuple[str, Any]]:
    """(sha256, tree) of every shipped pack, for ``_packs.json``."""
    from ropeaudit._yaml import parse

    for name in shipped():
        data = (rules_folder() / f"{name}.yaml").read_bytes()
        yield sha256(data).hexdigest(), parse(data, name)


if __name__ == "__main__":
    _COMPILED.write_text(json.dumps(dict(compiled_packs()), indent=0, sort_keys=True) + "\n")
