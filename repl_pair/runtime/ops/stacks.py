"""Ops that show where a kernel stands: its cell, its threads, its tasks, its hot lines."""

from typing import Annotated, NotRequired, TypedDict, cast

from repl_pair.runtime.inspection import hot_lines, stacks
from repl_pair.runtime.op_base.call import Call
from repl_pair.runtime.op_base.table import SPARE_S, op
from repl_pair.runtime.signatures.arguments import Bounds


class Frame(TypedDict):
    """A line in a cell or a file; `where` of an installed file begins with its package."""

    where: str
    line: int
    function: str
    code: NotRequired[str]


class CellStack(TypedDict):
    """The running cell; `line` is its own line that runs, `awaits` where it awaits something."""

    label: str
    line: NotRequired[int]
    seconds: NotRequired[float]
    awaits: NotRequired[list[Frame]]


class ThreadStack(TypedDict):
    """A thread, or `count` that stand alike; frames innermost first, `left_out` more of them."""

    name: str
    frames: list[Frame]
    count: NotRequired[int]
    left_out: NotRequired[int]


class TaskStack(TypedDict):
    """A task of asyncio, or `count` that stand alike, and where it awaits, innermost first."""

    name: str
    awaits: list[Frame]
    count: NotRequired[int]
    left_out: NotRequired[int]


class LeftOut(TypedDict, total=False):
    """How many are not shown: of the kernel's own machinery, and over the bound."""

    machinery_threads: int
    threads: int
    machinery_tasks: int
    tasks: int


class Stacks(TypedDict):
    """Where a kernel stands; `tasks` where this Python lists them."""

    cell: CellStack | None
    threads: list[ThreadStack]
    tasks: NotRequired[list[TaskStack]]
    left_out: NotRequired[LeftOut]


LONG_S = 2.0
"""How long a cell has run when its hot lines are suggested."""


@op(access="read", lane="inline", toolset="stacks", needs={"code": "inspect"})
def read_stacks(
    call: Call, code: Annotated[bool, "With the person's lines of source"] = False
) -> Stacks:
    """Show the call stacks of the running cell, the threads and the asyncio tasks; no values.

    The main thread first; frames innermost first, of libraries only what the person's code
    called and the innermost. A thread in C code shows the last Python line.
    """
    found = stacks.read_stacks(code=code)
    if found["cell"] is not None and found["cell"].get("seconds", 0.0) >= LONG_S:
        call.suggest("read_hot_lines")
    return cast("Stacks", found)


class HotLine(TypedDict):
    """A line of the person's; `share` of the time, `inside` what it called of a library."""

    where: str
    line: int
    function: str
    share: float
    inside: NotRequired[str]


class HotLines(TypedDict):
    """What was sampled, for how long; `ended`: the cell did; `missed` samples came too late."""

    samples: int
    seconds: float
    cell: NotRequired[str]
    ended: NotRequired[bool]
    missed: NotRequired[int]
    lines: list[HotLine]


USUAL_S, MAX_S = 2.0, 10.0
_MISSED_SHARE = 0.1
"""Which share of missed samples is reported in words."""


@op(
    access="read",
    toolset="stacks",
    deadline=lambda args: float(args.get("seconds", USUAL_S)) + SPARE_S,
    stoppable=False,
)
def read_hot_lines(
    call: Call, seconds: Annotated[float, Bounds(0.1, MAX_S), "How long to sample"] = USUAL_S
) -> HotLines:
    """Sample the running cell 100 times a second; show the person's lines that take the time.

    Time counts for their innermost line; `inside` is what that calls of a library. Arithmetic
    without calls may count for the end of its loop. Ends when the cell ends.
    """
    found = hot_lines.read_hot_lines(seconds, call.cancelled.is_set)
    if found is None:
        call.notifications.append("No cell runs: there is nothing to sample. Call while one does.")
        call.suggest("read_stacks")
        return {"samples": 0, "seconds": 0.0, "lines": []}
    if found.get("missed", 0) > _MISSED_SHARE * (found["samples"] + found.get("missed", 0)):
        call.notifications.append(
            f"{found['missed']} samples were missed: C code held the interpreter lock, or other "
            "threads did. That time counts for the line that was reached next."
        )
    return cast("HotLines", found)
