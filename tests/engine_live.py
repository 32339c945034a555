"""Engines that are on this machine, asked config by config, and how a reader differs from them."""

from __future__ import annotations

import json
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Any

from ropeaudit.readers.engines.interface import Built
from ropeaudit.readers.engines.known import find
from ropeaudit.records import replace
from ropeaudit.schedule.core import Schedule
from tests.engine_vectors import outcome, request
from tests.oracles.engines import places
from tests.oracles.engines.serve import answer
from tests.oracles.engines.tables import Table, differences

LISTS = ("short", "long")
KEPT = {("exllamav2-0.3", "gemma3_text"), ("exllamav2-0.3", "cohere2")}
"""Read as in ``vectors.json`` although the release's own code says otherwise; a note tells."""


class Live:
    """A process in which one release answers."""

    def __init__(self, release: str) -> None:
        self.release = release
        command = [places.python(release), "-m", "tests.oracles.engines.serve", release]
        if folder := places.source(release):
            command += ["--source", folder]
        self.process = subprocess.Popen(
            command, cwd=places.ROOT, env=places.environment(release), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.process.communicate()

    def ask(self, config: dict[str, Any]) -> dict[str, Any]:
        """What the engine does with ``config`` (``serve.py``)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(config) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, f"{self.release} has ended; run serve.py by hand to see why"
        found: dict[str, Any] = json.loads(line)
        return found


class Here:
    """The transformers of this Python, asked without a process of its own."""

    def __init__(self) -> None:
        from tests.oracles.engines.transformers_models import start

        self.run = start()

    def ask(self, config: dict[str, Any]) -> dict[str, Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what it warns of is no refusal
            return answer(self.run, config)


def verdict(release: str, config: dict[str, Any], said: dict[str, Any]) -> tuple[str, str]:
    """(``same``, ``both refuse``, ``not covered``, ``skipped`` or ``differs``, in what)."""
    if "skipped" in said:
        return "skipped", said["skipped"]
    if (release, config["model_type"]) in KEPT:
        return "skipped", "kept as it was measured"
    (chosen,) = find([release])
    asked = request({"config": config, "file": "config.json"})
    status, built, reason = outcome(chosen.engine, asked, chosen.release)
    if status == "not_covered":
        return "not covered", reason
    if built is None:
        if "refused" in said:
            return "both refuse", reason
        return "differs", f"refused here ({reason}), built there"
    if "refused" in said:
        return "differs", f"built here, there {said['refused']}"
    found = list(differences(list(_compared(built, said, config)), said["tables"]))
    return ("differs", "; ".join(found[:3])) if found else ("same", "")


def _compared(built: Built, said: dict[str, Any], config: dict[str, Any]) -> Iterator[Schedule]:
    """Text schedules in the states in which the engine was seen.

    Where it was seen only as it starts, that is the list of longrope that stands first and the
    table at the declared length.
    """
    tables: Sequence[Table] = said["tables"]
    seen = {t.get("variant") for t in tables}
    schedules = [s for s in built.schedules if s.is_text]
    first = next((s.variant for s in schedules if s.variant in LISTS), None)
    for s in schedules:
        if s.variant is None or s.variant in seen or any("name" in t for t in tables):
            yield s
        elif s.variant in LISTS:
            if s.variant == first:
                yield replace(s, variant=None)
        elif said.get("fixed") or not s.is_grown:
            yield replace(s, variant=None)
