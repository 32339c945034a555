"""Where each release of an engine is on this machine, as environment variables say.

For a release such as ``mlx-lm-0.32`` the names begin with ``ROPEAUDIT_MLX_LM_0_32``:

    ..._SOURCE     the unpacked release (its script says which folder)
    ..._PYTHON     a Python that has what the release needs; default: this one
    ..._PACKAGES   folders to put before that Python's own packages (an unpacked transformers)

The release of transformers that is installed here needs none.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
GIVEN = {key: value for key, value in os.environ.items() if key.startswith("ROPEAUDIT_")}
"""As the process was started; the tests' fixtures clear them."""
SOURCES = frozenset(
    {
        "vllm-0.33", "sglang-0.5.23", "mlx-lm-0.32", "mlx-lm-0.28", "exllamav3-1.6",
        "exllamav2-0.3", "llama.cpp+tf5", "llama.cpp+tf4.57", "tgi-2026.01",
    }
)  # fmt: skip
"""Releases whose code is taken from a folder; the others are installed in a Python."""
LIVE = (
    "transformers-5.24", "transformers-5.20", "transformers-4.57", "transformers-4.46",
    "vllm-0.33", "sglang-0.5.23", "mlx-lm-0.32", "mlx-lm-0.28", "llama.cpp+tf5",
    "llama.cpp+tf4.57", "exllamav3-1.6", "exllamav2-0.3",
)  # fmt: skip
"""Releases that ``serve.py`` can ask."""
NEEDED = ("torch", "transformers", "mlx", "gguf", "ctranslate2", "numpy")
"""Packages whose versions are kept with what was measured."""
_ASK = (
    "import importlib.metadata as m, json, platform, sys\n"
    "found = {'python': platform.python_version()}\n"
    "for name in sys.argv[1:]:\n"
    "    try: found[name] = m.version(name)\n"
    "    except m.PackageNotFoundError: pass\n"
    "print(json.dumps(found))"
)


def variable(release: str, what: str) -> str:
    return f"ROPEAUDIT_{re.sub('[^A-Z0-9]', '_', release.upper())}_{what}"


def source(release: str) -> str | None:
    """The folder with the release's code, None where it has none or it is not here."""
    return GIVEN.get(variable(release, "SOURCE"))


def absent(release: str) -> str | None:
    """Why the release cannot be asked here; None where it can."""
    if release in SOURCES:
        folder = source(release)
        if folder is None:
            return f"{variable(release, 'SOURCE')} does not name its source"
        return None if Path(folder).exists() else f"{folder} is not there"
    if any(GIVEN.get(variable(release, what)) for what in ("PYTHON", "PACKAGES")):
        return None
    engine, _, wanted = release.partition("-")
    if importlib.util.find_spec(engine) and metadata.version(engine).startswith(f"{wanted}."):
        return None
    return f"{variable(release, 'PYTHON')} does not name a Python that has it"


def python(release: str) -> str:
    return GIVEN.get(variable(release, "PYTHON"), sys.executable)


def environment(release: str) -> dict[str, str]:
    """The environment of a process that asks the release."""
    paths = [*GIVEN.get(variable(release, "PACKAGES"), "").split(os.pathsep), str(ROOT)]
    own = {"PYTHONPATH": os.pathsep.join(p for p in paths if p), "OMP_NUM_THREADS": "1"}
    return {**os.environ, **GIVEN, **own, "TRANSFORMERS_VERBOSITY": "error"}


def versions(release: str) -> dict[str, str]:
    """What the release runs on here: its own version where its folder tells, and packages'."""
    asked = subprocess.run(
        [python(release), "-c", _ASK, *NEEDED],
        env=environment(release), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, str] = json.loads(asked.stdout)
    return {**_unpacked(release), **found}


def _unpacked(release: str) -> dict[str, str]:
    """The version that stands beside the unpacked source (``*.dist-info``, ``PKG-INFO``)."""
    folder = source(release)
    if folder is None:
        return {}
    for place in [Path(folder), *Path(folder).parents[:2]]:
        for path in [*place.glob("*.dist-info/METADATA"), *place.glob("PKG-INFO")]:
            text = path.read_text(encoding="utf-8", errors="replace")
            said: Any = re.search(r"^Name: (\S+)$.*?^Version: (\S+)$", text, re.M | re.S)
            other = re.search(r"^Version: (\S+)$.*?^Name: (\S+)$", text, re.M | re.S)
            if said:
                return {said[1]: said[2]}
            if other:
                return {other[2]: other[1]}
    return {}
