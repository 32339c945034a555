"""Imports a package without its compiled extension, and without what only a GPU can use."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Nothing:
    """Stands for anything of the extension: callable, empty and false."""

    def __getattr__(self, name: str) -> Nothing:
        return Nothing()

    def __call__(self, *args: Any, **kwargs: Any) -> Nothing:
        return Nothing()

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __bool__(self) -> bool:
        return False


def _missing(name: str) -> Nothing:
    if name.startswith("__"):
        raise AttributeError(name)
    return Nothing()


class _Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives an empty module for each package in ``names``."""

    def __init__(self) -> None:
        self.names: set[str] = set()

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:
        if name.split(".")[0] in self.names:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: Any) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = _missing  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def load(name: str, folder: Path, extension: str, wanted: list[str]) -> list[Any]:
    """The modules ``wanted`` of package ``name``, whose own ``__init__`` is not run."""
    absent = _Absent()
    sys.meta_path.append(absent)
    for _ in range(20):
        for key in [k for k in sys.modules if k.split(".")[0] == name]:
            del sys.modules[key]
        package = types.ModuleType(name)
        package.__path__ = [str(folder / name)]
        stub = types.ModuleType(f"{name}.ext")
        stub.__getattr__ = _missing  # type: ignore[method-assign]
        setattr(stub, extension, Nothing())
        sys.modules[name], sys.modules[f"{name}.ext"] = package, stub
        try:
            return [importlib.import_module(f"{name}.{part}") for part in wanted]
        except ModuleNotFoundError as error:
            absent.names.add(str(error.name).split(".")[0])
    raise SystemExit(f"{folder} holds no {name} that can be imported")
