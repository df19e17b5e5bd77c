"""What following a resource costs: how soon a change arrives, the person's loop, and what stays."""

import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median
from typing import Any

import psutil
from measure import Row, Server, kernel_with_stories, make_environment, row, run, scaled

from repl_pair.bridge.scratch_kernel import ScratchKernel

URI = "surface://training/loss"
WINDOW_MS = 200.0
CHANGES = 20
BURST = 100_000
LOOP = 10_000
"""Sets of one loop, which takes about a second."""
PAIRS = 9
CYCLES = 1_000
WARM = 200
SETUP = f"""
import time
import repl_pair
loss = repl_pair.surface("training").cell("loss", float, default=0.0, expose=True)

def burst():
    began = time.perf_counter()
    for step in range({BURST}):
        loss.set(step)
        while time.perf_counter() < began + step / {BURST}:
            pass

def work(passes):
    for _ in range(passes):
        pass

began = time.thread_time()
work(1_000_000)
PASSES = int(1e6 * 90e-6 / (time.thread_time() - began))  # 90 µs of work

def loop(times):
    began = time.perf_counter()
    for step in range(times):
        work(PASSES)
        loss.set(step)
    return time.perf_counter() - began
"""


class Follower(Server):
    """A server whose client keeps the updates that come between the answers."""

    updates = 0

    def wait(self, count: int) -> None:
        """Read frames until there were so many updates."""
        while self.updates < count:
            self._note(json.loads(self._process.stdout.readline()))

    def ask(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": params or {}})
        while (frame := json.loads(self._process.stdout.readline())).get("id") != self._last:
            self._note(frame)
        return frame["result"]

    def follow(self, *, on: bool = True) -> None:
        self.ask(f"resources/{'' if on else 'un'}subscribe", {"uri": URI})

    def read(self) -> Any:
        (content,) = self.ask("resources/read", {"uri": URI})["contents"]
        return json.loads(content["text"])["value"]

    def usage(self) -> tuple[int, int, int]:
        """Return the bytes, threads and open files of the process."""
        process = psutil.Process(self._process.pid)
        return process.memory_info().rss, process.num_threads(), process.num_fds()

    def _note(self, frame: dict[str, Any]) -> None:
        self.updates += frame.get("method") == "notifications/resources/updated"


def figures() -> list[Row]:
    with kernel_with_stories() as kernel, open_follower(kernel) as follower:
        run(kernel, SETUP)
        return [
            arrival_row(kernel, follower),
            burst_row(kernel, follower),
            loop_row(kernel, follower),
            *cycle_rows(follower),
        ]


@contextmanager
def open_follower(kernel: ScratchKernel) -> Generator[Follower]:
    command = ["-m", "repl_pair", "mcp", "--kernel", str(kernel.path)]
    follower = Follower(command, make_environment())
    try:
        follower.open()
        yield follower
    finally:
        follower.close()


@contextmanager
def following(follower: Follower) -> Generator[None]:
    follower.follow()
    try:
        yield
    finally:
        follower.follow(on=False)


def arrival_row(kernel: ScratchKernel, follower: Follower) -> Row:
    took = []
    with following(follower):
        for _ in range(scaled(CHANGES, 2)):
            began, seen = time.perf_counter(), follower.updates
            kernel.start("loss.set(time.time())")
            follower.wait(seen + 1)
            took.append((time.perf_counter() - began) * 1000)
    what, window = "a change until the client has the update", "the window of 200 ms"
    return row(
        what, median(took), "ms", baseline=WINDOW_MS, baseline_what=window, budget="ratio <= 1.5"
    )


def burst_row(kernel: ScratchKernel, follower: Follower) -> Row:
    with following(follower):
        began, seen = time.perf_counter(), follower.updates
        run(kernel, "burst()")
        windows = (time.perf_counter() - began) * 1000 / WINDOW_MS + 1
        while follower.read() != BURST - 1:
            continue
        time.sleep(2 * WINDOW_MS / 1000)  # what is still to come
        assert follower.read() == BURST - 1
        updates = follower.updates - seen
        run(kernel, "loss.set(-1.0)")
        follower.wait(follower.updates + 1)  # the stream is open
    what, baseline = "updates of 100,000 changes in a second", "windows of 200 ms"
    return row(
        what, updates, "updates", baseline=windows, baseline_what=baseline, budget="ratio <= 1"
    )


def loop_row(kernel: ScratchKernel, follower: Follower) -> Row:
    """Measure the loop in turn with and without a subscriber; the best of each counts."""
    times = scaled(LOOP, 100)
    alone, followed = list[float](), list[float]()
    code = f"print(loop({times}))"
    for _ in range(scaled(PAIRS, 1)):
        alone.append(float(run(kernel, code)) * 1000)
        with following(follower):
            followed.append(float(run(kernel, code)) * 1000)
    what = f"a loop of {LOOP:,} sets a second, with a subscriber"
    return row(
        what,
        min(followed),
        "ms",
        baseline=min(alone),
        baseline_what="without one",
        budget="ratio <= 1.05",
    )


def cycle_rows(follower: Follower) -> list[Row]:
    def cycle(times: int) -> tuple[int, int, int]:
        for _ in range(times):
            with following(follower):
                pass
        return follower.usage()

    before = cycle(scaled(WARM, 5))
    after = cycle(scaled(CYCLES, 5))
    first = f"after {WARM} cycles"
    (memory_before, threads_before, files_before), (memory, threads, files) = before, after
    what = "the server after 1,000 more cycles of subscribing and attaching"
    return [
        row(
            f"{what}: memory",
            memory / 1e6,
            "MB",
            baseline=memory_before / 1e6,
            baseline_what=first,
            budget="ratio <= 1.01",
        ),
        row(
            f"{what}: threads",
            threads,
            "threads",
            baseline=threads_before,
            baseline_what=first,
            budget="ratio <= 1",
        ),
        row(
            f"{what}: open files",
            files,
            "files",
            baseline=files_before,
            baseline_what=first,
            budget="ratio <= 1",
        ),
    ]
