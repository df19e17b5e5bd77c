"""Facts about classes that neither they nor their metaclasses can bend; no code of theirs runs."""

import weakref
from collections.abc import Callable
from typing import Any, TypeVar

Fact = TypeVar("Fact")
_MRO, _NAME, _MODULE = (type.__dict__[n].__get__ for n in ("__mro__", "__name__", "__module__"))
_MOST = 5000

class_of: Callable[[Any], type[Any]] = type
"""Gives the real class, whatever `__class__` says."""


def lineage(cls: type[Any]) -> tuple[type[Any], ...]:
    """Give the real MRO."""
    return _MRO(cls)


def name_of(cls: type[Any]) -> str:
    """Give the real name, at most 100 characters."""
    return str.__str__(_NAME(cls))[:100]


def root_of(cls: type[Any]) -> str:
    """Give the top package that a class says it is from, or nothing."""
    module = _MODULE(cls)
    return module.partition(".")[0] if type(module) is str else ""


def per_class(find: Callable[[type[Any]], Fact]) -> Callable[[type[Any]], Fact]:
    """Remember what was found for a class while it lives, without hashing it."""
    known: dict[int, tuple[Callable[[], Any], Fact]] = {}

    def fact(cls: type[Any]) -> Fact:
        entry = known.get(id(cls))
        if entry and entry[0]() is cls:
            return entry[1]
        if len(known) > _MOST:
            known.clear()
        found = find(cls)
        known[id(cls)] = weakref.ref(cls), found
        return found

    return fact
