"""The fallback: requests as silent executes on shell, in turn with the person's cells."""

import asyncio
import json
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.link.carrier import OnContent
from repl_pair.bridge.link.clock import KernelClock, was_late
from repl_pair.bridge.link.line import Line, Lost, now
from repl_pair.bridge.link.link import OnProgress, Undo
from repl_pair.bridge.link.silent_execute import Interrupted, Said, evaluate, execute, until_free
from repl_pair.bridge.silence.states import IN_A_CELL
from repl_pair.errors import KernelError, RequestError
from repl_pair.runtime.ops.table import TABLE, WAIT_S
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.wire import Reply, Request, error_reply, ok_reply

LEASE_S = 0.5
"""How long a request may stand in the kernel's queue, once the kernel was found free."""
AGAIN_S = 0.05
"""When a kernel that emptied its queue after a failed cell is asked again."""
COLLECT_S = (0.1, 0.3, 1.0)
"""When a call that goes on in the kernel is asked for again; the last of them from then on."""
POLL_S = 2.0
"""How often a kernel that pushes no events is asked for them while it is idle."""

_HOST = '__import__("repl_pair.runtime.kernel.shell_host", fromlist=["answer"])'


class ShellPath:
    """A carrier for kernels that take no handlers of ours; see `Carrier`.

    At most one message of ours stands in the kernel's queue: a look, which runs nothing and tells
    that the kernel is free. Only then a request is sent, with a short time to be taken up in, so
    what is cancelled while a cell runs was never sent. `beside` says whether the kernel executes
    on control too: there a call is cancelled while it runs, and a leave waits for no cell.
    """

    def __init__(self, line: Line, clock: KernelClock, *, beside: bool) -> None:
        self._line = line
        self._clock = clock
        self._beside = beside
        self._words: set[asyncio.Task[None]] = set()
        self._turn = asyncio.Lock()
        self._holder: str | None = None
        self._looking: asyncio.Task[Said] | None = None
        self._hearer: OnContent | None = None
        self._behind = asyncio.Event()
        self._since: int | None = None

    async def carry(self, request: Request, on_progress: OnProgress | None) -> Reply:
        """Wait for the kernel, then run a request in it; see `Carrier.carry`.

        What is no read waits as long as it says itself, and is answered then as not begun.
        """
        wait_s = None if manifest.reads(request.op) else float(request.args.get("wait_s", WAIT_S))
        until = None if wait_s is None else now() + wait_s
        while True:
            try:
                async with asyncio.timeout_at(until):
                    await self._take_turn()
            except TimeoutError:
                return _not_begun(request, wait_s or 0.0, self._blocked_by())
            reply = await self._send(request, on_progress)
            if reply is not None:
                return reply

    async def listen(self, fn: OnContent) -> Undo:
        """Ask for events now and then, and with each request; see `Carrier.listen`."""
        async with self._turn:
            self._since = (await self._look())["seq"]
        self._hearer = fn
        asking = asyncio.ensure_future(self._poll())

        def undo() -> None:
            self._hearer = None
            asking.cancel()

        return undo

    def say_leave(self, client: str) -> None:
        """Say that a client goes, without waiting, where the kernel can hear it beside a cell."""
        if self._beside:
            self._line.tell("execute_request", execute(f"{_HOST}.leave({client!a})", "control"))

    async def leave(self, client: str) -> Said:
        """Report that a client goes; gives the slots of `Left`."""
        return await self._say(f"{_HOST}.leave({client!a})") or {}

    async def _take_turn(self) -> None:
        """Wait until no other request is under way and the kernel is free."""
        await self._turn.acquire()
        try:
            await self._look()
        except BaseException:
            self._turn.release()
            raise

    async def _send(self, request: Request, on_progress: OnProgress | None) -> Reply | None:
        """Return the reply to a request, whose turn this ends; None if it was not taken up."""
        try:
            try:
                self._holder = request.op
                said = await self._ask({"do": "take", "request": self._leased(request)})
            finally:
                self._holder = None
                self._turn.release()
            reply = None if said is None else await self._collect(request, said, on_progress)
        except Interrupted:
            raise _unknown(request) from None
        except asyncio.CancelledError:
            self._cancel(request.call)
            raise
        if reply is None:
            return None
        if (late_at := was_late(reply)) is not None:
            self._clock = self._clock.corrected(late_at)
            return None
        if reply.get("seq", 0) > (self._since or 0):
            self._behind.set()
        return reply

    async def _collect(self, request: Request, said: Said, on_progress: OnProgress | None) -> Reply:
        """Ask for the reply until there is one; the cells go on meanwhile."""
        pauses = iter(COLLECT_S)
        while "reply" not in said:
            if said.get("told") and on_progress:
                on_progress(said["told"])
            await asyncio.sleep(next(pauses, COLLECT_S[-1]))
            async with self._turn:
                await self._look()
                said = await self._ask({"do": "collect", "call": request.call}) or {}
        return said["reply"]

    def _blocked_by(self) -> str:
        holder = self._holder
        return f"another call of {holder} is running" if holder else f"the kernel {IN_A_CELL}"

    def _leased(self, request: Request) -> dict[str, Any]:
        take_by = self._clock.ahead_s + time.monotonic() + LEASE_S
        if request.take_by is not None:
            take_by = min(take_by, request.take_by)
        return replace(request, take_by=take_by).to_wire()

    async def _look(self) -> Said:
        """Wait until the kernel is free; one look serves all who wait, and outlives them."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look_once())
            self._looking.add_done_callback(lambda done: done.cancelled() or done.exception())
        return await asyncio.shield(self._looking)

    async def _look_once(self) -> Said:
        self._line.in_turn_since = now()
        try:
            while (said := await self._try_look()) is None:
                await asyncio.sleep(AGAIN_S)
        finally:
            self._line.in_turn_since = None
        if self._since is not None:
            for event in said["events"]:
                self._since = event["seq"]
                if self._hearer:
                    self._hearer(event)
        return said

    async def _try_look(self) -> Said | None:
        if not self._beside:
            # xeus forgets the error of a cell behind which an execute waits: the person would be
            # told that the cell went well.
            await until_free(self._line)
        try:
            return await self._ask({"do": "look", "since": self._since})
        except Interrupted:
            return None

    async def _poll(self) -> None:
        # Who listens counts the changes too, and so learns of those that no event tells.
        with suppress(Lost, KernelError):
            while True:
                with suppress(TimeoutError):
                    async with asyncio.timeout(POLL_S):
                        await self._behind.wait()
                self._behind.clear()
                async with self._turn:
                    await self._look()

    def _cancel(self, call: str) -> None:
        """Stop a call beside the cells, or when the kernel is free: then a worker's only."""
        saying = asyncio.ensure_future(self._say_cancel(call))
        self._words.add(saying)
        saying.add_done_callback(self._words.discard)

    async def _say_cancel(self, call: str) -> None:
        # Nobody waits for what comes of it; where it fails, the deadline ends the call.
        with suppress(Lost, KernelError, Interrupted):
            await self._say(f"{_HOST}.cancel({call!a})")

    async def _say(self, expression: str) -> Said | None:
        """Have something evaluated that is short."""
        if self._beside:
            return await evaluate(self._line, expression, "control")
        await self._look()
        return await evaluate(self._line, expression, "shell")

    async def _ask(self, question: Said) -> Said | None:
        """Put a question to the host; None where the kernel evaluated nothing."""
        return await evaluate(self._line, f"{_HOST}.answer({json.dumps(question)!a})", "shell")


def _not_begun(request: Request, wait_s: float, blocked_by: str) -> Reply:
    """Answer a call that never got its turn, as the kernel itself does elsewhere."""
    why = f"not started within {wait_s:g} s: {blocked_by}"
    steps = ("kernel_status()", f"{request.op}(..., wait_s=120)")
    op = TABLE.get(request.op)
    if op is None or op.unfinished is None:
        return error_reply(RequestError("cannot_run", why, next_steps=steps), boot=request.boot)
    answer = json.loads(json.dumps(op.unfinished(request.args, Stop("cannot_run", why))))
    return ok_reply(answer, boot=request.boot, next_steps=steps)


def _unknown(request: Request) -> KernelError:
    return KernelError(
        "outcome_unknown",
        f"An interrupt met the answer to {request.op}; it may have run, and was not repeated.",
        next_steps=("look at what the call should have changed before calling again",),
    )
