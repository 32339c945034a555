"""The hub on loopback, for targets that are shown and never written."""

from tests.sources.conftest import hub

__all__ = ["hub"]
