"""Verifying a certificate against what sympy needs for the table's minimal polynomials."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
import sympy

from ropeaudit.certify import certify
from ropeaudit.verifier import Result, verify


def seconds(text: str) -> tuple[float, Result]:
    best, result = float("inf"), verify(text)
    for _ in range(3):
        started = time.perf_counter()
        result = verify(text)
        best = min(best, time.perf_counter() - started)
    return best, result


def certificate(folder: Path, width: int) -> str:
    target = folder / f"{width}.json"
    config = {"model_type": "llama", "hidden_size": width, "num_attention_heads": 1}
    more = {"num_hidden_layers": 1, "max_position_embeddings": 32768, "rope_theta": 1e6}
    target.write_text(json.dumps(config | more))
    return certify([str(target)]).to_json()


@pytest.mark.bench
def test_a_whole_certificate_in_the_time_of_the_minimal_polynomials(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small, result = seconds(certificate(tmp_path, 128))
    large, wide = seconds(certificate(tmp_path, 512))
    assert result.kind == wide.kind == "verified"
    x = sympy.Symbol("x")
    started = time.perf_counter()
    for k in range(64):
        sympy.minimal_polynomial(sympy.Integer(10**6) ** sympy.Rational(-k, 64), x)
    peer = time.perf_counter() - started
    with capsys.disabled():
        print(f"\n11 claims, d=128: {small / peer:.2f} of sympy's 64 minimal polynomials", end="")
        print(f" ({small * 1000:.0f} ms against {peer * 1000:.0f}); d=512: {large / small:.1f} x")
    assert small < peer
    assert large < 8 * small
