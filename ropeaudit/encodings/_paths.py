"""Nodes of a tree as positions: the branches from the root, counted from 0, padded with -1.

``[[0, 1, -1]]`` is the node reached by branch 0 and then branch 1; ``[[-1, -1, -1]]`` is the root.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ropeaudit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ropeaudit.encodings.core import Array

PAD = -1


def padded(paths: Sequence[Sequence[int]]) -> Any:
    """Paths of any lengths as one integer array (count, longest)."""
    import numpy as np

    longest = max(map(len, paths), default=0)
    found = np.full((len(paths), longest), PAD, dtype=np.int64)
    for row, path in zip(found, paths, strict=True):
        row[: len(path)] = path
    return found


def checked(positions: Array, branches: int) -> Any:
    """``positions`` (count, depth) as integers.

    Raises UsageError for what is no branch of ``branches``, or a branch behind a pad.
    """
    import numpy as np

    paths = np.asarray(positions)
    whole = paths.astype(np.int64)
    if (
        paths.ndim != 2
        or (whole != paths).any()
        or (whole < PAD).any()
        or (whole >= branches).any()
    ):
        raise UsageError(
            f"positions of a tree are paths: rows of branches 0 to {branches - 1} from the root, "
            "padded at the end with -1"
        )
    gaps = (whole[:, :-1] == PAD) & (whole[:, 1:] != PAD)
    if gaps.any():
        row = whole[int(gaps.any(axis=1).argmax())].tolist()
        raise UsageError(f"the path {row} goes on behind its padding, expected -1 only at the end")
    return whole


def maps(branches: Array, paths: Any, start: Array | None = None) -> Array:
    """The product of the branch maps from the root to each node: (count, ..., n, n).

    ``branches`` (branches, ..., n, n); ``start`` stands in front of every product.
    """
    import numpy as np

    one = np.broadcast_to(np.eye(branches.shape[-1]), branches.shape[1:])
    every = np.concatenate([branches, one[None]])
    first = one if start is None else start
    found = np.broadcast_to(first, (len(paths), *one.shape)).copy()
    for step in range(paths.shape[1]):
        taken = paths[:, step]
        deeper = taken != PAD
        if deeper.any():
            found[deeper] = found[deeper] @ every[taken[deeper]]
    return found


def common(queries: Any, keys: Any) -> Any:
    """Length of the common start of each pair of padded paths (queries, keys); pads count."""
    import numpy as np

    width = max(queries.shape[1], keys.shape[1])
    q, k = (
        np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=PAD) for p in (queries, keys)
    )
    same = q[:, None, :] == k[None, :, :]
    return np.cumprod(same, axis=-1).sum(axis=-1)


def distance(queries: Any, keys: Any) -> Any:
    """Edges between each pair of nodes, (queries, keys)."""
    import numpy as np

    q, k = ((p != PAD).sum(axis=1) for p in (queries, keys))
    # Equal pads behind the end of both are no common edges.
    shared = np.minimum(common(queries, keys), np.minimum(q[:, None], k[None, :]))
    return q[:, None] + k[None, :] - 2 * shared


def public_distance(queries: Any, keys: Any) -> Any:
    """The steps that the public code of APE counts: pads are steps too.

    Twice what is left of the padded width behind the common start, so a deeper node anywhere in the
    batch makes all others farther apart (``ape/nn/position/schemes.py``).
    """
    width = max(queries.shape[1], keys.shape[1])
    return 2 * (width - common(queries, keys))


def words(branches: int, depth: int) -> Iterator[tuple[int, ...]]:
    """All paths of at most ``depth`` steps, the root first, shorter before longer."""
    level: list[tuple[int, ...]] = [()]
    for _ in range(depth + 1):
        yield from level
        level = [(*path, branch) for path in level for branch in range(branches)]
