"""Ops that look at the person's variables: names and types for readers, values for inspectors."""

from functools import partial
from typing import Annotated, Any, Literal, NotRequired, TypedDict, cast

from repl_pair.errors import did_you_mean
from repl_pair.runtime.inspection.images import Image, image_of
from repl_pair.runtime.inspection.names import (
    Sort,
    first_of,
    is_public,
    is_visible,
    names_of_kinds,
    scrubbed,
)
from repl_pair.runtime.inspection.paths import look_up
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, mark_of_ids, page
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.reading.closed_values import Kind, is_closed, kind_of
from repl_pair.runtime.reading.sizes import bytes_of
from repl_pair.runtime.reading.table_counts import count_cells
from repl_pair.runtime.reading.table_parts import parts_to_read
from repl_pair.runtime.reading.table_views import outline, show_more
from repl_pair.runtime.reading.tables import shape_of_table
from repl_pair.runtime.secrets.known import NEEDLES, open_names
from repl_pair.runtime.secrets.learning import learn_secrets, namespace
from repl_pair.runtime.secrets.truncation import Limits
from repl_pair.runtime.values.classes import CONTAINER_IDS, is_exactly, real_class, type_name
from repl_pair.runtime.values.marks import is_secret_key

VALUE_CHARS = 300
"""Of each value in the list of variables."""
FULL_CHARS, FULL_PARTS, FULL_DEPTH = 10_000, 500, 16
"""Of a value in full: characters of a text, parts of a container, levels."""
_SEARCHED = 400_000
"""Of a longer text not all can be read, so its size gives the length of nothing in it."""

Detail = Annotated[Literal["brief", "full"], "full: as much as one answer holds"]


class VariableLine(TypedDict):
    """A variable: `size` of containers and text, `shape` of arrays and frames.

    `bytes` are what it takes itself, without what is in a container.
    """

    id: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    bytes: NotRequired[int]
    value: NotRequired[Any]


class Variables(Page[VariableLine]):
    """A page of variables; on the first one, the names of the person's functions and classes."""

    functions: NotRequired[list[str]]
    classes: NotRequired[list[str]]


class Value(TypedDict):
    """One value, and what it is; `outputs` holds its image."""

    path: str
    type: str
    size: NotRequired[int]
    shape: NotRequired[list[int]]
    bytes: NotRequired[int]
    value: Any
    outputs: NotRequired[list[dict[str, Any]]]


@op(access="read", toolset="values", needs={"values": "inspect"})
def list_variables(
    call: Call,
    match: Annotated[str | None, "Name or glob"] = None,
    type: Annotated[str | None, "Its name"] = None,
    kinds: Annotated[list[Kind] | None, "Usual: data"] = None,
    sort: Annotated[Sort, "Largest or latest first"] = "name",
    values: Annotated[bool, "With values, bounded and redacted"] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Variables:
    """List the person's variables: names, types, shapes; apart, their functions and classes."""
    space = namespace()
    call.max_items, call.value_chars = limit, VALUE_CHARS
    if match is not None or type is not None or sort == "bytes":
        learn_secrets()
    by_kind = names_of_kinds(space, match, type)
    wanted = [name for kind in kinds or ["data"] for name in by_kind[kind]]
    query = [sort, mark_of_ids(scrubbed(wanted))]

    def size_slots(name: str) -> dict[str, Any]:
        return {} if is_secret_key(name) else size_of(space[name])

    first = partial(first_of, lambda name: size_slots(name).get("bytes", 0), wanted, sort)
    chosen = page(wanted, limit=limit, cursor=cursor, query=query, first=first)
    if any(is_exactly(space[name], str, bytes) for name in chosen["items"]):
        learn_secrets()  # the size of one is not shown

    def line(name: str) -> dict[str, Any]:
        value = space[name]
        found = {"id": name, "type": type_name(value), **size_slots(name)}
        return found | ({"value": _marked(call, name, outline(value))} if values else {})

    if chosen["items"] and "inspect" in call.view.access:
        is_data = kind_of(real_class(space[chosen["items"][0]])) == "data"
        call.suggest("get_value" if is_data else "describe_object", path=chosen["items"][0])
    found = chosen | {"items": list(map(line, chosen["items"]))}
    if kinds is None and cursor is None and type is None:
        named = {"functions": by_kind["function"], "classes": by_kind["class"]}
        found |= {slot: sorted(names) for slot, names in named.items() if names}
    if type is not None and not wanted:
        known = {type_name(value) for name, value in space.items() if is_public(name)}
        near = did_you_mean(type, open_names(known))
        call.notifications.append(f"No variable is of type {type}.{near}")
    return cast("Variables", found)


@op(access="inspect", toolset="values")
def get_value(
    call: Call,
    path: Annotated[str, 'Such as order.lines[0].sku, rows[10:20], frame.loc["a"], array[3, :5]'],
    detail: Detail = "brief",
) -> Value:
    """Read one of the person's values by path, bounded and redacted; none of its code is called.

    A figure or image comes as an image.
    """
    found = look_up(path, is_visible)
    value = found.value
    if found.is_secret:
        call.sensitive.append(("value",))
    learn_secrets()
    head: dict[str, Any] = {"path": found.path, "type": type_name(value)}
    closed = is_closed(value)
    if found.is_secret and not closed:
        return cast("Value", head | {"value": value})
    if not found.is_secret and (image := image_of(value)):
        head |= _outputs_of(call, image)
    if closed:
        return cast("Value", head | {"value": f"<{head['type']}>"})
    shown = Limits().width - 1
    if detail == "full":
        call.max_items = FULL_CHARS if is_exactly(value, str) else FULL_PARTS
        call.max_depth = FULL_DEPTH
    elif is_exactly(value, list, tuple) and len(value) > Limits().width:
        call.suggest("get_value", path=f"{head['path']}[{shown}:{2 * shown}]")
    for part in parts_to_read(value):
        call.suggest("get_value", path=head["path"] + part)
    more = show_more(value) if detail == "full" else None
    return cast(
        "Value",
        head | size_of(value) | {"value": value if more is None else more | count_cells(value)},
    )


def _outputs_of(call: Call, image: Image) -> dict[str, Any]:
    if image.why_not:
        call.notifications.append(image.why_not)
        return {}
    return {"outputs": [{image.mime: call.add_raw_json(image.data)}]}


def size_of(value: Any) -> dict[str, int | list[int]]:
    """Return size or shape, and the bytes that a value takes; no code is called."""
    found = shape_of(value)
    taken = bytes_of(value) if found or not is_exactly(value, str, bytes) else None
    return found if taken is None else found | {"bytes": taken}


def shape_of(value: Any) -> dict[str, Any]:
    """Return size of builtin containers and the shape of arrays and frames; no code is called.

    Texts and bytes that hold a known secret have none: it may be the length of that secret.
    """
    cls = real_class(value)
    if cls is str or cls is bytes:
        text = value[:_SEARCHED] if cls is str else value[:_SEARCHED].decode("latin-1")
        return {} if NEEDLES.find(text) else {"size": len(value)}
    if id(cls) in CONTAINER_IDS:
        return {"size": len(value)}
    shape = shape_of_table(value)
    return {} if shape is None else {"shape": shape}


def _marked(call: Call, name: str, value: Any) -> Any:
    if is_secret_key(name):
        call.sensitive.append(("items", "*", f"value of {name}"))
        return {f"value of {name}": value}
    return value
