"""A link without a kernel: the ops run in this process; requests and replies pass through JSON."""

import asyncio
import json
import os
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.link import EVERYTHING, Detachment, Link, OnEvent, OnProgress
from repl_pair.errors import KernelError
from repl_pair.records import Undo
from repl_pair.runtime.clients.clients import BOOT
from repl_pair.runtime.clients.own_calls import OWN_CALLS
from repl_pair.runtime.kernel.host import Host
from repl_pair.runtime.kernel.lanes import LocalLanes
from repl_pair.wire import Event, EventContent, Reply, Request, error_reply

T = TypeVar("T")


class DirectLink(Link):
    """A link to the runtime of this process; `lanes` are those of its ops."""

    def __init__(self, lanes: LocalLanes | None = None) -> None:
        self.client_id = uuid.uuid4().hex
        self._subscribers: dict[object, Callable[[Any], None]] = {}
        self._host = Host(lanes=lanes or LocalLanes(), publish=self._publish)
        self.boot = BOOT.id
        self.kernel = KernelInfo(
            id="here", name="this process", pid=os.getpid(), path="", notebook=None, alive=True
        )

    async def _answer(
        self, request: Request, timeout_s: float, on_progress: OnProgress | None
    ) -> Reply:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self._host.submit(
            _as_json(replace(request, boot=self.boot).to_wire()),
            reply=_on_loop(loop, lambda reply: answer.done() or answer.set_result(_as_json(reply))),
            progress=_on_loop(loop, on_progress or (lambda _progress: None)),
        )
        try:
            async with asyncio.timeout(timeout_s):
                return await answer
        except TimeoutError:
            why = f"{request.op} did not answer within {timeout_s:g} s; it was cancelled."
            return error_reply(KernelError("kernel_unresponsive", why), boot=self.boot)
        finally:
            if answer.cancelled():
                self._host.cancel(request.call)

    def subscribe(self, fn: OnEvent) -> Undo:
        """See `Link.subscribe`."""
        loop, token = asyncio.get_running_loop(), object()
        self._subscribers[token] = _on_loop(loop, fn)
        loop.call_soon(fn, Event(boot=BOOT.id, seq=0, member=EVERYTHING, change="subscribed"))
        return lambda: self._subscribers.pop(token, None)

    async def leave(self) -> Detachment:
        """Do nothing: no other process was attached to."""
        return {"detached": False}

    async def close(self) -> None:
        """Close the host; running calls are stopped and pending approvals withdrawn."""
        OWN_CALLS.end(lambda owner: owner == self.client_id)
        self._host.close()

    def _publish(self, content: EventContent) -> None:
        event = Event(**_as_json(content))
        for call in list(self._subscribers.values()):
            call(event)


def _as_json(data: T) -> T:
    return json.loads(json.dumps(data, allow_nan=False))


def _on_loop(loop: asyncio.AbstractEventLoop, fn: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a callback for any thread that calls `fn` on the loop."""

    def call(data: Any) -> None:
        try:
            loop.call_soon_threadsafe(fn, data)
        except RuntimeError:
            return  # the loop is closed: no caller waits any more

    return call
