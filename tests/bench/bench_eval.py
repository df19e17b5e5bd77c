"""Code that an agent sends: what it takes beside a run, and whether a kernel grows by it."""

import asyncio
from statistics import median
from typing import Any

from measure import Row, clocked_ms_of, kernel_with_stories, linked_to, row, run, scaled

from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel
from repl_pair.wire import View

TIMES, EVALS, WARM = 300, 1_000, 4_000
EVAL = View(principal="agent", access=frozenset({"read", "run", "eval"}))
TRIVIAL = """
repl_pair.story("shop.two", component=lambda: 2)
repl_pair.variant("shop.two/It")
"""
RESIDENT = """
import ctypes, gc, os
gc.collect()
ctypes.CDLL(None).malloc_trim(0)
with open("/proc/self/statm") as file:
    print(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6)
"""
CODES = ("1 + 1", "def f(n):\n    return n * 2\nprint(f(3))", "raise ValueError('no')", "x = = 1")


def figures() -> list[Row]:
    with kernel_with_stories() as kernel:
        run(kernel, TRIVIAL)
        return asyncio.run(measured(kernel))


async def measured(kernel: ScratchKernel) -> list[Row]:
    resident: list[float] = []
    async with linked_to(kernel) as link:
        # By then what is kept up to a number each, such as the log of agents' calls, is full.
        for count in (scaled(WARM, 5), scaled(EVALS, 5)):
            await send_all(link, count)
            resident.append(float(await asyncio.to_thread(run, kernel, RESIDENT)))
        evaluated, ran = await medians_ms(link)
    return [
        row(
            'eval_code("1+1")',
            evaluated,
            "ms",
            baseline=ran,
            baseline_what="run_variant of a story that returns 2",
            budget="ratio <= 1.5",
        ),
        row(
            f"memory after {EVALS:,} more eval_code",
            resident[1],
            "MB",
            baseline=resident[0],
            baseline_what=f"after {WARM:,} of them",
            budget="ratio <= 1.01",
        ),
    ]


async def medians_ms(link: KernelLink) -> list[float]:
    """Return the medians of both calls, made in turns."""
    taken: list[list[float]] = [[], []]
    for _ in range(scaled(TIMES, 2)):
        for times, (op, args) in zip(taken, CALLS, strict=True):
            times.append(await clocked_ms_of(answered(link, op, args)))
    return [median(times) for times in taken]


CALLS = (("eval_code", {"code": "1+1"}), ("run_variant", {"variant_id": "shop.two/It"}))


async def send_all(link: KernelLink, count: int) -> None:
    """Send so many codes, of each kind in turn."""
    for n in range(count):
        await answered(link, "eval_code", {"code": CODES[n % len(CODES)]})


async def answered(link: KernelLink, op: str, args: dict[str, Any]) -> None:
    reply = await link.request(op, args, view=EVAL, timeout_s=30.0)
    assert reply["ok"], reply
