"""What ops that run, or read of runs, answer: a type each.

Any value in an answer may be redacted, or elided by a marker.
"""

from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["pass", "fail", "cannot_run", "error"]


class Place(TypedDict):
    """Where an entry was registered: a module, a notebook cell or an agent; the line from 1."""

    where: str
    line: int


class Identity(TypedDict):
    """The snapshot identity of a variant."""

    variant_id: str
    active_modes: list[str]
    substrate: str
    content_hash: str
    code_hash: str


class Assertion(TypedDict):
    """One assertion of a run; `play` where the play has a name, `step` from 0 in it."""

    assertion: str
    payload: list[Any]
    passed: bool
    expected: Any
    actual: Any
    reason: str
    play: NotRequired[str]
    step: int


class Fault(TypedDict):
    """What was raised, where in the person's code, and in which part of the run."""

    type: str
    message: str
    raised_in: NotRequired[str]
    decorator: NotRequired[str]
    patch: NotRequired[str]
    loader: NotRequired[str]
    derived: NotRequired[str]
    play: NotRequired[str]
    step: NotRequired[int]
    event: NotRequired[str]
    file: NotRequired[str]
    line: NotRequired[int]


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
    """What each run answers; slots that may be missing are there where they hold something."""

    reason: NotRequired[str]
    still_running: NotRequired[bool]
    elapsed_ms: float
    effective_args: dict[str, Any]
    identity: Identity | None
    result: Any
    outputs: list[dict[str, Any]]
    phases: list[Phase]
    last: NotRequired[Any]
    state: NotRequired[Any]
    events: NotRequired[list[Any]]
    effects: NotRequired[list[Effect]]
    stdout: NotRequired[str]
    stderr: NotRequired[str]
    unattributed: NotRequired[str]
    warnings: NotRequired[list[str]]
    logs: NotRequired[list[str]]
    registered: NotRequired[Place]


class Run(Rendered):
    """A run with its verdict."""

    status: Status
    assertions: list[Assertion]
    total: int
    plays: NotRequired[list[str]]
    steps: NotRequired[list[Step]]


class ResetRun(Run):
    """The run of a variant that was begun anew, and how many live objects were closed."""

    closed: NotRequired[int]


class Preview(Rendered):
    """A run up to its render, without a verdict."""

    variant_id: str
    rendered: bool
    asserted: Literal[False]
    text: NotRequired[str]
    plays: NotRequired[list[str]]


class LastRun(TypedDict):
    """The last result of a variant; `stale`: something that it rests on has changed since."""

    variant_id: str
    status: Status
    reason: str
    total: int
    stale: bool
    assertions: list[Assertion]


class Failure(LastRun):
    """A last result that did not pass, with the assertions and phases that failed."""

    phases: list[Phase]
    registered: Place | dict[str, Any]


class Failures(TypedDict):
    """All last results that did not pass."""

    items: list[Failure]
    total: int


class Passing(TypedDict):
    """Whether the chosen variants last passed."""

    status: Status
    total: int
    passed: int
    failed: list[str]
    not_run_or_stale: list[str]
    reason: NotRequired[str]


class SweepLine(TypedDict):
    """One run of a sweep."""

    variant_id: str
    modes: NotRequired[list[str]]
    status: Status
    reason: NotRequired[str]
    total: int
    elapsed_ms: float
    content_hash: NotRequired[str]


class MoreRows(TypedDict):
    """How many rows were left out, and how many of them `read_more` has."""

    rows: int
    kept: int
    handle: str


class Sweep(TypedDict):
    """Many runs: those that did not pass come first."""

    status: Status
    reason: NotRequired[str]
    total: int
    counts: dict[str, int]
    elapsed_ms: float
    items: list[SweepLine]
    more: NotRequired[MoreRows]
    still_running: NotRequired[bool]
