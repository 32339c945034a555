"""Jordan blocks as a torch module: see :mod:`ropeaudit.encodings._jordan`."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from ropeaudit.encodings._jordan import Numbers
from ropeaudit.encodings.core import Encoding
from ropeaudit.encodings.torch._planes import of_layer, turned


class Blocks(nn.Module):
    """Parameters of the blocks, all layers stacked, and their contragredient maps.

    ``raw_gamma``, ``raw_eta`` (layers, heads, blocks), ``raw_jet_coefficients`` (layers, orders -
    1, heads, blocks), ``raw_jet_base``; where a change has put effective values in place, ``gamma``
    and ``eta`` instead. Frequencies are the buffer ``omega``.
    """

    omega: Tensor

    def __init__(
        self, encoding: Encoding, numbers: Numbers, start: int = 0, *, dtype: torch.dtype
    ) -> None:
        super().__init__()
        self.order, self.length = numbers.order, numbers.length
        self.shear_scale, self.max_exponent = numbers.shear_scale, numbers.max_exponent
        s = encoding.settings
        self.gamma_min, self.eta_max = float(s["gamma_min"]), float(s["eta_max"])
        self.jet_max = float(s.get("jet_max", 1.0))
        self.register_buffer("omega", torch.tensor(numbers.w, dtype=dtype))
        held = encoding.parameters
        for name, values in held.items():
            replaced = name.startswith("raw_") and name.removeprefix("raw_") in held
            if name in ("gamma", "eta") or (name.startswith("raw_") and not replaced):
                own = values[..., start:] if name in ("gamma", "eta") else values
                self.register_parameter(name, nn.Parameter(torch.tensor(own, dtype=dtype)))

    def _parameter(self, name: str, layer: int) -> Tensor | None:
        held = self._parameters.get(name)
        return None if held is None else of_layer(held, layer)

    def gamma_of(self, layer: int) -> Tensor:
        """Damping (heads, blocks) per step."""
        if (own := self._parameter("gamma", layer)) is not None:
            return own
        raw = self._parameter("raw_gamma", layer)
        if raw is None:
            return torch.zeros_like(of_layer(self.omega, layer))
        return softplus(raw, threshold=100.0) + self.gamma_min

    def eta_of(self, layer: int) -> Tensor:
        """Shear (heads, blocks) per step."""
        if (own := self._parameter("eta", layer)) is not None:
            return own
        raw = self._parameter("raw_eta", layer)
        if raw is None:
            return torch.zeros_like(of_layer(self.omega, layer))
        return self.eta_max * torch.tanh(raw)

    def coefficients(self, t: Tensor, layer: int) -> list[Tensor]:
        """``c_r(t)`` (heads, count, blocks), r below the order."""
        place = t if self.length is None else t / (1.0 + t.abs() / self.length)
        place = (place * self.shear_scale)[None, :, None]
        raw = self._parameter("raw_jet_coefficients", layer)
        if raw is None:
            shear = self.eta_of(layer)[:, None, :] * place
            return [shear**r / math.factorial(r) for r in range(self.order)]
        gates = list(self.jet_max * torch.tanh(raw))
        if (own := self._parameter("eta", layer)) is not None:
            gates[0] = own
        base = self._parameter("raw_jet_base", layer)
        first = torch.ones_like(gates[0]) if base is None else self.jet_max * torch.tanh(base)
        rows = (g[:, None, :] * place**r for r, g in enumerate([first, *gates]))
        return [row / math.factorial(r) for r, row in enumerate(rows)]

    def mapped(self, x: Tensor, positions: Tensor, layer: int, *, keys: bool) -> Tensor:
        """Keys by A(-p), queries by its inverse transpose; x (batch, heads, count, n)."""
        t = -positions.to(self.omega.dtype)
        c = self.coefficients(t, layer)
        exponent = self.gamma_of(layer)[:, None, :] * t[None, :, None]
        exponent = exponent.clamp(-self.max_exponent, self.max_exponent)
        if not keys:
            c, exponent = _inverse(c), -exponent
        decay = torch.exp(-exponent).to(x.dtype)[..., None]
        angles = t[None, :, None] * of_layer(self.omega, layer)[:, None, :]
        blocks = x.reshape(*x.shape[:-1], -1, self.order, 2)
        pairs = [turned(blocks[..., a, :], angles[..., None]) for a in range(self.order)]
        rows = []
        for a in range(self.order):
            reach = range(a, self.order) if keys else range(a + 1)
            terms = [c[abs(b - a)].to(x.dtype)[..., None] * pairs[b] for b in reach]
            rows.append(decay * torch.stack(terms).sum(0))
        return torch.stack(rows, -2).reshape(x.shape)


def _inverse(c: list[Tensor]) -> list[Tensor]:
    found = [1.0 / c[0]]
    for r in range(1, len(c)):
        rest = torch.stack([c[s] * found[r - s] for s in range(1, r + 1)]).sum(0)
        found.append(-rest / c[0])
    return found
