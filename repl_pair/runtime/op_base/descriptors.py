"""What an op takes and answers, as every interface shows it, and the check of a call by it."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, get_origin, get_type_hints, is_typeddict

from repl_pair.errors import RequestError
from repl_pair.runtime.op_base.table import READ_DEADLINE_S, Op, Table
from repl_pair.runtime.signatures.arguments import check_arguments, read_call_arguments
from repl_pair.runtime.signatures.outline import outline
from repl_pair.runtime.signatures.schema import Schema, parameters_schema
from repl_pair.wire import View


def build_descriptors(table: Table) -> list[dict[str, Any]]:
    """Build every descriptor, sorted by name; imports the modules of all ops."""
    return [build_descriptor(op) for op in table.ops()]


def build_descriptor(op: Op) -> dict[str, Any]:
    """Build the descriptor of one op; what has its usual value is left out."""
    schema = input_schema(op)
    answer = answer_type(op.fn)
    slots = ("access", "lane", "toolset", "needs", "internal", "project")
    body = {slot: getattr(op, slot) for slot in slots}
    longest_s = op.deadline({}) or 0.0
    bounds = {"timeout_s", "wait_s", "duration_ms"}
    if longest_s > READ_DEADLINE_S and bounds.isdisjoint(schema["properties"]):
        body["deadline_s"] = longest_s
    if is_typeddict(get_origin(answer) or answer):
        body["answer"] = outline(answer)
    return {
        "name": op.name,
        "doc": op.doc,
        "input_schema": schema,
        **{name: value for name, value in body.items() if value not in ({}, False)},
    }


@lru_cache(maxsize=256)
def answer_type(fn: Callable[..., Any]) -> Any:
    """Return the type of what an op's function answers, Any where it names none."""
    return get_type_hints(fn).get("return", Any)


def input_schema(op: Op) -> Schema:
    """Return the schema of the function's own parameters."""
    return _schema(op.fn, op.context)


@lru_cache(maxsize=256)
def _schema(fn: Callable[..., Any], context: str | None) -> Schema:
    return parameters_schema(fn, skip={context} if context else ())


def check_call(op: Op, args: Mapping[str, Any], view: View) -> dict[str, Any]:
    """Return the arguments as the op takes them; `bad_arguments` with all faults in one message."""
    schema = input_schema(op)
    closed = {name for name, needed in op.needs.items() if needed not in view.access}
    properties = {n: s for n, s in schema["properties"].items() if n not in closed}
    visible = schema | {"properties": properties}
    own = read_call_arguments(op.name, visible, args)
    if faults := check_arguments(visible, own):
        raise RequestError("bad_arguments", f"{op.name}: {' '.join(faults)}")
    return own
