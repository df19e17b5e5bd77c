"""What one link does while its kernel does not answer: finds out why, and reports it to callers."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import psutil

from repl_pair.bridge.kernel_info import KernelInfo
from repl_pair.bridge.kernels.discovery import heartbeat_answers, read_connection
from repl_pair.bridge.link.attach import Attachment
from repl_pair.bridge.link.line import ConnectionLost, Line, now
from repl_pair.bridge.link.link import OnProgress
from repl_pair.bridge.link.readings import take_readings
from repl_pair.bridge.silence.refusals import REMOVED, gone, silent
from repl_pair.bridge.silence.remembered import Memory, Refresher
from repl_pair.bridge.silence.states import IN_A_CELL, Silence, judge, judge_slow
from repl_pair.errors import KernelError
from repl_pair.wire import FEATURE, Reply, Request, View, error_reply

AFTER_S = 0.5
"""How long a caller waits before the kernel is examined."""
AGAIN_S = 1.0
"""Time between two examinations of a kernel that answers; otherwise they follow each other."""
CONFIRM_S = 2.0
"""Within this time a second examination confirms the first, if nothing came between them."""
REPORT_S = 1.0
"""How often a caller gets as progress why it waits."""
ANSWERING = ("slow_op", "cell_runs", "unknown")
"""States after which there is a pause: the examination took no time, or showed nothing."""
FROZEN = ("gil_held", "gil_held_or_blocked")
"""States in which no Python runs in the kernel, so that the last known answers still hold."""
PASSING = ("control_blocked", "starved")
"""States that an import of the runtime explains, or a machine that is busy for a moment."""
STATUS_OP = "ping"
"""The op whose answer is the silence itself, where there is one."""
WAITING_OP = "await_members"
"""The op that waits for no caller: its silence is no reason to examine the kernel."""

_NO_ANSWER_YET = Silence(state="unknown", since_s=None, why="nothing has come from it yet")


@dataclass(kw_only=True, eq=False)
class WaitingCall:
    """One caller that waits, not longer than `until` on the event loop's clock.

    `sent` is the line that its request went over last, and when; `answer` what the bridge answers
    in the kernel's place; `untaken` says that the kernel did not take the request.
    """

    request: Request
    bound: asyncio.Timeout
    on_progress: OnProgress | None = None
    until: float
    since: float = field(default_factory=now)
    sent: tuple[Line, float] | None = None
    answer: Reply | None = None
    untaken: bool = False
    _reported: float = 0.0

    def end(self, answer: Reply | None = None) -> None:
        """End the wait, with an answer, or because the request was not taken."""
        if not self.bound.expired():
            self.answer, self.untaken = answer, answer is None
            self.bound.reschedule(now())

    def report(self, why: str) -> None:
        """Send the caller as progress why it waits, once a second."""
        if self.on_progress and now() - self._reported >= REPORT_S:
            self._reported = now()
            elapsed_s = round(now() - self.since, 1)
            self.on_progress({"call": self.request.call, "message": why, "elapsed_s": elapsed_s})


class ExaminedLink(Protocol):
    """What is examined: a kernel, its process, the connection to it and the attachment."""

    kernel: KernelInfo
    process: psutil.Process | None
    line: Line | None
    attachment: Attachment | None

    @property
    def is_attaching(self) -> bool:
        """Whether a client is being attached now."""
        ...

    def judge_without_heartbeat(self) -> Silence:
        """Return the state of the kernel where its heartbeat is known to be silent."""
        ...


class SilenceMonitor:
    """Examines a kernel while a caller of one link waits for it longer than `AFTER_S`.

    While the kernel can answer no call, callers get the reason as progress. Once a second
    examination confirms the state, callers are answered in the kernel's place where that is
    possible: `ping`, and registry reads whose last answer is known. `send` sends a read that no
    caller waits for; None where there is no answer at once.
    """

    def __init__(
        self, link: ExaminedLink, send: Callable[[Request], Awaitable[Reply | None]]
    ) -> None:
        self._link = link
        self._send = send
        self._memory = Memory()
        self._refresher = Refresher(self._read, is_idle=lambda: not self._waiting)
        self._waiting: dict[WaitingCall, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._examining: asyncio.Task[None] | None = None
        self._examinations: set[asyncio.Task[None]] = set()
        """Those that have not ended, also after they were cancelled."""
        self._last: tuple[float, Silence] | None = None
        self._answered_at = -math.inf

    @contextmanager
    def attend(self, waiting: WaitingCall) -> Generator[None]:
        """Watch over one caller while it waits."""
        if waiting.request.op == WAITING_OP and waiting.request.args.get("wait_s"):
            yield
            return
        self._waiting[waiting] = None
        if self._timer is None and (self._examining is None or self._examining.done()):
            self._timer = asyncio.get_running_loop().call_later(AFTER_S, self._begin)
        try:
            yield
        finally:
            del self._waiting[waiting]
            if self._examining and not self._waiting:
                self._examining.cancel()
                self._examining = None

    def keep(self, request: Request, reply: Reply) -> None:
        """Keep a reply of the kernel, and read the registry anew if it changed."""
        self._answered_at = now()
        self._memory.keep(request, reply)
        if request.op != STATUS_OP:
            self._refresher.note(request.view, reply)

    async def explain(self, waiting: WaitingCall) -> KernelError:
        """Return why a caller got no answer in time; examines the kernel unless that was just done.

        What was seen before the caller began to wait does not count. The code is `kernel_gone` or
        `kernel_unresponsive`.
        """
        kernel = self._link.kernel
        if (info := read_connection(kernel.path)) is None:
            return gone(kernel, REMOVED)
        recent = self._last and self._last[0] >= max(waiting.since, now() - AGAIN_S)
        silence = self._last[1] if self._last and recent else await self._examine(waiting.since)
        if silence is None:
            alive = await asyncio.to_thread(heartbeat_answers, info)
            silence = _NO_ANSWER_YET if alive else self._link.judge_without_heartbeat()
        if silence.state == "slow_op":
            others = self._answered_at >= waiting.since
            silence = judge_slow(self._link.process, now() - waiting.since, answers_others=others)
        return silent(kernel, silence, waiting.request.op)

    async def close(self) -> None:
        """End all examinations and readings."""
        await self._refresher.close()
        if self._timer:
            self._timer.cancel()
        for examining in self._examinations:
            examining.cancel()
        if self._examinations:
            await asyncio.wait(self._examinations)

    def _begin(self) -> None:
        self._timer = None
        if self._waiting:
            self._examining = asyncio.create_task(self._examine_while_waiting())
            self._examinations.add(self._examining)
            self._examining.add_done_callback(self._examinations.discard)

    async def _examine_while_waiting(self) -> None:
        while self._waiting:
            earliest = min(waiting.since for waiting in self._waiting)
            if now() < earliest + AFTER_S:
                await asyncio.sleep(earliest + AFTER_S - now())
                continue
            began = now()
            silence = await self._examine(earliest)
            before, self._last = self._last, silence and (now(), silence)
            may_pass = silence and silence.state in PASSING
            is_own = may_pass and self._link.is_attaching
            if silence and silence.state not in ("slow_op", "unknown") and not is_own:
                known = before and now() - before[0] < CONFIRM_S and before[1].state
                answered = before and (line := self._link.line) and line.received > before[0]
                is_short = may_pass and (silence.since_s or 0) < CONFIRM_S
                confirmed = known == silence.state and not answered and not is_short
                self._report(silence, confirmed=confirmed)
            if silence is None or silence.state in ANSWERING:
                await asyncio.sleep(began + AGAIN_S - now())

    def _report(self, silence: Silence, *, confirmed: bool) -> None:
        is_frozen = confirmed and silence.state in FROZEN
        for waiting in tuple(self._waiting):
            if now() - waiting.since < AFTER_S:
                continue
            request, kernel = waiting.request, self._link.kernel
            if confirmed and request.op == STATUS_OP:
                waiting.end(error_reply(silent(kernel, silence), boot=request.boot))
            elif is_frozen and (reply := self._memory.recall(request, silence.why)):
                waiting.end(reply)
            if not waiting.bound.expired() and waiting.answer is None:
                waiting.report(f"waiting: the kernel is alive, but {silence.why}")

    async def _examine(self, since: float) -> Silence | None:
        """Return the kernel's state, None without a connection; an answer is due since `since`."""
        line, attachment = self._link.line, self._link.attachment
        info = read_connection(self._link.kernel.path)
        if line is None or line.closed.is_set() or info is None:
            return None
        received = line.received
        control_tid = attachment.control_tid if attachment else None
        try:
            readings, features = await take_readings(line, info, self._link.process, control_tid)
        except ConnectionLost:
            return None
        if readings.answers and FEATURE not in features:
            self._end_untaken(line, readings.probed_at)
        if readings.answers and line.in_turn_since is not None:
            since_s = round(now() - line.in_turn_since, 1)
            return Silence(state="cell_runs", since_s=since_s, why=f"it {IN_A_CELL}")
        silence = judge(readings, now() - max(received, since))
        if silence.state == "gone" and not self._link.is_attaching:
            line.close()  # a process forked from it keeps its sockets open
            return None
        return silence

    def _end_untaken(self, line: Line, probed_at: float) -> None:
        """End the wait of callers whose requests came after the handlers were removed: none ran."""
        attachment = self._link.attachment
        if attachment is None or attachment.channel != "control":
            return
        for waiting in tuple(self._waiting):
            if waiting.sent and waiting.sent[0] is line and waiting.sent[1] < probed_at:
                waiting.end()

    async def _read(self, op: str, view: View) -> Reply | None:
        request = Request(op=op, call="", view=view)
        reply = await self._send(request)
        if reply is not None:
            self._memory.keep(request, reply)
        return reply
