"""What callables and declared classes take, by their signatures and hints."""

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cached_property, partial
from typing import Any, cast, get_args
from weakref import WeakKeyDictionary

from repl_pair.records import record
from repl_pair.runtime.values.classes import (
    dataclass_names,
    is_model_class,
    is_named_tuple,
    is_typed_dict,
)
from repl_pair.runtime.values.hints import (
    Hint,
    class_hints,
    hints_of,
    read_hint,
    required_keys,
)

_TAKES: "WeakKeyDictionary[Any, tuple[Any, Any, Takes]]" = WeakKeyDictionary()
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


@record
class Takes:
    """What a callable takes and gives, by its own signature and hints."""

    parameters: Mapping[str, inspect.Parameter] | None
    """None where the callable has no signature, as some builtins."""
    hints: Mapping[str, Any]
    """The hint of each named parameter; Any where there is none or it cannot be resolved."""
    returns: Any
    """The hint of what it gives; a class gives itself."""

    @cached_property
    def read(self) -> Mapping[str, Hint]:
        """The hints, flattened."""
        return {name: read_hint(hint) for name, hint in self.hints.items()}

    @cached_property
    def secret(self) -> frozenset[str]:
        """The parameters that are declared secret as a whole."""
        return frozenset(name for name, hint in self.read.items() if hint.sensitive)

    @cached_property
    def gives(self) -> Hint:
        """The hint of what it gives, flattened."""
        return read_hint(self.returns)

    @cached_property
    def gives_secret(self) -> bool:
        """Whether what a function gives is a secret, or what it gives holds or yields one."""
        return not isinstance(self.returns, type) and _holds_secret(self.returns)


def takes_of(fn: Callable[..., Any]) -> Takes:
    """Read what a callable takes and gives.

    `Annotated` is kept. A hint that names a secret and cannot be resolved stays a secret.
    """
    if type(fn) is not types.FunctionType or fn.__dict__ or fn.__kwdefaults__:
        return _read_callable(fn)[0]
    known = _TAKES.get(fn)
    if known is not None and known[0] is fn.__code__ and known[1] is fn.__defaults__:
        return known[2]
    takes, is_complete = _read_callable(fn)
    if is_complete:
        _TAKES[fn] = fn.__code__, fn.__defaults__, takes
    return takes


def _read_callable(fn: Any) -> tuple[Takes, bool]:
    called: Any = cast("partial[Any]", fn).func if isinstance(fn, partial) else fn
    target = inspect.unwrap(called)
    made = target if isinstance(target, type) else None
    if made is not None and not is_model_class(made):
        plain = made.__init__ is object.__init__
        target = inspect.unwrap(made.__new__ if plain else made.__init__)
    elif made is None and not inspect.isroutine(target):
        target = inspect.unwrap(type(target).__call__)
    resolved, is_complete = hints_of(target)
    try:
        parameters = inspect.signature(cast("Any", fn)).parameters
    except (TypeError, ValueError):
        parameters = None
    named = [p.name for p in (parameters or {}).values() if p.kind not in _SEVERAL]
    takes = Takes(
        parameters=parameters,
        hints={name: resolved.get(name, Any) for name in named},
        returns=resolved.get("return", Any) if made is None else made,
    )
    return takes, is_complete


def _holds_secret(hint: Any) -> bool:
    found = read_hint(hint)
    return found.sensitive or any(_holds_secret(a) for arm in found.arms for a in get_args(arm))


def field_names(cls: Any) -> tuple[Sequence[str], Sequence[str]]:
    """Name the fields that may be given for a declared class, and those that must be."""
    if is_dataclass(cls):
        return dataclass_names(cast("Any", cls))
    if is_typed_dict(cls):
        names = list(class_hints(cls))
        return names, required_keys(cls)
    if is_named_tuple(cls):
        return list(cls._fields), [n for n in cls._fields if n not in cls._field_defaults]
    if is_model_class(cls):
        infos = cls.model_fields
        return list(infos), [name for name, info in infos.items() if info.is_required()]
    takes = takes_of(cls)  # it was declared, and was defined again
    given = (takes.parameters or {}).items()
    return list(takes.hints), [n for n, p in given if n in takes.hints and p.default is p.empty]
