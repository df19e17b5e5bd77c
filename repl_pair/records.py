"""Dataclasses that import in a tenth of the time, and how what was set is taken back.

`dataclass` compiles up to six methods for each class. Records share their methods, and remain
dataclasses to `fields`, `replace`, `asdict` and `is_dataclass`.
"""

from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from typing import Any, NamedTuple, TypeVar, cast, dataclass_transform

T = TypeVar("T")

Undo = Callable[[], object]
"""Takes back what a function changed; such a function returns it."""


class holding:
    """Set a context variable during a block."""

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable: ContextVar[Any] = variable
        self._value = value

    def __enter__(self) -> None:
        """Set it."""
        self._token: Token[Any] = self._variable.set(self._value)

    def __exit__(self, *_raised: object) -> None:
        """Give it the value of before."""
        self._variable.reset(self._token)


class _Plan(NamedTuple):
    """What the shared methods know of one class."""

    names: tuple[str, ...]
    every: frozenset[str]
    defaults: dict[str, Any]
    factories: dict[str, Callable[[], Any]]
    compared: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose fields are given by keyword."""
    return _make(cls, _METHODS)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def row(cls: type[T]) -> type[T]:
    """Make a frozen dataclass whose fields may be given by position too."""
    return _make(cls, _METHODS)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Make a dataclass whose fields are given by keyword and may change; it equals only itself."""
    return _make(cls, {"__init__": _init})


def to_dict(record: Any) -> dict[str, Any]:
    """Return a record's fields by name; unlike `asdict`, what stands in them is not copied."""
    return {name: getattr(record, name) for name in record.__record__.names}


def replace(record: T, **changes: Any) -> T:
    """Return a record with other values in some fields, in a tenth of the time of dataclasses."""
    plan: _Plan = cast("Any", record).__record__
    if unknown := changes.keys() - plan.every:
        raise TypeError(f"{type(record).__name__}: unknown {', '.join(sorted(unknown))}")
    made, values = object.__new__(type(record)), record.__dict__
    made.__dict__.update({name: values[name] for name in plan.names} | changes)
    return made


def defaults_of(record: Any) -> Mapping[str, Any]:
    """Return the plain defaults of a record's fields by name; made ones, such as `{}`, are not."""
    return record.__record__.defaults


def _make(cls: type[T], methods: Mapping[str, Any]) -> type[T]:
    cls.__doc__ = cls.__doc__ or cls.__name__  # else `dataclass` builds it from a signature, slowly
    made = dataclass(init=False, repr=False, eq=False)(cls)
    all_fields: tuple[Field[Any], ...] = fields(cast("Any", made))
    every = frozenset(f.name for f in all_fields)
    defaults = {f.name: f.default for f in all_fields if f.default is not MISSING}
    made_anew = {f.name: f.default_factory for f in all_fields if f.default_factory is not MISSING}
    # `list[str]()` takes ten times as long as `list()`.
    factories = {name: getattr(make, "__origin__", make) for name, make in made_anew.items()}
    plan = _Plan(
        names=tuple(f.name for f in all_fields),
        every=every,
        defaults=defaults,
        factories=factories,
        compared=tuple(f.name for f in all_fields if f.compare),
        shown=tuple(f.name for f in all_fields if f.repr),
    )
    own = vars(made)
    for name, method in {**methods, "__record__": plan}.items():
        if name not in own or own[name] is None:
            setattr(made, name, method)
    return made


def _init(self: Any, *positional: Any, **given: Any) -> None:
    plan: _Plan = self.__record__
    if positional:
        if len(positional) > len(plan.names):
            raise TypeError(f"it takes {len(plan.names)} fields, not {len(positional)}")
        named = dict(zip(plan.names, positional, strict=False))
        if given and (doubled := named.keys() & given):
            raise TypeError(f"given twice: {', '.join(sorted(doubled))}")
        given = named | given
    values = self.__dict__
    values |= plan.defaults
    values |= given
    for name, make in plan.factories.items():
        if name not in given:
            values[name] = make()
    if values.keys() != plan.every:
        wrong = sorted(plan.every ^ values.keys())
        raise TypeError(f"{type(self).__name__}: missing or unknown {', '.join(wrong)}")


def _refuse_change(self: Any, name: str, *_value: Any) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}, nor delete it")


def _eq(self: Any, other: Any) -> bool:
    if type(self) is not type(other):
        return NotImplemented
    return _compared(self) == _compared(other)


def _hash(self: Any) -> int:
    return hash(_compared(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record__.shown)
    return f"{type(self).__qualname__}({shown})"


def _compared(self: Any) -> tuple[Any, ...]:
    values = self.__dict__
    return tuple([values[name] for name in self.__record__.compared])


_METHODS: Mapping[str, Any] = {
    "__init__": _init,
    "__setattr__": _refuse_change,
    "__delattr__": _refuse_change,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
}
