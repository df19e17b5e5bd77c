"""The seam between bridge and kernel: what a link is, and which kernel it leads to."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol, TypeAlias

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.wire import Event, Reply, View

Undo: TypeAlias = Callable[[], None]


OnProgress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Takes `{"call", "message", "elapsed_s"}`; called on the event loop."""


OnEvent: TypeAlias = Callable[[Event], None]


EVERYTHING = "*"
"""Member of an event of the link's own: whatever the subscriber holds may be out of date."""


PATIENCE_S = 15.0
"""Bound of a request that names none."""


GRACE_S = 5.0
"""What a caller waits beyond the times that the op itself keeps."""


@dataclass(frozen=True, kw_only=True)
class Left:
    """What came of leaving a kernel; `remaining_clients` is None where that is not known."""

    detached: bool
    remaining_clients: int | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return the JSON form, without what is not known."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Link(Protocol):
    """A way to one kernel."""

    @property
    def kernel(self) -> KernelInfo:
        """Which kernel."""
        ...

    @property
    def boot(self) -> str | None:
        """The life of the kernel that answered last; None before the first attach."""
        ...

    @property
    def is_attached(self) -> bool:
        """Whether the kernel has let this link in and is still connected."""
        ...

    @property
    def channel(self) -> str | None:
        """The Jupyter channel that requests go on, `control` or `shell`; None where none is known.

        On `shell` they wait for the person's cells.
        """
        ...

    @property
    def why(self) -> str | None:
        """Why requests cannot go beside the person's cells; None where they do."""
        ...

    async def request(
        self,
        op: str,
        args: Mapping[str, Any],
        *,
        view: View,
        timeout_s: float | None = None,
        on_progress: OnProgress | None = None,
        approval: str | None = None,
    ) -> Reply:
        """Run one op and give its reply within `timeout_s`.

        `approval` is the handle of what the person approved for this very call. Never raises for a
        refusal or a lost kernel: that is an error reply. Cancelling the task that awaits it cancels
        the op in the kernel.
        """
        ...

    async def describe(self) -> Sequence[Mapping[str, Any]]:
        """Return the descriptors of the kernel's ops; raises the error of a refused reply."""
        ...

    def subscribe(self, fn: OnEvent) -> Undo:
        """Call `fn` on the event loop with each event; give what ends that.

        Events are hints. One of the member `EVERYTHING` comes when the subscription stands, after
        a gap, and when the kernel is lost or another life of it answers: then read again.
        """
        ...

    async def leave(self) -> Left:
        """Return the attachment up, and its pending requests; the next request attaches again.

        The last client that leaves a kernel takes out what was put into it, unless the person
        holds it.
        """
        ...

    async def close(self) -> None:
        """Leave for good; pending requests are answered as cancelled or lost. The kernel stays."""
        ...
