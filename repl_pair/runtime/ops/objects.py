"""The op that says what an object of the person's is."""

from typing import Annotated, Any, NotRequired, TypedDict, cast

from repl_pair.runtime.inspection.members import MemberKind, members_of
from repl_pair.runtime.inspection.objects import describe, may_begin, read_end, stands_for_code
from repl_pair.runtime.inspection.paths import look_up
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.listing import DEFAULT_LIMIT, Cursor, Limit, page
from repl_pair.runtime.op_base.table import op
from repl_pair.runtime.secrets.learning import learn_before_output, learn_secrets

SHOWN_CHARS = 4_000
"""Of the person's doc or source; `read_more` has the rest. Of a library's doc: as of any text."""


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
    """Say what an object is: class and bases, place, signature, doc and source; nothing of it runs.

    No path leads on behind a function, class or module.
    """
    found = look_up(path, may_begin, read_end, op="describe_object")
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
