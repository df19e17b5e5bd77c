"""What type hints ask for that an agent may not give: code, and what would import by a name."""

import types
import typing
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, get_args, get_origin

from repl_pair.runtime.values.classes import (
    hint_class,
    is_map,
    is_row,
    is_typed_dict,
    real_class,
    spell,
)
from repl_pair.runtime.values.hints import is_union, is_unknown, items_of, takes_of, unwrap

_IMPORTING = frozenset({"ImportString", "PyObject"})
_CODE = (
    *(type, partial, types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
    *(types.MethodType, types.CodeType, types.FrameType),
)


def code_in(hint: Any) -> str:
    """Name what a hint asks for if only code answers it, or a name that is imported; else ``."""
    arms = alternatives(hint)
    importing = [arm for arm in arms if _imports(arm)]
    if importing:
        return f"{_spell(importing[0])}, which imports by a name"
    kinds = [arm for arm in arms if arm is not None and arm is not type(None)]
    return _spell(kinds[0]) if kinds and all(map(_is_code, kinds)) else ""


def alternatives(hint: Any) -> list[Any]:
    """Flatten a hint into what it may be; metadata that means something stands for itself."""
    bare, metadata = unwrap(hint)
    arms: list[Any] = []
    if is_union(bare):
        arms = [found for arm in get_args(bare) for found in alternatives(arm)]
    elif not is_unknown(bare):
        arms = [bare]
    return [*arms, *(m for m in metadata if _is_importer(m))]


def inner_hint(hint: Any, key: Any) -> Any:
    """Return the hint of what stands at `key` of a container, Any where there is none."""
    found = [inner for arm in alternatives(hint) for inner in items_of(arm, key, field_hints)]
    return typing.Union[tuple(found)] if found else Any  # noqa: UP007  from a tuple


def field_hints(cls: Any) -> Mapping[str, Any]:
    """Return the hints of the fields that build a class, their metadata kept."""
    if not is_typed_dict(cls):
        return takes_of(cls).hints
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001  annotations are the person's code and may raise anything
        return {}


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
