"""The link to a live ipykernel: attaches when needed, and knows which life of it answers."""

import asyncio
import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discover import beats, read_connection
from repl_pair.bridge.link.attach import Attachment, attach
from repl_pair.bridge.link.client import Visit
from repl_pair.bridge.link.clock import bound_request, was_late
from repl_pair.bridge.link.line import Line, Lost, now
from repl_pair.bridge.link.link import PATIENCE_S, Left, OnEvent, OnProgress, Undo
from repl_pair.bridge.link.unresponsive import Standing, Vigil
from repl_pair.bridge.link.waiting import Waiting
from repl_pair.bridge.link.watch import Watch
from repl_pair.bridge.silence.lost import (
    REMOVED,
    RESTARTED,
    gone,
    outcome_unknown,
    restarted,
    silent,
)
from repl_pair.bridge.silence.states import find_process
from repl_pair.errors import KernelError
from repl_pair.wire import (
    Reply,
    Request,
    View,
    error_reply,
    raise_for_error,
)

LINGER_S = 0.05
"""How long a last word may take to go out when its line is closed."""
CLOSED = "the link to it was closed"
COMEBACK_S = 3.0
"""How long a read that lost its kernel waits for the next life of it."""
FRESH_S = 0.25
"""How old a request may be when the kernel takes it up; it is sent again then, if still wanted."""
BESIDE_S = 1.0
"""What is waited for an answer that no caller waits for."""


class KernelLink:
    """A link over Jupyter's control channel, or shell where that is closed to us; see `Link`.

    No socket outlives the connection that it was made for, so nothing queued reaches a successor.
    A read that loses the kernel is asked once more of its next life; anything else answers
    `outcome_unknown`. After a restart the first call that is not a read is refused once.
    `reads` says of an op's name whether it may be asked twice. `inject` ships the runtime's source
    into a kernel whose Python lacks the package.
    """

    def __init__(
        self,
        kernel: KernelInfo,
        *,
        principal: str = "agent",
        inject: bool = False,
        reads: Callable[[str], bool] = manifest.reads,
    ) -> None:
        self.kernel = kernel
        self._visit = Visit(principal, inject=inject)
        self._process = find_process(kernel.pid)
        self._reads = reads
        self._line: Line | None = None
        self._attachment: Attachment | None = None
        self._attaching = asyncio.Lock()
        self._closed = False
        self._untold: set[str] = set()
        self._wanted = asyncio.Event()
        self._watch = Watch(self._attached_if_wanted, self._ask_seq)
        self._vigil = Vigil(self._standing, self._ask_beside)

    @property
    def boot(self) -> str | None:
        """The life of the kernel that was attached to last."""
        return self._attachment.boot if self._attachment else None

    @property
    def is_attached(self) -> bool:
        """Whether this link has a connection on which the kernel let it in."""
        return self._visit.line is not None and not self._visit.line.lost.is_set()

    @property
    def channel(self) -> str | None:
        """The Jupyter channel of the last attachment."""
        return self._attachment.channel if self._attachment else None

    @property
    def why(self) -> str | None:
        """What the kernel of the last attachment lacks."""
        return self._attachment.why if self._attachment else None

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
        until = now() + (timeout_s or PATIENCE_S)
        request = Request(
            op=op,
            args=args,
            call=uuid.uuid4().hex,
            view=view,
            client=self._visit.client["id"],
            approval=approval,
        )
        return await self._request(request, until, on_progress)

    async def _request(
        self, request: Request, until: float, on_progress: OnProgress | None
    ) -> Reply:
        bound = asyncio.timeout_at(until)
        waiting = Waiting(request=request, until=until, bound=bound, on_progress=on_progress)
        try:
            async with waiting.bound:
                with self._vigil.attend(waiting):
                    reply = await self._ask(waiting)
        except TimeoutError:
            return await self._unanswered(waiting)
        except KernelError as error:
            return error_reply(error, boot=self.boot)
        self._vigil.hear(waiting.request, reply)
        return self._with_news(reply)

    async def describe(self) -> Sequence[Mapping[str, Any]]:
        """Return the descriptors of the kernel's ops."""
        return raise_for_error(await self.request("describe", {}, view=View()))["ops"]

    def subscribe(self, fn: OnEvent) -> Undo:
        """Call `fn` with each event; give what ends that. See `Link.subscribe`."""
        self._wanted.set()
        return self._watch.add(fn)

    async def close(self) -> None:
        """Leave the kernel for good; see `Link.close`."""
        self._closed = True
        await self._watch.close()
        await self._vigil.close()
        await self._leave()

    async def leave(self) -> Left:
        """Return the attachment up; subscribers hear nothing until the next request."""
        async with self._attaching:
            self._wanted.clear()
            return await self._leave()

    async def _leave(self) -> Left:
        try:
            return await self._visit.leave()
        finally:
            for line in (self._line, self._visit.refused_on):
                if line:
                    line.close(linger_s=LINGER_S)

    async def _attached_if_wanted(self) -> tuple[Line, Attachment]:
        await self._wanted.wait()
        return await self.attached()

    async def attached(self) -> tuple[Line, Attachment]:
        """Return the living connection, made anew if there is none; `kernel_gone` and its like."""
        async with self._attaching:
            self._wanted.set()
            if self._line and self._attachment and not self._line.lost.is_set():
                return self._line, self._attachment
            self._line = line = self._visit.refused_on or Line(await self._connection())
            try:
                attachment = await attach(line, self.kernel, self._visit)
                self._check_open()
            except BaseException:
                self._visit.end()
                self._line = None
                if line is not self._visit.refused_on:
                    line.close(linger_s=LINGER_S)
                raise
            if self.boot not in (None, attachment.boot):
                self._untold = {"read", "run"}
            self._attachment = attachment
            self.kernel = replace(self.kernel, pid=attachment.pid, alive=True)
            self._process = find_process(attachment.pid)
            return line, attachment

    async def _ask(self, waiting: Waiting) -> Reply:
        asked = waiting.request
        reading = self._reads(asked.op)
        for last in (False, True):
            try:
                line, attachment = await self.attached()
            except Lost:
                self._check_open()
                raise gone(self.kernel) from None
            if not reading:
                self._refuse_once()
            # A read that was lost is another call, as no life of a kernel takes one twice.
            call = uuid.uuid4().hex if last else asked.call
            waiting.request = replace(asked, boot=attachment.boot, call=call)
            try:
                reply = await self._deliver(line, attachment, waiting)
            except Lost:
                if not reading:
                    raise outcome_unknown(self.kernel, asked.op) from None
                await self._comeback()
                continue
            if not last and _was_restarted(reply):
                line.close()
                continue
            return reply
        raise gone(self.kernel)

    async def _deliver(self, line: Line, attachment: Attachment, waiting: Waiting) -> Reply:
        """Send a request, and again as often as it comes too late to be taken up."""
        clock = attachment.clock
        fresh_s = FRESH_S if attachment.channel == "control" else math.inf
        while True:
            bounded = bound_request(waiting.request, clock, waiting.until, fresh_s)
            waiting.sent = line, now()
            reply = await attachment.carrier.carry(bounded, waiting.on_progress)
            late_at = was_late(reply)
            if late_at is None:
                return reply
            clock, fresh_s = clock and clock.corrected(late_at), 2 * fresh_s

    async def _ask_beside(self, request: Request) -> Reply | None:
        """Ask a small read that nobody waits for; None where there is no answer at once."""
        line, attachment = self._line, self._attachment
        if line is None or attachment is None or attachment.channel != "control":
            return None
        bound = replace(request, boot=attachment.boot, call=uuid.uuid4().hex)
        try:
            async with asyncio.timeout(BESIDE_S):
                return await attachment.carrier.carry(bound, None)
        except (Lost, TimeoutError):
            return None

    async def _unanswered(self, waiting: Waiting) -> Reply:
        """Answer a caller whose time is up, or whose wait was ended for it."""
        if waiting.answer is not None:
            return waiting.answer
        if waiting.untaken and waiting.sent:
            # The handlers were taken out: whether they may be put in again is asked by attaching.
            waiting.sent[0].close()
            return await self._request(waiting.request, waiting.until, waiting.on_progress)
        return error_reply(await self._vigil.explain(waiting), boot=self.boot)

    def _standing(self) -> Standing:
        return Standing(
            kernel=self.kernel,
            process=self._process,
            line=self._line,
            attachment=self._attachment,
        )

    async def _connection(self) -> Mapping[str, Any]:
        """Return the content of the connection file if that kernel's heart beats."""
        self._check_open()
        info = read_connection(self.kernel.path)
        if info is None:
            raise gone(self.kernel, REMOVED)
        if not await asyncio.to_thread(beats, info):
            raise self._heartless()
        self._check_open()
        return info

    def _check_open(self) -> None:
        if self._closed:
            raise gone(self.kernel, CLOSED)

    async def _comeback(self) -> None:
        """Wait for the next life of the kernel, not longer than its connection file exists."""
        until = now() + COMEBACK_S
        while now() < until and not self._closed:
            info = read_connection(self.kernel.path)
            if info is None:
                raise gone(self.kernel, REMOVED)
            if await asyncio.to_thread(beats, info):
                return
        why = CLOSED if self._closed else "it did not come back"
        raise gone(self.kernel, why)

    def _refuse_once(self) -> None:
        if "run" not in self._untold:
            return
        self._untold.discard("run")
        raise restarted()

    async def _ask_seq(self) -> int | None:
        reply = await self.request("ping", {}, view=View())
        return reply.get("seq", 0) if reply["ok"] else None

    def _with_news(self, reply: Reply) -> Reply:
        self._watch.expect(reply.get("boot"), reply.get("seq", 0))
        if "read" not in self._untold:
            return reply
        self._untold.discard("read")
        return reply | {"notifications": [RESTARTED, *reply.get("notifications", [])]}

    def _heartless(self) -> KernelError:
        silence = self._vigil.heartless()
        return gone(self.kernel) if silence.state == "gone" else silent(self.kernel, silence)


def _was_restarted(reply: Reply) -> bool:
    return not reply["ok"] and reply["error"]["code"] == "kernel_restarted"
