"""The fallback: requests as silent executes on shell, between the person's cells."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import replace

from repl_pair.bridge import manifest
from repl_pair.bridge.link.clock import KernelClock
from repl_pair.bridge.link.control_path import OnContent
from repl_pair.bridge.link.line import ConnectionLost, Line, now
from repl_pair.bridge.link.link import OnProgress
from repl_pair.bridge.link.silent_execute import IMPORT, HostAnswer, Interrupted, evaluate, execute
from repl_pair.bridge.silence.states import IN_A_CELL
from repl_pair.errors import KernelError, RequestError
from repl_pair.records import Undo
from repl_pair.runtime.op_base.table import TABLE, WAIT_S, steps_if_not_started
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import Reply, Request, error_reply, ok_reply

LEASE_S = 0.5
"""How long a request may stand in the queue of a kernel that was found free."""
AGAIN_S = 0.05
"""When a kernel that emptied its queue after a failed cell is checked again."""
COLLECT_S = (0.1, 0.3, 1.0)
"""Pauses before the reply to a call that still runs is asked for; the last one repeats."""
POLL_S = 2.0
"""How often a kernel that pushes no events is asked for them while it is idle."""

_HOST = f'{IMPORT}("repl_pair.runtime.kernel.shell_host", fromlist=["answer"])'


class ShellPath:
    """The way of a `ControlPath` for kernels that take no handlers of this package.

    At most one message of this package stands in the kernel's queue: a check, which runs nothing
    and shows that the kernel is free. Only then is a request sent, with a short time to be taken up
    in, so what is cancelled while a cell runs was never sent. `has_control` says whether the kernel
    executes on control too: there a running call is cancelled at once, and a leave waits for no
    cell.
    """

    def __init__(self, line: Line, clock: KernelClock, *, has_control: bool) -> None:
        self._line = line
        self._clock = clock
        self._has_control = has_control
        self._turn = asyncio.Lock()
        self._running_op: str | None = None
        self._check: asyncio.Task[HostAnswer] | None = None
        self._on_event: OnContent | None = None
        self._has_events = asyncio.Event()
        self._seq: int | None = None

    async def carry(self, request: Request, on_progress: OnProgress | None) -> Reply:
        """Wait until the kernel is free, then run a request in it; see `ControlPath.carry`.

        A request that is no read waits for its own `wait_s` and is then answered as not begun.
        """
        wait_s = None if manifest.reads(request.op) else float(request.args.get("wait_s", WAIT_S))
        until = None if wait_s is None else now() + wait_s
        while True:
            try:
                async with asyncio.timeout_at(until):
                    await self._turn.acquire()
                    try:
                        await self._wait_until_free()
                    except BaseException:
                        self._turn.release()
                        raise
            except TimeoutError:
                running = self._running_op
                why = f"another call of {running} is running" if running else None
                return _not_started(request, wait_s or 0.0, why or f"the kernel {IN_A_CELL}")
            reply = await self._send(request, on_progress)
            if reply is not None:
                return reply

    async def listen(self, fn: OnContent) -> Undo:
        """Ask for events at intervals, and with each request, until the undo."""
        async with self._turn:
            self._seq = (await self._wait_until_free())["seq"]
        self._on_event = fn
        polling = asyncio.ensure_future(self._poll())

        def undo() -> None:
            self._on_event = None
            polling.cancel()

        return undo

    def send_leave(self, client: str) -> None:
        """Report without waiting that a client leaves, where the kernel executes on control."""
        if self._has_control:
            self._line.send("execute_request", execute(f"{_HOST}.leave({client!a})", "control"))

    async def leave(self, client: str) -> HostAnswer:
        """Report that a client leaves; return the slots of `Detachment`."""
        return await self._evaluate(f"{_HOST}.leave({client!a})") or {}

    async def _send(self, request: Request, on_progress: OnProgress | None) -> Reply | None:
        """Return the reply to a request, whose turn this ends; None if it was not taken up."""
        take_by = self._clock.ahead_s + time.monotonic() + LEASE_S
        if request.take_by is not None:
            take_by = min(take_by, request.take_by)
        try:
            try:
                self._running_op = request.op
                content = replace(request, take_by=take_by).to_wire()
                answer = await self._ask({"do": "take", "request": content})
            finally:
                self._running_op = None
                self._turn.release()
            reply = None if answer is None else await self._collect(request, answer, on_progress)
        except Interrupted:
            raise KernelError(
                "outcome_unknown",
                f"An interrupt came during the answer to {request.op}; it may have run, and was "
                "not repeated.",
                hints=("look at what the call should have changed before calling again",),
            ) from None
        except asyncio.CancelledError:
            self._line.start(self._cancel(request.call))
            raise
        if reply is None or self._clock.was_late(reply):
            return None
        if reply.get("seq", 0) > (self._seq or 0):
            self._has_events.set()
        return reply

    async def _collect(
        self, request: Request, answer: HostAnswer, on_progress: OnProgress | None
    ) -> Reply:
        """Ask for the reply until there is one; cells run meanwhile."""
        pauses = iter(COLLECT_S)
        while "reply" not in answer:
            if answer.get("progress") and on_progress:
                on_progress(answer["progress"])
            await asyncio.sleep(next(pauses, COLLECT_S[-1]))
            async with self._turn:
                await self._wait_until_free()
                answer = await self._ask({"do": "collect", "call": request.call}) or {}
        return answer["reply"]

    async def _wait_until_free(self) -> HostAnswer:
        """Wait until the kernel is free; one check serves all who wait, and outlives them."""
        if self._check is None or self._check.done():
            self._check = asyncio.ensure_future(self._check_until_free())
            self._check.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._check)

    async def _check_until_free(self) -> HostAnswer:
        self._line.in_turn_since = now()
        try:
            while (answer := await self._check_once()) is None:
                await asyncio.sleep(AGAIN_S)
        finally:
            self._line.in_turn_since = None
        if self._seq is not None:
            for event in answer["events"]:
                self._seq = event["seq"]
                if self._on_event:
                    self._on_event(event)
        return answer

    async def _check_once(self) -> HostAnswer | None:
        if not self._has_control:
            # xeus forgets the error of a cell behind which an execute waits: the person would be
            # shown that the cell succeeded.
            await self._line.features("shell")
        try:
            return await self._ask({"do": "look", "since": self._seq})
        except Interrupted:
            return None

    async def _poll(self) -> None:
        # The subscriber compares counts of changes, and so finds those that no event reports.
        with suppress(ConnectionLost, KernelError):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._has_events.wait()
                self._has_events.clear()
                async with self._turn:
                    await self._wait_until_free()

    async def _cancel(self, call: str) -> None:
        """Stop a call on control at once, else once the kernel is free: then only a worker's."""
        # No caller waits for the answer; where it fails, the deadline ends the call.
        with suppress(ConnectionLost, KernelError, Interrupted):
            await self._evaluate(f"{_HOST}.cancel({call!a})")

    async def _evaluate(self, expression: str) -> HostAnswer | None:
        if self._has_control:
            return await evaluate(self._line, expression, "control")
        await self._wait_until_free()
        return await evaluate(self._line, expression, "shell")

    async def _ask(self, question: HostAnswer) -> HostAnswer | None:
        """Send a question to the host; None where the kernel evaluated nothing."""
        return await evaluate(self._line, f"{_HOST}.answer({json.dumps(question)!a})", "shell")


def _not_started(request: Request, wait_s: float, blocked_by: str) -> Reply:
    """Return the reply to a call that never got its turn, as other kernels' hosts build it."""
    why = f"not started within {wait_s:g} s: {blocked_by}"
    steps = steps_if_not_started(request.op, request.args)
    op = TABLE.get(request.op)
    if op is None or op.unfinished is None:
        return error_reply(RequestError("cannot_run", why, next_steps=steps), boot=request.boot)
    answer = json.loads(json.dumps(op.unfinished(request.args, Stop("cannot_run", why))))
    return ok_reply(answer, boot=request.boot, next_steps=steps)
