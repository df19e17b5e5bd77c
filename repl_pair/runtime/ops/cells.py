"""Ops that look at the person's cells: what they ran, and the error that ended the last one."""

from typing import Annotated, cast

from repl_pair.runtime.inspection.frames import names_used, own_rows, visible_locals
from repl_pair.runtime.inspection.history import CellLine, describe_cell, kept_codes, kept_errors
from repl_pair.runtime.inspection.last_error import LastError, find_last_error
from repl_pair.runtime.inspection.names import is_visible
from repl_pair.runtime.inspection.tracebacks import (
    Traceback,
    describe_error,
    learn_from_error,
)
from repl_pair.runtime.op_base.answers import Page
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import Cursor, Limit, page
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.reading.code_lines import hide_literals
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import learn_before_output, learn_secrets, namespace
from repl_pair.runtime.values.marks import is_secret_key

LOCAL_CHARS, CELL_CHARS = 300, 600
"""Of each local; of the code of a cell and of each of its outputs."""


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
    """Read the cells that the person ran in this life of the kernel, the newest first.

    Also those from before you came. What `display` showed is not kept.
    """
    last = find_last_error()
    shown = _learn_all(call, last)
    numbers = [
        str(number)
        for number in sorted(shown, reverse=True)
        if match is None or match in NEEDLES.scrub(shown[number])[0]
    ]
    call.max_items, call.value_chars = limit, CELL_CHARS
    chosen = page(numbers, limit=limit, cursor=cursor, query=[*numbers, match])
    errors = kept_errors()
    if last is not None:
        errors.setdefault(last.number, (last.type, ""))
    lines = [
        describe_cell(n, shown[n], errors.get(n), is_newest=n == max(shown), outputs=outputs)
        for n in map(int, chosen["items"])
    ]
    if any(line["status"] == "error" for line in lines) and last is not None:
        call.suggest("read_traceback")
    return cast("Page[CellLine]", chosen | {"items": lines})


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
