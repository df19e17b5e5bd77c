"""An agent that works in a kernel without a pause: it reads, registers, runs and stops."""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View
from tests.kernel.conftest import BOUND_S, Kernel

VIEW = View(principal="agent", access=frozenset({"read", "run", "write", "inspect"}))
MAIN, BESIDE = "call", "beside"


class Try(NamedTuple):
    """What an agent tries of a notebook: a function, its args (`$name` is a variable), a play."""

    lane: str
    name: str
    args: Sequence[Any] = ()
    play: Sequence[Any] = ()


class Agent:
    """One agent at one kernel; its counters say what it did."""

    def __init__(self, link: KernelLink, tries: Sequence[Try]) -> None:
        self._link = link
        self._tries = tries
        self.calls: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        self.done: Counter[str] = Counter()
        """Runs by lane."""
        self._expected = {f"notebook.{one.lane}/{one.name}_{n}" for n, one in enumerate(tries)}
        self.stopped: Counter[str] = Counter({"deadline": 0, "cancelled": 0})
        self.events = 0

    async def ask(self, op: str, **args: Any) -> dict[str, Any]:
        self.calls[op] += 1
        return await self._link.request(op, args, view=VIEW, timeout_s=BOUND_S)

    async def register(self) -> None:
        """Register a variant for each try, and one for each lane that does not end by itself."""
        for number, (lane, name, args, play) in enumerate(self._tries):
            body = {"args": {"name": name, "args": [*args]}, "play": [*play]}
            await self._register(f"notebook.{lane}/{name}_{number}", body)
        for lane in (MAIN, BESIDE):
            await self._register(f"notebook.{lane}/Endless", {"args": {"name": "endless"}})
            play = [["matches_snapshot"]]
            await self._register(
                f"notebook.{lane}/Shot", {"args": {"name": "greet", "args": ["Ann"]}, "play": play}
            )

    async def _register(self, id: str, body: dict[str, Any]) -> None:
        reply = await self.ask("register_variant", variant_id=id, body=body)
        assert reply["ok"], reply

    def did_more(self, before: dict[str, int]) -> bool:
        """Return whether a run has ended on each lane since."""
        return all(self.done[lane] > before.get(lane, 0) for lane in (MAIN, BESIDE))

    def is_busy(self) -> bool:
        """Return whether it has called, run and heard so much that it might have disturbed."""
        return self.calls.total() > 100 and self.done.total() > 30 and self.events > 10

    def has_passed_all(self) -> bool:
        """Return whether the variant of each try has passed."""
        return self._expected <= self.passed.keys()

    def on_event(self, _event: object) -> None:
        self.events += 1

    def jobs(self) -> list[Callable[[], Awaitable[None]]]:
        return [self._read, self._run_on(MAIN), self._run_on(BESIDE), self._stop]

    def _run_on(self, lane: str) -> Callable[[], Awaitable[None]]:
        own = [(n, one) for n, one in enumerate(self._tries) if one.lane == lane]
        ids = itertools.cycle([*(f"notebook.{lane}/{one.name}_{n}" for n, one in own)])

        async def run() -> None:
            await self.run(next(ids), lane)

        return run

    async def run(self, id: str, lane: str, **args: Any) -> dict[str, Any]:
        at = "main" if lane == MAIN else "worker"
        reply = await self.ask("run_variant", variant_id=id, lane=at, wait_s=BOUND_S, **args)
        assert reply["ok"], reply
        self.done[lane] += 1
        if reply["result"]["status"] == "pass":
            self.passed[id] += 1
        return reply["result"]

    async def _read(self) -> None:
        names = (await self.ask("list_variables", values=True, limit=100))["result"]
        for line in names.get("items", ())[:100:7]:
            await self.ask("get_value", path=line["id"])
        for op in ("list_stories", "list_variants", "read_failures", "tests_passing"):
            reply = await self.ask(op)
            assert reply["ok"], (op, reply)
        id = f"notebook.{self._tries[0].lane}/{self._tries[0].name}_0"
        for op in ("get_variant", "explain_variant", "snapshot_identity", "read_assertions"):
            await self.ask(op, variant_id=id)
        await self.ask("read_changes", since=0)

    async def _stop(self) -> None:
        """Let one run of each lane end at its deadline, cancel another, take a snapshot of each."""
        for lane in (MAIN, BESIDE):
            id = f"notebook.{lane}/Endless"
            ran = await self.run(id, lane, timeout_s=0.05)
            self.stopped["deadline"] += ran["status"] == "error"
            running = asyncio.ensure_future(self.run(id, lane, timeout_s=5.0))
            _, pending = await asyncio.wait({running}, timeout=0.1)
            running.cancel()
            await asyncio.wait({running})
            self.stopped["cancelled"] += len(pending)
            await self.run(f"notebook.{lane}/Shot", lane)


@asynccontextmanager
async def agent_at(kernel: Kernel, tries: Sequence[Try]) -> AsyncIterator[Agent]:
    """Let an agent work in a kernel during the block; a job of it that fails fails the block."""
    link = KernelLink(find_kernel(str(kernel.path)))
    agent = Agent(link, tries)
    going = True

    async def go_on(job: Callable[[], Awaitable[None]]) -> None:
        while going:
            await job()

    try:
        await agent.register()
        link.subscribe(agent.on_event)
        async with asyncio.TaskGroup() as group:
            for job in agent.jobs():
                group.create_task(go_on(job))
            yield agent
            going = False
    finally:
        await link.close()
