"""What is known of one kernel, as data: which one it is, and its status."""

from dataclasses import asdict, dataclass
from typing import Any, TypeAlias


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

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, without the connection file's path and what is not known."""
        return known_only(asdict(self) | {"path": None, "began": None})


@dataclass(frozen=True, kw_only=True)
class KernelStatus:
    """The status of one kernel a moment ago; what is not known is None.

    `state` is `busy`, `idle`, or `unknown` of a process that does not answer; `runtime` says
    whether repl_pair is in it. Both times are seconds before now.
    """

    state: str | None = None
    since_s: float | None = None
    last_activity_s: float | None = None
    runtime: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, without what is not known."""
        return known_only(asdict(self))


ProbedKernel: TypeAlias = tuple[KernelInfo, KernelStatus]


def known_only(data: dict[str, Any]) -> dict[str, Any]:
    """Return the slots that are not None."""
    return {name: value for name, value in data.items() if value is not None}
