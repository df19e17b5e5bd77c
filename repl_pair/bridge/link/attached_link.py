"""A link with one attachment at a time: made when it is needed, and again after a restart."""

import asyncio
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import heartbeat_answers, read_connection
from repl_pair.bridge.kernels.heartbeat import BUSY_MACHINE_S
from repl_pair.bridge.link.attach import Attachment, attach
from repl_pair.bridge.link.client import Client, is_in
from repl_pair.bridge.link.line import ConnectionLost, Line, now
from repl_pair.bridge.link.link import Detachment, Link
from repl_pair.bridge.silence import refusals
from repl_pair.bridge.silence.states import Silence, find_process, judge_by_process
from repl_pair.errors import KernelError

LINGER_S = 0.05
"""How long the last message may take to be sent when its line is closed."""
CLOSED = "the link to it was closed"
RESTART_S = 3.0
"""How long a read waits for its kernel to restart."""


class AttachedLink(Link):
    """What a link has of its kernel: the process, the open line and the attachment; see `attached`.

    No socket outlives its connection, so nothing that is queued reaches a restarted kernel.
    `inject` ships the runtime's source into a kernel whose Python lacks the package.
    """

    def __init__(self, kernel: KernelInfo, *, principal: str, inject: bool) -> None:
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

    async def _connection(self) -> Mapping[str, Any]:
        """Return the content of the connection file if that kernel's heartbeat answers."""
        self._check_open()
        info = self._connection_file()
        if not await asyncio.to_thread(heartbeat_answers, info):
            silence = self.judge_without_heartbeat()
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

    def judge_without_heartbeat(self) -> Silence:
        """Return the state of the kernel where its heartbeat is known to be silent."""
        connected = self.line is not None and not self.line.closed.is_set()
        return judge_by_process(self.process, connected=connected)
