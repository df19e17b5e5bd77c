"""Classes distinguished without running their code, and found again after a redefinition."""

import sys
import weakref
from collections import abc
from collections.abc import Callable, Mapping
from inspect import isawaitable
from itertools import repeat
from types import GeneratorType
from typing import Any, TypeGuard, TypeVar, get_origin

from repl_pair.errors import RequestError
from repl_pair.records import row
from repl_pair.runtime.ipython import name_in

Fact = TypeVar("Fact")
_MRO, _NAME, _MODULE, _QUALNAME, names_in = (
    type.__dict__[slot].__get__
    for slot in ("__mro__", "__name__", "__module__", "__qualname__", "__dict__")
)
"""`names_in` gives the real `__dict__` of a class; its keys may have code of their own."""
_is_below = type.__subclasscheck__
_MOST = 5000
INSTALLED = frozenset({"site-packages", "dist-packages"})
"""The folders that packages are installed in."""
LIBRARY = str(weakref.__file__).rpartition("weakref.")[0]
"""Where the standard library is."""
real_class: Callable[[Any], type[Any]] = type
"""Gives the real class, whatever `__class__` is."""


def lineage(cls: type[Any]) -> tuple[type[Any], ...]:
    """Return the real MRO."""
    return _MRO(cls)


def name_of(cls: type[Any]) -> str:
    """Return the real name, however long: what is cut is cut on the way out, once searched."""
    return str.__str__(_NAME(cls))


def qualname_of(cls: type[Any]) -> str:
    """Return the real qualified name."""
    return str.__str__(_QUALNAME(cls))


def type_name(value: Any) -> str:
    """Return the qualified name of a value's class; neither is asked."""
    return qualname_of(real_class(value))


def module_of(cls: type[Any]) -> str:
    """Return the module that a class names as its own, or nothing."""
    try:
        module = _MODULE(cls)
    except AttributeError:  # the person deleted it
        return ""
    return module if type(module) is str else ""


def root_of(cls: type[Any]) -> str:
    """Return the top package that a class names as its own, or nothing."""
    return module_of(cls).partition(".")[0]


def is_of(value: Any, *classes: type[Any]) -> bool:
    """Return whether a value is really an instance: unlike `isinstance`, it runs no code of its."""
    return any(map(_is_below, classes, repeat(real_class(value))))


def is_exactly(value: Any, *classes: type[Any]) -> bool:
    """Return whether the real class is one of these; `in` would ask a metaclass of the person."""
    return id(real_class(value)) in map(id, classes)


def space_of(cls: type[Any]) -> dict[str, Any]:
    """Return a class's own names; keys that are no text may have code of their own, so none."""
    return {name: value for name, value in names_in(cls).copy().items() if type(name) is str}


def is_genuine(cls: type[Any], *packages: str) -> bool:
    """Return whether a class is one of these packages', and does not only name itself so."""
    if root_of(cls) not in packages:
        return False
    module = sys.modules.get(_MODULE(cls))
    return module is not None and vars(module).get(name_of(cls)) is cls


def is_installed(package: str) -> bool:
    """Return whether a top package is of the standard library or installed beside the person's."""
    if package in ("__main__", "__mp_main__"):
        return False
    found = getattr(sys.modules.get(package), "__spec__", None)
    places = [] if found is None else [found.origin, *(found.submodule_search_locations or ())]
    parts = {part for place in places for part in str(place).replace("\\", "/").split("/")}
    if not parts.isdisjoint(INSTALLED):
        return True
    # A file of the person's may have the name of a module of the library, as `secrets.py`.
    is_own = any(p.endswith(".py") and not p.startswith(LIBRARY) for p in map(str, places))
    return package in sys.stdlib_module_names and not is_own


def per_class(find: Callable[[type[Any]], Fact]) -> Callable[[type[Any]], Fact]:
    """Remember what was found for a class while it lives, without hashing it.

    A fact that holds the class itself would keep it alive.
    """
    known: dict[int, tuple[Callable[[], Any], Fact]] = {}

    def fact(cls: type[Any]) -> Fact:
        entry = known.get(id(cls))
        if entry and entry[0]() is cls:
            return entry[1]
        if len(known) > _MOST:
            known.clear()
        found = find(cls)
        key = id(cls)
        known[key] = weakref.ref(cls, lambda _cls: known.pop(key, None)), found
        return found

    return fact


@row
class TypeRef:
    """A class by module and qualified name, looked up again for each run."""

    module: str
    qualname: str


MAPS = frozenset(map(id, (dict, Mapping, abc.MutableMapping)))
LISTS: dict[int, Any] = {id(tuple): tuple, id(list): list, id(abc.MutableSequence): list}
SETS: Any = {id(frozenset): frozenset, **{id(c): set for c in (set, abc.Set, abc.MutableSet)}}
ORDERED = frozenset(map(id, (abc.Sequence, abc.Reversible)))
ANY_KIND = frozenset(map(id, (abc.Collection, abc.Iterable, abc.Container)))


def is_map(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether a value is really a mapping: a proxy is what it is, not what it stands for."""
    return type(value) is dict or is_map_class(real_class(value))


def is_map_class(cls: type[Any]) -> bool:
    """Return whether a class is really one of mappings."""
    try:
        return issubclass(cls, Mapping)
    except Exception:  # noqa: BLE001  the hash of a class may be code of its metaclass
        return any(base is Mapping or base is dict for base in lineage(cls))


def is_row(value: Any) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Return whether a value is a list or tuple."""
    return issubclass(type(value), list | tuple)


def is_set(value: Any) -> TypeGuard[set[Any] | frozenset[Any]]:
    """Return whether a value is a set, mutable or not."""
    return issubclass(type(value), set | frozenset)


_TABLES = {
    "array": ("numpy", "ndarray"),
    "frame": ("pandas", "DataFrame"),
    "series": ("pandas", "Series"),
    "index": ("pandas", "Index"),
}
CONTAINER_IDS = frozenset(map(id, (list, tuple, dict, set, frozenset)))
PLAIN_IDS = CONTAINER_IDS.union(map(id, (type(None), bool, int, float, str, bytes)))
"""By id, for the metaclass of the class that is looked up may hash it by code of its own."""

_SECRET_CLASSES = {
    *(("pydantic", name) for name in ("SecretStr", "SecretBytes", "Secret", "_SecretBase")),
    ("starlette", "Secret"),
}
"""The secret types of libraries, by package and class."""


def kind_of(value: Any) -> str | None:
    """Name the kind of table that a value is ("array", "frame", …), None for other values."""
    if id(real_class(value)) in PLAIN_IDS:
        return None
    return next((kind for kind, names in _TABLES.items() if is_instance_of(value, *names)), None)


def is_polars(value: Any, *names: str) -> bool:
    """Return whether a value is a frame or series of polars, of none of the person's subclasses."""
    cls = real_class(value)
    return is_genuine(cls, "polars") and name_of(cls) in (names or ("DataFrame", "Series"))


def is_awaitable(value: Any) -> bool:
    """Return whether a value is to be awaited; a proxy is where what it stands for is.

    A collection of dask is data: to await it needs `distributed`, and gives the same collection.
    """
    if id(real_class(value)) in PLAIN_IDS:
        return False
    if is_exactly(value, GeneratorType):
        return isawaitable(value)
    names = [names_in(base) for base in lineage(real_class(value))]
    if not any("__await__" in one for one in names) or any("__dask_graph__" in n for n in names):
        return False
    try:
        return hasattr(value.__class__, "__await__") and value.__await__ is not None
    except Exception:  # noqa: BLE001  a proxy runs the person's code to know what it stands for
        return False


def is_table(value: Any) -> bool:
    """Return whether a value is an array, or a table of pandas or polars."""
    return kind_of(value) is not None or is_polars(value)


def is_instance_of(value: Any, module: str, *names: str) -> bool:
    """Return whether a value is really of a class, by names in a module; nothing is imported."""
    loaded = sys.modules.get(module)
    if loaded is None:
        return False
    classes = (getattr(loaded, name, None) for name in names)
    return issubclass(real_class(value), tuple(c for c in classes if isinstance(c, type)))


def is_array_scalar(value: Any) -> bool:
    """Return whether `value` is a numpy scalar, immutable."""
    return id(real_class(value)) not in PLAIN_IDS and is_instance_of(value, "numpy", "generic")


def is_library_scalar(value: Any) -> bool:
    """Return whether `value` is a scalar of numpy, or a moment, span or missing mark of pandas."""
    if is_array_scalar(value):
        return True
    cls = real_class(value)
    is_missing = root_of(cls) == "pandas" and name_of(cls) in ("NaTType", "NAType")
    names = ("Timestamp", "Timedelta", "Period", "Interval")
    return is_missing or is_instance_of(value, "pandas", *names)


def is_secret_class(cls: Any) -> bool:
    """Return whether `cls` is a secret type of a library or derives from one."""
    return issubclass(real_class(cls), type) and _derives_from_secret(cls)


@per_class
def _derives_from_secret(cls: type[Any]) -> bool:
    return any((root_of(base), name_of(base)) in _SECRET_CLASSES for base in lineage(cls))


def revealed(secret: Any) -> Any:
    """Return what an instance of a library's secret type holds."""
    reveal = getattr(secret, "get_secret_value", None)
    return str(secret) if reveal is None else reveal()


def hint_class(arm: Any) -> Any:
    """Return the class behind an alternative (`list` of `list[int]`), None where there is none."""
    found = get_origin(arm) or arm
    return found if isinstance(found, type) and found is not Any else None


def current_class(cls: Any) -> Any:
    """Return today's class of the same module and qualified name, else `cls` itself."""
    found = look_up(cls.__module__, cls.__qualname__)
    return found if isinstance(found, type) else cls


def same_class(one: type, other: type) -> bool:
    """Return whether two classes are one, a re-executed definition included."""
    is_local = "<" in one.__qualname__
    return one is other or (not is_local and type_ref(one) == type_ref(other))


def class_behind(ref: TypeRef, where: str) -> Any:
    """Return today's class behind a name; RequestError `cannot_run` where it is gone."""
    if (found := find_class(ref)) is not None:
        return found
    raise RequestError(
        "cannot_run",
        f"{where}: there is no class {ref.qualname} in {ref.module} any more; define it again.",
    )


def find_class(ref: TypeRef) -> type[Any] | None:
    """Return today's class behind a name, None where it is gone."""
    found = look_up(ref.module, ref.qualname)
    return found if isinstance(found, type) else None


def type_ref(cls: type) -> TypeRef:
    """Name a class by module and qualified name."""
    return TypeRef(cls.__module__, cls.__qualname__)


def spell(arm: Any) -> str:
    """Name a type as the person would write it."""
    if get_origin(arm) is None and isinstance(arm, type):
        return arm.__qualname__
    return str(arm).replace("typing.", "").replace("collections.abc.", "")


def look_up(module: str, qualname: str) -> Any:
    """Return what stands under a name in a module today, None where nothing does."""
    first, *inner = qualname.split(".")
    found = name_in(sys.modules.get(module), first)
    for name in inner:
        found = getattr(found, name, None)
    return found
