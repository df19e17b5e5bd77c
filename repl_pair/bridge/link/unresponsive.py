"""What one link does while its kernel is silent: looks why, tells who waits, remembers."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import psutil

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discover import beats, read_connection
from repl_pair.bridge.link.attach import Attachment
from repl_pair.bridge.link.line import Line, Lost, now
from repl_pair.bridge.link.readings import look
from repl_pair.bridge.link.waiting import Lookout, Waiting
from repl_pair.bridge.silence.lost import REMOVED, gone, silent
from repl_pair.bridge.silence.remembered import Memory, Refresher
from repl_pair.bridge.silence.states import Silence, judge, judge_by_process, judge_turn
from repl_pair.errors import KernelError
from repl_pair.wire import FEATURE, Reply, Request, View, error_reply

FROZEN = ("gil_held", "gil_held_or_blocked")
"""States in which nothing of Python runs in the kernel, so that what was last known stays so."""
ASKS_HOW_IT_IS = "ping"
"""The op whose answer is the silence itself, where there is one."""

_UNSEEN = Silence(state="unknown", since_s=None, why="it has said nothing yet")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Where a link stands: its kernel, and what it has of it by now."""

    kernel: KernelInfo
    process: psutil.Process | None
    line: Line | None
    attachment: Attachment | None


class Vigil:
    """Stays with one link's callers until they are answered.

    `ask` sends one op for a view, beside what the callers asked; None if that fails.
    """

    def __init__(
        self,
        standing: Callable[[], Standing],
        ask: Callable[[Request], Awaitable[Reply | None]],
    ) -> None:
        self._standing = standing
        self._ask = ask
        self._lookout = Lookout(self._look, self._tell, self._end)
        self._memory = Memory()
        self._refresher = Refresher(self._read, is_idle=lambda: not self._lookout.waiting)

    def attend(self, waiting: Waiting) -> AbstractContextManager[None]:
        """Look after one caller while it waits."""
        return self._lookout.attend(waiting)

    def hear(self, request: Request, reply: Reply) -> None:
        """Remember what the kernel said."""
        self._memory.keep(request, reply)
        if request.op != ASKS_HOW_IT_IS:
            self._refresher.note(request.view, reply)

    async def explain(self, waiting: Waiting) -> KernelError:
        """Describe why a caller got no answer in its time; looks, if nobody has just now."""
        kernel = self._standing().kernel
        info = read_connection(kernel.path)
        if info is None:
            return gone(kernel, REMOVED)
        silence = self._lookout.silence or await self._look(waiting.since)
        if silence is None:
            beating = await asyncio.to_thread(beats, info)
            silence = _UNSEEN if beating else self.heartless()
        op = waiting.request.op
        return gone(kernel, silence.why) if silence.state == "gone" else silent(kernel, silence, op)

    def heartless(self) -> Silence:
        """Name the state of a kernel whose heartbeat is known to be silent."""
        standing = self._standing()
        connected = standing.line is not None and not standing.line.lost.is_set()
        return judge_by_process(standing.process, connected=connected)

    async def close(self) -> None:
        """Look no more, and read nothing more."""
        await self._refresher.close()
        await self._lookout.close()

    async def _look(self, since: float) -> Silence | None:
        """Look at the kernel, if there is a line to it; an answer is due since `since`."""
        standing = self._standing()
        line, attachment = standing.line, standing.attachment
        info = read_connection(standing.kernel.path)
        if line is None or line.lost.is_set() or info is None:
            return None
        began, heard = now(), line.heard
        control_tid = attachment.control_tid if attachment else None
        try:
            seen, features = await look(line, info, standing.process, control_tid)
        except Lost:
            return None
        if seen.answers and FEATURE not in features:
            self._let_go(line, began)
        if seen.answers and line.in_turn_since is not None:
            return judge_turn(now() - line.in_turn_since)
        return judge(seen, now() - max(heard, since))

    def _let_go(self, line: Line, began: float) -> None:
        """End the wait of those whose requests found our handlers taken out: none was run."""
        attachment = self._standing().attachment
        if attachment is None or attachment.channel != "control":
            return
        for waiting in self._lookout.waiting:
            if waiting.sent and waiting.sent[0] is line and waiting.sent[1] < began:
                waiting.end()

    def _tell(self, waiting: Waiting, silence: Silence) -> None:
        waiting.tell(f"waiting: the kernel is alive, but {silence.why}")

    def _end(self, waiting: Waiting, silence: Silence) -> None:
        """Answer a caller in the kernel's place, where that can be done."""
        request = waiting.request
        if request.op == ASKS_HOW_IT_IS:
            refusal = silent(self._standing().kernel, silence)
            waiting.end(error_reply(refusal, boot=request.boot))
        elif silence.state in FROZEN and (reply := self._memory.recall(request, silence.why)):
            waiting.end(reply)

    async def _read(self, op: str, view: View) -> Reply | None:
        request = Request(op=op, call="", view=view)
        reply = await self._ask(request)
        if reply is not None:
            self._memory.keep(request, reply)
        return reply
