"""ALiBi (Press et al., arXiv 2108.12409): ``-m_h (i - j)`` is added to the logits of head h.

Nothing is stored: BLOOM has it without saying so, MPT and Falcon by a key, Baichuan-13B by its
width. As a generator it is unipotent, ``[[1, m d], [0, 1]]``: no frequency, no damping, order 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ropeaudit.encodings import _alibi, _alibi_models
from ropeaudit.encodings.interface import Sources
from ropeaudit.records import replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Spectrum

KINDS = ("alibi",)
OPTIONS: dict[str, str] = {}


def recognise(sources: Sources) -> Iterator[Encoding]:
    """What a config or GGUF metadata states; raises InvalidValue for fields of a wrong type."""
    found = _alibi_models.in_document(sources.document)
    if found is None:
        found = _alibi_models.in_metadata(sources.metadata, sources.file)
    if found is not None:
        yield encoded(found)


def encoded(found: _alibi_models.Stated) -> Encoding:
    """The encoding with the slopes that a logit really gets, (1, heads): the same in all layers."""
    import numpy as np

    from ropeaudit.encodings.core import Encoding

    slopes = np.array([_alibi.slopes(found.heads, found.bias_max)])
    if found.rounded:
        slopes = _alibi.rounded(slopes, found.dtype)
    if found.inside:
        slopes = slopes / math.sqrt(found.head_dim)
    settings: dict[str, Any] = {
        "model": found.model,
        "bias_max": found.bias_max,
        "added": "before scaling" if found.inside else "after scaling",
    }
    if found.softmax_scale is not None:
        settings["softmax_scale"] = found.softmax_scale
    return Encoding(
        name="alibi",
        kind="alibi",
        module="alibi",
        head_dim=found.head_dim,
        heads=found.heads,
        parameters={"slopes": slopes},
        dtype=found.dtype,
        positions=_alibi.tokens(found.length),
        settings=settings,
        assumed=found.assumed,
        provenance=found.facts,
        notes=found.notes,
    )


def spectrum(encoding: Encoding) -> Spectrum:
    """One unit a head in the sector ``bias``: ``eta`` is the slope of the logits per position."""
    import numpy as np

    from ropeaudit.encodings.core import Spectrum

    slopes = _alibi.of(encoding)[..., None]
    still = np.zeros(slopes.shape)
    return Spectrum(w=still[..., None], gamma=still, eta=slopes, order=2, sector=("bias",))


def generators(encoding: Encoding) -> None:
    """None: queries and keys are left as they are."""
    return


def operators(encoding: Encoding, positions: Array) -> tuple[Array, Array]:
    """Identities (count, 1, 1, n, n)."""
    import numpy as np

    n = encoding.head_dim
    same = np.broadcast_to(np.eye(n), (len(positions), 1, 1, n, n))
    return same, same


def bias(encoding: Encoding, queries: Array, keys: Array) -> Array:
    """``-m_h max(i - j, 0)`` for scores that are not yet scaled: (1, heads, queries, keys)."""
    return _alibi.bias(encoding, queries, keys)


def rebuilt(encoding: Encoding, spectrum: Spectrum) -> Encoding:
    """``encoding`` with the slopes of ``spectrum``."""
    return replace(encoding, parameters={**encoding.parameters, "slopes": spectrum.eta[..., 0]})
