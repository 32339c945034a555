"""Running out of memory, and how much was used."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

_SAID = ("can't allocate memory", "not enough memory", "out of memory", "cannot allocate memory")


def attempt(call: Callable[[], Any]) -> Any:
    """``call()`` in inference mode, or None where memory did not suffice."""
    import torch

    try:
        # Never around a yield: the mode belongs to the thread, and a generator's caller has it too.
        with torch.inference_mode():
            return call()
    except (torch.OutOfMemoryError, MemoryError):
        pass
    except RuntimeError as error:
        if not any(words in str(error).lower() for words in _SAID):
            raise
    # Outside of the handler, where the traceback no longer holds the tensors of the failed call.
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
    return None


def peak(device: str) -> int:
    """Bytes: of all CUDA devices for ``cuda``, else the resident peak of this process."""
    import torch

    if device.startswith("cuda"):
        return sum(torch.cuda.max_memory_allocated(n) for n in range(torch.cuda.device_count()))
    try:
        import resource
    except ImportError:  # Windows
        return 0
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


def reset_peak(device: str) -> None:
    import torch

    if device.startswith("cuda"):
        for n in range(torch.cuda.device_count()):
            torch.cuda.reset_peak_memory_stats(n)
