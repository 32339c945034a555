"""ropeaudit: audit the rotary position embedding schedules that models really use.

    import ropeaudit

    report = ropeaudit.audit("path/to/model")      # or hf:org/name, or a live torch.nn.Module
    report.verdict, report.exit_code
    ropeaudit.assert_safe(model)                   # raises UnsafeScheduleError

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ropeaudit._version import __version__

if TYPE_CHECKING:
    from ropeaudit.api import assert_safe, audit, convert, diff, perturb, prove, read
    from ropeaudit.convert.interface import Converted
    from ropeaudit.diff.interface import Comparison
    from ropeaudit.diff.likeness import Likeness
    from ropeaudit.encodings.core import Encoding
    from ropeaudit.errors import (
        ConfigError,
        InvalidValue,
        LfsPointer,
        MissingDependency,
        PackError,
        RopeAuditError,
        SourceError,
        TruncatedFile,
        UnrecognisedFormat,
        UnsafePickle,
        UnsafeScheduleError,
        UsageError,
    )
    from ropeaudit.explain import explain
    from ropeaudit.findings import Finding, Severity, Verdict
    from ropeaudit.perplexity.measure import measure
    from ropeaudit.perturb.variant import Variant
    from ropeaudit.probe.kernel import probe_kernel
    from ropeaudit.proofs.certificate import Certificate
    from ropeaudit.schedule.core import Schedule
    from ropeaudit.verdict import Report

__all__ = [
    "Certificate",
    "Comparison",
    "ConfigError",
    "Converted",
    "Encoding",
    "Finding",
    "InvalidValue",
    "LfsPointer",
    "Likeness",
    "MissingDependency",
    "PackError",
    "Report",
    "RopeAuditError",
    "Schedule",
    "Severity",
    "SourceError",
    "TruncatedFile",
    "UnrecognisedFormat",
    "UnsafePickle",
    "UnsafeScheduleError",
    "UsageError",
    "Variant",
    "Verdict",
    "__version__",
    "assert_safe",
    "audit",
    "convert",
    "diff",
    "explain",
    "measure",
    "perturb",
    "probe_kernel",
    "prove",
    "read",
]

_HOMES = {
    "Certificate": "proofs.certificate",
    "Comparison": "diff.interface",
    "Converted": "convert.interface",
    "Encoding": "encodings.core",
    "Finding": "findings",
    "Likeness": "diff.likeness",
    "Report": "verdict",
    "Schedule": "schedule.core",
    "Severity": "findings",
    "Variant": "perturb.variant",
    "Verdict": "findings",
    "assert_safe": "api",
    "audit": "api",
    "convert": "api",
    "diff": "api",
    "explain": "explain",
    "measure": "perplexity.measure",
    "perturb": "api",
    "probe_kernel": "probe.kernel",
    "prove": "api",
    "read": "api",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"{__name__}.{_HOMES.get(name, 'errors')}")
    value = getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The function ``audit`` and the module that holds the pipeline share a name.

    Importing the module would put it in the function's place (the import system sets it as an
    attribute of its package). The module stays importable, ``ropeaudit.audit`` stays the function.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in __all__ and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
