"""The small validator for the schemas that signatures give."""

from collections.abc import Mapping
from typing import Any

from repl_pair.errors import did_you_mean
from repl_pair.runtime.values.classes import is_map

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def check_arguments(schema: Mapping[str, Any], args: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each fault of JSON arguments; an optional None counts as left out."""
    optional = {
        name
        for name, inner in schema["properties"].items()
        if name not in schema["required"] and "default" not in inner
    }
    given = {name: v for name, v in args.items() if v is not None or name not in optional}
    return _object_faults(schema, given, "")


def _faults(schema: Mapping[str, Any], value: Any, where: str) -> list[str]:
    kind = schema.get("type")
    if kind is not None and not _is_a(value, kind):
        return [f"{where}: expected {kind}, got {_shown(value, schema)}."]
    choices: list[Any] | None = schema.get("enum")
    if choices is not None and not any(type(value) is type(c) and value == c for c in choices):
        names = ", ".join(map(str, choices))
        return [f"{where}: expected one of {names}, got {_shown(value, schema)}."]
    if kind == "object":
        return _object_faults(schema, value, f"{where}.")
    return _array_faults(schema, value, where) if kind == "array" else []


def _object_faults(schema: Mapping[str, Any], value: Mapping[str, Any], prefix: str) -> list[str]:
    known: Mapping[str, Any] = schema.get("properties", {})
    other = schema.get("additionalProperties", True)
    missing = [name for name in schema.get("required", ()) if name not in value]
    faults = [f"{prefix}{n} is missing ({known[n].get('type', 'any type')})." for n in missing]
    for name, inner in value.items():
        where = f"{prefix}{name}"
        if name in known:
            faults += _faults(known[name], inner, where)
        elif other is False:
            near = did_you_mean(name, known) or f" There are: {', '.join(known) or 'none'}."
            faults.append(f"{where} is not an argument.{near}")
        elif is_map(other):
            faults += _faults(other, inner, where)
    return faults


def _array_faults(schema: Mapping[str, Any], value: list[Any], where: str) -> list[str]:
    low, high = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not low <= len(value) <= high:
        return [f"{where}: expected {low} items, got {len(value)}."]
    every: Mapping[str, Any] = schema.get("items", {})
    schemas = schema.get("prefixItems") or [every] * len(value)
    pairs = enumerate(zip(schemas, value, strict=False))
    return [fault for i, (inner, item) in pairs for fault in _faults(inner, item, f"{where}[{i}]")]


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _shown(value: Any, schema: Mapping[str, Any]) -> str:
    name = "null" if value is None else type(value).__name__
    plain = type(value) in (bool, int, float, str) and not schema.get("writeOnly")
    text = repr(value)[:60] if plain else ""
    return f"{name} {text}".rstrip()
