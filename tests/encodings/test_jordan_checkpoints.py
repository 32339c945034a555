"""Checkpoints of Jordan-RoPE: what each method makes of the parameters, and broken ones."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

from ropeaudit.encodings import jordan
from ropeaudit.errors import InvalidValue, UsageError
from tests.encodings import layouts_jordan as layouts
from tests.encodings.jordan_models import METHODS, WIDTHS, read
from tests.encodings.make import recognised
from tests.encodings.vectors import VECTORS


@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str) -> None:
    kind, order, bounded = METHODS[method]
    encoding = read(method, width=WIDTHS.get(order, 64))
    assert (encoding.kind, encoding.module, encoding.layers) == (kind, "jordan", (0, 1))
    assert encoding.kind in jordan.KINDS
    spectrum = jordan.spectrum(encoding)
    assert spectrum.order == order
    assert spectrum.tau == ("bounded" if bounded else "linear")
    units = encoding.head_dim // (2 * order)
    assert spectrum.w.shape == (2, 2, units, 1)
    assert 2 * spectrum.order * spectrum.multiplicity * units == encoding.head_dim
    assert encoding.assumed == frozenset()
    assert encoding.positions.trained == (1024,)
    assert (jordan.bias(encoding, np.zeros((1, 1)), np.zeros((1, 1))) is not None) == (
        method.endswith("_alibi")
    )
    assert encoding.provenance[0].value == method


def test_the_method_overrides_the_stored_config() -> None:
    base = layouts.config("jordan_exact_scaled")
    assert (base["bounded_tau"], base["gamma_min"]) == (True, 1e-4)
    exact = read("jordan_exact_scaled")
    assert (exact.settings["tau"], exact.settings["gamma_min"]) == ("linear", 0.0)
    assert jordan.spectrum(exact).eta_scale == 1 / 1024
    assert jordan.spectrum(exact).gamma == pytest.approx(np.full((2, 2, 8), 1 / 1024), rel=1e-6)
    raw = read("jordan_raw_tau")
    assert (raw.settings["tau"], raw.settings["gamma_min"]) == ("linear", 1e-4)
    assert jordan.spectrum(raw).gamma == pytest.approx(np.full((2, 2, 8), 1e-4 + 1e-8), rel=1e-6)
    still = read("jordan_no_gamma")
    assert not jordan.spectrum(still).gamma.any()


def test_raw_values_of_the_vector() -> None:
    expected = VECTORS["jordan_repo_raw_params"]
    assert layouts.raw_gamma(1e-4, 1e-4) == pytest.approx(
        expected["raw_gamma for gamma=gamma_min=init 1e-4 (target clamp 1e-8)"], abs=1e-12
    )
    assert layouts.raw_gamma(1 / 1024, 0.0) == pytest.approx(
        expected["raw_gamma for scaled c=1 L=1024 gamma_min=0"], abs=1e-12
    )
    assert layouts.raw_bounded(0.05, 0.1) == pytest.approx(
        expected["raw_eta for eta=0.05 eta_max=0.1"], abs=1e-12
    )
    eta = jordan.spectrum(read("jordan_eta050")).eta
    assert eta == pytest.approx(np.full((2, 2, 8), 0.05), rel=1e-6)
    eta = jordan.spectrum(read("jordan_exact_m4_c010_eta100_eta1")).eta
    assert eta == pytest.approx(np.full((2, 2, 4), 0.1), rel=1e-6)


@pytest.mark.parametrize(("method", "m"), [("jordan_rope", 2), ("jordan_m4", 4)])
def test_the_frequency_grid_stops_early(method: str, m: int) -> None:
    expected = VECTORS["jordan_repo_frequency_grid"]
    w = jordan.spectrum(read(method, width=128)).w[0, 0, :, 0]
    assert len(w) == expected["counts"][f"m={m}"]
    ends = expected["head_dim64_theta1e4"][f"m={m}"]
    assert (w[0], w[-1]) == pytest.approx(tuple(ends), rel=1e-14)
    longest = expected["longest_period"][f"m={m}"]
    assert 2 * math.pi / w[-1] == pytest.approx(longest, rel=1e-12)


def test_jets() -> None:
    full = read("jordan_jetmixfull_m4_c150_g100_g050_g030_g020", noise=0.1)
    numbers = jordan.numbers(full)
    assert numbers.jets is not None
    raw = full.parameters
    assert numbers.jets[0] == pytest.approx(2 * np.tanh(raw["raw_jet_base"]))
    assert numbers.jets[3] == pytest.approx(2 * np.tanh(raw["raw_jet_coefficients"][:, 2]))
    assert np.array_equal(jordan.spectrum(full).eta, numbers.jets[1])
    plain = read("jordan_jetmix_m4_c150_g030_g010_g005")
    found = jordan.numbers(plain).jets
    assert found is not None
    assert found[:, 0, 0, 0] == pytest.approx([1.0, 0.3, 0.1, 0.05], rel=1e-6)


@pytest.mark.parametrize(
    ("tensors", "config", "options", "said"),
    [
        (None, None, None, "and no config, and what it means depends on the method; state it with"),
        (None, {"position_method": "jordan_ropes"}, None, "did you mean jordan_rope?"),
        (None, {"position_method": "jordan_exact_x5"}, None, "has the part x5, and nothing reads"),
        (None, {"position_method": "jordan_exact_m1"}, None, "order 1, and blocks begin at 2"),
        (None, {"position_method": 3}, None, "position_method is 3, expected the name of a method"),
        (None, {"position_method": "rope"}, None, "which the method rope does not have"),
        (None, {"position_method": "damped_rope"}, None, "raw_eta, which the method damped_rope"),
        (None, {"d_model": 60}, None, "60 channels in 2 heads: 30 each"),
        (None, {"d_model": 65}, None, "65 channels in 2 heads, and the method"),
        (None, {"d_model": "64"}, None, "the string \"64\", expected a whole number from 1"),
        (None, {"n_heads": 4}, None, "has the shape [2, 8], expected [4, 4]"),
        (None, {"theta": -1}, None, "theta is -1, expected a number from 1e-06 to 1e+15"),
        (None, {"max_exponent": 89}, None, "max_exponent is 89, expected a number from"),
        (None, {"gamma_min": 1e9}, None, "expected a number from 0 to 1e+06"),
        (None, {"bounded_tau": 1}, None, "bounded_tau is 1, expected true or false"),
        (None, {"train_context": 0}, None, "train_context is 0, expected a whole number"),
        ({"raw_gamma": np.nan}, {}, None, "holds nan at [0, 0]"),
        ({"raw_eta": None}, {}, None, "holds no raw_eta, which the method jordan_rope learns"),
        (None, {"position_method": ""}, None, "position_method is empty, which names no method"),
        (None, {}, {"method": "jordan_m3"}, "jordan_rope, and the option method says jordan_m3"),
        (None, None, {"method": "jordan_jetmix_m4_c100"}, "has 0 parts such as g050"),
    ],
)  # fmt: skip
def test_bad_input(
    tensors: dict[str, Any] | None, config: dict[str, Any] | None, options: Any, said: str
) -> None:
    state, stored = layouts.checkpoint("jordan_rope")
    for leaf, value in (tensors or {}).items():
        for name in [n for n in state if n.endswith(leaf)]:
            if value is None:
                del state[name]
            else:
                state[name] = np.full_like(state[name], value)
    given_ = None if config is None else {**stored, **config}
    with pytest.raises(InvalidValue, match=re.escape(said)):
        recognised(state, given_, options)


def test_a_layer_without_its_shear_is_incomplete() -> None:
    state, config = layouts.checkpoint("jordan_rope")
    del state["blocks.1.attn.positioner.raw_eta"]
    with pytest.raises(InvalidValue, match="holds 2 raw_gamma, 1 raw_eta, expected as many"):
        recognised(state, config)


def test_the_user_states_a_lost_config() -> None:
    state, _ = layouts.checkpoint("jordan_exact_scaled")
    options = {"method": "jordan_exact_scaled", "train-context": "1024"}
    (found,) = recognised(state, None, options)
    (stored,) = recognised(*layouts.checkpoint("jordan_exact_scaled"))
    assert (found.head_dim, found.heads) == (32, 2)
    assert found.assumed == {"theta", "eta_max", "max_exponent", "train_context"} - {
        "train_context"
    }
    assert jordan.spectrum(found).gamma == pytest.approx(jordan.spectrum(stored).gamma)


def test_a_method_that_nobody_has() -> None:
    state = {"embed.weight": np.zeros((3, 4), np.float32)}
    assert recognised(state, None, {"method": "jordan_rope"}) == ()
    with pytest.raises(UsageError, match=re.escape("method is jordan_rop, expected one of axial,")):
        recognised(state, None, {"method": "jordan_rop"})


def test_parameters_of_others_are_left_alone() -> None:
    assert recognised({"ssm.raw_gamma": np.zeros((2, 4), np.float32)}) == ()
    state = {"embed.weight": np.zeros((3, 4), np.float32), "x.inv_freq": np.ones(2, np.float32)}
    assert recognised(state, layouts.config("jordan_rope")) == ()
