"""The GPU script on the CPU with its small shape, so that it is known to work."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("torch")


@pytest.mark.slow
def test_small_shape_on_the_cpu(capsys: pytest.CaptureFixture[str]) -> None:
    from tests.gpu import measure

    assert measure.main(["--device", "cpu"]) == 0
    page = capsys.readouterr().out
    assert re.search(r"^\| 1024 \| 2 \| [\d.]+ \| \d+ \| \d+% \| [\d.]+ \|$", page, re.M)
    assert "All are within 0.001." in page
