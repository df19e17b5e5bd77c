"""A link without a kernel: the same ops in this process, as JSON both ways."""

import asyncio
import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.link import EVERYTHING, PATIENCE_S, Left, OnEvent, OnProgress, Undo
from repl_pair.errors import KernelError
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.lanes import LocalLanes
from repl_pair.wire import Event, Reply, Request, View, error_reply, raise_for_error

T = TypeVar("T")


class DirectLink:
    """A link to the runtime of this process; what crosses it is what would cross a wire."""

    def __init__(self) -> None:
        self._client = uuid.uuid4().hex
        self._subscribers: list[tuple[OnEvent, asyncio.AbstractEventLoop]] = []
        self._host = Host(lanes=LocalLanes(), publish=self._publish)
        self.kernel = KernelInfo(
            id="here", name="this process", pid=os.getpid(), path="", notebook=None, alive=True
        )

    @property
    def boot(self) -> str:
        """The host's boot id."""
        return self._host.boot

    @property
    def is_attached(self) -> bool:
        """Always: this process is there."""
        return True

    @property
    def channel(self) -> None:
        """None: nothing of Jupyter's is between."""
        return

    @property
    def why(self) -> None:
        """None: there are no cells."""
        return

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
        """Run one op and give its reply; see `Link.request`."""
        call = uuid.uuid4().hex
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        request = Request(
            op=op,
            args=args,
            call=call,
            boot=self.boot,
            view=view,
            client=self._client,
            approval=approval,
        )
        self._host.submit(
            _as_json(request.to_wire()),
            reply=_on_loop(loop, lambda reply: answer.done() or answer.set_result(_as_json(reply))),
            progress=_on_loop(loop, on_progress or _ignore),
        )
        try:
            async with asyncio.timeout(timeout_s or PATIENCE_S):
                return await answer
        except TimeoutError:
            self._host.cancel(call)
            return error_reply(_overdue(op, timeout_s or PATIENCE_S), boot=self.boot)
        except asyncio.CancelledError:
            self._host.cancel(call)
            raise

    async def describe(self) -> Sequence[Mapping[str, Any]]:
        """Return the descriptors of this process's ops."""
        return raise_for_error(await self.request("describe", {}, view=View()))["ops"]

    def subscribe(self, fn: OnEvent) -> Undo:
        """Call `fn` with each event; give what ends that."""
        loop = asyncio.get_running_loop()
        subscriber = (fn, loop)
        self._subscribers.append(subscriber)
        loop.call_soon(fn, Event(boot=self.boot, seq=0, member=EVERYTHING, change="subscribed"))

        def remove() -> None:
            if subscriber in self._subscribers:
                self._subscribers.remove(subscriber)

        return remove

    async def leave(self) -> Left:
        """Do nothing: nobody else's process was attached to."""
        return Left(detached=False)

    async def close(self) -> None:
        """Close the host; calls under way are told to stop, and what was asked for is withdrawn."""
        OWN_CALLS.end_of(self._client)
        self._host.close()

    def _publish(self, content: dict[str, Any]) -> None:
        event = Event(**_as_json(content))
        for fn, loop in tuple(self._subscribers):
            _on_loop(loop, fn)(event)


def _as_json(data: T) -> T:
    return json.loads(json.dumps(data, allow_nan=False))


def _on_loop(loop: asyncio.AbstractEventLoop, fn: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a callback for any thread that calls `fn` on the loop."""

    def call(data: Any) -> None:
        try:
            loop.call_soon_threadsafe(fn, data)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    return call


def _ignore(_progress: Mapping[str, Any]) -> None:
    return None


def _overdue(op: str, waited_s: float) -> KernelError:
    return KernelError(
        "kernel_unresponsive", f"{op} did not answer within {waited_s:g} s; it was cancelled."
    )
