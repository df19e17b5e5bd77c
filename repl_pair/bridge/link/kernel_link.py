"""The link to a kernel of another process: carries requests to it, also over its restarts."""

import asyncio
import math
import uuid
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.link.attach import Attachment
from repl_pair.bridge.link.attached_link import AttachedLink
from repl_pair.bridge.link.line import ConnectionLost, Line, now
from repl_pair.bridge.link.link import OnEvent, OnProgress
from repl_pair.bridge.link.unresponsive import SilenceMonitor, WaitingCall
from repl_pair.bridge.link.watch import Watch
from repl_pair.bridge.silence import refusals
from repl_pair.errors import KernelError
from repl_pair.records import Undo
from repl_pair.wire import UNATTACHED, Reply, Request, View, error_reply

FRESH_S = 0.25
"""How old a request may be when the kernel takes it up; an older one is sent again."""
BACKGROUND_S = 1.0
"""How long a request that no caller waits for may take."""


class KernelLink(AttachedLink):
    """A link over Jupyter's control channel, or shell where that takes no handlers; see `Link`.

    A read that loses the kernel is sent once more after its restart; anything else answers
    `outcome_unknown`. What runs or writes is refused where it was sent before a reply reported the
    restart.
    """

    def __init__(
        self, kernel: KernelInfo, *, principal: str = "agent", inject: bool = False
    ) -> None:
        super().__init__(kernel, principal=principal, inject=inject)
        self._watch = Watch(self._attached_if_wanted, self._ask_seq)
        self._silence = SilenceMonitor(self, self._request_in_background)

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

    async def _ask_seq(self) -> int | None:
        if not self._wanted.is_set():
            return None
        reply = await self.request("ping", {}, view=View(), is_reported=False)
        return reply.get("seq", 0) if reply["ok"] else None


def _is_to_attach_again(reply: Reply) -> bool:
    """Return whether a request was meant for a process, or for a host in it, that is no more."""
    error: Mapping[str, Any] = {} if reply["ok"] else reply["error"]
    return error.get("code") == "kernel_restarted" or UNATTACHED in error.get("detail", {})
