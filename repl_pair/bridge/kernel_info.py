"""What is known of one kernel, as data: which one it is, and its status."""

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from repl_pair.errors import RequestError

_NAME = re.compile("[^\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029\\ud800-\\udfff]{1,4096}")


class KernelLine(TypedDict):
    """Which kernel it is, in an answer; what is not known is left out."""

    id: str
    name: str
    alive: bool
    pid: NotRequired[int]
    notebook: NotRequired[str]
    front_end: NotRequired[str]


@dataclass(frozen=True, kw_only=True)
class KernelInfo:
    """One kernel: `path` is its connection file, `id` that file's stem without `kernel-`.

    `began` is when its process did, in seconds since the epoch. `front_end` names the program that
    started it. What is not known for certain is None.
    """

    id: str
    name: str
    pid: int | None
    path: str
    notebook: str | None
    alive: bool
    began: float | None = None
    front_end: str | None = None

    @property
    def label(self) -> str:
        """Its id, with its notebook or else its name."""
        return f"{self.id} ({self.notebook or self.name})"

    def to_wire(self) -> KernelLine:
        """Return the JSON form, without the connection file's path and what is not known."""
        return cast("KernelLine", known_only(asdict(self) | {"path": None, "began": None}))


class KernelStatus(TypedDict, total=False):
    """The status of one kernel a moment ago; what is not known is left out.

    `state` is `unknown` of a process that does not answer; `runtime` says whether repl_pair is in
    it. Both times are seconds before now.
    """

    state: Literal["busy", "idle", "unknown"]
    since_s: float
    last_activity_s: float
    runtime: bool


ProbedKernel: TypeAlias = tuple[KernelInfo, KernelStatus]


def known_only(data: dict[str, Any]) -> dict[str, Any]:
    """Return the slots that are not None."""
    return {name: value for name, value in data.items() if value is not None}


def check_name(name: object) -> str:
    """Return what names a kernel as text; RequestError `bad_arguments` for what can name none.

    That is what is empty, longer than a path, or not text of one line, and would fail in a call of
    the system.
    """
    text = str(name) if type(name) is int and name.bit_length() < 64 else name
    if type(text) is str and _NAME.fullmatch(text):
        return text
    shown = ascii(text) if type(text) is str else type(name).__name__
    raise RequestError(
        "bad_arguments",
        "kernel is an id, pid, notebook or file, in one line of at most 4096 characters, "
        f"not {shown:.60}.",
    )
