"""Jordan-RoPE models by the name of their method, read back from a file."""

from __future__ import annotations

from typing import Any

from ropeaudit.encodings.core import Encoding
from tests.encodings import layouts_jordan as layouts
from tests.encodings.make import recognised

# Kind, order, whether the shear is bounded.
METHODS = {
    "jordan_rope": ("jordan-stabilized", 2, True),
    "jordan_eta050": ("jordan-stabilized", 2, True),
    "jordan_m3": ("jordan-stabilized", 3, True),
    "jordan_m4": ("jordan-stabilized", 4, True),
    "jordan_no_gamma": ("jordan-stabilized", 2, True),
    "jordan_raw_tau": ("jordan-raw", 2, False),
    "real_jordan": ("jordan-real", 2, True),
    "jordan_exact_scaled": ("jordan-exact", 2, False),
    "jordan_exact_c010": ("jordan-exact", 2, False),
    "jordan_exact_m3_c010_eta100_eta1": ("jordan-exact", 3, False),
    "jordan_exact_c150_eta010_alibi": ("jordan-exact", 2, False),
    "jordan_jetmix_m4_c150_g030_g010_g005": ("jordan-jetmix", 4, True),
    "jordan_jetmixfull_m4_c150_g100_g050_g030_g020_alibi": ("jordan-jetmix", 4, True),
}  # fmt: skip
WIDTHS = {3: 96}


def read(method: str, **more: Any) -> Encoding:
    tensors, config = layouts.checkpoint(method, **more)
    (found,) = recognised(tensors, config)
    return found
