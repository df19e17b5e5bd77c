"""What a kernel publishes: subscriptions to it over a line, and whether the kernel takes one."""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from repl_pair.bridge.link.line import ConnectionLost, Line

_WELCOME_S = 2.0
_ASKED = 4
"""How often a subscription is made: ipykernel may leave one unread until the next one comes."""


async def listen(
    line: Line, ident: str, kind: str, fn: Callable[[Mapping[str, Any]], None]
) -> None:
    """Call `fn` with the content of each iopub message of a kind; returns once subscribed.

    Kernels that send no `iopub_welcome` are given two seconds.
    """
    if line.closed.is_set():
        raise ConnectionLost
    socket, token = _subscribe(line, f"kernel.{ident}.{kind}")
    subscribed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def receive() -> None:
        while True:
            frames = await socket.recv_multipart()
            if frames[0].startswith(token):
                if not subscribed.done():
                    subscribed.set_result(None)
            elif (message := line.read(frames)) is not None and message["msg_type"] == kind:
                fn(message["content"])

    line.start(receive())
    line.start(subscribed)  # the end of the line cancels it
    for again in range(_ASKED):
        await asyncio.wait({subscribed}, timeout=_WELCOME_S / _ASKED)
        if subscribed.done():
            return
        socket.subscribe(token + bytes([again]))


async def is_welcomed(line: Line, timeout_s: float) -> bool:
    """Return whether the kernel takes a new iopub subscription: its Python must run for that.

    Kernels that send no `iopub_welcome` never do.
    """
    if line.closed.is_set():
        return False
    socket, token = _subscribe(line)
    try:
        for again in range(_ASKED):
            if await socket.poll(int(timeout_s / _ASKED * 1000)):
                return True
            socket.subscribe(token + bytes([again]))
        return False
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is None or task.cancelling() or not line.closed.is_set():
            raise
        return False  # the end of the line cancelled the poll, nobody this call
    finally:
        socket.close()


def _subscribe(line: Line, *topics: str) -> tuple[Any, bytes]:
    """Open an iopub socket for topics and a last one of its own, whose welcome comes last."""
    socket = line.connect_iopub()
    token = f"repl_pair.{uuid.uuid4().hex}".encode()
    for topic in (*(topic.encode() for topic in topics), token):
        socket.subscribe(topic)
    return socket, token
