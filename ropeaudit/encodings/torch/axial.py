"""Axial 2-D RoPE as a torch module: see :mod:`ropeaudit.encodings.axial`."""

from __future__ import annotations

import torch

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch import rope_mixed


class Module(rope_mixed.Module):
    """Its frequencies are a buffer, as in public code: nothing is trained."""

    def __init__(self, encoding: Encoding, *, dtype: torch.dtype = torch.float64) -> None:
        super().__init__(encoding, dtype=dtype, trainable=False)
