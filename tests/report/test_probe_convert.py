"""Pages of probes and conversions in every view, and names that are not to be trusted."""

from __future__ import annotations

import numpy as np
import pytest

from ropeaudit.convert import rope
from ropeaudit.convert.interface import Source
from ropeaudit.errors import UsageError
from ropeaudit.probe.kernel import Settings, run
from ropeaudit.report import _convert, _probe
from ropeaudit.report._convert import Done
from ropeaudit.report._terminal import View

HOSTILE = "w\x1b[31m\n|`.npy"
SMALL = run(
    Settings(length=20, lengths=(40,), frequencies=2, target_index=1),
    targets=["cos(omega*d)*0 + d/L"],
    bases=["rope", "jordan_raw"],
)


def conversion() -> Done:
    b = np.zeros((2, 1, 3, 4, 4))
    b[:, 0, :, 1, 0], b[:, 0, :, 0, 1] = 0.5, -0.5
    b[0, 0, :, 3, 2], b[0, 0, :, 2, 3] = 1.0, -1.0
    source = Source(target=HOSTILE, name=HOSTILE, origin="generator", kind="x", generators=b)
    return Done(made=rope.convert(source), tensors={HOSTILE: ("float64", (1, 2))})


VIEWS = (View(width=40), View(color=True, verbose=True), View(width=60, unicode=False))


@pytest.mark.parametrize("view", VIEWS)
def test_pages_in_every_view(view: View) -> None:
    pages = [_probe.render("console", SMALL, view), _convert.render("console", conversion(), view)]
    for text in pages:
        assert text.endswith("\n")
        assert view.color or "\x1b" not in text
        assert "\x1b[31m\n" not in text
        assert view.unicode or text.isascii()
        assert all(line == line.rstrip() for line in text.splitlines())


def test_every_format_holds_the_same_errors() -> None:
    cell = SMALL.cell("jordan_raw", SMALL.targets[0][0], 40)
    assert repr(cell.reference) in _probe.render("csv", SMALL, View())
    assert repr(cell.reference) in _probe.render("json", SMALL, View())
    assert f"{cell.reference:#.4g}" in _probe.render("markdown", SMALL, View())
    assert f"{cell.float32[0]:#.4g}" in _probe.render("console", SMALL, View(), precision="float32")


def test_a_conversion_of_two_axes_and_heads() -> None:
    text = _convert.render("console", conversion(), View())
    assert "2 axes · 3 heads · 4 channels, 2 planes" in text
    assert "    axis  head  frequencies (rad/step)\n" in text
    assert "    0     2     0.5  1\n" in text
    assert "    1     2     0.5  0\n" in text


def test_formats_of_findings_are_refused() -> None:
    for module in (_probe, _convert):
        with pytest.raises(UsageError, match="format junit is for findings"):
            module.check_format("junit")
