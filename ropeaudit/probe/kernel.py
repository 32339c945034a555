"""The fixed-kernel probe: what can a basis fit on the trained lags, and what holds beyond them?

Every basis is fitted by least squares to a target ``y(d)`` on the lags ``0..L-1`` and judged on
``0..T-1`` for longer T. No model is trained: this asks only what the functions that an encoding
puts into a logit can express. After arXiv 2605.04217v2, section 5.1 and table 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ropeaudit._arguments import several
from ropeaudit.errors import UsageError, quoted, suggestion
from ropeaudit.probe import _published as published
from ropeaudit.probe import _solve as solve
from ropeaudit.probe._bases import DEFAULT, Basis, basis
from ropeaudit.probe._digits import Comparison, compare
from ropeaudit.probe._expression import TARGETS, Expression, parse
from ropeaudit.records import field, record, record_fields, replace

if TYPE_CHECKING:
    from ropeaudit.encodings.core import Array

MAX_FIT = 1 << 16
MAX_LENGTH = 1 << 22
MAX_FREQUENCIES = 256
_EPS32 = 2.0**-23
_ROWS = 1 << 13
"""Lags whose features are held at once."""


@record(kw_only=True)
class Settings:
    """What is fitted. ``length``: lags in the fit; ``lengths``: lags that errors are taken over.

    Frequencies are ``theta^(-2k/head_dim)`` for k below ``frequencies``, in radians per position;
    omega of the targets is the one of index ``target_index``. ``gamma`` is per position; ``ridge``
    is added to the diagonal of the normal matrix, unscaled.
    """

    length: int = 1024
    lengths: tuple[int, ...] = (1024, 2048, 4096, 8192)
    theta: float = 1e4
    head_dim: int = 64
    frequencies: int = 16
    gamma: float = 1e-4
    ridge: float = 1e-4
    target_index: int = 3

    def omegas(self) -> Array:
        """All frequencies, (frequencies,), radians per position."""
        import numpy as np

        found: Array = self.theta ** (-2.0 * np.arange(self.frequencies) / self.head_dim)
        return found

    @property
    def omega(self) -> float:
        return float(self.omegas()[self.target_index])


@record(kw_only=True)
class Cell:
    """Mean squared error of one basis on one target over the lags ``0..length-1``.

    ``reference``: float64, QR. ``normal``: float64, normal equations. ``float32``: the three runs
    of ``_solve.FLOAT32_RUNS``. ``bound``: by how much float32 can move the root of the error, to
    first order: ``|X|_2 * condition * eps32 * |c|_2 / sqrt(length)``. ``comparison`` with a
    published figure, where there is one for these settings.
    """

    basis: str
    target: str
    length: int
    reference: float
    normal: float
    float32: tuple[float, ...]
    bound: float
    comparison: Comparison | None = None


@record(kw_only=True)
class Fit:
    """A basis after the fit. ``coefficients``: (features, targets), the reference's."""

    basis: Basis
    features: int
    condition: float
    coefficients: Array = field(compare=False)


@record(kw_only=True)
class Result:
    """Everything that one probe found. ``targets``: name and expression. ``is_published``: whether
    the settings are those of the published table."""

    settings: Settings
    targets: tuple[tuple[str, Expression], ...]
    fits: tuple[Fit, ...]
    cells: tuple[Cell, ...]
    is_published: bool
    notes: tuple[str, ...] = ()

    def cell(self, basis: str, target: str, length: int) -> Cell:
        return next(
            c for c in self.cells if (c.basis, c.target, c.length) == (basis, target, length)
        )


def run(
    settings: Settings | None = None, *, targets: Sequence[str] = (), bases: Sequence[str] = ()
) -> Result:
    """Fit ``bases`` (default: those of the published table) to ``targets``.

    A target is a name of :data:`TARGETS` or an expression. Raises UsageError for what cannot be
    read, is out of range, or is not finite at some lag.
    """
    import numpy as np

    settings = _checked(settings or Settings())
    given = settings.gamma, settings.length
    found = [basis(n, gamma=given[0], length=given[1]) for n in dict.fromkeys(bases or DEFAULT)]
    wanted = tuple(_target(t) for t in dict.fromkeys(targets or TARGETS))
    fits: list[Fit] = []
    cells: list[Cell] = []
    with np.errstate(all="ignore"):  # a float32 run that breaks down is a result
        for one in found:
            fit, errors = _fitted(one, settings, wanted)
            fits.append(fit)
            cells += errors
    same = replace(settings, lengths=()) == Settings(lengths=())
    if same:
        cells = [_compared(c) for c in cells]
    return Result(
        settings=settings,
        targets=wanted,
        fits=tuple(fits),
        cells=tuple(cells),
        is_published=same,
        notes=tuple(_notes(cells, fits)),
    )


def probe_kernel(
    *, targets: str | Iterable[str] = (), bases: str | Iterable[str] = (), **settings: Any
) -> Result:
    """:func:`run` with the fields of :class:`Settings` as arguments, such as ``length=64``.

    Raises UsageError as ``run`` does, and for a setting that is not known or no number.
    """
    for name, value in settings.items():
        if name not in (known := record_fields(Settings)):
            raise UsageError(f"no setting is called {quoted(name)}{suggestion(name, known)}")
        kind = int | float if name in ("theta", "gamma", "ridge") else int
        values = several(value, int, name, "lags") if name == "lengths" else (value,)
        settings[name] = values if name == "lengths" else value
        if not all(isinstance(v, kind) and not isinstance(v, bool) for v in values):
            raise UsageError(f"{name} is {quoted(value)}, expected a number")
    many = [several(v, str, n, "texts") for n, v in (("targets", targets), ("bases", bases))]
    return run(Settings(**settings), targets=many[0], bases=many[1])


def _target(text: str) -> tuple[str, Expression]:
    """A shipped target under its name, whichever way it was written; another under its text."""
    expression = parse(TARGETS.get(text.strip(), text))
    known = next((n for n, e in TARGETS.items() if parse(e).source == expression.source), None)
    return known or expression.text, expression


def _checked(settings: Settings) -> Settings:
    """The settings with sorted lengths; raises UsageError for a value out of range."""
    s = settings
    if not 2 <= s.length <= MAX_FIT:
        raise UsageError(f"the fit takes 2 to {MAX_FIT} lags, not {s.length}")
    lengths = tuple(sorted({s.length, *s.lengths}))
    if not 1 <= lengths[0] <= lengths[-1] <= MAX_LENGTH:
        wrong = lengths[0] if lengths[0] < 1 else lengths[-1]
        raise UsageError(f"errors are taken over 1 to {MAX_LENGTH} lags, not {wrong}")
    if not 1 <= s.frequencies <= MAX_FREQUENCIES:
        raise UsageError(f"a basis has 1 to {MAX_FREQUENCIES} frequencies, not {s.frequencies}")
    if not 2 <= s.head_dim <= 1 << 16:
        raise UsageError(f"head_dim is 2 to {1 << 16}, not {s.head_dim}")
    if not 0 <= s.target_index < s.frequencies:
        raise UsageError(
            f"target index {s.target_index} names no frequency; there are {s.frequencies}, "
            "counted from 0"
        )
    for name, value, least in (
        ("theta", s.theta, 1.0),
        ("gamma", s.gamma, 0.0),
        ("ridge", s.ridge, 0.0),
    ):
        if not (math.isfinite(value) and least <= value <= 1e30):
            raise UsageError(f"{name} is {quoted(value)}, expected a number from {least:g} on")
    return replace(s, lengths=lengths)


def _fitted(
    one: Basis, settings: Settings, targets: Sequence[tuple[str, Expression]]
) -> tuple[Fit, list[Cell]]:
    import numpy as np

    omegas, length = settings.omegas(), settings.length
    lags = np.arange(length, dtype=np.float64)
    x, y = one.features(lags, omegas, length), _values(lags, settings, targets)
    best = solve.reference(x, y, settings.ridge)
    condition = solve.condition(x, settings.ridge)
    fit = Fit(basis=one, features=x.shape[1], condition=condition, coefficients=best)
    exact = [best, solve.normal(x, y, settings.ridge)]
    single = solve.float32(x, y, settings.ridge)
    sums = np.zeros((len(exact) + len(single), len(targets)))
    gram = np.zeros((x.shape[1], x.shape[1]))
    cells: list[Cell] = []
    first = 0
    for end in settings.lengths:
        while first < end:
            rows = np.arange(first, min(end, first + _ROWS), dtype=np.float64)
            x, y = one.features(rows, omegas, length), _values(rows, settings, targets)
            x32 = x.astype(np.float32)
            predicted = [x @ c for c in exact] + [(x32 @ c).astype(np.float64) for c in single]
            sums += [((p - y) ** 2).sum(axis=0) for p in predicted]
            gram += x.T @ x
            first += len(rows)
        widest = math.sqrt(max(0.0, float(np.linalg.eigvalsh(gram)[-1])))
        sizes = np.linalg.norm(best, axis=0)
        bounds = widest * condition * _EPS32 * sizes / math.sqrt(end)
        for at, (name, _) in enumerate(targets):
            mean = [float(v) for v in sums[:, at] / end]
            cells.append(
                Cell(
                    basis=one.name,
                    target=name,
                    length=end,
                    reference=mean[0],
                    normal=mean[1],
                    float32=tuple(mean[2:]),
                    bound=float(bounds[at]),
                )
            )
    return fit, cells


def _values(lags: Array, settings: Settings, targets: Sequence[tuple[str, Expression]]) -> Array:
    """The targets at ``lags``, (count, targets)."""
    import numpy as np

    length, omega = settings.length, settings.omega
    return np.stack([e.values(lags, length=length, omega=omega) for _, e in targets], axis=1)


def curves(result: Result, target: str, lags: Array) -> tuple[Array, dict[str, Array]]:
    """The target and what each basis makes of it at ``lags`` (count,), by name; float64."""
    settings, omegas = result.settings, result.settings.omegas()
    at = [name for name, _ in result.targets].index(target)
    truth = _values(lags, settings, result.targets)[:, at]
    return truth, {
        f.basis.name: f.basis.features(lags, omegas, settings.length) @ f.coefficients[:, at]
        for f in result.fits
    }


def _compared(cell: Cell) -> Cell:
    told = published.TABLE.get(cell.basis, {}).get(cell.target)
    if told is None or cell.length != published.LENGTH:
        return cell
    found = compare(
        told,
        decimals=published.DECIMALS,
        normal=cell.normal,
        reference=cell.reference,
        bound=cell.bound,
    )
    return replace(cell, comparison=found)


def _notes(cells: Sequence[Cell], fits: Sequence[Fit]) -> Iterator[str]:
    """Published orders that float64 turns round, and bases that cannot be told from each other."""
    told = [(c, c.comparison) for c in cells if c.comparison is not None]
    for n, (a, said_a) in enumerate(told):
        for b, said_b in told[n + 1 :]:
            if a.target != b.target or not (said_a.is_decided and said_b.is_decided):
                continue
            if (said_a.published - said_b.published) * (a.reference - b.reference) < 0:
                low, high = sorted((a, b), key=lambda c: c.reference)
                yield (
                    f"{a.target}: in float64 {low.basis} has a smaller error than {high.basis} "
                    f"({low.reference:.4g} < {high.reference:.4g}); the published figures say the "
                    "opposite"
                )
    for fit in fits:
        if not math.isfinite(fit.condition) or fit.condition > 1e15:
            yield (
                f"{fit.basis.name}: the normal matrix is singular to float64, so the errors beyond "
                "the fit are not determined; give a ridge"
            )
