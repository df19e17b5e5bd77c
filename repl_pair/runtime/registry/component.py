"""A function or class that a body names: the one that was given, or its re-definition."""

import inspect
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from importlib import import_module
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakValueDictionary

from repl_pair.records import mutable, record
from repl_pair.runtime.values.classes import look_up


@mutable
class _Source:
    """The code behind what was given under one name; `first` is the first that it made."""

    code: CodeType | None
    first: Any
    makes_several: bool = False
    """It made another one too, in a loop: no name leads to each of them."""


@record
class Component:
    """A function or class, found again by module and qualified name where it is defined anew.

    What is found there and is no re-definition does not count: a wrapper around it, another one of
    a loop, something else. Bound methods and partials keep their object.
    """

    module: str
    qualname: str
    registered: Callable[..., Any] | None = field(default=None, compare=False, repr=False)
    """None for what ships, whose module is imported at the first use."""
    source: _Source | None = field(default=None, compare=False, repr=False)
    """None where no name leads to it."""

    @property
    def name(self) -> str:
        """The full name, which may be gone."""
        return f"{self.module}.{self.qualname}"

    @property
    def shown(self) -> str:
        """The full name, marked as stale where it is gone."""
        return f"{self.name} (stale: its name is gone)" if self.is_lost else self.name

    @property
    def is_lost(self) -> bool:
        """Whether its name was deleted; what was registered still runs."""
        if not self._is_named or self.module not in sys.modules or self._found() is not None:
            return False
        code = None if self.source is None else self.source.code
        return code is not None and code.co_qualname == self.qualname

    @property
    def _is_named(self) -> bool:
        if self.source is None or self.source.makes_several:
            return False
        # A script of %run leaves its functions in `__main__`, and they keep the script's namespace.
        return self.module == "__main__" or _is_at_home(self.source.first, self.module)

    def resolve(self) -> Callable[..., Any]:
        """Return today's function or class; the registered one where no name leads to it."""
        given: Any = self.registered
        if given is None:
            return getattr(import_module(self.module), self.qualname)
        if type(given) is MethodType and isinstance(owner := given.__self__, type):
            return getattr(Component.of(owner).resolve(), given.__name__, given)
        found = self._found() if self._is_named else None
        return found if found is not None and _is_redefinition(found, given) else given

    def _found(self) -> Any:
        return look_up(self.module, self.qualname)

    @classmethod
    def of(cls, fn: Callable[..., Any]) -> "Component":
        """Return the component of a function or class, by where it is defined."""
        module, name = _name_of(fn)
        _note_source(getattr(sys.modules.get(module), "__dict__", {}))
        made = cls(module=module, qualname=name, registered=fn)
        if not _may_be_named(fn, module, name):
            return made
        source, found = _source_of(fn, name), made._found()
        is_other = found is not fn and _has_same_code(found, fn)
        return made if is_other else replace(made, source=source)

    def __reduce__(self) -> Any:
        if self.registered is not None:
            return Component.of, (self.registered,)
        return partial(Component, module=self.module, qualname=self.qualname), ()


def _note_source(space: Mapping[str, Any]) -> None:
    file, spec = space.get("__file__"), space.get("__spec__")
    is_plain = type(space.get("__loader__")) is SourceFileLoader
    if is_plain and type(file) is str and _FILES.get(file, (None, b""))[0] is not spec:
        with suppress(OSError):
            _FILES[file] = spec, Path(file).read_bytes()


def noted_source(space: Mapping[str, Any]) -> bytes:
    """Return a module's file as it was when something of it was first registered, or nothing.

    That is since the module was last executed.
    """
    spec, source = _FILES.get(space.get("__file__") or "", (None, b""))
    return source if spec is space.get("__spec__") else b""


_FILES: dict[str, tuple[Any, bytes]] = {}
"""Files of plain imports, each with the spec of the import."""
_SOURCES: "WeakValueDictionary[tuple[int, str], _Source]" = WeakValueDictionary()
"""By the id of the code and the name; each source keeps its code."""


def _source_of(fn: Any, name: str) -> _Source:
    code, inner = _code_of(fn), inspect.unwrap(fn)
    if code is None:
        return _Source(code=None, first=inner)
    known = _SOURCES.setdefault((id(code), name), _Source(code=code, first=inner))
    known.makes_several |= known.first is not inner
    return known


def _name_of(fn: Any) -> tuple[str, str]:
    module, name = getattr(fn, "__module__", None), getattr(fn, "__qualname__", None)
    own = name if isinstance(name, str) else f"{type(fn).__qualname__}<instance>"
    return module if isinstance(module, str) else "", own


def _may_be_named(fn: Any, module: str, name: str) -> bool:
    """Return whether a name of the module may lead to `fn`, now or once its definition has run."""
    if "<" in name or isinstance(fn, MethodType | partial):
        return False
    return _is_at_home(inspect.unwrap(fn), module)


def _is_at_home(inner: Any, module: str) -> bool:
    home = getattr(sys.modules.get(module), "__dict__", None)
    return home is getattr(inner, "__globals__", home)


def _is_redefinition(found: Any, given: Any) -> bool:
    """Return whether `found`, under the name of `given`, was made by a later definition."""
    if found is given:
        return True
    try:
        is_called_so = callable(found) and _name_of(found) == _name_of(given)
    except Exception:  # noqa: BLE001  the person's object may do anything when it is asked
        return False
    return is_called_so and not _has_same_code(found, given)


def _has_same_code(one: Any, other: Any) -> bool:
    """Return whether one run of the same code made both: a wrapper and what it wraps, a loop."""
    code = _code_of(one)
    return code is not None and code is _code_of(other)


def _code_of(fn: Any) -> CodeType | None:
    """Return the code of a function under its wrappers, of a class that of its first own method.

    Each run of a definition has new code, of a loop one for all its rounds.
    """
    try:
        inner = inspect.unwrap(fn)
        if not isinstance(inner, type):
            return getattr(inner, "__code__", None)
        methods = [inspect.unwrap(m) for m in _own_methods(inner)]
    except Exception:  # noqa: BLE001  the person's object may do anything when it is asked
        return None
    own = f"{inner.__qualname__}."
    codes = (method.__code__ for method in methods if isinstance(method, FunctionType))
    return next((code for code in codes if code.co_qualname.startswith(own)), None)


def _own_methods(cls: type) -> list[Any]:
    kinds = (FunctionType, classmethod, staticmethod)
    return [member for member in vars(cls).values() if isinstance(member, kinds)]
