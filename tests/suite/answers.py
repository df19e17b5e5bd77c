"""Answers of ops, held against the types that their functions name, and their next steps."""

from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from repl_pair.bridge import manifest, ops
from repl_pair.bridge.ops.table import ForwardedReply
from repl_pair.runtime.op_base.table import MAX_WAIT_S, TABLE
from repl_pair.runtime.signatures.arguments import check_arguments
from repl_pair.runtime.signatures.outline import typed_slots

REDACTED = "[redacted]"
SCHEMAS = {entry["name"]: entry["input_schema"] for entry in manifest.load()}


def find_step_faults(reply):
    """Return what of a reply's next steps is no valid call, or one that takes too long."""
    for step in reply.get("next_steps", ()):
        schema = SCHEMAS[step["op"]]
        names = {*step["args"]} - ({"kernel"} - {*schema["properties"]})
        args = {name: step["args"][name] for name in names}
        faults = check_arguments(schema, args)
        if faults or args.get("wait_s", 0) > MAX_WAIT_S:
            yield step, faults


def find_faults(op, answer):
    """Return what of an op's answer is not of the type that the op's function names."""
    found = TABLE.get(op) or ops.TABLE.get(op)
    hint = get_type_hints(found.fn)["return"] if found else Any
    return list(_faults(answer, hint, op))


def _faults(value, hint, at):
    if hint in (Any, ForwardedReply) or value == REDACTED or _is_cut(value):
        return
    slots, origin, args = typed_slots(hint), get_origin(hint), get_args(hint)
    if slots is not None and isinstance(value, dict):
        yield from (f"{at}.{name}: not in its type" for name in value.keys() - slots.keys())
        for name, (inner, always) in slots.items():
            if name in value:
                yield from _faults(value[name], inner, f"{at}.{name}")
            elif always:
                yield f"{at}.{name}: missing"
    elif origin is list and isinstance(value, list):
        for n, item in enumerate(value):
            yield from _faults(item, args[0], f"{at}[{n}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in value.items():
            yield from _faults(item, args[1], f"{at}.{key}")
    elif origin in (Union, UnionType):
        if all(list(_faults(value, arg, at)) for arg in args):
            yield f"{at}: {value!r} is none of {args}"
    elif not _is_leaf(value, hint):
        yield f"{at}: {value!r} is no {hint}"


def _is_cut(value):
    """Return whether a marker stands for a value or for a whole answer."""
    return isinstance(value, dict) and not value.keys().isdisjoint(("$elided", "$overflow"))


def _is_leaf(value, hint):
    if get_origin(hint) is Literal:
        return value in get_args(hint)
    if hint is float:
        return type(value) in (int, float)
    return type(value) is hint
