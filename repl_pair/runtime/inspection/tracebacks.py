"""What an error of the person's is: its text, its way, and the exceptions behind it."""

from typing import Any, NotRequired, TypedDict

from repl_pair.runtime.inspection.frames import (
    FrameLine,
    ShownLine,
    describe_row,
    describe_syntax,
    describe_traceback,
    own_rows,
    rows_of,
)
from repl_pair.runtime.inspection.history import without_input
from repl_pair.runtime.inspection.last_error import LastError
from repl_pair.runtime.reading.exceptions import read_syntax, text_of
from repl_pair.runtime.running.raised import bounded, describe_related, shown_notes
from repl_pair.runtime.values.classes import name_of, real_class


class RelatedError(ShownLine):
    """A cause, or an exception in a group; with its last line of the person's code."""

    type: str
    where: NotRequired[str]
    line: NotRequired[int]
    message: NotRequired[str]
    left_out: NotRequired[str]
    notes: NotRequired[list[str]]


class Traceback(TypedDict):
    """The last error that ended a cell; `type` is null where there is none.

    `cell` is left out where it ended a script of `%run` and not the cell that ran that.

    `left_out` names a part that only code of the person's would give, or that is gone. Causes come
    nearest first; `in_group` counts all exceptions in a group.
    """

    type: str | None
    message: NotRequired[str]
    left_out: NotRequired[str]
    notes: NotRequired[list[str]]
    cell: NotRequired[str]
    frames: NotRequired[list[FrameLine]]
    causes: NotRequired[list[RelatedError]]
    group: NotRequired[list[RelatedError]]
    in_group: NotRequired[int]


def describe_error(last: LastError, *, with_locals: bool) -> Traceback:
    """Return what an error is, where it was raised, and what stands behind it."""
    found: Any = {"type": last.type} | ({"cell": f"In[{last.number}]"} if last.number else {})
    if (error := last.error) is None:
        gone = {"left_out": "frames: the exception itself is no longer there"}
        return found | gone | _message(last.type, last.text)
    found |= _described(error, last.text)
    found["frames"] = describe_traceback(error, with_locals=with_locals)
    return found | describe_related(error, _related)


def _related(error: BaseException) -> RelatedError:
    rows = own_rows(error)[-1:] or rows_of(error)[-1:]
    lines = describe_syntax(error) or list(map(describe_row, rows))
    found: Any = {"type": name_of(real_class(error)), **_described(error, None)}
    return found | (lines[0] if lines else {})


def _described(error: BaseException, kept: str | None) -> dict[str, Any]:
    """Return the message and the notes of an exception; `kept` is its text, where it was made."""
    is_made = kept is not None and not read_syntax(error)
    text, notes = kept if is_made else text_of(error), shown_notes(error)
    return _message(name_of(real_class(error)), text) | ({"notes": notes} if notes else {})


def _message(kind: str, text: str | None) -> dict[str, str]:
    if text is None:
        return {"left_out": "message: code of its class makes it"}
    read = without_input(kind, text)
    return (
        {"left_out": "message: it quotes its input"} if read is None else {"message": bounded(read)}
    )
