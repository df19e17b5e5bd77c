"""What it costs to see where a kernel stands, and a looping cell to be sampled."""

import asyncio
from statistics import median

from measure import (
    AGENT,
    STATES,
    Row,
    cell_running,
    clocked_ms_of,
    kernel_with_stories,
    linked_to,
    row,
    run,
    scaled,
)

from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel

THREADS, READS, ROUNDS = 50, 60, 9
CASES = ("idle", "the person's cell loops in Python")
STAND = f"""
import threading
over = threading.Event()
def stand(n): over.wait() if n == 0 else stand(n - 1)
for n in range({THREADS}): threading.Thread(target=stand, args=(n % 10,), daemon=True).start()
"""
WORK = """
import time
began, total = time.perf_counter(), 0
for number in range({count}): total += number * number
print(time.perf_counter() - began)
"""


def figures() -> list[Row]:
    return asyncio.run(rows())


async def rows() -> list[Row]:
    with kernel_with_stories() as kernel:
        async with linked_to(kernel) as link:
            sampled = await sampled_row(link, kernel)
            run(kernel, STAND)
            return [*[await read_row(link, kernel, state) for state in CASES], sampled]


async def read_row(link: KernelLink, kernel: ScratchKernel, state: str) -> Row:
    taken: dict[str, list[float]] = {"read_stacks": [], "list_variants": []}
    for op in taken:
        await link.request(op, {}, view=AGENT)
    with cell_running(kernel, STATES[state]):
        for _ in range(scaled(READS, 3)):
            for op, times in taken.items():
                times.append(await clocked_ms_of(link.request(op, {}, view=AGENT)))
    measured, base = map(median, taken.values())
    what = f"read_stacks over the link, {THREADS} threads, {state}, p50"
    named = "list_variants, 20 variants"
    return row(what, measured, "ms", baseline=base, baseline_what=named, budget="ratio <= 2")


async def sampled_row(link: KernelLink, kernel: ScratchKernel) -> Row:
    """Return the time of a cell that loops while it is sampled, over its own, taken in turns."""
    code = WORK.format(count=scaled(12_000_000, 200_000))
    alone, sampled = list[float](), list[float]()
    for _ in range(scaled(ROUNDS, 1)):
        alone.append(1e3 * float(run(kernel, code)))
        begun = kernel.start(code)
        await link.request("read_hot_lines", {"seconds": 10.0}, view=AGENT)
        sampled.append(1e3 * float(kernel.finish(begun).printed))
    return row(
        "a cell that loops in Python under read_hot_lines",
        median(sampled),
        "ms",
        baseline=median(alone),
        baseline_what="the same cell alone",
        budget="ratio <= 1.05",
    )
