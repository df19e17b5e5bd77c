"""Eight agents that read from one kernel as fast as they can, and the person who works in it."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from statistics import median
from typing import Any

from measure import (
    AGENT,
    Row,
    clocked_ms,
    kernel_with_stories,
    make_environment,
    row,
    run,
    scaled,
)

from repl_pair.bridge.discover import find_kernel
from repl_pair.bridge.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel

AGENTS = 8
READS = 200
CELLS = 50
BARE = "as many kernel_info_request on control"


def figures() -> list[Row]:
    reads = scaled(READS, 2)
    with kernel_with_stories() as kernel:
        with agents(kernel, "ask", reads) as process:
            ours = json.loads(process.stdout.readline())
        with agents(kernel, "ask_bare", reads) as process:
            base = json.loads(process.stdout.readline())
        alone = cell_ms(kernel)
        with agents(kernel, "ask", sys.maxsize) as process:
            meanwhile = cell_ms(kernel)
            assert process.poll() is None, "the agents ended before the person"
            process.kill()
    return make_rows(ours, base, alone, meanwhile)


def make_rows(
    ours: Mapping[str, float], base: Mapping[str, float], alone: float, meanwhile: float
) -> list[Row]:
    who = f"{AGENTS} agents x {READS} reads"
    return [
        row(
            who,
            ours["per_s"],
            "reads/s",
            baseline=base["per_s"],
            baseline_what=BARE,
            budget=">= 1000",
        ),
        row(
            f"{who}, refused",
            ours["errors"],
            "replies",
            baseline=base["errors"],
            baseline_what=BARE,
            budget="<= 0",
        ),
        row(
            f"the person's 1+1 while {AGENTS} agents read",
            meanwhile,
            "ms",
            baseline=alone,
            baseline_what="the same alone",
            budget="ratio <= 2",
        ),
    ]


def cell_ms(kernel: ScratchKernel) -> float:
    return median(clocked_ms(lambda: run(kernel, "1+1")) for _ in range(scaled(CELLS, 2)))


@contextmanager
def agents(kernel: ScratchKernel, how: str, reads: int) -> Generator["subprocess.Popen[str]"]:
    """Start the agents in a process of their own and wait until each was answered once."""
    with subprocess.Popen(
        [sys.executable, __file__, str(kernel.path), how, str(reads)],
        stdout=subprocess.PIPE,
        env={**os.environ, **make_environment()},
        text=True,
    ) as process:
        assert process.stdout.readline() == "reading\n"
        yield process


async def read_together(path: str, how: str, reads: int) -> None:
    """Read as eight agents; says when that begins and at last how it went."""
    links = [KernelLink(find_kernel(path)) for _ in range(AGENTS)]
    asks = [await make_ask(link, how) for link in links]
    print("reading", flush=True)
    start = time.perf_counter()
    errors = sum(await asyncio.gather(*(count_errors(ask, reads) for ask in asks)))
    per_s = AGENTS * reads / (time.perf_counter() - start)
    print(json.dumps({"per_s": per_s, "errors": errors}), flush=True)
    for link in links:
        await link.close()


async def make_ask(link: KernelLink, how: str) -> Callable[[], Awaitable[dict[str, Any]]]:
    line, _ = await link.attached()
    if how == "ask":
        return lambda: link.request("list_variants", {}, view=AGENT)
    return lambda: line.ask("kernel_info_request", {}, answer="kernel_info_reply")


async def count_errors(ask: Callable[[], Awaitable[dict[str, Any]]], reads: int) -> int:
    errors = 0
    for _ in range(reads):
        reply = await ask()
        errors += not (reply.get("ok") or reply.get("status") == "ok")
    return errors


if __name__ == "__main__":
    asyncio.run(read_together(sys.argv[1], sys.argv[2], int(sys.argv[3])))
