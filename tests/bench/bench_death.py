"""How soon an agent that waits for an answer hears that its kernel was killed."""

import asyncio
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from statistics import median

import psutil
import zmq
from jupyter_client.connect import ConnectionFileMixin
from measure import AGENT, Row, kernel_with_stories, linked_to, row, run, scaled
from zmq.utils.monitor import recv_monitor_message

from repl_pair.bridge.link.attached_link import RESTART_S
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.bridge.scratch_kernel import ScratchKernel

DEATHS = 5
BOUND_S = 30.0
BARE = "a bare socket monitor"
ENDLESS = """
import pathlib, threading
@repl_pair.story("shop.endless")
def wait() -> None:
    pathlib.Path("waiting").touch()
    threading.Event().wait()
repl_pair.variant("shop.endless/One")
"""


def figures() -> list[Row]:
    return [
        death_row("a pending run of a killed kernel is answered", start_run, "<= 1000"),
        death_row(
            f"a pending read of a killed kernel is answered, after {RESTART_S:g} s for a restart",
            start_read,
            None,
        ),
    ]


Start = Callable[[KernelLink, ScratchKernel], Awaitable["asyncio.Task[float]"]]


def death_row(what: str, start: Start, budget: str | None) -> Row:
    taken = [asyncio.run(death_ms(start)) for _ in range(scaled(DEATHS, 1))]
    measured, base = (median(column) for column in zip(*taken, strict=True))
    return row(what, measured, "ms", baseline=base, baseline_what=BARE, budget=budget)


async def death_ms(start: Start) -> tuple[float, float]:
    """Kill a kernel during a call; give when its caller and when a bare monitor heard of it."""
    with kernel_with_stories() as kernel:
        run(kernel, ENDLESS)
        async with linked_to(kernel) as link:
            await link.attached()
            heard = watch_bare(kernel)
            pending = await start(link, kernel)
            killed = time.perf_counter()
            os.kill(kernel.pid, signal.SIGKILL)
            async with asyncio.timeout(BOUND_S):
                measured, base = await pending, await asyncio.wrap_future(heard)
    return (measured - killed) * 1e3, (base - killed) * 1e3


async def start_run(link: KernelLink, kernel: ScratchKernel) -> "asyncio.Task[float]":
    """Let a run be under way in the kernel."""
    args = {"variant_id": "shop.endless/One"}
    pending = asyncio.create_task(lost_at(link, "run_variant", args, "outcome_unknown"))
    async with asyncio.timeout(BOUND_S):
        while not (kernel.path.parent / "waiting").exists():
            await asyncio.sleep(0.01)
    return pending


async def start_read(link: KernelLink, kernel: ScratchKernel) -> "asyncio.Task[float]":
    """Let a read be under way: the kernel is stopped, or it would be answered at once."""
    os.kill(kernel.pid, signal.SIGSTOP)
    process = psutil.Process(kernel.pid)
    async with asyncio.timeout(BOUND_S):
        while process.status() != psutil.STATUS_STOPPED:
            await asyncio.sleep(0.01)
    pending = asyncio.create_task(lost_at(link, "list_variants", {}, "kernel_gone"))
    await asyncio.sleep(0.05)
    return pending


async def lost_at(link: KernelLink, op: str, args: dict[str, str], code: str) -> float:
    reply = await link.request(op, args, view=AGENT, timeout_s=BOUND_S)
    assert reply["error"]["code"] == code, reply
    return time.perf_counter()


def watch_bare(kernel: ScratchKernel) -> "Future[float]":
    """Return when a bare control socket is disconnected; it is connected when this returns."""
    connected, lost = threading.Event(), Future[float]()

    def watch() -> None:
        context = zmq.Context()
        file = ConnectionFileMixin(context=context)
        file.load_connection_file(str(kernel.path))
        control = context.socket(zmq.DEALER)
        monitor = control.get_monitor_socket(zmq.EVENT_HANDSHAKE_SUCCEEDED | zmq.EVENT_DISCONNECTED)
        # Only now: a handshake before the monitor stands would not be seen.
        control.connect(file._make_url("control"))
        recv_monitor_message(monitor)
        connected.set()
        recv_monitor_message(monitor)
        lost.set_result(time.perf_counter())
        control.disable_monitor()
        context.destroy(linger=0)

    threading.Thread(target=watch, daemon=True).start()
    assert connected.wait(BOUND_S)
    return lost
