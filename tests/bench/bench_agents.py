"""Eight agents that read from one kernel as fast as they can, and the person who works in it."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from random import Random
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

from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel

AGENTS = 8
READS = 200
CELLS = 50
INTERLEAVED = 20_000
ROUNDS = 3
BARE = "as many kernel_info_request on control"


def figures() -> list[Row]:
    with kernel_with_stories() as kernel:
        taken = [measure_once(kernel) for _ in range(scaled(ROUNDS, 1))]
        wrong = count_wrong(kernel)
    middle = {slot: median(one[slot] for one in taken) for slot in taken[0]}
    refused = sum(one["refused"] for one in taken), sum(one["bare_refused"] for one in taken)
    return [*make_rows(middle, *refused), wrong]


def measure_once(kernel: ScratchKernel) -> Mapping[str, float]:
    reads = scaled(READS, 2)
    with agents(kernel, "ask", reads) as process:
        answer = json.loads(process.stdout.readline())
    with agents(kernel, "ask_bare", reads) as process:
        bare = json.loads(process.stdout.readline())
    alone = cell_ms(kernel)
    with agents(kernel, "ask", sys.maxsize) as process:
        meanwhile = cell_ms(kernel)
        assert process.poll() is None, "the agents ended before the person"
    return {
        "per_s": answer["per_s"],
        "refused": answer["refused"],
        "bare_per_s": bare["per_s"],
        "bare_refused": bare["refused"],
        "alone": alone,
        "meanwhile": meanwhile,
    }


def make_rows(taken: Mapping[str, float], refused: float, bare_refused: float) -> list[Row]:
    who = f"{AGENTS} agents x {READS} reads"
    return [
        row(
            who,
            taken["per_s"],
            "reads/s",
            baseline=taken["bare_per_s"],
            baseline_what=BARE,
            budget=">= 1000",
        ),
        row(
            f"{who}, refused",
            refused,
            "replies",
            baseline=bare_refused,
            baseline_what=BARE,
            budget="<= 0",
        ),
        row(
            f"the person's 1+1 while {AGENTS} agents read",
            taken["meanwhile"],
            "ms",
            baseline=taken["alone"],
            baseline_what="the same alone",
            budget="ratio <= 2",
        ),
    ]


def count_wrong(kernel: ScratchKernel) -> Row:
    calls = scaled(INTERLEAVED, 16)
    with agents(kernel, "ask_each", calls // AGENTS) as process:
        found = json.loads(process.stdout.readline())
    assert found["calls"] == calls, found
    return row(
        f"{calls:,} interleaved calls, replies that reached a wrong caller",
        found["refused"],
        "replies",
        baseline=calls,
        baseline_what="calls made",
        budget="<= 0",
    )


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
        try:
            assert process.stdout.readline() == "reading\n"
            yield process
        finally:
            process.kill()


async def read_together(path: str, how: str, reads: int) -> None:
    """Read as eight agents; says when that begins and at last how it went."""
    links = [KernelLink(find_kernel(path)) for _ in range(AGENTS)]
    asks = [await make_ask(link, how) for link in links]
    print("reading", flush=True)
    start = time.perf_counter()
    refused = sum(await asyncio.gather(*(count_refused(ask, reads) for ask in asks)))
    calls = AGENTS * reads
    per_s = calls / (time.perf_counter() - start)
    print(json.dumps({"per_s": per_s, "refused": refused, "calls": calls}), flush=True)
    for link in links:
        await link.close()


async def make_ask(link: KernelLink, how: str) -> Callable[[], Awaitable[dict[str, Any]]]:
    line, _ = await link.attached()
    if how == "ask":
        return lambda: link.request("list_variants", {}, view=AGENT)
    if how == "ask_each":
        return partial(ask_for_one, link, Random(id(link)))
    return lambda: line.ask("kernel_info_request", {}, answer="kernel_info_reply")


async def ask_for_one(link: KernelLink, chance: Random) -> dict[str, Any]:
    """Ask for one variant or so many of them; ok only if the answer is the one asked for."""
    n = chance.randrange(1, 20)
    if n % 2:
        variant = f"shop.total/Of_{n}"
        reply = await link.request("get_variant", {"variant_id": variant}, view=AGENT)
        return {"ok": reply["ok"] and reply["result"]["id"] == variant}
    reply = await link.request("list_variants", {"limit": n}, view=AGENT)
    return {"ok": reply["ok"] and len(reply["result"]["items"]) == n}


async def count_refused(ask: Callable[[], Awaitable[dict[str, Any]]], reads: int) -> int:
    refused = 0
    for _ in range(reads):
        reply = await ask()
        refused += not (reply.get("ok") or reply.get("status") == "ok")
    return refused


if __name__ == "__main__":
    asyncio.run(read_together(sys.argv[1], sys.argv[2], int(sys.argv[3])))
