"""Ops that inspect: what an object is, what the person's cells ran, and their last error."""

from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.runtime.inspection.frames import names_used, own_rows, visible_locals
from repl_pair.runtime.inspection.history import CellLine, describe_cell, kept_codes, kept_errors
from repl_pair.runtime.inspection.last_error import LastError, find_last_error
from repl_pair.runtime.inspection.members import MemberKind, members_of
from repl_pair.runtime.inspection.names import is_describable, is_visible
from repl_pair.runtime.inspection.objects import describe, read_end, stands_for_code
from repl_pair.runtime.inspection.paths import look_up
from repl_pair.runtime.inspection.tracebacks import Traceback, describe_error
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.reading.code_lines import hide_literals
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import (
    learn_before_output,
    learn_secrets,
    namespace,
)
from repl_pair.runtime.secrets.raised import learn_from_error
from repl_pair.runtime.secrets.well_known import hide_keys
from repl_pair.runtime.values.marks import is_secret_key

SHOWN_CHARS = 4_000
"""Of the person's doc or source; `read_more` has the rest. Of a library's doc: as of any text."""

LOCAL_CHARS, CELL_CHARS = 300, 600
"""Of each local; of the code of a cell and of each of its outputs."""


class Where(TypedDict):
    """Where something is defined: a file or a notebook cell, the line from 1."""

    file: NotRequired[str]
    cell: NotRequired[str]
    line: NotRequired[int]


class Member(TypedDict):
    """A member of an object, class or module."""

    name: str
    kind: MemberKind
    type: NotRequired[str]
    signature: NotRequired[str]


class Described(TypedDict):
    """What an object is; what is not known of it is left out."""

    path: str
    type: str
    mro: NotRequired[list[str]]
    where: NotRequired[Where]
    signature: NotRequired[str]
    doc: NotRequired[str]
    source: NotRequired[str]
    members: NotRequired[list[Member]]
    total: NotRequired[int]
    cursor: NotRequired[str]


@op(access="inspect", toolset="values")
def describe_object(
    call: Call,
    path: Annotated[str, "As of get_value; it may end at a function, class, method or module"],
    members: Annotated[bool, "With fields and methods, page by page"] = False,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = None,
) -> Described:
    """Describe an object: class and bases, place, signature, doc, source; none of its code runs.

    No path leads on behind a function, class or module.
    """
    found = look_up(path, is_describable, read_end, op="describe_object")
    learn_secrets()
    learn_before_output(())
    described = describe(found.value, is_secret=found.is_secret, learn=call.secrets.add)
    call.max_items = SHOWN_CHARS if "source" in described else limit
    if cursor is not None:  # the first page has what the object is
        described = {"type": described["type"]}
    out: dict[str, Any] = {"path": found.path} | described
    if members and not found.is_secret:
        every = members_of(found.value)
        names = [one.name for one in every]
        chosen = page(names, limit=limit, cursor=cursor, query=[found.path, names])
        start = {one.name: one for one in every}
        out |= {**chosen, "members": [start[name].line() for name in chosen["items"]]}
        del out["items"]
    elif not members:
        call.suggest("describe_object", path=found.path, members=True)
    if not (found.is_secret or stands_for_code(found.value)):
        call.suggest("get_value", path=found.path)
    return cast("Described", out)


@op(access="inspect", toolset="values")
def read_traceback(
    call: Call,
    locals: Annotated[bool, "With the variables of the person's functions, bounded"] = False,
) -> Traceback:
    """Read the last error that ended a cell: what, where, its causes; none of its code is called.

    `frames` come the deepest last; those of libraries stand in one row each, with
    `library_frames`.
    """
    last = find_last_error()
    _learn_all(call, last)
    if last is None:
        return {"type": None}
    found = describe_error(last, with_locals=locals)
    if locals:
        call.value_chars = LOCAL_CHARS
        names = {name for frame in found.get("frames", ()) for name in frame.get("locals", ())}
        hidden = filter(is_secret_key, names)
        call.sensitive.extend(("frames", "*", "locals", name) for name in hidden)
    _suggest(call, last.error, locals)
    return found


@op(access="inspect", toolset="values")
def read_history(
    call: Call,
    match: Annotated[str | None, "Only cells whose code holds this text"] = None,
    outputs: Annotated[bool, "With what was printed and the last value, as text"] = True,
    limit: Limit = 10,
    cursor: Cursor = None,
) -> Page[CellLine]:
    """Read the cells that the person ran since the kernel started, the newest first.

    Also those from before you came. What `display` showed is not kept.
    """
    last = find_last_error()
    shown = _learn_all(call, last)
    numbers = [
        str(number)
        for number in sorted(shown, reverse=True)
        if match is None or match in hide_keys(NEEDLES.scrub(shown[number])[0])
    ]
    call.max_items, call.value_chars = limit, CELL_CHARS
    chosen = page(numbers, limit=limit, cursor=cursor, query=[*numbers, match])
    errors = kept_errors()
    if last is not None and last.number:
        errors.setdefault(last.number, (last.type, ""))
    lines = [
        describe_cell(n, shown[n], errors.get(n), is_newest=n == max(shown), outputs=outputs)
        for n in map(int, chosen["items"])
    ]
    has_failed = any(line["status"] == "error" for line in lines)
    if last is not None and (has_failed or not last.number):
        call.suggest("read_traceback")
    return {**chosen, "items": lines}


def _learn_all(call: Call, last: LastError | None) -> dict[int, str]:
    """Learn the secrets that code, outputs and messages may hold; return the code to be shown."""
    learn_secrets()
    learn_before_output(())
    if last is not None and last.error is not None:
        learn_from_error(last.error)
    shown = {number: hide_literals(code) for number, code in kept_codes().items()}
    for literal in {literal for one in shown.values() for literal in one.hidden}:
        call.secrets.add(literal)
    return {number: one.text for number, one in shown.items()}


def _suggest(call: Call, error: BaseException | None, with_locals: bool) -> None:
    """Suggest what is to be read next: locals, or variables in the lines that failed."""
    rows = [] if error is None else own_rows(error)
    if rows and visible_locals(rows[-1].frame) and not with_locals:
        call.suggest("read_traceback", locals=True)
    space = namespace()
    names = [] if error is None else names_used(error)
    visible = [n for n in names if n in space and is_visible(n, space[n]) and not is_secret_key(n)]
    for name in visible[: 1 if call.next_steps else 2]:
        call.suggest("get_value", path=name)
    call.suggest("read_history", limit=3)
