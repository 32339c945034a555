"""All rules over learned encodings of real sizes, against plain ways to a part of it.

The largest public size is LieRE with blocks of 64 in a ViT-B: 2 axes, 12 layers of 12 heads. Its
peer computes the maps of a 5 x 5 grid, which only one of the rules needs, by torch's matrix
exponential; the others are measured against one eigendecomposition of their generators.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ropeaudit.audit import audit_subject, bind
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import of
from ropeaudit.packs import load_pack
from ropeaudit.schedule.subject import Subject
from tests.checks.encodings import by_hand
from tests.encodings import layouts_ape, layouts_liere, layouts_rope_vit

pytestmark = pytest.mark.bench

HEADS = 12


def seconds(work: Callable[[], Any], rounds: int = 3) -> float:
    best = np.inf
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return float(best)


def audited(encoding: Encoding) -> Callable[[], Any]:
    rules = [b for b in bind([load_pack("core")]) if b.rule.id.startswith("RA7")]
    subject = Subject(target="x", format="torch", encodings=(encoding,))
    return lambda: audit_subject(subject, rules)


def vit_b(block: int) -> Encoding:
    from ropeaudit.records import replace

    encoding = by_hand.liere(layouts_liere.initial(block, layers=12, heads=HEADS))
    settings = {**encoding.settings, "blocks_per_head": 64 // block}
    return replace(encoding, head_dim=64, heads=HEADS, settings=settings)


def test_liere_64_against_the_exponentials_of_its_grid() -> None:
    import torch

    encoding = vit_b(64)
    family = torch.tensor(of(encoding).generators(encoding))
    grid = [(x / 13, y / 13) for x in range(5) for y in range(5)]

    def peer() -> None:
        for x, y in grid:
            torch.linalg.matrix_exp(x * family[0] + y * family[1])

    ours, theirs = seconds(audited(encoding)), seconds(peer, 1)
    print(f"LieRE_64 ViT-B: all rules {ours:.2f} s, exponentials of the grid {theirs:.2f} s, "
          f"ratio {ours / theirs:.2f}")  # fmt: skip
    assert ours / theirs <= 4  # of a peer that uses every core


@pytest.mark.parametrize(
    ("name", "make", "limit"),
    [
        ("LieRE_8 ViT-B", lambda: vit_b(8), 30),
        ("RoPE-Mixed ViT-B", lambda: rope_mixed(), 6),
        ("APE, 8 heads of 64", lambda: ape(), 60),
    ],
)
def test_against_one_eigendecomposition(
    name: str, make: Callable[[], Encoding], limit: float
) -> None:
    encoding = make()
    generators = of(encoding).generators(encoding)
    assert generators is not None
    ours = seconds(audited(encoding))
    peer = seconds(lambda: np.linalg.eigh(1j * generators))
    print(f"{name}: all rules {ours:.3f} s, one eigh {peer:.3f} s, ratio {ours / peer:.1f}")
    assert ours / peer <= limit


def rope_mixed() -> Encoding:
    w = layouts_rope_vit.drawn(64, layouts_rope_vit.directions(12, HEADS))
    return _layers(by_hand.mixed(np.moveaxis(w[:, 0], 0, -1), (14, 14)), w.astype(float))


def _layers(encoding: Encoding, freqs: Any) -> Encoding:
    from ropeaudit.records import replace

    return replace(encoding, layers=tuple(range(12)), parameters={"freqs": freqs})


def ape() -> Encoding:
    a = layouts_ape.exact(8, 64).astype(float)
    return by_hand.ape(*(a - np.swapaxes(a, -1, -2)), length=512)
