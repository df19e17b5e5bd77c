"""The nearest valid call to one that was refused, and calls as text to people."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any

from repl_pair.errors import STEP_S, NextStep, nearest, next_step
from repl_pair.runtime.signatures.arguments import check_arguments, forms_of, slots_for


def write_call(name: str, args: Mapping[str, Any]) -> str:
    """Write a call as text to people; values are JSON."""
    given = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    return f"{name}({', '.join(given)})"


def suggest_call(name: str, args: Mapping[str, Any]) -> tuple[list[NextStep], list[str]]:
    """Return a call with corrected arguments as a next step; as a hint where it has blanks."""
    if has_blanks(args):
        return [], [write_call(name, args)]
    return [next_step(name, **args)], []


def has_blanks(args: Mapping[str, Any]) -> bool:
    """Return whether corrected arguments lack a value that only the caller has, however deep."""
    return any(
        has_blanks(value) if _is_object(value) else type(value) is _Blank for value in args.values()
    )


def correct_arguments(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nearest valid arguments, a blank (`<type>`) for those that only the caller has.

    One that finds no place stays, as a blank: without it a call may do more than was meant.
    """
    properties: Mapping[str, Any] = schema["properties"]
    takes_others = schema.get("additionalProperties", True) is not False
    corrected: dict[str, Any] = {}
    for key, value in args.items():
        name = key
        if key not in properties and not takes_others:
            free = slots_for(properties, {**args, **corrected}, value)
            name = next(iter(nearest(key, free, limit=1)), key)
        if name not in properties:
            corrected[key] = value if takes_others else _Blank("<no argument>")
        elif (fitted := _fit(properties[name], name, value)) is not None:
            corrected[name] = _correct_value(properties[name], fitted)
    for name in schema.get("required", ()):
        corrected.setdefault(name, _blank(properties[name]))
    return corrected


def _fit(part: Mapping[str, Any], name: str, value: Any) -> Any:
    """Return a value, a number within its bounds; None to leave it out."""
    if value is None or type(value) not in (int, float) or "minimum" not in part:
        return value
    most = part.get("maximum", inf)
    if value > most:
        return min(most, STEP_S) if name.endswith("_s") else most
    return value if value >= part["minimum"] else None


def _correct_value(part: Mapping[str, Any], value: Any) -> Any:
    if "properties" in part and _is_object(value):
        return value if _is_legal(part, value) else correct_arguments(part, value)
    return next((form for form in forms_of(value) if _is_legal(part, form)), _blank(part))


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_legal(part: Mapping[str, Any], value: Any) -> bool:
    return not check_arguments({"properties": {"it": part}, "required": ["it"]}, {"it": value})


class _Blank(str):
    """What stands for a value that only the caller has."""


def _blank(part: Mapping[str, Any]) -> Any:
    """Return what stands where a value is missing: the example of the schema, else a blank."""
    if "examples" in part:
        return part["examples"][0]
    return _Blank(f"<{'|'.join(map(str, part.get('enum', [part.get('type', 'value')])))}>")
