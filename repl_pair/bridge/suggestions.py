"""Calls as text, and the nearest legal call to one that was refused."""

import ast
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from math import inf
from typing import Any

from repl_pair.errors import nearest
from repl_pair.runtime.ops.table import STEP_S
from repl_pair.runtime.values.arguments import check_arguments


def write_call(name: str, args: Mapping[str, Any]) -> str:
    """Write a call as text for `next_steps`; values are JSON."""
    given = (f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in args.items())
    return f"{name}({', '.join(given)})"


def in_kernel(step: str, kernel: str) -> str:
    """Return a next step as a call in that kernel, if it begins with a call that names none."""
    name, opens, _ = step.partition("(")
    end, call = next(_calls_in(step), (0, None)) if opens and name.isidentifier() else (0, None)
    if call is None or any(word.arg == "kernel" for word in call.keywords):
        return step
    more = f"{', ' * bool(call.keywords)}kernel={json.dumps(kernel, ensure_ascii=False)}"
    return f"{step[: end - 1]}{more}{step[end - 1 :]}"


def _calls_in(step: str) -> Iterator[tuple[int, ast.Call]]:
    """Return the calls that a text begins with, the shortest first, and where they end."""
    for end in (at + 1 for at, sign in enumerate(step) if sign == ")"):
        with suppress(SyntaxError):
            call = ast.parse(step[:end], mode="eval").body
            if isinstance(call, ast.Call):
                yield end, call


def as_run_op(step: str, unlisted: Collection[str]) -> str:
    """Return a next step as a call of run_op, if it calls an op of `unlisted`."""
    name, opens, _ = step.partition("(")
    if not opens or name not in unlisted:
        return step
    try:
        call = ast.parse(step, mode="eval").body
        assert isinstance(call, ast.Call)
        args = {word.arg: _literal(word.value) for word in call.keywords if word.arg}
    except (SyntaxError, ValueError, AssertionError):
        return f'describe_op(op="{name}"), then run_op'
    return write_call("run_op", {"op": name} | ({"args": args} if args else {}))


def _literal(node: ast.expr) -> Any:
    """Read a value in Python's or in JSON's syntax."""
    words: Mapping[str, Any] = {"true": True, "false": False, "null": None}
    if isinstance(node, ast.Name) and node.id in words:
        return words[node.id]
    return ast.literal_eval(node)


def correct_arguments(schema: Mapping[str, Any], args: Mapping[str, Any]) -> dict[str, Any]:
    """Return the nearest legal arguments, with `<type>` for those that only the caller has."""
    properties: Mapping[str, Any] = schema["properties"]
    corrected: dict[str, Any] = {}
    for key, value in args.items():
        free = [name for name in properties if name not in args]
        name = key if key in properties else next(iter(nearest(key, free, limit=1)), None)
        if name is not None and (fitted := _fit(properties[name], name, value)) is not None:
            corrected[name] = _correct_value(properties[name], fitted)
    for name in schema.get("required", ()):
        corrected.setdefault(name, _placeholder(properties[name]))
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
    if _is_legal(part, value):
        return value
    try:
        parsed = json.loads(value) if isinstance(value, str) else [value]
    except ValueError:
        parsed = [value]
    return parsed if _is_legal(part, parsed) else _placeholder(part)


def _is_legal(part: Mapping[str, Any], value: Any) -> bool:
    return not check_arguments({"properties": {"it": part}, "required": ["it"]}, {"it": value})


def _placeholder(part: Mapping[str, Any]) -> Any:
    return part["enum"][0] if "enum" in part else f"<{part.get('type', 'value')}>"
