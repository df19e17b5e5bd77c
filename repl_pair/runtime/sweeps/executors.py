"""Sweeps over a `concurrent.futures.Executor`, and an executor of processes that die alone."""

import concurrent.futures
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from repl_pair.errors import RequestError, error_text
from repl_pair.records import record
from repl_pair.runtime.capture.own_threads import start_thread
from repl_pair.runtime.planning.plan import Plan
from repl_pair.runtime.results.record import RunRecord
from repl_pair.runtime.running.run_records import stopped_record
from repl_pair.runtime.snapshots.review import let_wait, take_waiting
from repl_pair.runtime.stopping.stop import Stop
from repl_pair.runtime.sweeps.matrix import Pairing
from repl_pair.runtime.sweeps.shipping import RunTask, TaskBuilder
from repl_pair.runtime.sweeps.sweep import SweepState, plan_pairing, refused_run
from repl_pair.runtime.sweeps.worker import TaskResult, run_task

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


AHEAD = 2
"""How many runs are sent for each worker of a pool, so that none waits for the next."""
AHEAD_ELSEWHERE = 256
"""How many are sent where the number of workers is unknown."""


@record
class SentRun:
    """One run that was sent: its place in the sweep, its plan, and to which executor."""

    place: int
    plan: Plan
    task: RunTask
    executor: Executor


class ExecutorSweep:
    """The runs of a sweep that are under way over an executor.

    What was under way when a worker was lost is run once more, each by itself: then it is known
    which run ends its worker. RequestError `bad_arguments` for a pool that forks.
    """

    def __init__(self, executor: Executor, state: SweepState) -> None:
        if _is_process_pool(executor):
            context = getattr(executor, "_mp_context", None)
            if context is None or context.get_start_method() == "fork":
                raise RequestError(
                    "bad_arguments",
                    "This pool would fork the process, with its threads, sockets and locks, which "
                    "is unsafe. Use repl_pair.process_pool(), or ProcessPoolExecutor(mp_context="
                    "multiprocessing.get_context('spawn')). Nothing was run.",
                )
        self._executor = executor
        self._state = state
        in_threads = isinstance(executor, ThreadPoolExecutor)
        self._build = _thread_task if in_threads else TaskBuilder().build
        self._sent: dict[Future[TaskResult], SentRun] = {}
        self._unsure: list[SentRun] = []
        self._replacement: ProcessPool | None = None
        """Used instead of a pool of the caller's that broke."""

    def run(self) -> None:
        """Send the runs and collect their records, until none is left."""
        for place, pairing in self._state.remaining():
            self._send(place, pairing)
            workers = _workers_of(self._executor)
            while len(self._sent) >= (workers * AHEAD if workers else AHEAD_ELSEWHERE):
                self._collect_some()
            if self._unsure:
                self._rerun_unsure()
        self._rerun_unsure()

    def close(self) -> None:
        """Cancel what has not begun, and shut down the pool that replaced a broken one."""
        for future in self._sent:
            future.cancel()
        if self._replacement is not None:
            self._replacement.shutdown(cancel_futures=True)

    def _send(self, place: int, pairing: Pairing) -> None:
        try:
            plan = plan_pairing(pairing)
            task = self._build(pairing, plan)
        except RequestError as error:
            self._state.add(place, refused_run(pairing, error))
            return
        self._submit(SentRun(place=place, plan=plan, task=task, executor=self._executor))

    def _submit(self, sent: SentRun) -> None:
        task = replace(sent.task, number=uuid4().hex)
        try:
            future = self._executor.submit(run_task, task)
        except BrokenExecutor as error:
            if not _is_process_pool(self._executor):
                self._add_lost(sent, error)
                return
            # One like it, of which a lost process ends no other.
            self._executor = self._replacement = ProcessPool(
                _workers_of(self._executor) or 1,
                mp_context=getattr(self._executor, "_mp_context", None),
                initializer=getattr(self._executor, "_initializer", None),
                initargs=getattr(self._executor, "_initargs", ()),
            )
            future = self._executor.submit(run_task, task)
        self._sent[future] = replace(sent, executor=self._executor)

    def _collect_some(self, *, are_alone: bool = False) -> None:
        for future in wait(self._sent, return_when=FIRST_COMPLETED).done:
            sent = self._sent.pop(future)
            try:
                result = future.result()
                _let_outputs_wait(result)
                run = _unpickle(result, sent)
            except CancelledError:
                continue
            except Exception as error:  # noqa: BLE001  each kind of executor has its own errors
                if are_alone or isinstance(sent.executor, ProcessPool):
                    self._add_lost(sent, error)
                else:
                    self._unsure.append(sent)
            else:
                self._state.add(sent.place, run)
        if self._state.stop_reason:
            for future in self._sent:
                future.cancel()

    def _rerun_unsure(self) -> None:
        """Wait for all that is under way; run again, by itself, what was lost with a worker."""
        while self._sent:
            self._collect_some()
        unsure, self._unsure = self._unsure, []
        for sent in unsure:
            if not self._state.stop_reason:
                self._submit(sent)
            while self._sent:
                self._collect_some(are_alone=True)

    def _add_lost(self, sent: SentRun, error: Exception) -> None:
        stop = Stop("error", f"The worker that ran it was lost: {error_text(error)}")
        self._state.add(sent.place, stopped_record(sent.plan, stop))


def _thread_task(pairing: Pairing, plan: Plan) -> RunTask:
    return RunTask(pairing=pairing, identity=plan.identity)


def _let_outputs_wait(result: TaskResult) -> None:
    """Let the outputs of a worker wait in this process, in the place of those of earlier runs."""
    bare, _, waiting = result
    if waiting is not None:
        take_waiting(bare.variant_id, bare.active_modes)
        for one in waiting:
            let_wait(one)


def _unpickle(result: TaskResult, sent: SentRun) -> RunRecord:
    """Return a worker's record as one of this process, whose entries it rests on."""
    bare, whole, _ = result
    try:
        run: RunRecord = pickle.loads(whole)
    except Exception as error:  # noqa: BLE001  the person's classes may refuse in any way
        run = replace(bare, logs=(f"The record could not be unpacked: {type(error).__name__}",))
    if run.identity is None:
        return run
    rests, bound = sent.plan.dependencies, sent.plan.bound
    return replace(run, identity=sent.task.identity, dependencies=rests, bound=bound)


def _workers_of(executor: Executor) -> int | None:
    """Return how many workers a pool has, None if unknown; the standard library's hide it."""
    return getattr(executor, "workers", None) or getattr(executor, "_max_workers", None)


def _is_process_pool(executor: Any) -> bool:
    # Looked up here: its import puts a second name for `__main__` into the process.
    return isinstance(executor, concurrent.futures.ProcessPoolExecutor)


T = TypeVar("T")


class ProcessPool(Executor):
    """Processes that take one task at a time; the future of a task whose process died fails.

    Another process takes the place of a dead one. `options` are those of a ProcessPoolExecutor;
    by default processes are never started as copies of this one.
    """

    def __init__(self, workers: int, **options: Any) -> None:
        # Its import puts a second name for `__main__` into the process.
        from multiprocessing import get_context

        self.workers = workers
        self._options: dict[str, Any] = {"mp_context": get_context("spawn")} | options
        self._local = threading.local()
        self._pools: set[ProcessPoolExecutor] = set()
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="repl_pair pool")

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        """Let the next free process call `fn`, which both processes must be able to import."""
        return self._threads.submit(self._call, fn, args, kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more tasks; the processes end with their last ones."""
        self._threads.shutdown(wait=wait, cancel_futures=cancel_futures)
        if not wait:
            start_thread(self.shutdown, name="end of a pool")
            return
        while self._pools:
            self._pools.pop().shutdown()

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        pool: ProcessPoolExecutor | None = getattr(self._local, "pool", None)
        if pool is None:  # each thread has one process
            pool = concurrent.futures.ProcessPoolExecutor(1, **self._options)
            self._local.pool = pool
            self._pools.add(pool)
        try:
            return pool.submit(fn, *args, **kwargs).result()
        except BrokenExecutor:
            del self._local.pool
            self._pools.discard(pool)
            pool.shutdown()
            raise


def process_pool(workers: int | None = None) -> ProcessPool:
    """Return an executor of fresh processes for `run_variants`, by default one a processor.

    A process that dies loses the one run that it was at. Close it, or use it in a `with` block.
    """
    return ProcessPool(workers or os.cpu_count() or 1)
