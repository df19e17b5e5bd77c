"""Values whose comparisons are code of their classes: what an agent asserts of them would run it.

Such code may hold what no read shows, and answer a guess of it.
"""

import sys
from types import FunctionType
from typing import Any

from repl_pair.runtime.reading.parts import describe
from repl_pair.runtime.reading.tables import is_plain_table
from repl_pair.runtime.values.classes import (
    is_genuine,
    is_of,
    lineage,
    name_of,
    per_class,
    real_class,
    space_of,
)

MAX_PARTS = 100_000
_dict: Any = dict
_OF_DATA = (sys.stdlib_module_names | {"numpy", "pandas", "pydantic"}) - {"__main__"}
_ASKED = frozenset(
    {
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__bool__"),
        *("__contains__", "__len__", "__iter__", "__getitem__", "__float__", "__int__"),
        *("__index__", "__sub__", "__rsub__"),
    }
)
_PLAIN = frozenset(map(id, (type(None), bool, int, float, str, bytes, complex)))
_GENERATED = ("<string>", "<attrs generated")
"""Files of the methods that `dataclass` and attrs write."""


def compares_by_code(value: Any) -> str:
    """Return the name of a class in a value that compares by code of its own, "" for none.

    A value of more parts than are looked at counts as one of its own class.
    """
    queue, met = [value], {id(value)}
    for one in queue:
        cls = real_class(one)
        if id(cls) in _PLAIN:
            continue
        if len(queue) > MAX_PARTS or _has_code(cls):
            return name_of(cls)
        fresh = [part for part in _parts(one) if id(part) not in met]
        met.update(map(id, fresh))
        queue += fresh
    return ""


def _parts(value: Any) -> list[Any]:
    if is_of(value, dict):  # a subclass is compared by its keys too
        return [part for pair in _dict.copy(value).items() for part in pair]
    if real_class(value) is slice:
        return [value.start, value.stop, value.step]
    numpy = sys.modules.get("numpy")
    if numpy is not None and is_of(value, numpy.ndarray):
        plain = numpy.ndarray.view(value, numpy.ndarray)
        return plain.ravel().tolist() if plain.dtype.hasobject else []
    if is_plain_table(value):
        arrays = [*value._mgr.arrays, *value._mgr.axes] if hasattr(value, "_mgr") else [value]
        texts = [a for a in arrays if "object" in str(a.dtype) or str(a.dtype) == "category"]
        return [part for array in texts for part in array.ravel().tolist()]
    body = describe(value, room=MAX_PARTS, hidden=True).body
    if real_class(body) is dict:
        return list(body.values())
    return body if real_class(body) is list else []


@per_class
def _has_code(cls: type[Any]) -> bool:
    own = [base for base in lineage(cls) if not is_genuine(base, *_OF_DATA)]
    spaces = [space_of(base) for base in own]
    return any(not _is_generated(space[n]) for space in spaces for n in _ASKED & space.keys())


@per_class
def has_own_equality(cls: type[Any]) -> bool:
    """Return whether `==` of two instances is more than that of their fields."""
    base = next(base for base in lineage(cls) if "__eq__" in space_of(base))
    return not is_genuine(base, *_OF_DATA) and not _is_generated(space_of(base)["__eq__"])


def _is_generated(method: Any) -> bool:
    if method is None:  # such as the `__hash__` of what is compared by content
        return True
    return type(method) is FunctionType and method.__code__.co_filename.startswith(_GENERATED)
