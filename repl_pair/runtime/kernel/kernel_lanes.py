"""The lanes of an ipykernel: its control thread, new threads, its main thread between cells."""

import asyncio
from collections.abc import Callable, Mapping
from contextvars import Context
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.kernel.jobs import Job, describe_holder, name_of
from repl_pair.runtime.kernel.lanes import JobQueue, Lanes, Perform
from repl_pair.runtime.kernel.pending_cells import PendingCells
from repl_pair.runtime.op_base.modules import hold_modules
from repl_pair.runtime.registry.cells import CELLS
from repl_pair.runtime.stopping.sections import main_section
from repl_pair.wire import PERSON, View, monotonic

WAITED_S, CATCH_UP_S = 0.25, 0.5
"""Which wait for the main thread counts as long, and how long unread messages are read then."""
ROUNDS = 3
"""Rounds of the control thread's loop in which one message at most is handled."""


class MainLoop:
    """Schedules a probe on the main thread's loop and measures its delay; see `MAIN_LOOP`."""

    def __init__(self) -> None:
        self._call_soon: Callable[[Callable[[], None]], object] | None = None
        self._probe: object | None = None
        self._probed_at = 0.0

    def watch(self, call_soon: Callable[[Callable[[], None]], object]) -> Undo:
        """Set how to call a function on the loop from any thread; the undo unsets that one."""
        self._call_soon = call_soon

        def undo() -> None:
            if self._call_soon is call_soon:
                self._call_soon = self._probe = None

        return undo

    def blocked_s(self, *, busy: bool) -> float | None:
        """Return how many seconds the current probe has waited; start a probe where there is none.

        None for a new probe, and where the main thread is `busy` with a cell or a run.
        """
        if busy or self._call_soon is None:
            self._probe = None
            return None
        if self._probe is None:
            self._probe = probe = object()
            self._probed_at = monotonic()

            def end() -> None:
                if self._probe is probe:
                    self._probe = None

            self._call_soon(end)
            return None
        return monotonic() - self._probed_at


MAIN_LOOP = MainLoop()
"""The loop of this process's main thread."""


class KernelLanes(Lanes):
    """Lane inline is the control thread, lane main the main thread under the kernel's own lock."""

    def __init__(self, kernel: Any) -> None:
        super().__init__()
        self._kernel = kernel
        self._began_before: bool = kernel._main_asyncio_lock.locked()
        """Whether what holds the main thread may be a cell that began before this was made."""
        self._turns = JobQueue(
            kernel._main_asyncio_lock, main_section, self._catch_up, self._context_of_cells
        )
        self.cells = PendingCells(kernel, self._held_by_agent)

    def main(self, job: Job, perform: Perform) -> None:
        """Run a job on the main thread when no cell runs."""
        self._kernel.io_loop.add_callback(self._turns.queue, job, perform)
        MAIN_LOOP.blocked_s(busy=CELLS.is_busy())

    def note_status(self, status: str, header: Mapping[str, Any]) -> None:
        """Note a status of the kernel for a message on shell: what began before has ended then."""
        if not header.get("subshell_id"):
            self._began_before = False
        if status == "busy":
            hold_modules()
            self.cells.begin(header.get("msg_id", ""))

    def blocked_by(self, view: View) -> str | None:
        """Describe the breakpoint, cell, call or callback that holds the main thread."""
        cell, held = CELLS.current, describe_holder(self._turns.holder, view)
        if getattr(getattr(self._kernel, "debugger", None), "stopped_threads", None):
            return "the person stands at a breakpoint" + (f" in cell {cell.label}" if cell else "")
        if cell is not None:
            return f"the person's cell {cell.label} has been running for {cell.seconds:.0f} s"
        is_locked = self._turns.holder is None and self._kernel._main_asyncio_lock.locked()
        if is_locked and self._began_before:
            return "a cell that began before repl_pair was attached is running"
        blocked_s = MAIN_LOOP.blocked_s(busy=self._turns.holder is not None)
        if blocked_s is not None and blocked_s >= WAITED_S:
            return (
                "no cell runs, but the kernel's event loop has been blocked for "
                f"{blocked_s:.0f} s by a callback in the person's code"
            )
        return held

    def _context_of_cells(self) -> Context | None:
        # Of cells that ended before they were tracked, the kernel keeps the latest but one.
        return CELLS.context or getattr(self._kernel, "_shell_context", None)

    @property
    def holder(self) -> Job | None:
        """Return the job that has the main thread now."""
        return self._turns.holder

    def _held_by_agent(self) -> str | None:
        """Describe to the person the call of an agent that holds the main thread."""
        job = self._turns.holder
        if job is None or job.call.view.principal == PERSON:
            return None
        what = f"{name_of(job, View(principal=PERSON))} (agent {job.call.view.principal})"
        return f"repl_pair: this cell waits for {what}; Stop (the square) ends it."

    def close(self) -> None:
        """Cancel the jobs that wait for their turn too."""
        super().close()
        self._turns.close()

    async def _catch_up(self, job: Job) -> None:
        """Let the control thread handle what has arrived, before a job that waited long begins.

        After C code held the interpreter lock, the main thread would begin jobs whose cancels have
        arrived but were not read.
        """
        self.cells.look()
        if monotonic() - job.since < WAITED_S:
            return
        quiet: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._read_messages(ROUNDS, None, quiet)
        await asyncio.wait({quiet}, timeout=CATCH_UP_S)

    def _read_messages(self, left: int, handled: Any, quiet: "asyncio.Future[None]") -> None:
        """Run rounds of the control thread's loop until none was handled in the last few."""
        latest = self._kernel.get_parent("control")
        if latest is not handled:
            left = ROUNDS
        if left == 0:
            quiet.get_loop().call_soon_threadsafe(quiet.set_result, None)
            return
        control = self._kernel.control_thread.io_loop
        control.add_callback(self._read_messages, left - 1, latest, quiet)
