"""The triggers of a session: calls that are made whenever time has passed or something changed."""

import asyncio
import logging
import math
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from repl_pair.bridge import manifest
from repl_pair.bridge.background.calls import Caller, PlannedCall
from repl_pair.bridge.background.firing import On, is_watchable, watched_by
from repl_pair.bridge.background.runs import Run, Runs
from repl_pair.bridge.kernel_info import known_only
from repl_pair.bridge.link.link import Link
from repl_pair.errors import KernelError, ReplPairError, RequestError, did_you_mean, next_step
from repl_pair.wire import Reply, error_reply, raise_for_error

MAX_TRIGGERS = 16
GAP_S = 1.0
"""The least time from the begin of a run of a trigger to that of its next one."""
MAX_IN_A_ROW = 10
"""How many runs follow each other because the trigger fired during the one before."""
WAIT_S = 30.0
"""How long one request waits in the kernel for a change."""
RETRY_S = 2.0
"""How long after a failure the kernel is asked again, and how often one where requests wait."""

_log = logging.getLogger(__name__)


@dataclass(kw_only=True, eq=False)
class Trigger:
    """A call and when it is made.

    `fault` is the code of the error for which it can't fire now. `skipped` counts how often it was
    stopped from firing itself. `marks` and `boot` say how far what it follows was, in `kernel`.
    """

    id: str = field(default_factory=lambda: secrets.token_hex(8))
    call: PlannedCall
    on: On
    kernel: str | None = None
    marks: list[int] | None = None
    boot: str | None = None
    count: int = 0
    skipped: int = 0
    fault: str = ""
    began_at: float = -math.inf
    last: Run | None = None
    before: Run | None = None
    task: "asyncio.Task[None]" = field(init=False)


class Triggers:
    """All triggers of a session, each with one run at a time. On the event loop.

    What fires one while it runs, however often, gives one further run; at most ten of these in a
    row, as a run may itself change what its trigger follows.
    """

    def __init__(self, caller: Caller, runs: Runs) -> None:
        self._caller = caller
        self._runs = runs
        self._triggers: dict[str, Trigger] = {}
        self._is_closed = False

    async def prepare(self, call: PlannedCall, on: On) -> Trigger:
        """Make a trigger to `begin`; `not_found` for a member that the view does not see."""
        self._check_room()
        trigger = Trigger(call=call, on=on)
        if watched_by(on) is not None:
            await self._begin_watching(trigger)
        return trigger

    def begin(self, trigger: Trigger) -> None:
        """Make its call whenever it is time, from now on; `cancelled` once the session closed."""
        if self._is_closed:
            raise RequestError("cancelled", "Your session has ended: nothing was kept.")
        self._check_room()  # others may have come meanwhile
        on = trigger.on
        act = self._repeat(trigger, on["every_s"]) if "every_s" in on else self._follow(trigger)
        self._triggers[trigger.id] = trigger
        trigger.task = asyncio.create_task(act)
        trigger.task.add_done_callback(lambda task: _note_failure(trigger, task))

    def _check_room(self) -> None:
        if len(self._triggers) >= MAX_TRIGGERS:
            raise RequestError(
                "cannot_run",
                f"You have {MAX_TRIGGERS} triggers: nothing was kept. End one, then call again.",
                next_steps=[next_step("list_triggers")],
            )

    def list(self) -> Sequence[Trigger]:
        """Return the triggers in the order of their registration."""
        return tuple(self._triggers.values())

    def get(self, id: str) -> Trigger:
        """Return a trigger; `not_found` for one that is unknown or another principal's."""
        if id not in self._triggers:
            raise RequestError(
                "not_found",
                f"You have no trigger {id!r:.80}.",
                next_steps=[next_step("list_triggers")],
            )
        return self._triggers[id]

    async def fault_of(self, trigger: Trigger) -> str:
        """Return the code of the error for which a trigger does not fire, or its runs are refused.

        As long as no answer has reported a restart of the kernel, only reads run there.
        """
        kernel = trigger.call.kernel
        if trigger.fault or kernel is None or manifest.reads(trigger.call.op):
            return trigger.fault
        link = await self._find_link(kernel)
        return "kernel_restarted" if link is not None and link.has_unread_restart else ""

    async def unregister(self, id: str) -> Trigger:
        """End a trigger and its run; `not_found` as `get`."""
        trigger = self.get(id)
        del self._triggers[id]
        await asyncio.gather(*self._end(trigger), return_exceptions=True)
        return trigger

    async def close(self) -> None:
        """End every trigger and its run, and wait for their end; none begins any more."""
        self._is_closed = True
        await asyncio.gather(*self.end_all(), return_exceptions=True)

    def end_all(self) -> "list[asyncio.Task[Any]]":
        """Cancel every trigger and its run; return what ends by it."""
        ended = list(self._triggers.values())
        self._triggers.clear()
        return [task for trigger in ended for task in self._end(trigger)]

    def _end(self, trigger: Trigger) -> "list[asyncio.Task[Any]]":
        """Cancel what a trigger has running; return it."""
        runs = [run for run in (trigger.before, trigger.last) if run is not None]
        tasks: list[asyncio.Task[Any]] = [trigger.task, *(run.task for run in runs)]
        for task in tasks:
            task.cancel()
        for run in runs:
            self._runs.forget(run)
        return tasks

    async def _repeat(self, trigger: Trigger, every_s: float) -> None:
        due = time.monotonic()
        while True:
            due = max(due + every_s, time.monotonic())
            await asyncio.sleep(due - time.monotonic())
            link = await self._find_link(trigger.call.kernel)
            # What its principal left is not attached to again.
            trigger.fault = "detached" if link is not None and link.was_left else ""
            if not trigger.fault:
                await self._run(trigger)

    async def _find_link(self, kernel: str | None) -> Link | None:
        try:
            return await self._caller.links.get(kernel)
        except ReplPairError:  # the run reports it
            return None

    async def _follow(self, trigger: Trigger) -> None:
        """Run at each change; changes that each come during the run before may be of its making."""
        just_ran, in_a_row = False, 0
        while True:
            has_fired = await self._has_changed(trigger, wait_s=0.0 if just_ran else WAIT_S)
            in_a_row = in_a_row + 1 if has_fired and just_ran else 0
            just_ran = has_fired and in_a_row < MAX_IN_A_ROW
            if just_ran:
                while not await self._run(trigger):
                    await asyncio.sleep(RETRY_S)
            elif has_fired:
                trigger.skipped += 1

    async def _run(self, trigger: Trigger) -> bool:
        """Make the call, and wait for its end; False where there is no room among the runs."""
        await asyncio.sleep(trigger.began_at + GAP_S - time.monotonic())
        trigger.began_at = time.monotonic()
        try:
            run = self._runs.start(trigger.call, trigger=trigger.id)
        except RequestError as error:
            trigger.fault = error.code
            return False
        if trigger.before is not None:
            self._runs.forget(trigger.before)
        trigger.before, trigger.last = trigger.last, run
        trigger.count += 1
        await asyncio.wait({run.task})
        return True

    async def _begin_watching(self, trigger: Trigger) -> None:
        trigger.kernel = (await self._caller.links.get(trigger.call.kernel)).kernel.id
        reply = await self._read_marks(trigger)
        found = raise_for_error(reply)
        if found["marks"][0] < 0 or not is_watchable(trigger.on):
            raise await self._refuse_member(trigger)
        trigger.marks, trigger.boot = found["marks"], reply["boot"]

    async def _refuse_member(self, trigger: Trigger) -> RequestError:
        """Build the refusal of a member that the view does not see, with the nearest ones."""
        asked = {"kind": "member", "prefix": ""}
        ids = await self._caller.read_internal("complete_ids", asked, kernel=trigger.kernel)
        name = watched_by(trigger.on) or ""
        near = did_you_mean(name, ids["result"]["values"] if ids["ok"] else ())
        steps = [next_step("list_surfaces", kernel=trigger.call.kernel)]
        return RequestError("not_found", f"There is no member {name!r}.{near}", next_steps=steps)

    async def _has_changed(self, trigger: Trigger, *, wait_s: float) -> bool:
        """Wait for a change; False where none came or none can be seen, and in another process."""
        reply = await self._await_change(trigger, wait_s)
        if not reply["ok"]:
            trigger.fault = reply["error"]["code"]
            await asyncio.sleep(RETRY_S)
            return False
        found: dict[str, Any] = reply["result"]
        is_same_life = reply["boot"] == trigger.boot
        trigger.marks, trigger.boot = found["marks"], reply["boot"]
        trigger.fault = "not_found" if found["marks"][0] < 0 else ""
        return is_same_life and bool(found["changed"])

    async def _await_change(self, trigger: Trigger, wait_s: float) -> Reply:
        """Ask what changed; a kernel that its principal left is not attached to again."""
        try:
            link = await self._caller.links.get(trigger.kernel)
        except ReplPairError as error:
            return error_reply(error)
        if link.was_left:
            return error_reply(KernelError("detached", "You detached from the kernel."))
        if link.channel == "shell" and wait_s:
            await asyncio.sleep(RETRY_S)
            wait_s = 0.0
        return await self._read_marks(trigger, wait_s=wait_s)

    async def _read_marks(self, trigger: Trigger, *, wait_s: float = 0.0) -> Reply:
        watched = [watched_by(trigger.on)]
        asked = {"watched": watched, "marks": trigger.marks, "boot": trigger.boot, "wait_s": wait_s}
        return await self._caller.read_internal(
            "await_members", known_only(asked), wait_s=wait_s, kernel=trigger.kernel
        )


def _note_failure(trigger: Trigger, task: "asyncio.Task[None]") -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        trigger.fault = "internal"
        _log.error("a trigger of %s failed and fires no more", trigger.call.op, exc_info=error)
