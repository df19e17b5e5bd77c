"""JSON Schema from signatures and type hints, inlined."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import MISSING
from enum import Enum
from inspect import Parameter
from itertools import islice
from math import isfinite
from typing import Any, Literal, NamedTuple, get_args, get_origin

from repl_pair.runtime.signatures.arguments import Bounds, Example, Longest
from repl_pair.runtime.values.classes import (
    LISTS,
    MAPS,
    ORDERED,
    SETS,
    current_class,
    hint_class,
    is_map,
    is_of,
    is_row,
    is_secret_class,
    real_class,
)
from repl_pair.runtime.values.declared_fields import (
    has_fields,
    is_model_class,
    is_named_tuple,
)
from repl_pair.runtime.values.hints import (
    ANYTHING,
    Hint,
    class_hints,
    declares_secret,
    item_hint,
    read_hint,
)
from repl_pair.runtime.values.leaves import leaf_json, leaf_of, nearest_leaf
from repl_pair.runtime.values.marks import holds_named_secret, is_secret_key
from repl_pair.runtime.values.moments import has_standard_zone
from repl_pair.runtime.values.takes import field_names, takes_of
from repl_pair.wire import NULLABLE

PARTIAL = "x-partial"
"""Marks a schema that holds less than the hint, or nothing."""

Schema = dict[str, Any]

_MOST_PARTS, _MOST_BITS = 200, 4096
"""Of a default that is given."""
MAX_CLASSES = 500
"""Classes and containers that the schema of a type shows; k that each name all others have k!."""
_ROWS = {*LISTS, *ORDERED, *SETS, id(Iterable), id(Collection)}


def parameters_schema(fn: Callable[..., Any], *, skip: Collection[str] = ()) -> Schema:
    """Return the schema of a function's named parameters, or of a class's constructor.

    A parameter whose type has no schema stands without `type` and with `x-partial`; `partial` at
    the top marks that there is one. Defaults are given where they are JSON and no secret.
    """
    takes = takes_of(fn)
    hints, parameters = takes.hints, (takes.parameters or {}).values()
    named = [p for p in parameters if p.name in hints and p.name not in skip]
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    schema = {
        "type": "object",
        "properties": {p.name: _with_default(type_schema(hints[p.name]), p.default) for p in named},
        "required": [p.name for p in named if p.default is p.empty],
        "additionalProperties": open_ended,
    }
    return schema | ({"partial": True} if _has_key(schema, PARTIAL) else {})


def open_parameters(schema: Schema) -> list[str]:
    """Name the parameters whose type, or a part of it, has no schema."""
    return [name for name, part in schema["properties"].items() if _has_key(part, PARTIAL)]


def contains_itself(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema of a type was cut where one of its classes stands in itself."""
    is_cut = PARTIAL in schema and schema.get("type") == "object"
    return is_cut or any(is_map(inner) and contains_itself(inner) for inner in _within(schema))


def _within(schema: Mapping[str, Any]) -> list[Any]:
    named, fixed = schema.get("properties", {}), schema.get("prefixItems", ())
    return [*named.values(), *fixed, schema.get("items"), schema.get("additionalProperties")]


def mark_nullable(schema: Schema, hint: Hint) -> Schema:
    """Return the schema of a hint with a mark wherever the hint allows None."""
    marked = dict(schema)
    if named := schema.get("properties"):
        marked["properties"] = {n: mark_nullable(p, item_hint(hint, n)) for n, p in named.items()}
    if fixed := schema.get("prefixItems"):
        marked["prefixItems"] = [mark_nullable(p, item_hint(hint, i)) for i, p in enumerate(fixed)]
    for key, at in (("items", 0), ("additionalProperties", None)):
        if is_map(schema.get(key)):
            marked[key] = mark_nullable(schema[key], item_hint(hint, at))
    return marked | ({NULLABLE: True} if hint.nullable else {})


def type_schema(hint: Any) -> Schema:
    """Return the schema of a type hint; None as an alternative is left out."""
    return _hint_schema(read_hint(hint), _Above((), []))


class _Above(NamedTuple):
    """What a part of a schema stands in, and all that the schema has shown before it."""

    classes: tuple[Any, ...]
    shown: list[Any]


def _hint_schema(hint: Hint, above: _Above) -> Schema:
    found: list[Schema] = []
    arms = hint.arms
    if len(arms) > 1 and any(has_fields(hint_class(arm)) for arm in arms):
        arms = ()  # nothing beside a class has its schema, and to look into each takes k! steps
    for arm in arms:
        schema = _arm_schema(arm, above)
        found += [schema] if schema not in found else []
    schema: Schema = found[0] if len(found) == 1 else {PARTIAL: True}
    if len(found) > 1 and all(one.get("type") in ("integer", "number") for one in found):
        schema = {"type": "number"}
    for bounds in hint.metadata:
        if real_class(bounds) in (Bounds, Longest, Example):
            schema |= bounds.schema
    if hint.doc is not None:
        schema["description"] = hint.doc
    if hint.sensitive:
        schema["writeOnly"] = True
    return schema


def _arm_schema(arm: Any, above: _Above) -> Schema:
    if get_origin(arm) is Literal:
        choices = [c.name if isinstance(c, Enum) else c for c in get_args(arm) if c is not None]
        kinds = {real_class(choice) for choice in choices}
        schema = _arm_schema(kinds.pop(), above) if len(kinds) == 1 else {PARTIAL: True}
        return schema | {"enum": choices}
    cls = hint_class(arm)
    if cls is None:
        return {PARTIAL: True}
    if issubclass(cls, Enum):
        names = getattr(current_class(cls), "__members__", None)
        return {PARTIAL: True} if names is None else {"type": "string", "enum": list(names)}
    if (leaf := leaf_of(cls)) is not None:
        return {PARTIAL: True} if leaf.schema is None else dict(leaf.schema)
    if is_secret_class(cls):
        return {"type": "string"}
    is_record = has_fields(cls)
    own = current_class(cls) if is_record else arm
    # The class, or the alias of the arm, stands in itself.
    if any(own is one for one in above.classes) or len(above.shown) >= MAX_CLASSES:
        return {"type": "object", PARTIAL: True} if is_record else {PARTIAL: True}
    above.shown.append(own)
    above = _Above((*above.classes, own), above.shown)
    return _fields_schema(own, above) if is_record else _container_schema(cls, arm, above)


def _fields_schema(cls: Any, above: _Above) -> Schema:
    hints = class_hints(cls)
    names, needed = field_names(cls)
    return {
        "type": "object",
        "properties": {n: _hint_schema(hints.get(n, ANYTHING), above) for n in names},
        "required": needed,
        "additionalProperties": is_model_class(cls) and cls.model_config.get("extra") == "allow",
    }


def _container_schema(cls: Any, arm: Any, above: _Above) -> Schema:
    hint, args = read_hint(arm), get_args(arm)
    if id(cls) in MAPS:
        return {"type": "object"} | _inner("additionalProperties", item_hint(hint, None), above)
    if cls is tuple and args and hint.containers[0].is_fixed:
        items = [_hint_schema(read_hint(inner), above) for inner in args]
        return {"type": "array", "prefixItems": items, "minItems": len(args), "maxItems": len(args)}
    if id(cls) in _ROWS:
        unique: Schema = {"uniqueItems": True} if id(cls) in SETS else {}
        return {"type": "array"} | unique | _inner("items", item_hint(hint, 0), above)
    return {PARTIAL: True}


def _inner(key: str, hint: Hint, above: _Above) -> Schema:
    schema = _hint_schema(hint, above)
    return {key: schema} if hint.arms or schema != {PARTIAL: True} else {}


def _has_key(schema: Any, key: str) -> bool:
    if is_map(schema):
        return key in schema or any(_has_key(inner, key) for inner in schema.values())
    return is_row(schema) and any(_has_key(inner, key) for inner in schema)


def _with_default(schema: Schema, default: Any) -> Schema:
    is_none = default is None or default is Parameter.empty
    if is_none or _has_key(schema, "writeOnly") or not _is_short(default):
        return schema
    found = _json_of(default, schema)
    return schema if found is MISSING else schema | {"default": found}


def _is_short(default: Any) -> bool:
    """Return whether a default may be given; a list that holds itself has no end of parts."""
    queue = [default]
    for one in queue:
        if len(queue) > _MOST_PARTS or (real_class(one) is int and one.bit_length() > _MOST_BITS):
            return False
        if is_of(one, list, tuple):
            plain: Any = list if is_of(one, list) else tuple
            queue += islice(plain.__iter__(one), _MOST_PARTS)
    return True


def _json_of(value: Any, schema: Schema) -> Any:
    """Return a default as JSON, MISSING where only code of its class could write it, or of secrets.

    A tuple with named fields is an object where its parameter does not declare an array.
    """
    cls = real_class(value)
    if is_of(value, Enum):
        name = object.__getattribute__(value, "_name_")  # no class of enum may define that name
        return MISSING if name is None else name
    if any(cls is plain for plain in (bool, int, float, str)):
        return value if cls is not float or isfinite(value) else MISSING
    if is_of(value, list, tuple):
        plain: Any = list if is_of(value, list) else tuple
        is_named = is_named_tuple(cls)
        is_object = is_named and schema.get("type") != "array"
        if is_named and any(map(declares_secret, class_hints(cls).values())):
            return MISSING
        if is_named and not is_object and any(map(is_secret_key, cls._fields)):
            return MISSING
        items = [_json_of(item, schema.get("items", {})) for item in plain.__iter__(value)]
        is_pair = plain is tuple and holds_named_secret(items)  # no list would show that
        if is_pair or any(item is MISSING for item in items):
            return MISSING
        return dict(zip(cls._fields, items, strict=True)) if is_object else items
    json = leaf_json(value) if nearest_leaf(cls) is cls and has_standard_zone(value) else value
    return MISSING if json is value else json
