"""Golden tables of every engine that is on this machine, measured anew. Opt-in, slow.

    PYTHONPATH=. python tests/oracles/readers.py                    all that is here
    PYTHONPATH=. python tests/oracles/readers.py mlx-lm-0.32 ...    these releases
    PYTHONPATH=. python tests/oracles/readers.py --list             what is here, and what is not

Where an engine is, environment variables say (``tests/oracles/engines/places.py``). For each one
its own oracle is run by the Python that has it, and all are asked the same random configs
(``any_configs.py``). Tables go into ``fixtures/readers``; versions and commands into ``made.json``
there. Engines that are absent are named, and their tables stay as they are. Ends with 1 where an
oracle failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.asked import COUNT, FOLDER, SEED, path_of, row, text_of
from tests.engine_live import Live
from tests.oracles.engines import places
from tests.oracles.engines.any_configs import drawn

MADE = FOLDER / "made.json"
SOURCE = "{source}"
"""Stands for the folder that the release's variable names, and is written as that variable."""


def _random(script: str, release: str, count: int) -> list[str]:
    return [
        script, release, "--folder", SOURCE, "--random", str(count), "--seed", "2026",
        "--golden", f"fixtures/readers/random_{release}.json",
    ]  # fmt: skip


OWN: dict[str, list[str]] = {
    "transformers-4.57": ["transformers_4x.py", "--write"],
    "transformers-4.46": ["transformers_4x.py", "--write"],
    "mlx-lm-0.32": _random("mlx_lm.py", "mlx-lm-0.32", 220),
    "mlx-lm-0.28": _random("mlx_lm.py", "mlx-lm-0.28", 220),
    "exllamav3-1.6": _random("exllama.py", "exllamav3-1.6", 130),
    "exllamav2-0.3": _random("exllama.py", "exllamav2-0.3", 70),
    "llama.cpp+tf5": ["llama_cpp.py", SOURCE, "--write"],
    "llama.cpp+tf4.57": ["llama_cpp.py", SOURCE, "--write"],
    "ctranslate2+tf4.57": ["ctranslate2_specs.py", "--write"],
    "ctranslate2+tf5.20": ["ctranslate2_specs.py", "--write"],
    "tgi-2026.01": ["tgi.py", SOURCE, "--write"],
}
"""Each engine's own oracle, which draws over all the families that it has."""
READ_ONLY = {"deepspeed-0.19": "its code is read and not run"}


def known() -> list[str]:
    return list(dict.fromkeys([*places.LIVE, *OWN]))


def run_own(release: str) -> str | None:
    """Runs the engine's own oracle; returns the command as others would write it, None if it has
    none. Raises CalledProcessError where the oracle fails or finds a difference."""
    if release not in OWN:
        return None
    script, *rest = OWN[release]
    folder = places.source(release) or ""
    arguments = [folder if a == SOURCE else a for a in rest]
    subprocess.run(
        [places.python(release), f"tests/oracles/engines/{script}", *arguments],
        cwd=places.ROOT, env=places.environment(release), check=True,
    )  # fmt: skip
    told = [f"${places.variable(release, 'SOURCE')}" if a == SOURCE else a for a in rest]
    return " ".join(["python", f"tests/oracles/engines/{script}", *told])


def run_asked(release: str) -> str | None:
    """Asks the release the common configs and writes what it builds."""
    if release not in places.LIVE:
        return None
    with Live(release) as engine:
        rows = [row(config, engine.ask(config)) for _, config in drawn(COUNT, SEED)]
    path_of(release).write_text(text_of(release, rows), encoding="utf-8")
    return f"python tests/oracles/readers.py {release}"


def remember(release: str, commands: list[str]) -> None:
    """Versions and commands of what was just measured."""
    made: dict[str, Any] = json.loads(MADE.read_text("utf-8")) if MADE.is_file() else {}
    made[release] = {"versions": places.versions(release), "commands": commands}
    body = ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in sorted(made.items()))
    MADE.write_text("{\n" + body + "\n}\n", encoding="utf-8")


def measure(wanted: list[str]) -> Iterator[str]:
    """Releases whose oracle failed; says on the way what is done and what is absent."""
    for release in wanted:
        why = READ_ONLY.get(release) or places.absent(release)
        if why is not None:
            print(f"{release}: absent, {why}")
            continue
        print(f"{release}: {places.versions(release)}", flush=True)
        try:
            commands = [run_own(release), run_asked(release)]
        except (subprocess.CalledProcessError, AssertionError) as error:
            print(f"{release}: {error}")
            yield release
            continue
        remember(release, [c for c in commands if c is not None])


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("release", nargs="*", help="default: all")
    parser.add_argument("--list", action="store_true", help="say what is here, and end")
    given = parser.parse_args()
    unknown = set(given.release) - set(known())
    if unknown:
        parser.error(f"no oracle for {', '.join(sorted(unknown))}; known: {', '.join(known())}")
    wanted = given.release or [*known(), *READ_ONLY]
    if given.list:
        for release in wanted:
            print(f"{release}: {READ_ONLY.get(release) or places.absent(release) or 'here'}")
        return 0
    return 1 if list(measure(wanted)) else 0


if __name__ == "__main__":
    sys.exit(main())
