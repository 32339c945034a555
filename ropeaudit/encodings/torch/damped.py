"""Damped RoPE as a torch module: see :mod:`ropeaudit.encodings.damped`."""

from __future__ import annotations

from ropeaudit.encodings.torch.jordan import Module

__all__ = ["Module"]
