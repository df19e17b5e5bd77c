"""What the ops answer: the types that several share, and those of runs.

Any value in an answer may be redacted, or elided by a marker.
"""

from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar

Line = TypeVar("Line")
Status = Literal["pass", "fail", "cannot_run", "error"]


class Items(TypedDict, Generic[Line]):
    """A list, whole."""

    items: list[Line]
    total: int


class Page(Items[Line]):
    """A page of a list; `total` counts all, `cursor` is there where more follow."""

    cursor: NotRequired[str]


class Ping(TypedDict, total=False):
    """What a kernel is doing; times in seconds, of a cell only while one runs.

    `unsearched_parts` of what the person holds were not searched for secrets before the output of
    the last run left.
    """

    version: str
    injected: bool
    busy: bool
    cell: str | None
    busy_s: float | None
    idle_s: float | None
    clients: int
    counts: dict[str, int]
    loop_blocked_s: float
    unsearched_parts: int
    stuck: dict[str, Any]


class Place(TypedDict):
    """Where an entry was registered: a module, a notebook cell or an agent; the line from 1."""

    where: str
    line: int


class Listed(TypedDict):
    """A line of a list; slots that hold nothing are left out."""

    id: str
    doc: NotRequired[str]


class Identity(TypedDict):
    """The snapshot identity of a variant."""

    variant_id: str
    active_modes: list[str]
    substrate: str
    content_hash: str
    code_hash: str


class Assertion(TypedDict):
    """One assertion of a run; `play` where the play has a name, `step` from 0 in it.

    `compared` only where it is false: there was nothing to compare with.
    """

    assertion: str
    payload: list[Any]
    passed: bool
    expected: Any
    actual: Any
    reason: str
    compared: NotRequired[bool]
    play: NotRequired[str]
    step: int


class CodeLine(TypedDict):
    """A line of code, from 1 in its file."""

    file: str
    line: int
    function: str
    code: NotRequired[str]


class Raised(TypedDict):
    """An exception, and the last line of the person's code on its way."""

    type: str
    message: str
    file: NotRequired[str]
    line: NotRequired[int]
    code: NotRequired[str]
    notes: NotRequired[list[str]]


class Fault(Raised):
    """What was raised, where in the person's code, and in which part of the run.

    `type` is Stopped where the run was stopped there. `frames` are the last lines of the person's
    code, where there are several; `causes` come nearest first; `in_group` counts all in a group.
    """

    raised_in: NotRequired[str]
    decorator: NotRequired[str]
    patch: NotRequired[str]
    loader: NotRequired[str]
    derived: NotRequired[str]
    play: NotRequired[str]
    step: NotRequired[int]
    event: NotRequired[str]
    frames: NotRequired[list[CodeLine]]
    causes: NotRequired[list[Raised]]
    group: NotRequired[list[Raised]]
    in_group: NotRequired[int]


class PhaseFault(Fault):
    """What was raised, and in which phase."""

    phase: str


class Phase(TypedDict):
    """One phase of a run."""

    phase: str
    elapsed_ms: float
    error: Fault | None


class Step(TypedDict):
    """One step of a play that was run, and the state after it."""

    play: str
    step: int
    line: list[Any]
    state: Any
    error: str


class Effect(TypedDict):
    """One effect that a run emitted; `stubbed`: a decorator answered it."""

    id: str
    payload: dict[str, Any]
    stubbed: bool
    response: Any


class Rendered(TypedDict):
    """What each run answers; slots that may be missing are there where they hold something.

    `restored` names the settings of the process that the run changed and gave back. With
    `detail="full"` alone there are `elapsed_ms`, `effective_args`, `identity`, `phases`, `last`,
    `state`, `events`, `effects` and `plays`.
    """

    reason: NotRequired[str]
    still_running: NotRequired[bool]
    elapsed_ms: NotRequired[float]
    effective_args: NotRequired[dict[str, Any]]
    identity: NotRequired[Identity | None]
    result: Any
    outputs: NotRequired[list[dict[str, Any]]]
    errors: NotRequired[list[PhaseFault]]
    phases: NotRequired[list[Phase]]
    last: NotRequired[Any]
    state: NotRequired[Any]
    events: NotRequired[list[Any]]
    effects: NotRequired[list[Effect]]
    plays: NotRequired[list[str]]
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    unattributed: NotRequired[str]
    warnings: NotRequired[list[str]]
    logs: NotRequired[list[str]]
    restored: NotRequired[list[str]]
    registered: NotRequired[Place]


class Judged(TypedDict):
    """The verdict of a run; `assertions` are those that did not pass."""

    status: Status
    reason: NotRequired[str]
    assertions: NotRequired[list[Assertion]]
    total: int


class Run(Judged, Rendered):
    """A run with its verdict; with `detail="full"` all assertions and steps."""

    steps: NotRequired[list[Step]]
    what_if: NotRequired[list[str]]
    """What made it no run of the variant as it is registered: no list or verdict counts it."""


class Preview(Rendered):
    """A run up to its render, without a verdict."""

    variant_id: str
    rendered: bool
    asserted: Literal[False]
    text: NotRequired[str]
