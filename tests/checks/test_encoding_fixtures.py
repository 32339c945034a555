"""Examples of RA7.. are what their script writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tests import make_encoding_fixtures

FOLDER = Path(__file__).parents[2] / "fixtures" / "rules"


def content(path: Path) -> Any:
    """Text as it is, tensors by name: bytes differ with the release of torch and of LAPACK."""
    if path.suffix == ".json":
        return {"": path.read_text()}
    if path.suffix == ".safetensors":
        from safetensors.numpy import load_file

        return load_file(path)
    import torch

    return flat(torch.load(path, weights_only=True))


def flat(value: Any, at: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {at: value.numpy() if hasattr(value, "numpy") else value}
    return {k: v for key, inner in value.items() for k, v in flat(inner, f"{at}/{key}").items()}


def test_examples_are_what_their_script_writes(tmp_path: Path) -> None:
    make_encoding_fixtures.write(tmp_path)
    written = {p.relative_to(tmp_path): p for p in tmp_path.rglob("*") if p.is_file()}
    there = {
        p.relative_to(FOLDER): p
        for rule in make_encoding_fixtures.RULES
        for p in (FOLDER / rule).rglob("*")
        if p.is_file()
    }
    assert sorted(written) == sorted(there)
    for name, path in written.items():
        new, old = content(path), content(there[name])
        assert list(new) == list(old), name
        for key, value in new.items():
            if isinstance(value, np.ndarray):
                assert (value.dtype, value.shape) == (old[key].dtype, old[key].shape), name
                assert np.allclose(value, old[key], rtol=0, atol=2e-6), (name, key)
            else:
                assert value == old[key], (name, key)
