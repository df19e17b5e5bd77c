"""What the benchmarks share: rows, medians, a kernel with stories, a server spoken to in frames."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel
from repl_pair.wire import View

ROOT = Path(__file__).parents[2]
QUICK = "REPL_PAIR_BENCH_QUICK"
"""Environment variable: as little work as gives rows at all; their figures mean nothing."""
AGENT = View(principal="agent")
STORIES = """
import repl_pair
@repl_pair.story("shop.total")
def total(prices: list[float]) -> dict[str, float]:
    "Add prices up."
    return {"total": sum(prices)}
for number in range(20):
    repl_pair.variant(f"shop.total/Of_{number}", args={"prices": [1.5] * number})
"""
SLEEPS = "import time\nwhile True: time.sleep(600)"
LOOPS = "number = 0\nwhile True: number += 1"
# Back at the interpreter lock before another thread is awake: it leaves them no turn.
LOOKS = """
import os
numbers = list(range(20_000))
while True: sorted(numbers, key=str); os.path.exists("none")
"""
STATES: Mapping[str, str | None] = {
    "idle": None,
    "the person's cell sleeps": SLEEPS,
    "the person's cell loops in Python": LOOPS,
}

Row = dict[str, Any]


def scaled(full: int, quick: int) -> int:
    """Return how often to do something."""
    return quick if os.environ.get(QUICK) else full


def row(
    what: str,
    measured: float,
    unit: str,
    *,
    baseline: float,
    baseline_what: str,
    budget: str | None = None,
) -> Row:
    """Make a row; `ratio` is the figure over the baseline, None over 0.

    `budget` is `<= 15` or `>= 20` in the row's unit, or `ratio <= 2`.
    """
    made = {
        "what": what,
        "measured": measured,
        "unit": unit,
        "baseline": baseline,
        "baseline_what": baseline_what,
        "ratio": measured / baseline if baseline else None,
    }
    return made | ({"budget": budget} if budget else {})


def is_met(row: Row) -> bool | None:
    """Return whether a row is within its budget; None if it has none."""
    if "budget" not in row:
        return None
    *slot, relation, bound = row["budget"].split()
    value = row["ratio"] if slot == ["ratio"] else row["measured"]
    return value <= float(bound) if relation == "<=" else value >= float(bound)


def clocked_ms(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


async def clocked_ms_of(work: Awaitable[object]) -> float:
    """Return how long it takes to wait for something."""
    start = time.perf_counter()
    await work
    return (time.perf_counter() - start) * 1e3


def median_ms(call: Callable[[], object], times: int) -> float:
    """Return the median of several calls, after one that does not count."""
    call()
    return median(clocked_ms(call) for _ in range(times))


def medians_ms(calls: Sequence[Callable[[], object]], times: int) -> list[float]:
    """Return the median of each call, taken in turns so that all meet the same disturbances."""
    for call in calls:
        call()
    taken = [[clocked_ms(call) for call in calls] for _ in range(times)]
    return [median(column) for column in zip(*taken, strict=True)]


@contextmanager
def kernel_with_stories() -> Generator[ScratchKernel]:
    """Start a kernel in which a story with twenty variants is registered."""
    with scratch_kernel(environment=make_environment()) as kernel:
        run(kernel, STORIES)
        yield kernel


def run(kernel: ScratchKernel, code: str, *, cell: str | None = None) -> str:
    """Run a cell that must not fail; give what it printed."""
    ran = kernel.run(code, cell=cell)
    assert ran.error is None, ran.error
    return ran.printed


@contextmanager
def cell_running(kernel: ScratchKernel, code: str | None) -> Generator[None]:
    """Let an endless cell of the person's run during the block; none where `code` is None."""
    begun = kernel.start(code) if code else None
    yield
    if begun is not None:
        os.kill(kernel.pid, signal.SIGINT)
        ran = kernel.finish(begun)
        assert ran.error == "KeyboardInterrupt: ", ran.error


@asynccontextmanager
async def linked_to(kernel: ScratchKernel) -> AsyncGenerator[KernelLink]:
    """Return a link to the kernel during the block."""
    link = KernelLink(find_kernel(kernel.path))
    try:
        yield link
    finally:
        await link.close()


def make_environment(**more: str) -> dict[str, str]:
    """Return what makes a process of this Python find this package and write its bytecode."""
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": ""} | more


class Server:
    """An MCP server process, spoken to in frames over stdio."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **environment},
            cwd=tempfile.gettempdir(),
        )
        self._last = 0

    def open(self) -> None:
        """Shake hands and list the tools."""
        who = {"name": "bench", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": who}
        self.ask("initialize", hello)
        self._send({"method": "notifications/initialized"})
        assert self.ask("tools/list")["tools"]

    def call(self, tool: str, **args: object) -> dict[str, Any]:
        """Call a tool and give its envelope; a refusal is a failure."""
        result = self.ask("tools/call", {"name": tool, "arguments": args})
        assert not result.get("isError"), result
        return result.get("structuredContent", {})

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and give its result."""
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params or {}})
        while (frame := json.loads(self._process.stdout.readline())).get("id") != self._last:
            continue
        return frame["result"]

    def close(self) -> None:
        """End its stdin and wait for its end."""
        self._process.communicate(timeout=30)

    def _send(self, frame: Mapping[str, Any]) -> None:
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
        self._process.stdin.flush()
