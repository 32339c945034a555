"""Picture of a kernel probe: each target and what every basis makes of it, inside and beyond."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from ropeaudit.probe.kernel import Result, curves
from ropeaudit.report import _plots
from ropeaudit.report._terminal import safe

_POINTS = 1200
_FEWEST = 64
"""Most and least lags that a half shows."""
_PERIODS = 8


def write(result: Result, folder: str) -> tuple[str, ...]:
    """Draw one picture for each target as PNG and SVG; the paths. Raises UsageError."""
    import matplotlib as mpl

    written: list[str] = []
    with mpl.rc_context(_plots.STYLE):
        for number, (name, _) in enumerate(result.targets):
            plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or str(number)
            if plain != name:
                plain = f"{number}-{plain}"  # two expressions may be spelt alike
            written += _plots.save(draw(result, name), Path(folder), f"kernel-{plain}")
    return tuple(written)


def draw(result: Result, target: str) -> Any:
    """The target and all fits on the last lags of the fit and on the last that were judged."""
    import numpy as np

    settings = result.settings
    figure, axes = _plots.blank(13.0, 4.4, columns=2)
    for ax, end in zip(axes, (settings.length, settings.lengths[-1]), strict=True):
        # A few periods of omega: a whole length of them would be a solid bar.
        shown = min(_POINTS, end, max(_FEWEST, int(_PERIODS * 2 * np.pi / settings.omega)))
        lags = np.arange(end - shown, end, dtype=np.float64)
        truth, fits = curves(result, target, lags)
        for number, (name, values) in enumerate(fits.items()):
            error = result.cell(name, target, end).reference
            style = "-" if number < 10 else "--"
            label = f"{name} ({error:.3g})"
            ax.plot(lags, values, style, color=f"C{number % 10}", linewidth=0.9, label=label)
        ax.plot(lags, truth, ":", color="black", linewidth=1.8, label="target")
        span = float(np.ptp(truth)) or 1.0
        middle = float(truth.max() + truth.min()) / 2
        ax.set_ylim(middle - 0.8 * span, middle + 0.8 * span)  # a fit that blows up leaves the page
        ax.set_xlabel("lag d")
        ax.set_title(f"T = {end:,}; in brackets the error over all lags", fontsize=9)
        _plots.legend(ax, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.suptitle(f"Kernel probe: {safe(target)}", fontsize=10, parse_math=False)
    return figure
