"""Import hook of the vLLM and SGLang oracles: a few real modules, names that do nothing for others.

Both packages need kernels that only a GPU build has. Their config code, rotary embeddings and model
files are plain Python: those run as they are, and everything around them (linear layers, attention
kernels, distributed groups) is replaced by a :class:`Nothing` class of the wanted name.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

SPECIAL: dict[str, Any] = {}
"""Names that stub modules hand out in place of a Nothing, by name or by full name."""


class _Meta(type):
    """A class that answers to any attribute, index or comparison, so that it can stand anywhere."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing(name)

    def __or__(cls, other: Any) -> Any:
        return cls

    def __ror__(cls, other: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __len__(cls) -> int:
        return 0

    def __int__(cls) -> int:
        return 1

    def __index__(cls) -> int:
        return 1

    def __getitem__(cls, item: Any) -> Any:
        return cls

    def __contains__(cls, item: Any) -> bool:
        return False

    def __floordiv__(cls, other: Any) -> Any:
        return 1

    def __rfloordiv__(cls, other: Any) -> Any:
        return other

    def __mul__(cls, other: Any) -> Any:
        return other

    __rmul__ = __mul__

    def __mod__(cls, other: Any) -> Any:
        return 0

    __rmod__ = __mod__

    def __lt__(cls, other: Any) -> bool:
        return False

    __gt__ = __lt__

    def __le__(cls, other: Any) -> bool:
        return True

    __ge__ = __le__


def _decorated(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a decorator got, None for any other call."""
    if len(args) == 1 and not kwargs and isinstance(args[0], type | types.FunctionType):
        return args[0]
    return None


class Nothing(metaclass=_Meta):
    """Callable, empty, false, one as a number; as a decorator it gives back what it got."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        given = _decorated(args, kwargs) if cls.__name__[0].islower() else None
        return object.__new__(cls) if given is None else given

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__()

    def __class_getitem__(cls, item: Any) -> Any:
        return cls

    def __getattr__(self, name: str) -> Any:
        if name == "__name__":
            return "stub"
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing(name)()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = _decorated(args, kwargs)
        return nothing("result")() if given is None else given

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *args: Any) -> bool:
        return False

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __getitem__(self, item: Any) -> Any:
        return nothing("item")()

    def __setitem__(self, item: Any, value: Any) -> None:
        return None

    def __len__(self) -> int:
        return 0

    def __contains__(self, item: Any) -> bool:
        return False

    def __bool__(self) -> bool:
        return False

    def __int__(self) -> int:
        return 1

    def __index__(self) -> int:
        return 1

    def __or__(self, other: Any) -> Any:
        return self

    def __ror__(self, other: Any) -> Any:
        return self

    def __floordiv__(self, other: Any) -> Any:
        return 1

    def __rfloordiv__(self, other: Any) -> Any:
        return other

    def __rtruediv__(self, other: Any) -> Any:
        return other

    def __mul__(self, other: Any) -> Any:
        return other

    __rmul__ = __mul__

    def __mod__(self, other: Any) -> Any:
        return 0

    __rmod__ = __mod__

    def __add__(self, other: Any) -> Any:
        return other

    __radd__ = __add__

    def __lt__(self, other: Any) -> bool:
        return False

    __gt__ = __lt__

    def __le__(self, other: Any) -> bool:
        return True

    __ge__ = __le__

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def nothing(name: str) -> Any:
    """A new class called ``name`` that does nothing."""
    return _Meta(name, (Nothing,), {})


class _Module(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value = SPECIAL.get(full, SPECIAL.get(name))
        found = nothing(name) if value is None and name not in SPECIAL else value
        setattr(self, name, found)
        return found


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """``roots``: packages by name with their folder, None for packages that are all stub."""

    def __init__(self, roots: dict[str, Path | None], real: Callable[[str], bool]) -> None:
        self.roots, self.real = roots, real

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top, *steps = name.split(".")
        if top not in self.roots:
            return None
        base = self.roots[top]
        if base is not None and self.real(name):
            inside = base.joinpath(*steps)
            if (inside / "__init__.py").exists():
                return importlib.util.spec_from_file_location(
                    name, inside / "__init__.py", submodule_search_locations=[str(inside)]
                )
            if inside.with_suffix(".py").exists():
                return importlib.util.spec_from_file_location(name, inside.with_suffix(".py"))
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        module = _Module(spec.name)
        top, *steps = spec.name.split(".")
        base = self.roots[top]
        module.__path__ = [] if base is None else [str(base.joinpath(*steps))]
        return module

    def exec_module(self, module: Any) -> None:
        return None


def install(package: str, folder: Path, real: Callable[[str], bool], others: str) -> None:
    """Serves ``package`` from ``folder`` and the ``others``, separated by spaces, as stubs."""
    roots: dict[str, Path | None] = {package: folder, **dict.fromkeys(others.split())}
    sys.meta_path.insert(0, _Finder(roots, real))
