"""Classes told apart, and found again by name after the person has redefined them."""

import sys
from dataclasses import fields as dataclass_fields, is_dataclass
from typing import Any, get_origin

from repl_pair.errors import RequestError
from repl_pair.runtime.foreign import is_model_class, is_plain_class
from repl_pair.runtime.nodes import TypeRef
from repl_pair.runtime.shapes import class_of_value


def has_fields(cls: Any) -> bool:
    """Tell whether a class is built from a mapping of declared fields."""
    if not isinstance(cls, type) or is_plain_class(cls):
        return False
    kinds = (is_dataclass, is_typed_dict, is_named_tuple, is_model_class)
    return any(is_kind(cls) for is_kind in kinds)


def fields_of(value: Any) -> dict[str, Any] | None:
    """Give the fields that build an instance of a declared class, None for other objects."""
    cls = class_of_value(value)
    if is_dataclass(cls):
        names = [f.name for f in dataclass_fields(cls) if f.init]
    elif is_named_tuple(cls):
        names = cls._fields
    elif is_model_class(cls):
        return {n: getattr(value, n) for n in cls.model_fields} | (value.model_extra or {})
    else:
        return None
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def is_named_tuple(cls: Any) -> bool:
    """Tell whether a class is a tuple with named fields."""
    return issubclass(cls, tuple) and getattr(class_of(cls), "_fields", None) is not None


def item_name(cls: Any, key: Any) -> Any:
    """Give the name of what stands at an index of a tuple with named fields; else the key."""
    is_index = isinstance(key, int) and is_named_tuple(cls)
    return cls._fields[key] if is_index and 0 <= key < len(cls._fields) else key


def is_typed_dict(cls: Any) -> bool:
    """Tell whether a class is a TypedDict."""
    return issubclass(cls, dict) and getattr(class_of(cls), "__total__", None) is not None


def class_of(arm: Any) -> Any:
    """Give the class behind an alternative (`list` of `list[int]`), None where there is none."""
    found = get_origin(arm) or arm
    return found if isinstance(found, type) and found is not Any else None


def current_class(cls: Any) -> Any:
    """Give today's class of the same module and qualified name, else `cls` itself."""
    found = _look_up(cls.__module__, cls.__qualname__)
    return found if isinstance(found, type) else cls


def same_class(one: type, other: type) -> bool:
    """Tell whether two classes are one, a re-executed definition included."""
    if one is other:
        return True
    local = "<" in one.__qualname__
    return not local and type_ref(one) == type_ref(other)


def class_behind(ref: TypeRef, where: str) -> Any:
    """Give today's class behind a name; RequestError `cannot_run` where it is gone."""
    found = _look_up(ref.module, ref.qualname)
    if isinstance(found, type):
        return found
    raise RequestError(
        "cannot_run",
        f"{where}: there is no class {ref.qualname} in {ref.module} any more; define it again.",
    )


def type_ref(cls: type) -> TypeRef:
    """Name a class by module and qualified name."""
    return TypeRef(cls.__module__, cls.__qualname__)


def spell(arm: Any) -> str:
    """Name a type as the person would write it."""
    if get_origin(arm) is None and isinstance(arm, type):
        return arm.__qualname__
    return str(arm).replace("typing.", "").replace("collections.abc.", "")


def _look_up(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in qualname.split("."):
        found = getattr(found, name, None)
    return found
