"""What the ops of the bridge answer, a type each; what is not known is left out."""

from typing import Any, Literal, NotRequired, TypedDict


class KernelLine(TypedDict):
    """Which kernel it is."""

    id: str
    name: str
    alive: bool
    pid: NotRequired[int]
    notebook: NotRequired[str]
    front_end: NotRequired[str]


class ListedKernel(KernelLine):
    """A kernel with its status; `channel` and `why` of one that you are attached to."""

    state: NotRequired[Literal["busy", "idle", "unknown"]]
    since_s: NotRequired[float]
    last_activity_s: NotRequired[float]
    runtime: NotRequired[bool]
    attached: bool
    age_s: NotRequired[float]
    channel: NotRequired[str]
    why: NotRequired[str]


class KernelList(TypedDict):
    """All kernels of this machine."""

    items: list[ListedKernel]
    total: int


class KernelReport(KernelLine):
    """What a kernel is doing; `code`, `why`, and `state` with `since_s` of a silent one."""

    channel: NotRequired[str]
    why: NotRequired[str]
    boot: NotRequired[str | None]
    version: NotRequired[str]
    busy: NotRequired[bool]
    cell: NotRequired[str | None]
    busy_s: NotRequired[float | None]
    idle_s: NotRequired[float | None]
    clients: NotRequired[int]
    counts: NotRequired[dict[str, int]]
    loop_blocked_s: NotRequired[float]
    stuck: NotRequired[dict[str, Any]]
    injected: NotRequired[bool]
    code: NotRequired[str]
    state: NotRequired[str]
    since_s: NotRequired[float | None]


class Detachment(TypedDict):
    """How an attachment ended, and how many other clients are left."""

    detached: bool
    remaining_clients: NotRequired[int]


class OpLine(TypedDict):
    """An op; `doc` is its first line in a list, and whole otherwise."""

    op: str
    access: str
    doc: str


class OpList(TypedDict):
    """The ops that are no tools."""

    items: list[OpLine]
    total: int


class OpDescription(OpLine):
    """One op; `answer` outlines what it answers."""

    input_schema: dict[str, Any]
    answer: NotRequired[str]
