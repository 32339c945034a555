"""Checkpoints laid out as ybzhang-nxu/jordan_rope saves them: ``{"model": ..., "config": ...}``.

Names, shapes, dtypes, initial values and the config fields follow ``jordan_rope/model.py``,
``positional.py`` and ``scripts/run_kernel_lm.py``; no trained weights are in here. ``noise`` moves
the parameters off their initial values, as training would.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

State = dict[str, Any]

PLAIN_ETA = {"damped_rope"}
ORDERS = {"jordan_m3": 3, "jordan_m4": 4}


def config(method: str, width: int = 64, heads: int = 2, layers: int = 2, **more: Any) -> State:
    """The stored config: base values, whatever the method makes of them."""
    return {
        "vocab_size": 3, "d_model": width, "n_heads": heads, "n_layers": layers, "mlp_ratio": 4,
        "dropout": 0.0, "position_method": method, "theta": 10000.0, "gamma_min": 1e-4,
        "init_gamma": 1e-4, "eta_max": 0.1, "init_eta": 0.0, "train_context": 1024,
        "bounded_tau": True, "shear_time_scale": 1.0, "max_exponent": 30.0, **more,
    }  # fmt: skip


def raw_gamma(gamma: float, gamma_min: float) -> float:
    """Inverse softplus of the target, which the code clamps to 1e-8."""
    target = max(gamma - gamma_min, 1e-8)
    return target + math.log(-math.expm1(-target))


def raw_bounded(value: float, largest: float) -> float:
    return math.atanh(value / largest)


def checkpoint(
    method: str, width: int = 64, heads: int = 2, layers: int = 2, noise: float = 0.0, **more: Any
) -> tuple[State, State]:
    """Tensors and config of a model with ``method``, before training."""
    settings = config(method, width, heads, layers, **more)
    rng = np.random.default_rng(0)
    state: State = {"embed.weight": np.zeros((3, width), np.float32)}
    for layer in range(layers):
        at = f"blocks.{layer}.attn."
        state[f"{at}qkv.weight"] = np.zeros((3 * width, width), np.float32)
        for leaf, values in initial(settings).items():
            drawn = values + noise * rng.standard_normal(values.shape)
            state[f"{at}positioner.{leaf}"] = drawn.astype(np.float32)
    return state, settings


def initial(settings: State) -> State:
    """Parameters of one attention, (heads, blocks)."""
    method, heads = settings["position_method"], settings["n_heads"]
    head_dim = settings["d_model"] // heads
    tokens = method.split("_")
    inner = "real_jordan." if method == "direct_sum" else ""
    order = ORDERS.get(method) or _number(tokens, "m", 4 if "jetmix" in method else 2)
    blocks = (head_dim // 2 if inner else head_dim) // (2 * order)
    scaled = method.startswith(("jordan_exact", "jordan_jetmix"))
    gamma, least = settings["init_gamma"], settings["gamma_min"]
    if scaled:
        gamma, least = _number(tokens, "c", 100) / 100 / settings["train_context"], 0.0
    full = np.ones((heads, blocks))
    found: State = {}
    if method != "jordan_no_gamma":
        found[f"{inner}raw_gamma"] = full * raw_gamma(gamma, least)
    if "jetmix" in method:
        gates = [int(t[1:]) / 100 for t in tokens if t[0] == "g"]
        largest = 2.0 if "jetmixfull" in method else 1.0
        if "jetmixfull" in method:
            found["raw_jet_base"] = full * raw_bounded(gates.pop(0), largest)
        found["raw_jet_coefficients"] = np.stack([full * raw_bounded(g, largest) for g in gates])
    elif method not in PLAIN_ETA:
        eta_max = 1.0 if "eta1" in tokens else settings["eta_max"]
        eta = next((int(t[3:]) / 1000 for t in tokens if t[:3] == "eta" and len(t) >= 6), 0.0)
        found[f"{inner}raw_eta"] = full * raw_bounded(eta, eta_max)
    return found


def _number(tokens: list[str], letter: str, default: int) -> int:
    return next((int(t[1:]) for t in tokens if t[0] == letter and t[1:].isdigit()), default)
