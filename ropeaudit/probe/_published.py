"""Figures that were published for the kernel probe, with the settings they belong to.

Source: Jordan-RoPE, arXiv 2605.04217v2, table 3: mean squared error on lags 0..8191 after a fit on
lags 0..1023, three decimals. The settings are those of the authors' probe script
(github.com/ybzhang-nxu/jordan_rope, commit bc6fffa6).
"""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "arXiv 2605.04217v2, table 3"
LENGTH = 8192
DECIMALS = 3

TABLE: Mapping[str, Mapping[str, float]] = {
    "rope": {"phase": 0.0, "linear": 17.618, "mixed": 8.791},
    "damped": {"phase": 0.054, "linear": 17.583, "mixed": 9.510},
    "rope_alibi": {"phase": 0.0, "linear": 0.0, "mixed": 8.791},
    "alibi": {"phase": 0.505, "linear": 0.0, "mixed": 10.666},
    "direct_sum": {"phase": 0.0, "linear": 0.0, "mixed": 8.819},
    "jordan_stabilized": {"phase": 0.039, "linear": 50.463, "mixed": 7.414},
    "jordan_raw": {"phase": 0.004, "linear": 462.392, "mixed": 1.975},
    "jordan_scaled_c0.1": {"phase": 0.011, "linear": 541.274, "mixed": 2.011},
    "jordan_scaled_c1": {"phase": 0.309, "linear": 20.485, "mixed": 10.254},
}
"""Basis, then target."""
