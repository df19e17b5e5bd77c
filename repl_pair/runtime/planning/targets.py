"""The function or class that a value stands for: its name, its module, what its class defines."""

import sys
from collections.abc import Iterator
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, TypeAlias, cast

from repl_pair.runtime.reading.stored_fields import stored_fields
from repl_pair.runtime.values.classes import (
    TypeRef,
    lineage,
    module_of,
    names_in,
    qualname_of,
    real_class,
)

_MAX_WRAPPERS = 50
Target: TypeAlias = FunctionType | type[Any]

_DATACLASS_PARAMS: type[Any] = cast("Any", type(vars(TypeRef)["__dataclass_params__"]))
_PLAIN: tuple[type[Any], ...] = (
    *(type(None), bool, int, float, str, bytes, tuple, list, dict, set, frozenset),
    *(ModuleType, BuiltinFunctionType, GetSetDescriptorType, MemberDescriptorType),
    _DATACLASS_PARAMS,
)
INSIDE: dict[int, str] = {
    **{id(cls): "" for cls in _PLAIN},
    id(partial): "func",
    id(cached_property): "func",
    id(MethodType): "__func__",
    id(staticmethod): "__func__",
    id(classmethod): "__func__",
    id(property): "fget",
}
"""What holds what a value wraps, by the id of its class; empty where nothing is in it.

A class is no key: its metaclass may hash it by code of its own.
"""


def unwrap(value: Any) -> Target | None:
    """Return the function or class under wrappers and methods; none of their own code runs."""
    for _ in range(_MAX_WRAPPERS):
        kind = real_class(value)
        name = INSIDE.get(id(kind))
        if name == "":
            return None
        if name:
            value = getattr(value, name)
        elif kind is FunctionType and not value.__dict__:
            break
        elif (inner := _wrapped(value)) is not None:
            value = inner
        else:
            break
    return value if issubclass(real_class(value), FunctionType | type) else None


def _wrapped(value: Any) -> Any:
    if issubclass(real_class(value), type):
        spaces = map(names_in, lineage(value))
        return next((space["__wrapped__"] for space in spaces if "__wrapped__" in space), None)
    return stored_fields(value).get("__wrapped__")


def full_name(target: Target) -> str:
    """Return the qualified name; of a class the real one."""
    return qualname_of(target) if isinstance(target, type) else target.__qualname__


def home_of(target: Target) -> str:
    """Return the name of the module that a function or class is of, "" where there is none."""
    space = None if isinstance(target, type) else target.__globals__
    return module_of(cast("Any", target)) if space is None else str(space.get("__name__", ""))


def own_functions(cls: type[Any]) -> Iterator[FunctionType]:
    """Return the functions that the body of a class defines."""
    module = module_of(cls)
    for member in names_in(cls).values():
        function = unwrap(member)
        if isinstance(function, FunctionType) and function.__module__ == module:
            yield function


def module_namespace(cls: type[Any]) -> dict[str, Any]:
    """Return the namespace of the module that a class is of, empty where there is none."""
    module = sys.modules.get(module_of(cls))
    return vars(module) if module else {}
