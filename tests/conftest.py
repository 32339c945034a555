"""Settings that every test shares."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# Same examples for the same selection of tests (hypothesis also draws constants from the modules
# that are loaded); a slow machine is no failure.
settings.register_profile("ropeaudit", derandomize=True, deadline=None)
settings.load_profile("ropeaudit")

# Two threads of two libraries on two cores spin against each other; waiting passively does not.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the machine that runs the tests reaches the tool."""
    for name in list(os.environ):
        if name.startswith("ROPEAUDIT_") and name != "ROPEAUDIT_MODELS":
            monkeypatch.delenv(name)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY", "NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
