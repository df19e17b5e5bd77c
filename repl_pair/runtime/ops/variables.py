"""Ops that look at the person's variables: names and types for readers, values for inspectors."""

import types
from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.runtime.ops.answers import Page
from repl_pair.runtime.ops.call import Call
from repl_pair.runtime.ops.listing import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.ops.table import op
from repl_pair.runtime.reading.fields import declares_secret
from repl_pair.runtime.reading.steps import PathMiss, follow
from repl_pair.runtime.reading.stored import is_closed, names_beside, read_field
from repl_pair.runtime.reading.table_parts import MISSING, as_read, parts_to_read, read_facet
from repl_pair.runtime.reading.table_views import outline
from repl_pair.runtime.reading.tables import shape_of_table
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_secrets, namespace
from repl_pair.runtime.secrets.truncate import Limits
from repl_pair.runtime.values.classes import is_exactly, is_of, qualname_of, real_class
from repl_pair.runtime.values.marks import is_secret_key, is_secret_label
from repl_pair.runtime.values.paths import Cut, Key, format_path, join_path, parse_cuts

_SHELL_NAMES = {"In", "Out", "exit", "quit", "get_ipython", "open", "repl_pair"}
VALUE_CHARS = 300
"""Of each value in the list of variables."""
_SEARCHED = 400_000
"""Of a longer text not all can be read, so its size gives the length of nothing in it."""
_SIZED = frozenset(map(id, (list, tuple, dict, set, frozenset)))
_CODE = (types.FunctionType, type)
_HIDDEN_TYPES = (types.ModuleType, types.BuiltinFunctionType, *_CODE)


class VariableLine(TypedDict):
    """A variable: `size` of containers and text, `shape` of arrays and frames."""

    id: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    value: NotRequired[Any]


class Variables(Page[VariableLine]):
    """A page of variables; on the first one, the names of the person's functions and classes."""

    functions: NotRequired[list[str]]
    classes: NotRequired[list[str]]


class Value(TypedDict):
    """One value, and what it is."""

    path: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    value: Any


@op(access="read", toolset="values", needs={"values": "inspect"})
def list_variables(
    call: Call,
    match: str | None = None,
    values: Annotated[bool, "With values, bounded and redacted"] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Variables:
    """List the person's variables: names, types, shapes; apart, their functions and classes."""
    space = namespace()
    part = (match or "").casefold()
    named = sorted(name for name in space if part in name.casefold())
    names = [name for name in named if is_visible(name, space[name])]
    call.max_items, call.value_chars = limit, VALUE_CHARS
    learn_secrets()

    def line(name: str) -> dict[str, Any]:
        value = space[name]
        found = {"id": name, "type": type_name(value)}
        found |= {} if is_secret_key(name) else shape_of(value)
        return found | ({"value": _marked(call, name, outline(value))} if values else {})

    chosen = page(names, limit=limit, cursor=cursor, query=names)
    if chosen["items"] and "inspect" in call.view.access:
        call.suggest("get_value", path=chosen["items"][0])
    found = chosen | {"items": list(map(line, chosen["items"]))}
    for slot, kind in zip(("functions", "classes"), _CODE, strict=True):
        names = [name for name in named if is_of(space[name], kind) and _is_public(name)]
        found |= {slot: names} if names and cursor is None else {}
    return cast("Variables", found)


@op(access="inspect", toolset="values")
def get_value(
    call: Call,
    path: Annotated[str, 'Such as order.lines[0].sku, rows[10:20], frame.loc["a"], array[3, :5]'],
) -> Value:
    """Read one value of the person's by path, bounded and redacted; none of its code is called."""
    steps = parse_cuts(path)
    space = {n: v for n, v in namespace().items() if is_visible(n, v)}
    root = str(steps[0])
    if root not in space:
        raise RequestError(
            "not_found",
            f"There is no variable {root!r}.{did_you_mean(root, space)}",
            next_steps=[next_step("list_variables")],
        )

    read: list[Key | Cut] = [root]

    def step(holder: Any, key: Key | Cut) -> Any:
        is_declared = not isinstance(key, tuple) and declares_secret(holder, key)
        if is_declared or any(map(is_secret_label, names_beside(holder, key))):
            call.sensitive.append(("value",))
        read.extend(as_read(holder, key))
        facet = read_facet(holder, key)
        return read_field(holder, key) if facet is MISSING else facet

    try:
        value = follow(space[root], steps[1:], step=step)
    except PathMiss as miss:
        raise _refuse_step(root, miss) from miss
    words = [part for step in steps for part in (step if isinstance(step, tuple) else (step,))]
    if any(is_secret_key(str(word)) for word in words):
        call.sensitive.append(("value",))
    learn_secrets()
    head = {"path": format_path(read), "type": type_name(value)}
    if is_closed(value):
        return cast("Value", head | {"value": f"<{head['type']}>"})
    if ("value",) in call.sensitive:
        return cast("Value", head | {"value": value})
    shown = Limits().width - 1
    is_longer = is_exactly(value, list, tuple) and len(value) > Limits().width
    for part in [f"[{shown}:{2 * shown}]"] if is_longer else parts_to_read(value):
        call.suggest("get_value", path=head["path"] + part)
    return cast("Value", head | shape_of(value) | {"value": value})


def _refuse_step(root: str, miss: PathMiss) -> RequestError:
    """Return the refusal of a path that leads nowhere: what is near, and the way back."""
    near = f" Nearest: {', '.join(map(str, miss.near))}." if miss.near else ""
    whole = format_path((root, *parse_cuts(miss.reached))) if miss.reached else root
    what = join_path("", miss.step) if isinstance(miss.step, tuple) else repr(miss.step)
    why = f" ({miss.reason})" if miss.reason else ""
    back = next_step("get_value", path=whole)
    return RequestError(
        "not_found", f"There is no {what} in {whole}{why}.{near}", next_steps=[back]
    )


def is_visible(name: str, value: Any) -> bool:
    """Return whether it is the person's data: no private name, module, function or class."""
    return _is_public(name) and not is_of(value, *_HIDDEN_TYPES)


def _is_public(name: str) -> bool:
    return not name.startswith("_") and name not in _SHELL_NAMES


def type_name(value: Any) -> str:
    """Return a value's type without asking the value."""
    return qualname_of(real_class(value))


def shape_of(value: Any) -> dict[str, Any]:
    """Return size of builtin containers and the shape of arrays and frames; no code is called.

    Texts and bytes that hold a known secret have none: it may be the length of that secret.
    """
    cls = real_class(value)
    if cls is str or cls is bytes:
        text = value[:_SEARCHED] if cls is str else value[:_SEARCHED].decode("latin-1")
        return {} if NEEDLES.find(text) else {"size": len(value)}
    if id(cls) in _SIZED:
        return {"size": len(value)}
    shape = shape_of_table(value)
    return {} if shape is None else {"shape": shape}


def _marked(call: Call, name: str, value: Any) -> Any:
    if is_secret_key(name):
        call.sensitive.append(("items", "*", f"value of {name}"))
        return {f"value of {name}": value}
    return value
