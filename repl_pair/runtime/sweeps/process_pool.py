"""An executor of fresh processes, of which one that dies loses one task."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

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
        while self._pools:
            self._pools.pop().shutdown(wait=wait, cancel_futures=cancel_futures)

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...], kwargs: dict[str, Any]) -> T:
        from concurrent.futures import ProcessPoolExecutor  # it imports multiprocessing

        pool: ProcessPoolExecutor | None = getattr(self._local, "pool", None)
        if pool is None:  # each thread has one process
            self._local.pool = pool = ProcessPoolExecutor(1, **self._options)
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
