"""The config of a live module: where it hangs below wrappers, and what it says, as plain JSON.

Configs are objects of the model's own library; nothing is imported for them, and what they hold
besides settings (tensors, types) becomes text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

from ropeaudit.document import Document, escape
from ropeaudit.facts import Json

MAX_DEPTH = 12
MAX_LIST = 4096
"""Values of an array in a config; a longer one is no setting."""

_NAMES = ("config", "params", "args")
"""Where a model keeps its settings: transformers and most others, Meta, Mistral."""
_TELLING = ("hidden_size", "n_heads", "rope_theta", "rope_base", "head_dim")
_WRAPPED = ("module", "_orig_mod", "_fsdp_wrapped_module", "_forward_module", "base_model", "model")
_PLAIN = (str, int, float, bool, type(None))


def innermost(model: Any) -> Any:
    """The model below training wrappers, for its class name."""
    node = model
    for _ in range(8):
        kind = type(node).__name__
        wrapper = kind in ("DataParallel", "OptimizedModule", "DeepSpeedEngine") or kind.startswith(
            ("DistributedDataParallel", "FullyShardedDataParallel", "Peft", "LoraModel")
        )
        inner = next((node._modules[k] for k in _WRAPPED if node._modules.get(k)), None)
        if not wrapper or inner is None:
            return node
        node = inner
    return node


def config_of(model: Any, found: list[tuple[str, Any, Any]]) -> Any:
    """The config nearest to the root; failing that, the one that the rotary modules share."""
    node = model
    for _ in range(8):
        for name in _NAMES:
            config = node.__dict__.get(name)
            if _is_config(config) and (name == "config" or _tells(config)):
                return config
        inner = next((node._modules[k] for k in _WRAPPED if node._modules.get(k)), None)
        if inner is None:
            break
        node = inner
    held = {id(c): c for _, _, m in found if _is_config(c := m.__dict__.get("config"))}
    return next(iter(held.values())) if len(held) == 1 else None


def _is_config(value: Any) -> bool:
    if value is None or isinstance(value, _PLAIN):
        return False
    return (
        isinstance(value, Mapping)
        or (is_dataclass(value) and not isinstance(value, type))
        or _method(value, "to_dict") is not None
        or hasattr(value, "__dict__")
    )


def _method(value: Any, name: str) -> Any:
    """A method of a foreign object, None without one; its own code may raise anything."""
    try:
        found = getattr(value, name, None)
    except Exception:
        return None
    return found if callable(found) else None


def _tells(config: Any) -> bool:
    """``params`` and ``args`` may be anything: only those with a model's sizes are its config."""
    keys = config if isinstance(config, Mapping) else getattr(config, "__dict__", {})
    return any(key in keys for key in _TELLING)


def document_of(config: Any, file: str) -> Document:
    """The settings as a document; raises whatever the config's own code raises."""
    to_dict = _method(config, "to_dict")
    if to_dict is not None:
        data = to_dict()
    elif isinstance(config, Mapping):
        data = dict(config)
    elif is_dataclass(config) and not isinstance(config, type):
        data = asdict(config)
    else:
        data = {k: v for k, v in vars(config).items() if not k.startswith("_")}
    plain = _json(data, 0)
    return Document(file, plain if isinstance(plain, dict) else {})


def _json(value: Any, depth: int) -> Json:
    """``value`` as JSON would hold it; what JSON cannot hold becomes its text."""
    if isinstance(value, _PLAIN):
        return value
    if depth > MAX_DEPTH:
        return None
    if isinstance(value, Mapping):
        return {str(k): _json(v, depth + 1) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_json(v, depth + 1) for v in value]
    to_dict = _method(value, "to_dict")
    if to_dict is not None:
        return _json(to_dict(), depth + 1)
    if _method(value, "tolist") is not None:  # numpy scalars and arrays, tensors
        small = math.prod(getattr(value, "shape", ())) <= MAX_LIST
        return _json(value.tolist(), depth + 1) if small else type(value).__name__
    return str(value)


def pointers_of(config: Any) -> dict[int, str]:
    """JSON pointers of the parts of a nested config, by identity: text_config, vision_config …"""
    found: dict[int, str] = {}
    pending = [("", config)]
    while pending:
        pointer, node = pending.pop()
        if node is None or id(node) in found or pointer.count("/") > 3:
            continue
        found[id(node)] = pointer
        for key, value in getattr(node, "__dict__", {}).items():
            if _method(value, "to_dict") is not None:
                pending.append((f"{pointer}/{escape(key)}", value))
    return found
