"""What a measurement was made with: versions, device, number format, threads."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit._version import __version__

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded


DECIDING = ("ropeaudit", "torch", "transformers")
"""Packages whose version decides a score's bits."""


def versions() -> dict[str, str]:
    """Versions of the packages that are ``DECIDING``."""
    import torch
    import transformers

    return {
        "ropeaudit": __version__,
        "torch": str(torch.__version__),
        "transformers": str(transformers.__version__),
    }


def of(loaded: Loaded) -> Mapping[str, Any]:
    """Plain JSON values for ``Result.environment``, for the process that holds the model."""
    import torch

    config = loaded.model.config
    return {
        **versions(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "device": loaded.device,
        "device_name": device_name(loaded.device),
        "dtype": loaded.dtype,
        "attention": getattr(config, "_attn_implementation", None),
        "threads": torch.get_num_threads(),
    }


def device_name(device: str) -> str:
    """The GPU's name, or the processor's kind and the instructions that torch uses on it."""
    import torch

    if device.startswith("cuda"):
        return str(torch.cuda.get_device_name(torch.device(device)))
    kind = f"{device.partition(':')[0]} {platform.machine()}"
    if device.partition(":")[0] != "cpu":
        return kind
    return f"{kind} {torch.backends.cpu.get_cpu_capability()}"
