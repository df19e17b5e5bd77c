"""The workers of one session: kernels that run code which it gave, until they or it ends."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

from repl_pair.bridge.session_links import SessionLinks
from repl_pair.errors import RequestError, did_you_mean, next_step
from repl_pair.records import Undo

if TYPE_CHECKING:
    from repl_pair.bridge.background.worker import Worker

MAX_ALIVE = 8
KEPT_DEAD = 8
"""How many of those that ended by themselves are still listed; the earliest go first."""
LISTED_CHARS, STOPPED_CHARS = 1_000, 4_000
"""How much of the output is shown of each in a list, and of one that is stopped."""


class WorkerLine(TypedDict):
    """A worker; `kernel` is what calls name, `exit_code` of one that ended (negative: a signal).

    `log` is the end of its output, in whole lines.
    """

    worker: str
    name: NotRequired[str]
    kernel: str
    pid: int
    alive: bool
    age_s: float
    exit_code: NotRequired[int]
    log: str


class Workers:
    """The workers of a session; to its links their kernels are its own, whatever it is bound to.

    A server that starts none must not wait for sockets: what needs them is imported at the first.
    """

    def __init__(self, links: SessionLinks, *, principal: str, inject: bool) -> None:
        self._links = links
        self._principal = principal
        self._inject = inject
        self._workers: dict[str, tuple[Worker, Undo]] = {}
        self._starting: set[Worker] = set()

    def check_start(self, code: str) -> None:
        """Refuse what can't start: `bad_arguments` does not compile, `cannot_run` too many live."""
        from repl_pair.bridge.background.worker import check_code

        check_code(code)
        alive = len(self._workers) - len(self._dead()) + len(self._starting)
        if alive >= MAX_ALIVE:
            raise RequestError(
                "cannot_run",
                f"{alive} workers of yours are alive, as many as there may be; none was started. "
                "Stop one first.",
                next_steps=[next_step("list_workers")],
            )

    async def start(self, code: str, name: str) -> "Worker":
        """Start a worker, and return it once its code runs.

        RequestError as `check_start`, and `worker_failed` where it ends at once.
        """
        from repl_pair.bridge.background.worker import Worker

        self.check_start(code)
        worker = Worker(name, principal=self._principal, inject=self._inject)
        self._starting.add(worker)
        try:
            await self._forget_oldest()
            await worker.run(code)
            adopted = self._links.adopt(worker.link, lives=lambda: worker.exit_code is None)
            self._workers[worker.id] = worker, adopted
            self._starting.discard(worker)
        except BaseException:
            # A caller that goes away cancels whatever is awaited here.
            ending = asyncio.ensure_future(worker.end())
            ending.add_done_callback(lambda _: self._starting.discard(worker))
            await asyncio.shield(ending)
            raise
        return worker

    def check(self, id: str) -> None:
        """Refuse, as `not_found`, the id of none of them."""
        if id not in self._workers:
            near = did_you_mean(id, self._workers)
            steps = [next_step("list_workers")]
            raise RequestError("not_found", f"There is no worker {id!r}.{near}", next_steps=steps)

    async def stop(self, id: str) -> WorkerLine:
        """End a worker and forget it; return how it ended. RequestError `not_found`."""
        self.check(id)
        worker, disown = self._workers.pop(id)
        disown()
        await worker.end()
        return _describe(worker, STOPPED_CHARS)

    def list(self) -> Sequence[WorkerLine]:
        """Describe the workers, the earliest first, with those that ended by themselves."""
        return [_describe(worker, LISTED_CHARS) for worker, _ in self._workers.values()]

    async def close(self) -> None:
        """End all workers."""
        every = {*self._starting, *(worker for worker, _ in self._workers.values())}
        await asyncio.gather(*(worker.end() for worker in every))

    async def _forget_oldest(self) -> None:
        """Forget those that ended by themselves, but for the last ones."""
        ended = [self._workers.pop(id) for id in self._dead()[:-KEPT_DEAD]]
        for worker, disown in ended:
            disown()
            await worker.end()

    def _dead(self) -> Sequence[str]:
        return [id for id, (worker, _) in self._workers.items() if worker.exit_code is not None]


def _describe(worker: "Worker", most_chars: int) -> WorkerLine:
    exit_code = worker.exit_code
    line: WorkerLine = {
        "worker": worker.id,
        "kernel": worker.kernel.id,
        "pid": worker.kernel.pid or 0,
        "alive": exit_code is None,
        "age_s": round(time.time() - worker.began, 1),
        "log": worker.output.tail(most_chars),
    }
    if worker.name:
        line["name"] = worker.name
    if exit_code is not None:
        line["exit_code"] = exit_code
    return line
