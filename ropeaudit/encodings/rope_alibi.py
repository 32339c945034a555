"""RoPE with the bias of ALiBi beside it (ybzhang-nxu/jordan_rope, method ``rope_alibi``).

Two lists that do not meet: planes ``theta^(-2k/head_dim)``, and one slope a head. Nothing of it is
stored; it follows from the config beside the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ropeaudit.encodings import _alibi
from ropeaudit.encodings._jordan_method import KEY, Values
from ropeaudit.encodings._planes import block_diagonal, phases, rotations, skew
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, quoted_path
from ropeaudit.facts import Fact
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("rope-alibi",)
OPTIONS: dict[str, str] = {}


def recognise(sources: Sources) -> Iterator[Encoding]:
    """``position_method`` ``rope_alibi``; raises InvalidValue for sizes that make no even head."""
    document = sources.document
    if document is None or document.data.get(KEY) != "rope_alibi":
        return
    import numpy as np

    from ropeaudit.encodings.core import Encoding

    values = Values(document)
    width, heads = values.whole("d_model"), values.whole("n_heads")
    head_dim, rest = divmod(width, heads)
    if rest or head_dim % 2:
        raise InvalidValue(
            f"{quoted_path(document.file)}: d_model {width} in {heads} heads makes no whole, even "
            "head size; correct one of them",
            where="/d_model",
        )
    theta = values.number("theta")
    length = values.whole("train_context")
    planes = theta ** (-2.0 * np.arange(head_dim // 2) / head_dim)
    yield Encoding(
        name="rope-alibi",
        kind="rope-alibi",
        module="rope_alibi",
        head_dim=head_dim,
        heads=heads,
        parameters={"omega": planes[None, None], "slopes": np.array([_alibi.slopes(heads)])},
        positions=_alibi.tokens(length),
        settings={"method": "rope_alibi", "theta": theta, "pairing": "interleaved"},
        assumed=frozenset(values.assumed),
        provenance=(Fact(KEY, "rope_alibi", location=document.location(f"/{KEY}")),),
    )


def spectrum(encoding: Encoding) -> Spectrum:
    """The planes, then one unit of the sector ``bias`` whose ``eta`` is the slope of the head."""
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    slopes = _alibi.of(encoding)
    omega = encoding.parameters["omega"]
    planes = np.broadcast_to(omega, (*slopes.shape, omega.shape[-1]))
    still = np.zeros((*slopes.shape, 1))
    w = np.concatenate([planes, still], -1)
    eta = np.concatenate([np.zeros(planes.shape), slopes[..., None]], -1)
    sector = ("rotary",) * planes.shape[-1] + ("bias",)
    return Spectrum(w=w[..., None], gamma=np.zeros(w.shape), eta=eta, sector=sector)


def generators(encoding: Encoding) -> Array:
    """(1, layers, heads, n, n) of the rotation alone."""
    return block_diagonal(skew(encoding.parameters["omega"]))[None]


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """The same rotation for queries and keys."""
    turned = block_diagonal(rotations(phases(positions, encoding.parameters["omega"][..., None])))
    return turned, turned


def bias(encoding: Encoding, queries: Array, keys: Array) -> Array:
    """``-m_h max(i - j, 0)`` for scores that are not yet scaled: (1, heads, queries, keys)."""
    return _alibi.bias(encoding, queries, keys)


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the planes and slopes of ``spectrum``; planes that are still the same in
    all heads stay one list."""
    import numpy as np

    omega = spectrum.w[..., :-1, 0]
    if (omega == omega[:, :1]).all():
        omega = omega[:, :1]
    slopes = spectrum.eta[..., -1]
    return replace(encoding, parameters={"omega": np.array(omega), "slopes": np.array(slopes)})
