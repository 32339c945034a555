"""Records: small immutable classes, declared like dataclasses, without generated code.

``dataclasses`` writes and compiles half a dozen methods for every class, about 0.45 ms each time;
the hundred small classes of this package would take longer to create than a config to audit. A
record looks the same (annotations, defaults, :func:`field`) and means the same (slots, equality and
hash by fields, frozen unless told otherwise); its methods are shared closures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")
_MISSING: Any = object()


class _Field:
    __slots__ = ("compare", "default", "factory")

    def __init__(self, default: Any, factory: Any, compare: bool) -> None:
        self.default = default
        self.factory = factory
        self.compare = compare


def field(
    *, default: Any = _MISSING, default_factory: Callable[[], Any] = _MISSING, compare: bool = True
) -> Any:
    """A default made anew for each instance, or a field that equality and hash leave out."""
    return _Field(default, default_factory, compare)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(*, kw_only: bool = False, frozen: bool = True) -> Callable[[type[T]], type[T]]:
    """Class decorator: a slotted class with ``__init__``, ``==``, ``repr`` and pickling.

    Frozen records raise AttributeError on assignment and are hashable if their fields are. A record
    does not inherit fields.
    """

    def wrap(cls: type[T]) -> type[T]:
        specs = {name: _spec(cls, name) for name in cls.__annotations__}
        body = {
            k: v for k, v in cls.__dict__.items() if k not in {"__dict__", "__weakref__", *specs}
        }
        body["__slots__"] = tuple(specs)
        body["__record_fields__"] = specs
        body.setdefault("__qualname__", cls.__qualname__)
        made: Any = type(cls.__name__, cls.__bases__, body)
        for name, method in _methods(made, specs, kw_only, frozen).items():
            if name not in body:
                setattr(made, name, method)
        return cast("type[T]", made)

    return wrap


def replace(instance: T, /, **changes: Any) -> T:
    """A copy with some fields changed; raises TypeError for a name that is no field."""
    values = {name: getattr(instance, name) for name in record_fields(type(instance))}
    unknown = next((name for name in changes if name not in values), None)
    if unknown is not None:
        raise TypeError(f"{type(instance).__name__} has no field {unknown!r}")
    return type(instance)(**{**values, **changes})


def record_fields(cls: type[Any]) -> Mapping[str, bool]:
    """Names of a record's fields in order; the value says whether the field has a default."""
    specs: dict[str, _Field] = cls.__record_fields__
    return {n: s.default is not _MISSING or s.factory is not _MISSING for n, s in specs.items()}


def _spec(cls: type[Any], name: str) -> _Field:
    default = cls.__dict__.get(name, _MISSING)
    if isinstance(default, _Field):
        return default
    if isinstance(default, list | dict | set):
        raise TypeError(f"{cls.__name__}.{name}: a mutable default is shared, use default_factory")
    return _Field(default, _MISSING, True)


def _methods(
    cls: type[Any], specs: Mapping[str, _Field], kw_only: bool, frozen: bool
) -> dict[str, Any]:
    compared = tuple(name for name, spec in specs.items() if spec.compare)
    key: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda _: ()

    def __eq__(self: Any, other: object) -> Any:
        return key(self) == key(other) if type(other) is type(self) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(key(self))

    def __repr__(self: Any) -> str:
        inner = ", ".join(f"{name}={getattr(self, name)!r}" for name in specs)
        return f"{type(self).__qualname__}({inner})"

    def __getstate__(self: Any) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in specs)

    def __setstate__(self: Any, state: tuple[Any, ...]) -> None:
        for name, value in zip(specs, state, strict=True):
            object.__setattr__(self, name, value)

    def refuse(self: Any, name: str, value: object = None) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: {name} cannot be changed")

    methods: dict[str, Any] = {
        "__init__": _init(cls, specs, kw_only),
        "__eq__": __eq__,
        "__repr__": __repr__,
        "__getstate__": __getstate__,
        "__setstate__": __setstate__,
        "__hash__": __hash__ if frozen else None,
    }
    if not kw_only:
        methods["__match_args__"] = tuple(specs)
    return {**methods, "__setattr__": refuse, "__delattr__": refuse} if frozen else methods


def _init(cls: type[Any], specs: Mapping[str, _Field], kw_only: bool) -> Callable[..., None]:
    # A slot's own setter passes by the frozen __setattr__, and is quicker than object.__setattr__.
    items = [(n, cls.__dict__[n].__set__, s.default, s.factory) for n, s in specs.items()]
    positional = 0 if kw_only else len(items)
    name_of = cls.__qualname__

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = len(args)
        if given > positional:
            raise TypeError(f"{name_of}() takes {positional} positional arguments, {given} given")
        for value, (_, put, _, _) in zip(args, items, strict=False):
            put(self, value)
        left = len(kwargs)
        for name, put, default, factory in items[given:]:
            if name in kwargs:
                put(self, kwargs[name])
                left -= 1
            elif default is not _MISSING:
                put(self, default)
            elif factory is not _MISSING:
                put(self, factory())
            else:
                raise TypeError(f"{name_of}() needs {name!r}")
        if left:
            names = {n for n, *_ in items[given:]}
            wrong = next(n for n in kwargs if n not in names)
            raise TypeError(f"{name_of}() got an unexpected or doubled argument {wrong!r}")

    return __init__
