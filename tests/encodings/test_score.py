"""The one function for scores: numpy against torch, against operators, and its refusals."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import ropeaudit
from ropeaudit.encodings import score as scores
from ropeaudit.encodings.score import module, operators, score
from ropeaudit.errors import UsageError
from tests.checks.encodings import by_hand as make
from tests.encodings import layouts_liere, peers
from tests.encodings.every_kind import CASES, subject
from tests.encodings.test_attention import places


@pytest.mark.parametrize("name", CASES)
def test_numpy_and_torch_agree_in_every_layer(name: str, tmp_path: Path) -> None:
    for encoding in subject(name, tmp_path).encodings:
        assert isinstance(encoding, ropeaudit.Encoding)
        layers = len(encoding.layers or (0,))
        at, to = places(encoding, 5), places(encoding, 3)
        rng = np.random.default_rng(1)
        q = rng.standard_normal((2, encoding.heads, 5, encoding.head_dim))
        k = rng.standard_normal((2, encoding.heads, 3, encoding.head_dim))
        twin = module(encoding)
        for layer in range(layers):
            found = score(encoding, q, k, at, to, layer=layer)
            with torch.no_grad():
                other = twin(*map(torch.tensor, (q, k, at, to)), layer=layer).numpy()
            assert found.shape == (2, encoding.heads, 5, 3)
            assert np.abs(found - other).max() <= 1e-12 * np.abs(found).max()
            alone = score(encoding, q[0], k[0], at, to, layer=layer)
            assert np.array_equal(alone, found[0])


def test_it_is_what_the_operators_say_however_few_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoding = make.liere(layouts_liere.initial(8, layers=3, heads=1))
    at = np.random.default_rng(0).uniform(0, 1, (11, 2))
    q, k = (peers.drawn(encoding, 11, 3, seed) for seed in (1, 2))
    expected = peers.score(encoding, q, k, at, at)
    whole = [score(encoding, q[i], k[i], at, at, layer=i) for i in range(3)]
    assert np.stack(whole) == pytest.approx(expected, abs=1e-10)
    maps, same = operators(encoding, at, layer=2)
    assert maps.shape == same.shape == (11, 1, 64, 64)
    monkeypatch.setattr(scores, "_HELD", 1)
    for i in range(3):
        few = score(encoding, q[i], k[i], at, at, layer=i)
        assert few == pytest.approx(whole[i], abs=1e-12)
    assert operators(encoding, at, layer=2)[0] == pytest.approx(maps, abs=1e-12)


def test_the_factor_of_ape_is_asked_for() -> None:
    encoding = make.ape(make.generator([1.0, 0.3]))
    encoding.settings["decay"] = 0.98  # type: ignore[index]
    q = np.ones((1, 3, 4))
    at = np.array([0.0, 2.0, 5.0])
    plain, factor = score(encoding, q, q, at, at), 0.98 ** np.abs(at[:, None] - at[None, :])
    assert score(encoding, q, q, at, at, decayed=True) == pytest.approx(plain * factor, rel=1e-12)
    twin = module(encoding, decayed=True)
    with torch.no_grad():
        found = twin(*map(torch.tensor, (q[None], q[None], at[:, None], at[:, None])))
    assert found[0].numpy() == pytest.approx(plain * factor, rel=1e-12)
    with pytest.raises(UsageError, match="no factor of distance"):
        score(make.alibi(), np.ones((8, 3, 64)), np.ones((8, 3, 64)), at, at, decayed=True)


Q = np.ones((1, 3, 4))
AT = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"q": np.ones((2, 3, 4))}, r"q has the shape \[2, 3, 4\], expected \(batch, 1 heads"),
        ({"k": np.ones((1, 3, 6))}, "k has the shape"),
        ({"k": np.ones(4)}, "k has the shape"),
        ({"queries": AT[:, :1]}, r"queries has the shape \[3, 1\].*axes \('x', 'y'\)"),
        ({"queries": AT[:, 0]}, "queries has the shape"),
        ({"keys": AT[:2]}, "3 keys have 2 positions"),
        ({"keys": AT * np.nan}, "not finite"),
    ],
)
def test_shapes_that_do_not_fit(change: dict[str, np.ndarray], words: str) -> None:
    given = {"q": Q, "k": Q, "queries": AT, "keys": AT} | change
    with pytest.raises(UsageError, match=words):
        score(make.mixed([(1.0, 0.5), (0.3, 0.1)]), **given)


def test_a_layer_that_is_not_there() -> None:
    encoding = make.liere(layouts_liere.initial(2, layers=3, heads=1))
    q = np.ones((1, 3, 64))
    for layer in (3, -1):
        with pytest.raises(UsageError, match=f"layer {layer} is none of 3"):
            score(encoding, q, q, AT, AT, layer=layer)
    one = make.mixed([(1.0, 0.5), (0.3, 0.1)])
    assert np.array_equal(score(one, Q, Q, AT, AT, layer=7), score(one, Q, Q, AT, AT))


def test_numpy_scores_do_not_import_torch() -> None:
    code = (
        "import sys, ropeaudit.encodings.score as s\n"
        "assert not {'numpy', 'torch'} & set(sys.modules), 'import'\n"
        "from tests.checks.encodings import by_hand as make\nimport numpy as np\n"
        "q = np.ones((1, 3, 4))\n"
        "s.score(make.ape(make.generator([1.0, 0.3])), q, q, np.arange(3.0), np.arange(3.0))\n"
        "assert 'torch' not in sys.modules, 'score'"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=root, timeout=60
    )
    assert done.returncode == 0, done.stderr
