"""The link to a kernel of another process: attaches when needed, and follows its restarts."""

import asyncio
import math
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import heartbeat_answers, read_connection
from repl_pair.bridge.link.attach import Attachment, attach
from repl_pair.bridge.link.client import Client, is_in
from repl_pair.bridge.link.line import ConnectionLost, Line, now
from repl_pair.bridge.link.link import Detachment, Link, OnEvent, OnProgress
from repl_pair.bridge.link.unresponsive import SilenceMonitor, WaitingCall
from repl_pair.bridge.link.watch import Watch
from repl_pair.bridge.silence import refusals
from repl_pair.bridge.silence.states import find_process
from repl_pair.errors import KernelError
from repl_pair.records import Undo
from repl_pair.wire import UNATTACHED, Reply, Request, View, error_reply

LINGER_S = 0.05
"""How long the last message may take to be sent when its line is closed."""
CLOSED = "the link to it was closed"
RESTART_S = 3.0
"""How long a read waits for its kernel to restart."""
FRESH_S = 0.25
"""How old a request may be when the kernel takes it up; an older one is sent again."""
BACKGROUND_S = 1.0
"""How long a request that no caller waits for may take."""
BUSY_MACHINE_S = 4.0
"""How long the heartbeat of a process that could run may take before that process is refused."""


class KernelLink(Link):
    """A link over Jupyter's control channel, or shell where that takes no handlers; see `Link`.

    No socket outlives its connection, so nothing that is queued reaches a restarted kernel. A read
    that loses the kernel is sent once more after its restart; anything else answers
    `outcome_unknown`. What runs or writes is refused where it was sent before a reply reported the
    restart.
    `inject` ships the runtime's source into a kernel whose Python lacks the package.
    """

    def __init__(
        self, kernel: KernelInfo, *, principal: str = "agent", inject: bool = False
    ) -> None:
        self.kernel = kernel
        self.process = find_process(kernel.pid)
        self.line: Line | None = None
        self.attachment: Attachment | None = None
        self._client = Client(principal, inject=inject)
        self.client_id = self._client.info["id"]
        self._attaching = asyncio.Lock()
        self._failed: tuple[float, KernelError] | None = None
        """When an attach failed last, and why."""
        self._left_at = -math.inf
        self._closed = False
        self._reported_at = -math.inf
        """When a reply reported the last restart; infinite while none did."""
        self._wanted = asyncio.Event()
        self._watch = Watch(self._attached_if_wanted, self._ask_seq)
        self._silence = SilenceMonitor(self, self._request_in_background)

    @property
    def is_attaching(self) -> bool:
        """Whether a client is being attached now, which may import the runtime into the kernel."""
        return self._attaching.locked()

    @property
    def is_attached(self) -> bool:
        """Whether the client is attached and the connection is open."""
        return self._client.line is not None and not self._client.line.closed.is_set()

    @property
    def was_left(self) -> bool:
        """See `Link.was_left`."""
        return self.boot is not None and not self._wanted.is_set()

    @property
    def has_unread_restart(self) -> bool:
        """See `Link.has_unread_restart`."""
        return self._reported_at == math.inf

    async def _answer(
        self, request: Request, timeout_s: float, on_progress: OnProgress | None
    ) -> Reply:
        return await self._wait_for_answer(request, now() + timeout_s, now(), on_progress)

    def _with_restart(self, reply: Reply) -> Reply:
        if not self.has_unread_restart:
            return reply
        self._reported_at = now()
        if not reply["ok"] and reply["error"]["code"] == "kernel_restarted":
            return reply
        return reply | {"notifications": [refusals.RESTARTED, *reply.get("notifications", [])]}

    def note_reported(self, boot: str | None) -> None:
        """See `Link.note_reported`."""
        if boot == self.boot and self.has_unread_restart:
            self._reported_at = now()

    async def _wait_for_answer(
        self, request: Request, until: float, since: float, on_progress: OnProgress | None
    ) -> Reply:
        bound = asyncio.timeout_at(until)
        waiting = WaitingCall(
            request=request, until=until, since=since, bound=bound, on_progress=on_progress
        )
        try:
            async with bound:
                with self._silence.attend(waiting):
                    reply = await self._ask(waiting)
        except TimeoutError:
            if waiting.answer is not None:
                return waiting.answer
            if waiting.untaken and waiting.sent:
                # The handlers were removed: attaching shows whether they may be installed again.
                waiting.sent[0].close()
                return await self._wait_for_answer(waiting.request, until, since, on_progress)
            return error_reply(await self._silence.explain(waiting), boot=self.boot)
        except KernelError as error:
            return error_reply(error, boot=self.boot)
        self._silence.keep(waiting.request, reply)
        self._watch.expect(reply.get("boot"), reply.get("seq", 0))
        return reply

    def subscribe(self, fn: OnEvent) -> Undo:
        """See `Link.subscribe`."""
        self._wanted.set()
        return self._watch.add(fn)

    async def close(self) -> None:
        """See `Link.close`."""
        self._closed = True
        try:
            await self._watch.close()
            await self._silence.close()
        finally:
            await self._leave()

    async def leave(self) -> Detachment:
        """See `Link.leave`."""
        async with self._attaching:
            self._wanted.clear()
            self._left_at = now()
            return await self._leave()

    async def _leave(self) -> Detachment:
        try:
            return await self._client.leave()
        finally:
            for line in (self.line, self._client.refused_line):
                if line:
                    line.close(linger_s=LINGER_S)

    async def _attached_if_wanted(self) -> tuple[Line, Attachment]:
        await self._wanted.wait()
        return await self.attached()

    async def attached(self) -> tuple[Line, Attachment]:
        """Return the open connection, or attach anew; KernelError where that fails.

        Who waits for an attach that fails gets its error: a dead kernel is asked once for all. Who
        waits while the kernel is left does not attach anew: `cancelled`.
        """
        since = now()
        async with self._attaching:
            if self._left_at >= since:
                raise refusals.left()
            self._wanted.set()
            if self.line and self.attachment and not self.line.closed.is_set():
                return self.line, self.attachment
            if self._failed is not None and self._failed[0] >= since:
                raise self._failed[1].with_traceback(None)
            try:
                return await self._attach()
            except KernelError as error:
                self._failed = now(), error
                raise

    async def _attach(self) -> tuple[Line, Attachment]:
        self.line = line = self._client.refused_line or Line(await self._connection())
        try:
            attachment = await attach(line, self.kernel, self._client)
            self._check_open()
        except BaseException:
            self._client.leave_at_once()
            self.line = None
            if line is not self._client.refused_line:
                line.close(linger_s=LINGER_S)
            raise
        if self.boot not in (None, attachment.boot):
            self._reported_at = math.inf
        self.attachment = attachment
        self.boot, self.channel, self.why = attachment.boot, attachment.channel, attachment.why
        self.kernel = replace(self.kernel, pid=attachment.pid, alive=True)
        self.process = find_process(attachment.pid, attachment.control_tid)
        return line, attachment

    async def _ask(self, waiting: WaitingCall) -> Reply:
        request = waiting.request
        is_read = manifest.reads(request.op)
        for last in (False, True):
            try:
                line, attachment = await self.attached()
            except ConnectionLost:
                self._check_open()
                raise refusals.gone(self.kernel) from None
            if not is_read and waiting.since <= self._reported_at:
                raise refusals.restarted()
            # A kernel takes no call twice, so a repeated read is another call.
            call = uuid.uuid4().hex if last else request.call
            waiting.request = replace(request, boot=attachment.boot, call=call)
            try:
                reply = await self._deliver(line, attachment, waiting)
            except ConnectionLost:
                was_left = self._left_at >= waiting.since
                if not is_read:
                    how = "was left" if was_left else "ended"
                    raise refusals.outcome_unknown(self.kernel, request.op, how) from None
                if was_left:
                    raise refusals.left() from None
                await self._wait_for_restart()
                continue
            if not last and _is_to_attach_again(reply):
                await self._end_attachment(line, attachment)
                continue
            return reply
        raise refusals.gone(self.kernel)

    async def _end_attachment(self, line: Line, attachment: Attachment) -> None:
        """Close the line of an attachment that a kernel does not know, once all calls know that."""
        if self.attachment is attachment:
            self.attachment = None
        try:
            # A kernel answers in order: with this answer, each other refusal on this line is there.
            with suppress(ConnectionLost):
                await is_in(line)
        finally:
            line.close()

    async def _deliver(self, line: Line, attachment: Attachment, waiting: WaitingCall) -> Reply:
        """Send a request, and again as often as it comes too late to be taken up."""
        fresh_s = FRESH_S if attachment.channel == "control" else math.inf
        while True:
            bounded = attachment.kernel_clock.bound(waiting.request, waiting.until, fresh_s)
            waiting.sent = line, now()
            reply = await attachment.carrier.carry(bounded, waiting.on_progress)
            if not attachment.kernel_clock.was_late(reply):
                return reply
            fresh_s *= 2

    async def _request_in_background(self, request: Request) -> Reply | None:
        line, attachment = self.line, self.attachment
        if line is None or attachment is None or attachment.channel != "control":
            return None
        bound = replace(request, boot=attachment.boot, call=uuid.uuid4().hex)
        try:
            async with asyncio.timeout(BACKGROUND_S):
                return await attachment.carrier.carry(bound, None)
        except (ConnectionLost, TimeoutError):
            return None

    async def _connection(self) -> Mapping[str, Any]:
        """Return the content of the connection file if that kernel's heartbeat answers."""
        self._check_open()
        info = self._connection_file()
        if not await asyncio.to_thread(heartbeat_answers, info):
            silence = self._silence.judge_without_heartbeat()
            if silence.state == "gone":
                raise refusals.gone(self.kernel)
            waited = partial(heartbeat_answers, info, timeout_s=BUSY_MACHINE_S)
            if silence.state != "starved" or not await asyncio.to_thread(waited):
                raise refusals.silent(self.kernel, silence)
        self._check_open()
        return info

    def _connection_file(self) -> Mapping[str, Any]:
        info = read_connection(self.kernel.path)
        if info is None:
            raise refusals.gone(self.kernel, refusals.REMOVED)
        return info

    def _check_open(self) -> None:
        if self._closed:
            raise refusals.gone(self.kernel, CLOSED)

    async def _wait_for_restart(self) -> None:
        until = now() + RESTART_S
        while now() < until and not self._closed:
            if await asyncio.to_thread(heartbeat_answers, self._connection_file()):
                return
        raise refusals.gone(self.kernel, CLOSED if self._closed else "it did not come back")

    async def _ask_seq(self) -> int | None:
        if not self._wanted.is_set():
            return None
        reply = await self.request("ping", {}, view=View(), is_reported=False)
        return reply.get("seq", 0) if reply["ok"] else None


def _is_to_attach_again(reply: Reply) -> bool:
    """Return whether a request was meant for a process, or for a host in it, that is no more."""
    error: Mapping[str, Any] = {} if reply["ok"] else reply["error"]
    return error.get("code") == "kernel_restarted" or UNATTACHED in error.get("detail", {})
