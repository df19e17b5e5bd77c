"""The runs of a session: calls that no caller waits for, their order, and their replies."""

import asyncio
import json
import logging
import math
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

from repl_pair.bridge.background.calls import Caller, PlannedCall
from repl_pair.bridge.pending_call import Make, only_make
from repl_pair.errors import STEP_S, ReplPairError, RequestError, next_step
from repl_pair.wire import Reply, error_reply

MAX_AT_ONCE = 8
"""How many runs of a session go on at once; the others wait."""
MAX_UNDER_WAY = 100
"""How many runs outside of queues may not have ended."""
MAX_WAITING = 100
"""How many runs wait in one queue behind the one whose turn it is."""
MAX_QUEUES = 8
"""How many queues have runs that have not ended."""
MAX_ENDED = 100
KEPT_S = 30 * 60.0
"""How long a run can be read after its end, unless `MAX_ENDED` came after it."""
MAX_CHARS = 32_000_000
"""The size, together, that the args of all runs that have not ended may have."""
KEPT_CHARS = 32_000_000
"""The size that all runs that have ended may have, args and replies; one is kept always."""
CANCEL_S = 2.0
"""How long a cancelled run may take to end before the answer."""

State: TypeAlias = Literal["waiting", "running", "ended", "cancelled"]
_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Run:
    """One call and what came of it; `task` ends with its reply.

    `queue` is None for one that waits for no other. A `trigger` keeps its own runs. `message` is
    the last progress.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(16))
    call: PlannedCall
    queue: str | None = None
    trigger: str | None = None
    has_begun: bool = False
    message: str = ""
    ended_at: float = math.inf
    size: int = 0
    task: "asyncio.Task[Reply]" = field(init=False)

    @property
    def state(self) -> State:
        """How far it is."""
        if self.task.done():
            return "cancelled" if self.task.cancelled() else "ended"
        return "running" if self.has_begun else "waiting"

    def note_progress(self, progress: Mapping[str, Any]) -> None:
        """Keep what the run reports of itself."""
        self.message = str(progress.get("message") or "")

    @property
    def reply(self) -> Reply:
        """The reply of a run that has ended."""
        if self.state == "cancelled":
            error = RequestError("cancelled", f"The run of {self.call.call} was cancelled.")
            return error_reply(error)
        return self.task.result()


class Runs:
    """All runs of a session; nobody but its principal knows their ids. On the event loop."""

    record: Callable[[Run, Make], Awaitable[Reply]]
    """Makes the call of a run whose turn it is, and may write down what came of it."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.record = only_make
        self._runs: dict[str, Run] = {}
        self._queues: dict[str, asyncio.Lock] = {}
        self._places = asyncio.Semaphore(MAX_AT_ONCE)

    def start(self, call: PlannedCall, *, trigger: str | None = None) -> Run:
        """Begin a run as soon as fewer than eight go on; `cannot_run` where 100 have not ended.

        Those of triggers are not counted.
        """
        under_way = [run for run in self._unended() if (run.queue, run.trigger) == (None, None)]
        if trigger is None and len(under_way) >= MAX_UNDER_WAY:
            raise _refuse(f"{MAX_UNDER_WAY} of your runs have not ended", under_way[0])
        return self._begin(Run(call=call, trigger=trigger), nullcontext())

    def enqueue(self, call: PlannedCall, queue: str) -> Run:
        """Begin a run once those before it in a queue have ended; `cannot_run` for a full one."""
        before = self._unended(queue)
        if len(before) > MAX_WAITING:
            raise _refuse(f"{MAX_WAITING} runs wait in the queue {queue!r}", before[0])
        others = [run for run in self._unended() if run.queue not in (None, queue)]
        if not before and len({run.queue for run in others}) >= MAX_QUEUES:
            raise _refuse(f"{MAX_QUEUES} queues have runs that have not ended", others[0])
        turn = self._queues.setdefault(queue, asyncio.Lock())
        try:
            return self._begin(Run(call=call, queue=queue), turn)
        except RequestError:
            if not before:
                del self._queues[queue]
            raise

    def get(self, id: str) -> Run:
        """Return a run; `not_found` for one that is unknown, too old, or another principal's."""
        self._forget()
        found = self._runs.get(id)
        if found is None:
            raise RequestError(
                "not_found",
                f"You have no run {id!r:.80}: a run is kept 30 minutes after its end, and at most "
                f"{MAX_ENDED} are.",
                hints=["Make the call again, or list_triggers for the last run of a trigger."],
            )
        return found

    def are_kept(self) -> bool:
        """Return whether there are runs to wait for or to read, other than those of triggers."""
        self._forget()
        return any(run.trigger is None for run in self._runs.values())

    def find_call(self, id: object) -> PlannedCall | None:
        """Return what a run calls, None where there is no such run."""
        run = self._runs.get(id) if isinstance(id, str) else None
        return None if run is None else run.call

    def depth(self, run: Run) -> int:
        """Count the runs of its queue that have not ended and stand before a run that waits."""
        if run.state != "waiting":
            return 0
        return self._unended(run.queue).index(run)

    async def wait(self, run: Run, wait_s: float) -> None:
        """Wait until a run has ended, or the time is over; cancelling does not cancel the run."""
        await asyncio.wait({run.task}, timeout=wait_s)

    async def cancel(self, run: Run) -> None:
        """Cancel a run, as a caller's cancellation does its call; one that has ended stays so."""
        run.task.cancel()
        await self.wait(run, CANCEL_S)

    def forget(self, run: Run) -> None:
        """Keep a run that has ended no longer."""
        self._runs.pop(run.id, None)

    async def close(self) -> None:
        """Cancel every run; none can be read any more."""
        tasks = [run.task for run in self._runs.values()]
        self._runs.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _begin(self, run: Run, turn: AbstractAsyncContextManager[Any]) -> Run:
        self._forget()
        run.size = _size_of(run.call.args)
        unended = self._unended()
        if unended and run.size + sum(each.size for each in unended) > MAX_CHARS:
            raise _refuse("The args of your runs that have not ended are too large", unended[0])
        self._runs[run.id] = run
        run.task = asyncio.create_task(self._perform(run, turn))
        run.task.add_done_callback(lambda _task: self._note_end(run))
        return run

    async def _perform(self, run: Run, turn: AbstractAsyncContextManager[Any]) -> Reply:
        async with turn, self._places:
            run.has_begun = True
            return await self.record(run, partial(self._make, run))

    async def _make(self, run: Run) -> Reply:
        try:
            return await self._caller.call_unattended(
                run.call.op,
                run.call.args,
                kernel=run.call.kernel,
                on_progress=run.note_progress,
                may_ask=run.trigger is None,
            )
        except Exception:  # noqa: BLE001  whoever reads the run must get an answer
            _log.exception("a run of %s failed", run.call.op)
            why = "repl_pair failed; what the call did is not known."
            return error_reply(ReplPairError("internal", why))

    def _note_end(self, run: Run) -> None:
        run.ended_at = time.monotonic()
        run.size += _size_of(run.reply)
        if run.queue is not None and not self._unended(run.queue):
            self._queues.pop(run.queue, None)
        self._forget()

    def _unended(self, *queue: str | None) -> list[Run]:
        """Return the runs that have not ended, in their order, of one queue where it is given."""
        runs = (run for run in self._runs.values() if not run.task.done())
        return [run for run in runs if not queue or run.queue == queue[0]]

    def _forget(self) -> None:
        """Keep no run that ended too long ago, and of the others the ones that ended last.

        Those of a trigger are forgotten by it.
        """
        oldest_at = time.monotonic() - KEPT_S
        own = (run for run in self._runs.values() if run.trigger is None and run.task.done())
        size = 0
        for place, run in enumerate(sorted(own, key=lambda run: -run.ended_at)):
            size += run.size
            is_over = place >= MAX_ENDED or (place and size > KEPT_CHARS)
            if is_over or run.ended_at < oldest_at:
                self.forget(run)


def _refuse(why: str, first: Run) -> RequestError:
    return RequestError(
        "cannot_run",
        f"{why}: nothing was kept. Read or cancel one, then call again.",
        next_steps=[next_step("read_run", run=first.id, wait_s=STEP_S)],
    )


def _size_of(slots: Mapping[str, Any]) -> int:
    return len(json.dumps(dict(slots), default=str))
