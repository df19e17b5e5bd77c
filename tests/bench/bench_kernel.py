"""How soon a live kernel answers: to an attach, and to reads whatever the person's cell does."""

import asyncio
from statistics import median

from measure import (
    AGENT,
    LOOKS,
    STATES as SHARED,
    Row,
    cell_running,
    clocked_ms_of,
    kernel_with_stories,
    linked_to,
    make_environment,
    row,
    scaled,
)

from repl_pair.bridge.kernels.discovery import read_connection
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.link.line import Line
from repl_pair.bridge.scratch_kernel import ScratchKernel, scratch_kernel

KERNELS = 7
STATES = {**SHARED, "the person's cell computes and looks at files": LOOKS}
ATTACHED = tuple(state for state in STATES if state != "the person's cell sleeps")
READS = 100
BARE = "bare kernel_info_request on control"


def figures() -> list[Row]:
    attaching = [asyncio.run(attach_row(state)) for state in ATTACHED]
    return [*attaching, *asyncio.run(read_rows())]


async def attach_row(state: str) -> Row:
    taken = [await attach_times(STATES[state]) for _ in range(scaled(KERNELS, 1))]
    measured, base = (median(column) for column in zip(*taken, strict=True))
    return row(
        f"attach to a kernel that has not imported the runtime, {state}",
        measured,
        "ms",
        baseline=base,
        baseline_what="bare connect and kernel_info_request on control",
        budget="<= 300" if STATES[state] is None else "",
    )


async def attach_times(cell: str | None) -> tuple[float, float]:
    with scratch_kernel(environment=make_environment()) as kernel, cell_running(kernel, cell):
        base = await clocked_ms_of(ask_bare(kernel))
        async with linked_to(kernel) as link:
            return await clocked_ms_of(link.attached()), base


async def ask_bare(kernel: ScratchKernel) -> None:
    line = Line(read_connection(kernel.path))
    await line.ask("kernel_info_request", {}, answer="kernel_info_reply")
    line.close()


async def read_rows() -> list[Row]:
    with kernel_with_stories() as kernel:
        async with linked_to(kernel) as link:
            return [await read_row(link, kernel, state) for state in STATES]


async def read_row(link: KernelLink, kernel: ScratchKernel, state: str) -> Row:
    line, _ = await link.attached()
    measured, base = list[float](), list[float]()
    with cell_running(kernel, STATES[state]):
        for _ in range(scaled(READS, 3)):
            measured.append(await clocked_ms_of(link.request("list_variants", {}, view=AGENT)))
            bare = line.ask("kernel_info_request", {}, answer="kernel_info_reply")
            base.append(await clocked_ms_of(bare))
    what = f"list_variants over the link, {state}, p50"
    return row(what, median(measured), "ms", baseline=median(base), baseline_what=BARE)
