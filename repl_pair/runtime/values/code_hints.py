"""What type hints ask for that an agent may not give: code, and what would import by a name."""

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any, ForwardRef, TypeVar, get_args, get_origin

from repl_pair.runtime.values.classes import (
    has_fields,
    hint_class,
    is_map,
    is_row,
    is_typed_dict,
    item_name,
    real_class,
    spell,
)
from repl_pair.runtime.values.hints import parameter_hints

_WRAPPERS = frozenset({"Required", "NotRequired", "ReadOnly", "Final", "ClassVar"})
_IMPORTING = frozenset({"ImportString", "PyObject"})
_CODE = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    types.CodeType,
    types.FrameType,
    partial,
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
    arms: list[Any] = []
    metadata: list[Any] = []
    while (inner := _inner(hint, metadata)) is not None:
        hint = inner[0]
    if get_origin(hint) in (typing.Union, types.UnionType):
        arms += [found for arm in get_args(hint) for found in alternatives(arm)]
    elif not (hint is Any or hint is object or isinstance(hint, str | ForwardRef)):
        arms.append(hint)
    return [*arms, *(m for m in metadata if _is_importer(m))]


def inner_hint(hint: Any, key: Any) -> Any:
    """Return the hint of what stands at `key` of a container, Any where none says."""
    found = [inner for arm in alternatives(hint) for inner in _items_of(arm, key)]
    return typing.Union[tuple(found)] if found else Any  # noqa: UP007  from a tuple


def field_hints(cls: Any) -> Mapping[str, Any]:
    """Return the hints of the fields that build a class, their metadata kept."""
    if not is_typed_dict(cls):
        return parameter_hints(cls)
    try:
        return typing.get_type_hints(cls, include_extras=True)
    except Exception:  # noqa: BLE001  annotations are the person's code and may raise anything
        return {}


def _inner(hint: Any, metadata: list[Any]) -> tuple[Any] | None:
    """Take one wrapping off, as a tuple of what it wraps; None where there is none."""
    origin = get_origin(hint)
    if origin is Annotated:
        metadata.extend(hint.__metadata__)
        return (hint.__origin__,)
    if getattr(origin, "_name", None) in _WRAPPERS:
        return (get_args(hint)[0],)
    if hasattr(hint, "__supertype__"):
        return (hint.__supertype__,)
    if real_class(hint).__name__ == "TypeAliasType":
        return (hint.__value__,)
    if isinstance(hint, TypeVar):
        return (Any if hint.__bound__ is None else hint.__bound__,)
    return None


def _items_of(arm: Any, key: Any) -> Iterable[Any]:
    cls, args = hint_class(arm), get_args(arm)
    if cls is None:
        return ()
    if has_fields(cls):
        hints, name = field_hints(cls), item_name(cls, key)
        return (hints[name],) if name in hints else ()
    if issubclass(cls, tuple) and isinstance(key, int) and args[-1:] != (Ellipsis,):
        return args[key : key + 1]
    return args[1:2] if issubclass(cls, Mapping) else args[:1]


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
    except Exception:  # noqa: BLE001  a schema that is not built yet says nothing: it is refused
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
