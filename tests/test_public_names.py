"""The names that programs may rely on: a change here is a change of the public interface."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import ropeaudit
from ropeaudit import errors


def test_the_list_is_sorted_and_each_name_is_there() -> None:
    assert list(ropeaudit.__all__) == sorted(ropeaudit.__all__)
    assert len(set(ropeaudit.__all__)) == len(ropeaudit.__all__)
    for name in ropeaudit.__all__:
        assert getattr(ropeaudit, name) is not None
    assert set(ropeaudit.__all__) <= set(dir(ropeaudit))


def test_every_error_is_public() -> None:
    deliberate = {
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.RopeAuditError)
    }
    assert deliberate <= set(ropeaudit.__all__)
    for name in deliberate:
        assert getattr(ropeaudit, name) is getattr(errors, name)


def test_the_names_that_were_promised() -> None:
    promised = {"audit", "read", "assert_safe", "Schedule", "Report", "Finding", "Verdict"}
    assert promised | {"Severity", "__version__"} <= set(ropeaudit.__all__)
    assert {"convert", "diff", "perturb", "probe_kernel", "prove"} <= set(ropeaudit.__all__)
    assert issubclass(ropeaudit.UnsafeScheduleError, AssertionError)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'audti'"):
        _ = ropeaudit.audti  # type: ignore[attr-defined]


def run(code: str) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(
    "first", ["import ropeaudit.audit", "from ropeaudit.audit import bind", "import ropeaudit.api"]
)
def test_audit_is_the_function_whatever_is_imported_first(first: str) -> None:
    code = (
        f"{first}\nimport ropeaudit, ropeaudit.audit\nfrom ropeaudit.audit import audit_targets\n"
        "from ropeaudit import audit\n"
        "print(callable(ropeaudit.audit), audit is ropeaudit.audit, callable(audit_targets))"
    )
    assert run(code) == "True True True"


def test_functions_that_share_the_name_of_a_package_stay_functions() -> None:
    code = (
        "import ropeaudit, ropeaudit.convert.ape, ropeaudit.diff.compare, ropeaudit.probe.kernel\n"
        "from ropeaudit.convert import rope\nfrom ropeaudit import convert, diff, probe_kernel\n"
        "print(callable(convert), callable(diff), convert is ropeaudit.convert, rope.NAME)"
    )
    assert run(code) == "True True True rope"


def test_importing_the_package_loads_nothing_dear() -> None:
    code = (
        "import sys, ropeaudit; ropeaudit.__version__\n"
        "print([m for m in ('numpy', 'yaml', 'sympy', 'mpmath', 'torch', 'transformers', "
        "'dataclasses', 'ropeaudit.audit') if m in sys.modules])"
    )
    assert run(code) == "[]"


def test_auditing_a_config_loads_no_array_library(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    config.write_text(
        '{"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, '
        '"num_hidden_layers": 2, "max_position_embeddings": 2048, "rope_theta": 10000.0}'
    )
    code = (
        "import sys, ropeaudit\n"
        f"report = ropeaudit.audit({str(config)!r})\n"
        "print(report.verdict, [m for m in ('numpy', 'yaml', 'sympy', 'mpmath', 'torch', "
        "'transformers', 'huggingface_hub', 'safetensors') if m in sys.modules])"
    )
    assert run(code) == "pass []"
