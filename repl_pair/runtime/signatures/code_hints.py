"""What type hints ask for that an agent may not give: code, and what would import by a name."""

import types
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_origin

from repl_pair.runtime.values.classes import (
    hint_class,
    is_map,
    is_row,
    real_class,
    spell,
)
from repl_pair.runtime.values.declared_fields import is_typed_dict
from repl_pair.runtime.values.hints import Hint, class_hints, item_hint, read_hint
from repl_pair.runtime.values.takes import takes_of

_IMPORTING = frozenset({"ImportString", "PyObject"})
_CODE = (
    *(type, partial, types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(types.MethodType, types.CodeType, types.FrameType),
)


def code_in(hint: Any) -> str:
    """Name what a hint asks for if only code answers it, or a name that is imported; else ``."""
    found = read_hint(hint)
    importing = [*filter(_imports, found.arms), *filter(_is_importer, found.metadata)]
    if importing:
        return f"{_spell(importing[0])}, which imports by a name"
    kinds = [arm for arm in found.arms if arm is not Any]
    return _spell(kinds[0]) if kinds and all(map(_is_code, kinds)) else ""


def inner_hint(hint: Any, key: Any) -> Hint:
    """Return the hint of what stands at `key` of a container, by what builds its class."""
    return item_hint(read_hint(hint), key, field_hints)


def field_hints(cls: Any) -> Mapping[str, Any]:
    """Return the hints of the fields that build a class."""
    return class_hints(cls) if is_typed_dict(cls) else takes_of(cls).hints


def _is_code(arm: Any) -> bool:
    cls = hint_class(arm)
    if cls is None:
        return False
    called = getattr(cls, "_is_protocol", False) and "__call__" in vars(cls)
    return bool(cls is Callable or called or issubclass(cls, _CODE))


def _imports(arm: Any) -> bool:
    """Return whether a value for this is imported by its name, at once or in a field of a model."""
    if _is_importer(arm):
        return True
    cls: Any = hint_class(arm)
    own: Mapping[str, Any] = {} if cls is None else cls.__dict__
    schema = own.get("__pydantic_core_schema__")
    try:
        return schema is not None and _holds_import(schema)
    except Exception:  # noqa: BLE001  a schema that is not built yet is unknown: it is refused
        return True


def _is_importer(arm: Any) -> bool:
    cls: Any = arm if isinstance(arm, type) else real_class(arm)
    return cls.__name__ in _IMPORTING and cls.__module__.partition(".")[0] == "pydantic"


def _holds_import(schema: Any) -> bool:
    if is_map(schema):
        return any(_holds_import(part) for part in schema.values())
    if is_row(schema):
        return any(_holds_import(part) for part in schema)
    return getattr(schema, "__name__", "") == "import_string"


def _spell(arm: Any) -> str:
    return spell(arm if isinstance(arm, type) or get_origin(arm) else real_class(arm))
