"""What it takes to look at the person's values: a long list of names, and arrays of any size."""

import asyncio
import time
from statistics import median

from measure import Row, clocked_ms_of, kernel_with_stories, linked_to, row, run, scaled

from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel
from repl_pair.wire import View

INSPECTOR = View(principal="agent", access=frozenset({"read", "inspect"}))
NAMES, ROUNDS, READS = 100_000, 9, 60
BIG = 10**9
DEFINE = """
import random, time
from statistics import median
random.seed(1)
globals().update({{f"v{{random.randrange(10**9)}}_{{n}}": n for n in range({names})}})
"""
SORT = """
taken = []
for _ in range({rounds}):
    start = time.perf_counter()
    sorted(globals())[:25]
    taken.append(time.perf_counter() - start)
print(median(taken) * 1e3)
"""
ARRAYS = "import numpy\nsmall, big = numpy.zeros(1000, 'u1'), numpy.zeros({big}, 'u1')"


def figures() -> list[Row]:
    with kernel_with_stories() as kernel:
        run(kernel, ARRAYS.format(big=scaled(BIG, 10**6)))
        rows = asyncio.run(array_rows(kernel))
        return [*rows, asyncio.run(names_row(kernel))]


async def array_rows(kernel: ScratchKernel) -> list[Row]:
    async with linked_to(kernel) as link:
        await link.attached()
        return [await array_row(link, op) for op in ("get_value", "describe_object")]


async def array_row(link: KernelLink, op: str) -> Row:
    taken: dict[str, list[float]] = {"small": [], "big": []}
    for _ in range(scaled(READS, 2)):
        for path, times in taken.items():
            request = link.request(op, {"path": path}, view=INSPECTOR)
            times.append(await clocked_ms_of(request))
    return row(
        f"{op} of an array of 1 GB, over the link, p50",
        median(taken["big"]),
        "ms",
        baseline=median(taken["small"]),
        baseline_what="of one of 1 kB",
        budget="ratio <= 1.2",
    )


async def names_row(kernel: ScratchKernel) -> Row:
    run(kernel, DEFINE.format(names=scaled(NAMES, 2000)))
    async with linked_to(kernel) as link:
        await link.attached()
        await link.request("list_variables", {}, view=INSPECTOR)
        measured, base = list[float](), list[float]()
        for _ in range(scaled(ROUNDS, 1)):
            base.append(float(run(kernel, SORT.format(rounds=scaled(5, 1)))))
            start = time.perf_counter()
            await link.request("list_variables", {}, view=INSPECTOR)
            measured.append((time.perf_counter() - start) * 1e3)
    return row(
        "list_variables of 100,000 names, first page, over the link, p50",
        median(measured),
        "ms",
        baseline=median(base),
        baseline_what="sorted(globals())[:25]",
        budget="ratio <= 3",
    )
