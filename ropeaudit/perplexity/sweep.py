"""Sweeps: models, texts, lengths and variants from one YAML file, and those that are shipped.

    name: my-sweep
    reproduces: what the figures are to be held against
    models: [path/to/model]            # optional: else the model is named on the command line
    corpora: [pydoc_topics]
    contexts: [1024, 2048]
    windows: 32                        # all for every window that the text holds
    settings: {scoring: full, precision: 0.5%}
    variants:                          # as in plans of ropeaudit perturb
      - int8:sym
      - {recipe: "noise:eps={eps},seed={seed}", grid: {eps: [1e-4, 1e-3]}, seeds: 3}

Only ``variants`` is required. Every scalar is read from its own text, and a key or word that is not
known is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ropeaudit.errors import UsageError, quoted, quoted_path, suggestion
from ropeaudit.perplexity import _settings
from ropeaudit.perplexity.records import Settings
from ropeaudit.perplexity.run import Request
from ropeaudit.perturb import plan
from ropeaudit.perturb.recipe import Recipe
from ropeaudit.records import record, replace

CORPUS = "pydoc_topics"
FOLDER = Path(__file__).parent / "presets"

_KEYS = (
    "name", "reproduces", "models", "corpora", "contexts", "windows", "settings", "variants",
)  # fmt: skip


@record(kw_only=True)
class Sweep:
    """Every model with every text is one run; ``settings`` and ``recipes`` are those of all."""

    name: str
    reproduces: str = ""
    models: tuple[str, ...] = ()
    corpora: tuple[str, ...] = (CORPUS,)
    settings: Settings = Settings()
    recipes: tuple[Recipe, ...]


def presets() -> tuple[str, ...]:
    """Names of the sweeps that are shipped."""
    return tuple(sorted(p.stem for p in FOLDER.glob("*.yaml")))


def preset(name: str) -> Sweep:
    """A shipped sweep by its name; raises UsageError for an unknown one."""
    if name not in presets():
        near = suggestion(name, presets()) or f"; known: {', '.join(presets())}"
        raise UsageError(f"no preset {quoted(name)}{near}")
    return load(str(FOLDER / f"{name}.yaml"))


def load(path: str) -> Sweep:
    """A sweep from a file; raises UsageError, with the line, for anything unexpected."""
    shown = quoted_path(path)
    tree = plan.read(path)
    plan.require_known(tree, _KEYS, f"the plan {shown}")
    settings = _read(tree, "settings", _mapping, {}, shown)
    plan.require_known(settings, tuple(_SETTINGS), f"the plan {shown}")
    found = {n: _read(settings, n, read, None, shown) for n, read in _SETTINGS.items()}
    found |= {
        "contexts": _read(tree, "contexts", _numbers, None, shown),
        "windows": _read(tree, "windows", _count, None, shown),
    }
    made = replace(Settings(), **{n: v for n, v in found.items() if v is not None})
    try:
        _settings.require(made)
    except UsageError as error:
        raise UsageError(f"the plan {shown}: {error}") from None
    return Sweep(
        name=_read(tree, "name", _text, Path(path).stem, shown),
        reproduces=_read(tree, "reproduces", _text, "", shown),
        models=_read(tree, "models", _texts, (), shown),
        corpora=_read(tree, "corpora", _texts, (CORPUS,), shown),
        settings=made,
        recipes=plan.recipes(tree.get("variants"), shown),
    )


def requests(
    sweep: Sweep,
    *,
    models: Sequence[Any] = (),
    corpora: Sequence[str] = (),
    offline: bool = False,
    batch: int | None = None,
) -> tuple[Request, ...]:
    """One run for each model and text; those given here stand for the sweep's own.

    Raises UsageError where neither names a model.
    """
    chosen = tuple(models) or sweep.models
    if not chosen:
        raise UsageError(
            f"the sweep {quoted(sweep.name)} names no model; give one, as in: ppl path/to/model"
        )
    return tuple(
        Request(
            model=model,
            corpus=corpus,
            settings=sweep.settings,
            recipes=sweep.recipes,
            offline=offline,
            batch=batch,
        )
        for model in chosen
        for corpus in tuple(corpora) or sweep.corpora
    )


def _read(
    tree: Mapping[str, Any], name: str, read: Callable[[Any], Any], absent: Any, shown: str
) -> Any:
    if name not in tree:
        return absent
    value = tree[name]
    try:
        return read(value)
    except ValueError as error:
        line = getattr(tree, "lines", {}).get(name)
        what = quoted(value) if isinstance(value, str) else f"a {_kind(value)}"
        raise UsageError(
            f"the plan {shown}, line {line}: {name} is {what}, expected {error}"
        ) from None


def _kind(value: Any) -> str:
    return "mapping" if isinstance(value, dict) else "list"


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError("a mapping such as {scoring: full}")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text")
    return value.strip()


def _texts(value: Any) -> tuple[str, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise ValueError("a list of names")
    found = tuple(map(_text, listed))
    if len(set(found)) < len(found):
        raise ValueError("each name once")
    return found


def _whole(value: Any) -> int:
    if not isinstance(value, str) or not re.fullmatch(r"[0-9]{1,12}", value):
        raise ValueError("a whole number")
    return int(value)


def _numbers(value: Any) -> tuple[int, ...]:
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not listed:
        raise ValueError("a list of whole numbers, such as [1024, 2048]")
    try:
        return tuple(map(_whole, listed))
    except ValueError:
        raise ValueError("whole numbers only, such as [1024, 2048]") from None


def _count(value: Any) -> int | None:
    if value == "all":
        return None
    try:
        return _whole(value)
    except ValueError:
        raise ValueError("a whole number, or all") from None


def _flag(value: Any) -> bool:
    if value not in ("true", "false"):
        raise ValueError("true or false")
    return bool(value == "true")


def ratio(value: Any) -> float:
    """A number such as 0.005, or a percentage such as 0.5%; raises ValueError for other text."""
    text = value if isinstance(value, str) else ""
    match = re.fullmatch(r"((?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?) ?(%?)", text)
    if match is None:
        raise ValueError("a number such as 0.005, or a percentage such as 0.5%")
    return float(match[1]) / (100 if match[2] else 1)


_SETTINGS: Mapping[str, Callable[[Any], Any]] = {
    "offset": _whole,
    "scoring": _text,
    "stride": _whole,
    "bos": _flag,
    "precision": ratio,
    "threshold": ratio,
    "seed": _whole,
    "dtype": _text,
}
