"""The function or class that a value stands for: its name, its module, what its class defines."""

import sys
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from inspect import CO_VARARGS
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
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
MAX_PARTS = 200
"""Of what holds functions: what is larger is not looked through."""
_CONTAINERS = frozenset(map(id, (dict, MappingProxyType, list, tuple, set, frozenset)))
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
        if (inner := _inside(value)) is None:
            break
        value = inner
    return value if issubclass(real_class(value), FunctionType | type) else None


def _inside(value: Any) -> Any:
    kind = real_class(value)
    name = INSIDE.get(id(kind))
    if name is not None:
        return getattr(value, name) if name else None
    if kind is FunctionType and not value.__dict__:
        return None
    if issubclass(kind, type):
        spaces = map(names_in, lineage(value))
        return next((space["__wrapped__"] for space in spaces if "__wrapped__" in space), None)
    return stored_fields(value).get("__wrapped__")


def targets_in(value: Any) -> Iterator[Target]:
    """Return the functions and classes in a small container, or that a `singledispatch` has."""
    held: Any = value.__dict__.get("registry") if real_class(value) is FunctionType else value
    kind = real_class(held)
    if id(kind) in _CONTAINERS and len(held) <= MAX_PARTS:
        parts: Any = held.values() if kind in (dict, MappingProxyType) else held
        wrapping = [each for each in tuple(parts) if INSIDE.get(id(real_class(each))) != ""]
        yield from filter(None, map(unwrap, wrapping))


def layers_of(value: Any) -> Iterator[Any]:
    """Return a value, what it wraps, what that wraps, and so on."""
    for _ in range(_MAX_WRAPPERS):
        yield value
        if (value := _inside(value)) is None:
            return


def given_to(layer: Any) -> Mapping[str, Any]:
    """Return what a partial, or a function that another one made, holds and no definition shows.

    By the names of parameters and variables; what a partial gives that has no name is left out.
    """
    if real_class(layer) is partial:
        return {**_by_place(layer), **layer.keywords}
    if real_class(layer) is not FunctionType:
        return {}
    if layer.__closure__ is None and "<" not in layer.__qualname__:
        return {}
    named = layer.__code__.co_varnames[: layer.__code__.co_argcount]
    by_place = zip(reversed(named), reversed(layer.__defaults__ or ()), strict=False)
    return {**closure_of(layer), **dict(by_place), **(layer.__kwdefaults__ or {})}


def _by_place(made: "partial[Any]") -> Mapping[str, Any]:
    target, is_bound = unwrap(made.func), real_class(made.func) is MethodType
    if isinstance(target, type):
        spaces = map(names_in, lineage(target))
        makers = (space.get(name) for space in spaces for name in ("__init__", "__new__"))
        target, is_bound = next(filter(None, map(unwrap, makers)), None), True
    if not isinstance(target, FunctionType):
        return {}
    code = target.__code__
    named = code.co_varnames[: code.co_argcount][is_bound:]
    given = dict(zip(named, made.args, strict=False))
    if code.co_flags & CO_VARARGS and len(made.args) > len(named):
        rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
        given[rest] = made.args[len(named) :]
    return given


def closure_of(function: FunctionType) -> dict[str, Any]:
    """Return what stands in the closure of a function, by name; None where nothing does yet."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: _contents(cell) for name, cell in cells}


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # the enclosing function has not bound the name yet
        return None


def is_definition_of(value: Any, name: str) -> bool:
    """Return whether a value is a function or class of that name, with nothing around it."""
    found = unwrap(value)
    return found is not None and found is value and full_name(found) == name


def full_name(target: Target) -> str:
    """Return the qualified name; of a class the real one."""
    return qualname_of(target) if isinstance(target, type) else target.__qualname__


def home_of(target: Target) -> str:
    """Return the name of the module that a function or class is of, "" where there is none.

    A script that `%run` has run leaves its functions no name in their globals.
    """
    if isinstance(target, type):
        return module_of(target)
    return str(target.__globals__.get("__name__", target.__module__ or ""))


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


def namespace_of(target: Target) -> dict[str, Any]:
    """Return the namespace in which the names of a definition are looked up."""
    if not isinstance(target, type):
        return target.__globals__
    own = next(own_functions(target), None)
    return own.__globals__ if own else module_namespace(target)


def file_of(target: Target) -> str:
    """Return the file of a function, or of the methods or the module of a class; "" without one."""
    function = next(own_functions(target), None) if isinstance(target, type) else target
    if function is None:
        return namespace_of(target).get("__file__") or ""
    return function.__code__.co_filename
