"""Ops that look at the person's variables: names and types for readers, values for inspectors."""

import sys
import types
from typing import Annotated, Any, cast

from repl_pair.errors import RequestError, did_you_mean
from repl_pair.runtime.ops.answers import Value, VariableLine
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.list_answers import Page
from repl_pair.runtime.ops.paging import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.reading.steps import PathMiss, follow
from repl_pair.runtime.reading.stored import is_closed, read_field
from repl_pair.runtime.secrets.learning import namespace
from repl_pair.runtime.values.marks import is_secret_key
from repl_pair.runtime.values.paths import format_path, parse_path

_SHELL_NAMES = {"In", "Out", "exit", "quit", "get_ipython", "open", "repl_pair"}
_HIDDEN_TYPES = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


@op(access="read", toolset="values", needs={"values": "inspect"})
def list_variables(
    call: Call,
    values: Annotated[bool, "With values, bounded and redacted"] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Page[VariableLine]:
    """List the person's variables: names, types and shapes."""
    space = namespace()
    names = [name for name in sorted(space) if is_visible(name, space[name])]
    call.max_items = limit

    def line(name: str) -> dict[str, Any]:
        value = space[name]
        found = {"id": name, "type": type_name(value), **shape_of(value)}
        return found | ({"value": _marked(call, name, value)} if values else {})

    return page(names, line, limit=limit, cursor=cursor, revision=0, query=names)


@op(access="inspect", toolset="values")
def get_value(
    call: Call, path: Annotated[str, "Such as order.lines[0].sku; starts at a variable"]
) -> Value:
    """Read one value of the person's by path, bounded and redacted; none of its code is called."""
    steps = parse_path(path)
    space = {n: v for n, v in namespace().items() if is_visible(n, v) and not is_closed(v)}
    root = str(steps[0])
    if root not in space:
        raise RequestError(
            "not_found",
            f"There is no variable {root!r}.{did_you_mean(root, space)}",
            next_steps=["list_variables()"],
        )
    try:
        value = follow(space[root], steps[1:], step=read_field)
    except PathMiss as miss:
        near = f" Nearest: {', '.join(map(str, miss.near))}." if miss.near else ""
        whole = format_path((root, *parse_path(miss.reached))) if miss.reached else root
        text = f"There is no {miss.step!r} in {whole}.{near}"
        raise RequestError("not_found", text) from miss
    if any(is_secret_key(str(step)) for step in steps):
        call.sensitive.append(("value",))
    head = {"path": format_path(steps), "type": type_name(value)}
    return cast("Value", head | shape_of(value) | {"value": value})


def is_visible(name: str, value: Any) -> bool:
    """Return whether it is the person's data: no private name, module, function or class."""
    return (
        not name.startswith("_")
        and name not in _SHELL_NAMES
        and not isinstance(value, _HIDDEN_TYPES)
    )


def type_name(value: Any) -> str:
    """Return a value's type without asking the value."""
    return type(value).__qualname__


def shape_of(value: Any) -> dict[str, Any]:
    """Return size of builtin containers and the shape of arrays and frames; no code is called."""
    if type(value) in (list, tuple, dict, set, frozenset, str, bytes):
        return {"size": len(value)}
    module = type(value).__module__.partition(".")[0]
    if module in ("numpy", "pandas") and module in sys.modules:
        shape = cast("tuple[int, ...] | None", getattr(value, "shape", None))
        return {} if shape is None else {"shape": list(shape)}
    return {}


def _marked(call: Call, name: str, value: Any) -> Any:
    if is_secret_key(name):
        call.sensitive.append(("items", "*", f"value of {name}"))
        return {f"value of {name}": value}
    return value
