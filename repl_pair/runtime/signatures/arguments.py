"""The small validator for the schemas that signatures give."""

import json
import re
from collections.abc import Mapping
from math import inf, isfinite
from typing import Any

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.records import row
from repl_pair.runtime.values.classes import is_map, is_row
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.wire import NULLABLE

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}

MAX_CHARS = 256_000
"""The size of all arguments of a call: characters of text, and 8 a value."""
DEEPEST = 64
MAX_BITS = 4096
MAX_S = 3600
"""The most seconds that a call may name."""
_SURROGATE = re.compile("[\ud800-\udfff]")


@row
class Bounds:
    """The least and the greatest that a number may be, in `Annotated`; None: no bound."""

    low: float
    high: float | None = None

    @property
    def schema(self) -> dict[str, float]:
        """Return them as JSON Schema."""
        return {"minimum": self.low} | ({} if self.high is None else {"maximum": self.high})


@row
class Longest:
    """The most characters that a text may have, in `Annotated`."""

    chars: int

    @property
    def schema(self) -> dict[str, int]:
        """Return it as JSON Schema."""
        return {"maxLength": self.chars}


@row
class Example:
    """A valid value, in `Annotated`; a corrected call has it where the caller gave none."""

    value: Any

    @property
    def schema(self) -> dict[str, Any]:
        """Return it as JSON Schema."""
        return {"examples": [self.value]}


def read_call_arguments(
    refused: str, schema: Mapping[str, Any], args: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call as its op takes them: null is left out, 5.0 may be 5.

    RequestError `bad_arguments`, which begins with `refused`, where they are too large. What is
    required, or not of the schema, stays as it is: it is for `check_arguments` to refuse.
    """
    if fault := _size_fault(args):
        raise RequestError("bad_arguments", f"{refused}: {fault}")
    known, required = schema["properties"], schema["required"]
    given = {n: v for n, v in args.items() if v is not None or n in required or n not in known}
    return {name: _as_whole(known.get(name, {}), value) for name, value in given.items()}


def _as_whole(schema: Mapping[str, Any], value: Any) -> Any:
    is_whole = schema.get("type") == "integer" and type(value) is float and value.is_integer()
    return int(value) if is_whole else value


def _size_fault(args: Mapping[str, Any]) -> str:
    """Describe what of arguments is too large, too deep or no JSON; nothing where they may come."""
    size = 0
    queue: list[tuple[Any, int]] = [(args, 0)]
    while queue:
        node, depth = queue.pop()
        parts: list[Any] = []
        if type(node) is str:
            size += len(node)
            if not node.isascii() and _SURROGATE.search(node):
                return "They hold half of a surrogate pair, which is not text."
        elif type(node) is int and node.bit_length() > MAX_BITS:
            return f"They hold a whole number of over {MAX_BITS} bits."
        elif type(node) is float and not isfinite(node) and depth > 1:  # else its schema bounds it
            return f"They hold {node}, which JSON has no number for."
        elif is_map(node) or is_row(node):
            size += 8 * len(node)
            parts = [*node, *node.values()] if is_map(node) else list(node)
            if depth == DEEPEST:
                return f"They are over {DEEPEST} levels deep."
        if size > MAX_CHARS:
            where = "What is large comes from the person's loader: {'$ref': id}."
            return f"They have over {MAX_CHARS} characters in total. {where}"
        queue += [(part, depth + 1) for part in parts]
    return ""


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
    if _is_legal_null(schema, value):
        return []
    kind = schema.get("type")
    if kind is not None and not _is_a(value, kind):
        return [f"{where}: expected {kind}, got {_shown(value, schema)}."]
    choices: list[Any] | None = schema.get("enum")
    if choices is not None and not any(type(value) is type(c) and value == c for c in choices):
        is_secret = is_secret_key(where.rpartition(".")[2].partition("[")[0])
        names = "its values" if is_secret else ", ".join(map(str, choices))
        return [f"{where}: expected one of {names}, got {_shown(value, schema)}."]
    low, high = schema.get("minimum", -inf), schema.get("maximum", inf)
    if kind in ("integer", "number") and "minimum" in schema and not low <= value <= high:
        span = f"at least {low:g}" if high == inf else f"{low:g} to {high:g}"
        return [f"{where}: expected {span}, got {value!r:.60}."]
    if kind == "string" and len(value) > schema.get("maxLength", inf):
        return [f"{where}: expected up to {schema['maxLength']:,} characters, got {len(value):,}."]
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
            free = slots_for(known, value, inner)
            near = (
                did_you_mean(name, dict.fromkeys([*free, *missing]))
                or f" There are: {', '.join(known) or 'none'}."
            )
            faults.append(f"{where} is not an argument.{near}")
        elif is_map(other):
            faults += _faults(other, inner, where)
    return faults


def slots_for(known: Mapping[str, Any], args: Mapping[str, Any], value: Any) -> list[str]:
    """Return the slots that arguments leave free, and that take a value, as it is or corrected."""
    free, forms = [name for name in known if name not in args], forms_of(value)
    return [name for name in free if not all(_faults(known[name], one, name) for one in forms)]


def forms_of(value: Any) -> list[Any]:
    """Return what may be meant by a value: itself, what a text of JSON holds, a list of it."""
    try:
        parsed = [json.loads(value)] if isinstance(value, str) else []
    except (ValueError, RecursionError):
        parsed = []
    return [value, *parsed, [value]]


def _array_faults(schema: Mapping[str, Any], value: list[Any], where: str) -> list[str]:
    low, high = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if not low <= len(value) <= high:
        return [f"{where}: expected {low} items, got {len(value)}."]
    every: Mapping[str, Any] = schema.get("items", {})
    schemas = schema.get("prefixItems") or [every] * len(value)
    pairs = enumerate(zip(schemas, value, strict=False))
    return [fault for i, (inner, item) in pairs for fault in _faults(inner, item, f"{where}[{i}]")]


def _is_legal_null(schema: Mapping[str, Any], value: Any) -> bool:
    return value is None and bool(schema.get(NULLABLE))


def _is_a(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _shown(value: Any, schema: Mapping[str, Any]) -> str:
    name = "null" if value is None else type(value).__name__
    plain = type(value) in (bool, int, float, str) and not schema.get("writeOnly")
    text = repr(value)[:60] if plain else ""
    return f"{name} {text}".rstrip()
