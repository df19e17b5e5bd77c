"""What a link is: the one interface by which the bridge reaches a kernel."""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NotRequired, TypeAlias, TypedDict

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.records import Undo
from repl_pair.wire import Args, Event, Reply, Request, View

OnProgress: TypeAlias = Callable[[Mapping[str, Any]], None]
"""Takes `{"call", "message", "elapsed_s"}`; called on the event loop."""
OnEvent: TypeAlias = Callable[[Event], None]


class Detachment(TypedDict):
    """How an attachment ended, and how many other clients are left."""

    detached: bool
    remaining_clients: NotRequired[int]


EVERYTHING = "*"
"""Member of an event of the link's own: whatever the subscriber holds may be out of date."""
DEFAULT_TIMEOUT_S = 15.0
"""How long a request waits for its reply where it names no time."""
GRACE_S = 5.0
"""How long a caller waits beyond the time that the op itself may take."""


class Link(ABC):
    """A way to one kernel, for one client of it."""

    kernel: KernelInfo
    client_id: str
    boot: str | None = None
    """The process of the kernel that answered last; None before the first attach."""
    channel: str | None = None
    """The Jupyter channel that requests go on: `control`, or `shell` behind the person's cells."""
    why: str | None = None
    """Why requests wait for the person's cells; None where they do not."""

    @property
    def is_attached(self) -> bool:
        """Whether this link is attached to the kernel and still connected."""
        return True

    @property
    def was_left(self) -> bool:
        """Whether `leave` ended the attachment, and nothing was asked of this link since."""
        return False

    @property
    def has_unread_restart(self) -> bool:
        """Whether no reply has reported a restart yet: until then only reads run."""
        return False

    async def request(
        self,
        op: str,
        args: Args,
        *,
        view: View,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        on_progress: OnProgress | None = None,
        approval: str | None = None,
        is_reported: bool = True,
    ) -> Reply:
        """Run one op and return its reply within `timeout_s`.

        `approval` is the handle under which the person approved this exact call. Never raises for a
        refusal or a lost kernel: that is an error reply. Cancelling the task that awaits it cancels
        the op in the kernel. A reply that is not `is_reported` to whoever uses the link reports no
        restart and shows no notices.
        """
        request = Request(
            op=op,
            args=args,
            call=uuid.uuid4().hex,
            view=view,
            client=self.client_id,
            approval=approval,
            is_reported=is_reported,
        )
        reply = await self._answer(request, timeout_s, on_progress)
        return self._with_restart(reply) if is_reported else reply

    @abstractmethod
    async def _answer(
        self, request: Request, timeout_s: float, on_progress: OnProgress | None
    ) -> Reply: ...

    def _with_restart(self, reply: Reply) -> Reply:
        """Return a reply that reports a restart too, where none has reported it yet."""
        return reply

    def note_reported(self, boot: str | None) -> None:
        """Note that a reply which was not reported, of this process of the kernel, now was."""
        return

    @abstractmethod
    def subscribe(self, fn: OnEvent) -> Undo:
        """Call `fn` on the event loop with each event, until the undo.

        Events are hints. One of the member `EVERYTHING` comes when the subscription stands, after
        a gap, and when the kernel is lost or another process of it answers: then read again.
        """

    @abstractmethod
    async def leave(self) -> Detachment:
        """Detach and cancel pending requests; the next request attaches again.

        The last client that leaves a kernel removes the handlers from it, unless the person holds
        them. Subscribers get no events until the next request.
        """

    @abstractmethod
    async def close(self) -> None:
        """Detach for good; pending requests are answered as cancelled or lost."""
