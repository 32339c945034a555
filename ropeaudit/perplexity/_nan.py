"""Where NaN begins: the window is run again with every module watched."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ropeaudit.errors import RopeAuditError, UsageError, quoted

if TYPE_CHECKING:
    from ropeaudit.perplexity.loading import Loaded

_LAYER = re.compile(r"\.(\d+)(?:\.|$)")


def explained(loaded: Loaded, tokens: Any, index: int) -> RopeAuditError:
    """The error for a window whose log-loss is no number; ``tokens`` [1, length]."""
    import torch

    from ropeaudit.perplexity import _head, _slots

    first: list[str] = []

    def watch(name: str) -> Any:
        def after(_: Any, args: Any, output: Any) -> None:
            if not first and any(not bool(t.isfinite().all()) for t in _floats(output)):
                first.append(name)

        return after

    inner = _head.body(loaded.model)
    # A part ends before the whole that it belongs to, so the first to end is the innermost one.
    handles = [m.register_forward_hook(watch(n)) for n, m in inner.named_modules() if n]
    try:
        with _slots.alone(loaded.slots), torch.inference_mode():
            _head.hidden(loaded.model, tokens)
    finally:
        for handle in handles:
            handle.remove()
    where = "in the head, after the last layer"
    if first:
        layer = _LAYER.search(f".{first[0]}")
        part = quoted(first[0], 200)
        where = f"in layer {layer[1]} ({part})" if layer else f"in {part}, before the first layer"
    return UsageError(
        f"the log-loss of window {index} is no finite number: NaN or infinity begins {where}; try "
        "--dtype float32, and check the weights and the table"
    )


def _floats(output: Any) -> list[Any]:
    if hasattr(output, "is_floating_point"):
        return [output] if output.is_floating_point() else []
    if isinstance(output, list | tuple):
        return [t for part in output for t in _floats(part)]
    if hasattr(output, "values") and callable(output.values):
        return [t for part in output.values() for t in _floats(part)]
    return []
