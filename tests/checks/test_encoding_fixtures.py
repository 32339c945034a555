"""Examples of RA7.. are what their script writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests import make_encoding_fixtures

FOLDER = Path(__file__).parents[2] / "fixtures" / "rules"


def content(path: Path) -> Any:
    """Bytes, or what a torch file holds: its archive differs between releases of torch."""
    if path.suffix not in {".pt", ".ckpt"}:
        return path.read_bytes()
    import torch

    whole = torch.load(path, weights_only=True)
    return repr(flat(whole))


def flat(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: flat(v) for k, v in value.items()}
    return np.asarray(value).tolist() if hasattr(value, "numpy") else value


def test_examples_are_what_their_script_writes(tmp_path: Path) -> None:
    make_encoding_fixtures.write(tmp_path)
    written = {p.relative_to(tmp_path): content(p) for p in tmp_path.rglob("*") if p.is_file()}
    there = {
        p.relative_to(FOLDER): content(p)
        for rule in make_encoding_fixtures.RULES
        for p in (FOLDER / rule).rglob("*")
        if p.is_file()
    }
    assert sorted(written) == sorted(there)
    assert [k for k in written if written[k] != there[k]] == []
