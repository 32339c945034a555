"""Parameters of a learned encoding in the layout and under the names of the file they came from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.interface import of
from ropeaudit.errors import UsageError, quoted
from ropeaudit.facts import StoredTensor
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

KEPT = ("float32", "float64")
"""Formats that parameters are written in; what was stored narrower is written as float32."""
_FREQS = ("freqs", "rope_freqs")
_EFFECTIVE = ("omega", "gamma", "eta")
"""Values that a change has put beside the raw parameters of damped blocks."""
_EFFECTIVE_OF = {"raw_gamma": "gamma", "raw_eta": "eta", "raw_jet_coefficients": "eta"}


@record(kw_only=True)
class Tensor:
    """One parameter; ``values`` float64, ``dtype`` as it is written, ``source`` as it was."""

    name: str
    dtype: str
    source: str
    values: Any


def tensors(encoding: Encoding, stored: Mapping[str, StoredTensor]) -> Iterator[Tensor]:
    """What ``encoding`` looks like in a checkpoint; ``stored`` are the source's tensors by name.

    Raises UsageError for values that no tensor of the layout holds.
    """
    used = [f.location.tensor for f in encoding.provenance if f.location and f.location.tensor]
    if not used:
        raise UsageError(
            f"no checkpoint stores the encoding {quoted(encoding.name)}, its numbers follow from "
            "the model's code and config; write a FILE.json, which records them"
        )
    done: dict[str, int] = {}
    raw = _raw(encoding)
    for name in used:
        tensor = stored[name]
        leaf = name.rpartition(".")[2]
        at = done.get(leaf, 0)
        values, done[leaf] = _values(encoding, leaf, tensor, raw, at)
        dtype = tensor.dtype if tensor.dtype in KEPT else "float32"
        yield Tensor(name=name, dtype=dtype, source=tensor.dtype, values=values)


def _values(
    encoding: Encoding, leaf: str, tensor: StoredTensor, raw: Mapping[str, Array], at: int
) -> tuple[Array, int]:
    """The values of one stored tensor, which begins at layer ``at``; and where the next begins."""
    shape = tensor.shape
    if leaf in _FREQS:
        freqs = encoding.parameters["freqs"]  # (axes, layers, heads, planes)
        count = math.prod(shape) // (freqs.shape[0] * freqs.shape[2] * freqs.shape[3])
        return freqs[:, at : at + count].reshape(shape), at + count
    if leaf in raw:
        return raw[leaf][at].reshape(shape), at + 1
    if leaf in encoding.parameters:
        return encoding.parameters[leaf].reshape(shape), at
    found: Array = tensor.read()  # the start symbol of a tree, which nothing changes
    return found, at


def _raw(encoding: Encoding) -> dict[str, Array]:
    """Raw parameters of damped and sheared blocks, by layer; empty for other encodings.

    ``gamma = softplus(raw) + gamma_min`` and ``eta = eta_max tanh(raw)`` are turned around.
    """
    import numpy as np

    own = {k: v for k, v in encoding.parameters.items() if k.startswith("raw_")}
    changed = [n for n in _EFFECTIVE if n in encoding.parameters]
    if not own or not changed:
        return own
    if "omega" in changed:
        raise UsageError(
            f"no checkpoint stores the frequencies of {quoted(encoding.name)}, which the model's "
            "code computes from theta; change @damping or @shear, or write a FILE.json, which "
            "records them"
        )
    module: Any = of(encoding)
    numbers, s = module.numbers(encoding), encoding.settings
    if "gamma" in changed:
        above = numbers.gamma - float(s["gamma_min"])
        _require("raw_gamma" in own and bool((above > 0).all()), encoding, "damping", "gamma_min")
        own["raw_gamma"] = np.log(np.expm1(above))
    if "eta" in changed:
        jets = "raw_jet_coefficients" in own
        largest = float(s["jet_max"] if jets else s["eta_max"])
        inside = bool((np.abs(numbers.eta) < largest).all())
        _require((jets or "raw_eta" in own) and inside, encoding, "shear", "its bound")
        raw = np.arctanh(numbers.eta / largest)
        if jets:
            own["raw_jet_coefficients"] = own["raw_jet_coefficients"].copy()
            own["raw_jet_coefficients"][:, 0] = raw
        else:
            own["raw_eta"] = raw
    return own


def _require(fits: bool, encoding: Encoding, what: str, bound: str) -> None:
    if not fits:
        raise UsageError(
            f"the {what} of {quoted(encoding.name)} has left what its parameters can hold "
            f"({bound}); take a smaller change, or write a FILE.json, which records the values"
        )


def options(encoding: Encoding) -> dict[str, str]:
    """What has to be stated so that the parameters are read as they were read here."""
    module, s = of(encoding), encoding.settings
    at = encoding.positions
    found: dict[str, Any] = {k: s[k] for k in module.OPTIONS if isinstance(s.get(k), str | int)}
    if "decay" in s:
        found["ape-decay"] = "none" if s["decay"] == 1.0 else repr(float(s["decay"]))
    found["liere-layers"] = s.get("layers_used")
    found["head-dim"] = encoding.head_dim
    found["heads"] = None if s.get("per_head", True) and "heads" not in s else encoding.heads
    # Images count columns first, options rows first.
    turn = -1 if encoding.axes == ("x", "y") else 1
    for name, steps in (("grid", at.trained), ("test-grid", at.used)):
        if steps is not None and len(encoding.axes) == len(steps):
            found[name] = "x".join(map(str, steps[::turn]))
    if at.trained is not None and len(encoding.axes) == 1:
        found["train-context"] = at.trained[0]
    if encoding.kind == "ape-sequence":
        found = {k: v for k, v in found.items() if k not in ("grid", "test-grid")}
    return {k: str(v) for k, v in found.items() if k in module.OPTIONS and v is not None}


def stated(encoding: Encoding) -> dict[str, str]:
    """Of :func:`options` those that are no default, which a reader has to be told."""
    taken = {"liere-layers": "layers_used", "ape-decay": "decay"}
    known = encoding.assumed
    return {
        k: v
        for k, v in options(encoding).items()
        if taken.get(k, k) not in known and k not in known and _decides(encoding, k, v)
    }


def _decides(encoding: Encoding, key: str, value: str) -> bool:
    """Whether leaving the option out would change what is read."""
    s, at = encoding.settings, encoding.positions
    defaults = {"ape-layout": "sequence", "ape-stores": "generator", "ape-skew": "full"}
    if defaults.get(key) == value or (key == "test-grid" and at.used == at.trained):
        return False
    if key == "liere-layers":
        return int(s["stored_layers"]) > 1
    if key == "head-dim":
        return encoding.head_dim != 64 and s.get("parameter") != "rope_freqs"
    # What a config states goes with the file.
    config = any(f.location and f.location.pointer for f in encoding.provenance)
    return not (key in ("method", "train-context") and config)
