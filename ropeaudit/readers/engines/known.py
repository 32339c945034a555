"""Which engines there are, and which of them a user means by a name."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

import ropeaudit.readers.engines as package
from ropeaudit.errors import UsageError, quoted, shown, suggestion
from ropeaudit.facts import Note
from ropeaudit.readers.engines.interface import Engine, Release
from ropeaudit.records import record

ALL = "all"
REFERENCE = "transformers-5.24"
"""The release that the others are compared with."""

_NOT_ENGINES = frozenset({"interface", "known", "compare"})
_ORDER = (
    "transformers", "vllm", "sglang", "mlx-lm", "llama.cpp", "exllamav3", "exllamav2", "tgi",
    "ctranslate2", "deepspeed",
)  # fmt: skip
"""Order of appearance; an engine that is not named here comes last."""

_OLDER = frozenset({"transformers-5.20", "transformers-4.46", "mlx-lm-0.28"})
"""Releases that gave way to newer ones; they are judged where they are asked for."""

_ENGINE = r"(?P<engine>[a-z][a-z0-9._]*?(?:-lm)?)"
_VERSION = r"(?:(?:-|==|=)[vb]?(?P<version>\d+(?:\.\d+)*(?:[a-z.]+\d+)?))?"
_ALIASES = {
    "llamacpp": "llama.cpp", "llama-cpp": "llama.cpp", "llama_cpp": "llama.cpp",
    "mlx": "mlx-lm", "mlx_lm": "mlx-lm", "exl2": "exllamav2", "exl3": "exllamav3",
    "text-generation-inference": "tgi", "hf": "transformers",
}  # fmt: skip


@record(kw_only=True)
class Chosen:
    """A release that was asked for; ``note`` where it stands for a version that is not known."""

    engine: Engine
    release: Release
    note: Note | None = None


@cache
def engines() -> tuple[Engine, ...]:
    """Every engine module, in the order in which reports name them."""
    found: list[Engine] = [
        import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
        if not info.name.startswith("_") and info.name not in _NOT_ENGINES
    ]
    return tuple(sorted(found, key=_rank))


def _rank(engine: Engine) -> tuple[int, str]:
    name = engine.RELEASES[0].engine
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)


def releases() -> Iterator[tuple[Engine, Release]]:
    """Every known release, newest of an engine first."""
    for engine in engines():
        for release in engine.RELEASES:
            yield engine, release


def names() -> tuple[str, ...]:
    """Full names of all releases."""
    return tuple(release.name for _, release in releases())


@cache
def usual() -> tuple[Chosen, ...]:
    """The releases that a file is held against when none is asked for: those in use today."""
    return tuple(
        Chosen(engine=engine, release=release)
        for engine, release in releases()
        if release.name != REFERENCE and release.name not in _OLDER
    )


def find(asked: Iterable[str]) -> tuple[Chosen, ...]:
    """The releases that ``asked`` names, comma lists allowed, repeats dropped, in the order given.

    ``vllm`` is the newest known vLLM, ``vllm-0.33`` or ``vllm==0.33.1`` that one, ``all`` every
    release. A version outside those that are known means the nearest known one, with a note that
    says so. Raises UsageError for a name that is no engine.
    """
    found: dict[str, Chosen] = {}
    for text in asked:
        for name in text.split(","):
            if not name.strip():
                raise UsageError(
                    f"no reader has an empty name, as in {shown(text)}; known: {_known()}"
                )
            for chosen in _meant(name.strip()):
                found.setdefault(chosen.release.name, chosen)
    return tuple(found.values())


def singled(asked: Iterable[str]) -> frozenset[str]:
    """Full names of the releases that ``asked`` names one by one, not as ``all``."""
    named = [n for text in asked for n in text.split(",") if n.strip().lower() != ALL]
    return frozenset(c.release.name for c in find(named))


def _meant(name: str) -> Iterator[Chosen]:
    if name.lower() == ALL:
        yield from (Chosen(engine=e, release=r) for e, r in releases())
        return
    for engine, release in releases():
        if name.lower() == release.name.lower():
            yield Chosen(engine=engine, release=release)
            return
    yield _by_version(name)


def _by_version(name: str) -> Chosen:
    """An engine's name with or without a version that need not be a known one."""
    spelled = _ALIASES.get(name.lower(), name.lower())
    known = {e.RELEASES[0].engine: e for e in engines()}
    if spelled in known:
        return Chosen(engine=known[spelled], release=known[spelled].RELEASES[0])
    match = re.fullmatch(_ENGINE + _VERSION, spelled)
    stem = match["engine"] if match else ""
    engine = known.get(_ALIASES.get(stem, stem))
    if match is None or engine is None or match["version"] is None:
        raise UsageError(
            f"no reader {quoted(name)}; known: {_known()}"
            f"{suggestion(name, [*known, *names(), ALL])}"
        )
    wanted = match["version"]
    for release in engine.RELEASES:
        # A longer version lies in the range; a shorter one means the newest that begins so.
        if any(f"{wanted}.".startswith(f"{c}.") for c in release.covers) or any(
            c.startswith(f"{wanted}.") for c in release.covers
        ):
            return Chosen(engine=engine, release=release)
    return _nearest(engine, wanted)


def _known() -> str:
    named = ", ".join(sorted(e.RELEASES[0].engine for e in engines()))
    return f"{named}, each with the versions that `ropeaudit show --reader all` names"


def _nearest(engine: Engine, wanted: str) -> Chosen:
    """The known release nearest to version ``wanted``, by the numbers from the left."""
    target = _numbers(wanted)

    def distance(release: Release) -> tuple[int, ...]:
        at = max((_numbers(c) for c in release.covers), default=_numbers(release.version))
        width = max(len(at), len(target))
        pairs = zip(_filled(at, width), _filled(target, width), strict=True)
        return tuple(abs(a - b) for a, b in pairs)

    release = min(engine.RELEASES, key=distance)
    said = (
        f"{release.engine} {quoted(wanted)} is outside of the versions whose rules are known "
        f"({_ranges(engine)}); read by the nearest, {release.name}"
    )
    return Chosen(engine=engine, release=release, note=Note("nearest_reader", said))


def _ranges(engine: Engine) -> str:
    return ", ".join(dict.fromkeys(c for r in engine.RELEASES for c in r.covers or (r.version,)))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(n) for n in re.findall(r"\d+", version)[:4])


def _filled(numbers: tuple[int, ...], width: int) -> tuple[int, ...]:
    return numbers + (0,) * (width - len(numbers))
