"""ropeaudit: audit the rotary position embedding schedules that models really use."""

from ropeaudit._version import __version__

__all__ = ["__version__"]
