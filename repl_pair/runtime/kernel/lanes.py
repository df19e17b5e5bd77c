"""Where ops run: at once, on a thread of their own or of those that wait, or between the cells."""

import asyncio
import inspect
import threading
from _queue import SimpleQueue  # gevent replaces that of `queue`
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.kernel.jobs import STUCK, Job, describe_holder
from repl_pair.runtime.stopping.loops import WaitFor, drive, end_tasks, on_loop
from repl_pair.runtime.stopping.sections import ThreadSection, main_section
from repl_pair.runtime.stopping.stop import BY_THE_PERSON, PendingStop, Section, Task
from repl_pair.runtime.stopping.waiting import Waiters
from repl_pair.wire import View

Perform = Callable[[Job, Section], Coroutine[Any, Any, None]]
"""Runs a job in a section that may be stopped, and answers it; raises nothing."""


class Lanes(ABC):
    """The lanes of one process."""

    def __init__(self) -> None:
        self._waiters = Waiters(partial(start_thread, name="waiting calls"))

    def inline(self, job: Job, perform: Perform) -> None:
        """Run a job at once on the caller's thread; only for ops on repl_pair's own records."""
        _run_here(job, perform, Section())

    def worker(self, job: Job, perform: Perform) -> None:
        """Run a job on a new thread, so that a stuck one blocks no other."""
        serve = _serve_async if inspect.iscoroutinefunction(job.op.fn) else _serve
        start_thread(serve, job, perform, name=f"worker {job.op.name}")

    def waiting(self, job: Job, perform: Perform) -> None:
        """Run a job that waits on the thread of all those; it awaits events, and never blocks."""
        self._waiters.add(_run_beside_others(job, perform))

    @abstractmethod
    def main(self, job: Job, perform: Perform) -> None:
        """Run a job on the main thread when no cell runs."""

    def blocked_by(self, view: View) -> str | None:
        """Describe to a view what holds the main lane now, None when it is free."""
        return None

    @property
    def holder(self) -> Job | None:
        """Return the job that has the main lane now, where that is known."""
        return None

    def close(self) -> None:
        """End the lanes' threads, and what waits for its turn."""
        self._waiters.close()


def _run_here(job: Job, perform: Perform, section: Section) -> None:
    try:
        drive(perform(job, section))
    finally:
        section.close()
        job.end()


async def _run_beside_others(job: Job, perform: Perform) -> None:
    try:
        await perform(job, Section())
    finally:
        job.end()


def _serve(job: Job, perform: Perform) -> None:
    _run_here(job, perform, ThreadSection(None))


def _serve_async(job: Job, perform: Perform) -> None:
    async def serve() -> None:
        section = ThreadSection(asyncio.current_task())
        try:
            await perform(job, section)
        finally:
            section.close()

    try:
        with asyncio.Runner() as runner:
            loop = runner.get_loop()
            task = loop.create_task(serve())
            while not task.done():
                try:
                    loop.run_until_complete(task)
                except PendingStop:  # it hit the loop between two steps, and is sent again
                    continue
    finally:
        job.end()


class JobQueue:
    """The jobs of one loop, one at a time, under a lock that cells may hold too.

    Only the next job waits for that lock: a cell waits for the job that runs, and for one more at
    most, however many are queued.

    Before a job begins, `catch_up` lets messages that have arrived meanwhile be handled. `context`
    gives the context of the person's code: a job runs in a copy of it.
    """

    def __init__(
        self,
        lock: asyncio.Lock,
        section: Callable[[Task], Section],
        catch_up: Callable[[Job], Coroutine[Any, Any, None]] | None = None,
        context: Callable[[], Context | None] = lambda: None,
    ) -> None:
        self._lock = lock
        self._next = asyncio.Lock()
        self._section = section
        self._catch_up = catch_up
        self._context = context
        self._waiting: set[asyncio.Task[None]] = set()
        self.holder: Job | None = None
        """The job whose turn it is."""

    def queue(self, job: Job, perform: Perform) -> None:
        """Let a job wait for its turn; called on the loop."""
        task = asyncio.get_running_loop().create_task(self._take(job, perform))
        self._waiting.add(task)
        task.add_done_callback(self._waiting.discard)

    def close(self) -> None:
        """Cancel the jobs that wait for their turn."""
        for task in list(self._waiting):
            task.get_loop().call_soon_threadsafe(task.cancel)

    async def _take(self, job: Job, perform: Perform) -> None:
        from repl_pair.runtime.stopping.contexts import copy_of, in_context  # no job at attaching

        async with self._next, self._lock:
            job.has_turn = True
            self.holder = job
            try:
                if self._catch_up:
                    await self._catch_up(job)
                persons = self._context()
                await in_context(
                    None if persons is None else copy_of(persons), self._run(job, perform)
                )
            finally:
                self.holder = None
                job.end()

    async def _run(self, job: Job, perform: Perform) -> None:
        section = self._section(asyncio.current_task())
        try:
            await perform(job, section)
        finally:
            section.close()


class LocalLanes(Lanes):
    """The lanes of a process without a kernel: the main lane is one thread, on which no loop runs.

    As under pytest, a component may call `asyncio.run`; the loop runs while something is awaited.
    The thread is one of its own, or with `own_thread=False` the one that calls `serve`.
    """

    def __init__(self, *, own_thread: bool = True) -> None:
        super().__init__()
        self._jobs = SimpleQueue[Callable[[asyncio.AbstractEventLoop], object] | None]()
        self._holder: Job | None = None
        self._lock = threading.Lock()
        self._needs_thread = own_thread
        self._on_interrupt: Callable[[], object] = lambda: None
        self.tasks_left = False
        """Whether tasks on the loop outlived their cancellation as `serve` ended."""

    def main(self, job: Job, perform: Perform) -> None:
        """Run a job on the one main thread, in order."""
        with self._lock:
            if self._needs_thread:
                start_thread(self.serve, name="main lane", runs_cells=True)
                self._needs_thread = False
        self._jobs.put(partial(copy_context().run, partial(self._run, job, perform)))

    def _run(self, job: Job, perform: Perform, loop: asyncio.AbstractEventLoop) -> None:
        self._holder, on_stop = job, job.on_stop

        def note_stop() -> None:
            on_stop()
            if job.requested_stop is BY_THE_PERSON:
                self._on_interrupt()

        job.on_stop = note_stop
        try:
            run_blocking(job, perform, on_loop(loop))
        finally:
            self._holder = None
        if job.requested_stop is BY_THE_PERSON:
            raise KeyboardInterrupt

    def serve(self, on_interrupt: Callable[[], object] = lambda: None) -> None:
        """Run the jobs of the main lane on this thread until `close`.

        The person's interrupt calls `on_interrupt`, perhaps in a signal handler and more than once;
        what comes behind it is not run. KeyboardInterrupt at `close` then.
        """
        self._on_interrupt = on_interrupt
        loop = asyncio.new_event_loop()
        try:
            while (run_next := self._jobs.get()) is not None:
                run_next(loop)
        except KeyboardInterrupt:
            self._on_interrupt()
            while self._jobs.get() is not None:
                pass
            raise
        finally:
            self.tasks_left = not end_tasks(loop)
            loop.close()

    def blocked_by(self, view: View) -> str | None:
        """Describe the job that runs on the main thread."""
        return describe_holder(self._holder, view)

    def close(self) -> None:
        """End the main thread's turn too."""
        super().close()
        self._jobs.put(None)


def run_blocking(job: Job, perform: Perform, wait_for: WaitFor) -> None:
    """Run a job of the main lane on this thread, which blocks while it waits."""
    job.call.wait_for = wait_for
    section = main_section(None)
    try:
        drive(perform(job, section))
    finally:
        section.close()
        if section.left_running is None:
            job.end()
        else:
            STUCK.add(job)
            section.left_running.add_done_callback(lambda _result: job.end())
