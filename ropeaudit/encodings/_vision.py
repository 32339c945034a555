"""Frequencies of image patches as public vision transformers store and name them.

Sources: naver-ai/rope-vit ``models/vit_rope.py``, ``models/swin_transformer_rope.py``,
``self-attn/rope_self_attn.py``; pytorch-image-models ``timm/layers/pos_embed_sincos.py`` and
``timm/models/eva.py``. Index 0 of a stored tensor is x (columns), index 1 is y (rows).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit.document import Document
from ropeaudit.encodings import _conversion, _grid
from ropeaudit.encodings._planes import ABOUT_ZERO
from ropeaudit.encodings._stored import finite, misshaped, numbers
from ropeaudit.encodings.interface import Sources
from ropeaudit.errors import InvalidValue, quoted
from ropeaudit.facts import StoredTensor
from ropeaudit.records import record

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array, Encoding, Positions

LEAVES = ("freqs", "rope_freqs")
DEIT_HEAD = 64
"""Head size of every published DeiT and timm model with this encoding; Swin has 32."""

_TIMM = re.compile(r"vit_(small|base|large)_patch(\d+)_rope(_mixed)?(?:_ape)?_(\d+)(?:\.|$)")
_DEIT = re.compile(r"rope_(axial|mixed)(?:_ape)?_deit_(small|base|large)_patch(\d+)_LS$")
_SWIN = re.compile(r"swin_rope_(axial|mixed)_(?:ape_)?(tiny|small|base)_patch4_window(\d+)_(\d+)$")
_HEADS = {"small": 6, "base": 12, "large": 16}
_STAGES = {"tiny": (3, 6, 12, 24), "small": (3, 6, 12, 24), "base": (4, 8, 16, 32)}
_NAMES = ("architecture", "model", "model_name")


@record(kw_only=True)
class Stated:
    """What a model's name says. ``heads`` holds one number a stage; ``grid`` is rows, columns of
    the patches, or of the window, that attend to each other."""

    name: str
    pointer: str
    mixed: bool
    theta: float
    head_dim: int
    heads: tuple[int, ...]
    grid: tuple[int, int]


@record(kw_only=True)
class Group:
    """Tensors of one stage: ``w`` (axes, layers, heads, head_dim / 2) exactly as stored."""

    tensors: tuple[StoredTensor, ...]
    w: Array
    layers: tuple[int, ...]
    stage: int | None = None
    assumed: frozenset[str] = frozenset()

    @property
    def leaf(self) -> str:
        return self.tensors[0].name.rpartition(".")[2]


def stated(document: Document | None) -> Stated | None:
    """The encoding that a config names by its model's name; None where it names none."""
    data = {} if document is None else document.data
    for key in _NAMES:
        name = data.get(key)
        if not isinstance(name, str):
            continue
        found = _of_vit(name, data, f"/{key}") or _of_swin(name, f"/{key}")
        if found is not None:
            return found
    return None


def _of_vit(name: str, data: Mapping[str, Any], pointer: str) -> Stated | None:
    if (match := _TIMM.match(name)) is not None:
        size, patch, mixed, pixels = match[1], int(match[2]), bool(match[3]), int(match[4])
    elif (match := _DEIT.match(name)) is not None:
        size, patch, mixed, pixels = match[2], int(match[3]), match[1] == "mixed", 224
    else:
        return None
    rows, columns = _pixels(data) or (pixels, pixels)
    return Stated(
        name=name,
        pointer=pointer,
        mixed=mixed,
        theta=10.0 if mixed else 100.0,
        head_dim=DEIT_HEAD,
        heads=(_HEADS[size],),
        grid=(max(rows // max(patch, 1), 1), max(columns // max(patch, 1), 1)),
    )


def _of_swin(name: str, pointer: str) -> Stated | None:
    match = _SWIN.match(name)
    if match is None:
        return None
    window = max(int(match[3]), 1)
    mixed = match[1] == "mixed"
    return Stated(
        name=name,
        pointer=pointer,
        mixed=mixed,
        theta=10.0 if mixed else 50.0,
        head_dim=32,
        heads=_STAGES[match[2]],
        grid=(window, window),
    )


def _pixels(data: Mapping[str, Any]) -> tuple[int, int] | None:
    """Height and width of the images: timm's ``pretrained_cfg.input_size``, DeiT's argument."""
    inner = data.get("pretrained_cfg")
    size = inner.get("input_size") if isinstance(inner, Mapping) else data.get("input_size")
    if isinstance(size, list) and len(size) == 3:
        size = size[1:]
    if isinstance(size, int):
        size = [size, size]
    if not isinstance(size, list) or len(size) != 2:
        return None
    if not all(type(n) is int and 0 < n <= _grid.MAX_STEPS for n in size):
        return None
    return size[0], size[1]


def groups(sources: Sources) -> tuple[Group, ...]:
    """Stored frequency vectors, one group a stage; raises InvalidValue for broken layouts."""
    stages: dict[tuple[str, tuple[int, ...]], list[StoredTensor]] = {}
    for tensor in sources.tensors:
        if _belongs(tensor, sources):
            path = re.sub(r"\d+", "#", tensor.name)
            stages.setdefault((path, numbers(tensor.name)[:-1]), []).append(tensor)
    found = []
    first: dict[str, int] = {}
    for path, outer in sorted(stages):
        stage = outer[-1] if outer else None
        group = _group(stages[path, outer], sources, first.get(path, 0), stage)
        first[path] = first.get(path, 0) + len(group.layers)
        found.append(group)
    return tuple(found)


def _belongs(tensor: StoredTensor, sources: Sources) -> bool:
    """Two rows of several values: what else is called ``freqs`` has other shapes.

    Two rows alone say little, so nobody's claim is made where they do not divide into heads.
    """
    if _conversion.stated(sources.document) is not None:
        return False  # frequencies of a conversion, whose document says what they are
    shape = tensor.shape
    if tensor.name.rpartition(".")[2] not in LEAVES or len(shape) not in (2, 3, 4) or shape[0] != 2:
        return False
    if len(shape) > 2 or "head-dim" in sources.options or stated(sources.document) is not None:
        return True
    return shape[1] > 0 and shape[1] % (DEIT_HEAD // 2) == 0


def _group(
    tensors: Sequence[StoredTensor], sources: Sources, first: int, stage: int | None
) -> Group:
    import numpy as np

    tensors = sorted(tensors, key=lambda t: numbers(t.name)[-1:])
    shapes = {t.shape for t in tensors}
    if len(shapes) > 1:
        other = next(t for t in tensors if t.shape != tensors[0].shape)
        raise misshaped(other, f"{list(tensors[0].shape)} as in {quoted(tensors[0].name)}")
    arrays = [_canonical(t, sources) for t in tensors]
    w = np.concatenate([a for a, _ in arrays], axis=1)
    layers = tuple(range(first, first + w.shape[1]))
    assumed = frozenset().union(*(a for _, a in arrays))
    return Group(tensors=tuple(tensors), w=w, layers=layers, stage=stage, assumed=assumed)


def _canonical(tensor: StoredTensor, sources: Sources) -> tuple[Array, frozenset[str]]:
    """One tensor as (2, layers, heads, head_dim / 2), and what had to be assumed."""
    shape = tensor.shape
    per_layer = bool(numbers(tensor.name)) or tensor.name.endswith("rope_freqs")
    assumed: frozenset[str] = frozenset()
    if len(shape) == 4:  # timm
        layers, heads, width = shape[1:]
    elif len(shape) == 3 and per_layer:  # Swin
        layers, heads, width = 1, shape[1], shape[2]
    else:  # DeiT (2, layers, heads * width), self-attention (2, heads * width)
        layers = shape[1] if len(shape) == 3 else 1
        head_dim, assumed = _head_dim(tensor, sources)
        width = head_dim // 2
        heads = shape[-1] // width
    if min(layers, heads, width) < 1:
        raise misshaped(tensor, "at least one layer, head and channel pair")
    given = _grid.whole(sources.options, "head-dim", least=2)
    if given is not None and given != 2 * width:
        raise InvalidValue(
            f"{quoted(tensor.name)} of shape {list(shape)} has heads of {2 * width} channels, and "
            f"head-dim says {given}; leave the option out",
            where=tensor.name,
        )
    if width % 2:
        raise misshaped(tensor, "a head size that is divisible by 4 (two axes of channel pairs)")
    return finite(tensor).reshape(2, layers, heads, width), assumed


def _head_dim(tensor: StoredTensor, sources: Sources) -> tuple[int, frozenset[str]]:
    """Head size of a layout that keeps heads and channels in one axis, head after head."""
    total = 2 * tensor.shape[-1]
    given = _grid.whole(sources.options, "head-dim", least=2)
    model = stated(sources.document)
    if given is not None:
        found, assumed = given, frozenset[str]()
    elif model is not None:
        found, assumed = model.head_dim, frozenset[str]()
    else:
        found, assumed = DEIT_HEAD, frozenset({"head_dim"})
    if found % 4 or total % found:
        raise misshaped(
            tensor,
            f"a last axis of heads x {found // 2} (head size {found}, divisible by 4); state the "
            "head size with --encoding head-dim=N",
        )
    return found, assumed


def is_axial(w: Array) -> bool:
    """Whether all planes of ``w`` (2, ..., units) turn with one axis: the first half with x, the
    second with y, to 1e-6 of their length. Nothing trained does; float32 keeps cos(pi/2) as
    -4.4e-8. Planes that a quantiser stopped are of either kind, unless it stopped a whole half."""
    import numpy as np

    half = w.shape[-1] // 2
    x, y = np.abs(w)
    first = y[..., :half] <= ABOUT_ZERO * x[..., :half]
    second = x[..., half:] <= ABOUT_ZERO * y[..., half:]
    turns = x[..., :half].any() and y[..., half:].any()
    return bool(turns and first.all() and second.all())


def positions(sources: Sources) -> Positions:
    """Where the patches stand: by option, else by the model's name, else unknown."""
    trained = _grid.sizes(sources.options, "grid", 2)
    used = _grid.sizes(sources.options, "test-grid", 2)
    model = stated(sources.document)
    if trained is None and model is not None:
        trained = model.grid
    return _grid.image(_pair(trained), _pair(used))


def _pair(sizes: tuple[int, ...] | None) -> tuple[int, int] | None:
    return None if sizes is None else (sizes[0], sizes[1])


def planes(encoding: Encoding) -> Array:
    """``freqs`` as (layers, heads, units, axes)."""
    import numpy as np

    return np.moveaxis(encoding.parameters["freqs"], 0, -1)


def each(groups: Sequence[Group], *, axial: bool) -> Iterator[Group]:
    """The groups of one kind."""
    return (g for g in groups if is_axial(g.w) == axial)
