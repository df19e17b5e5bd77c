"""An app that has embedded a kernel: the requests that it serves while an agent reads from it."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from measure import Row, make_environment, row, scaled

from repl_pair.bridge.kernels.discover import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink
from repl_pair.wire import View

APP = """
import json
import repl_pair

served = 0
prices = {f"item {n}": n * 1.19 for n in range(200)}
kernel = repl_pair.embed(name="served")

async def app(scope, receive, send):
    global served
    if scope["type"] != "http":
        return
    served += 1
    body = json.dumps(prices).encode()
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
"""
# Answers each line of seconds with the count of requests that were answered in that time.
CLIENT = """
import http.client, sys, time
connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=30)
for line in sys.stdin:
    count, until = 0, time.perf_counter() + float(line)
    while time.perf_counter() < until:
        connection.request("GET", "/")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read()
        count += 1
    print(count, flush=True)
"""
INSPECTOR = View(principal="agent", access=("read", "inspect"))
ROUNDS, TURN_S, READS_PER_S = 40, 0.5, 10
READS = (("list_variables", {}), ("get_value", {"path": "served"}), ("list_variants", {}))


def figures() -> list[Row]:
    return asyncio.run(_figures())


async def _figures() -> list[Row]:
    rounds, served = scaled(ROUNDS, 1), {"alone": 0, "beside": 0}
    with _app() as (port, file), _process("-c", CLIENT, str(port)) as client:
        link = KernelLink(await asyncio.to_thread(find_kernel, file))
        try:
            await asyncio.gather(_count(client), _read(link))
            for n in range(rounds):
                # In short turns, so that both meet the same disturbances.
                for way in ("alone", "beside") if n % 2 else ("beside", "alone"):
                    agents = [_read(link)] if way == "beside" else []
                    served[way] += (await asyncio.gather(_count(client), *agents))[0] or 0
        finally:
            await link.close()
    took = rounds * TURN_S
    return [
        row(
            f"requests that a uvicorn app serves while an agent reads {READS_PER_S} times a second",
            served["beside"] / took,
            "requests/s",
            baseline=served["alone"] / took,
            baseline_what="without the agent",
            budget="ratio >= 0.95",
        )
    ]


async def _read(link: KernelLink) -> None:
    """Read at the agent's pace for one turn."""
    for n in range(round(TURN_S * READS_PER_S)):
        due = time.perf_counter() + 1 / READS_PER_S
        op, args = READS[n % len(READS)]
        reply = await link.request(op, args, view=INSPECTOR)
        assert reply["ok"], reply
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def _count(client: "subprocess.Popen[str]") -> int:
    """Return how many requests were answered in one turn."""
    print(TURN_S, file=client.stdin, flush=True)
    return int(await asyncio.to_thread(client.stdout.readline))


@contextmanager
def _app() -> Generator[tuple[int, str]]:
    """Start the app; give its port and the connection file of its kernel."""
    with tempfile.TemporaryDirectory() as folder, socket.socket() as listening:
        Path(folder, "served_app.py").write_text(APP)
        listening.bind(("127.0.0.1", 0))
        # Accepted sockets have it too; asyncio sets it only for those that it makes itself.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listening.listen()
        arguments = ("-m", "uvicorn", "served_app:app", "--log-level", "critical")
        handed = ("--fd", str(listening.fileno()))
        with _process(*arguments, *handed, folder=folder, fds=(listening.fileno(),)) as app:
            file = Path(folder, f"kernel-embed-{app.pid}.json")
            until = time.monotonic() + 60
            while not file.exists():
                assert app.poll() is None
                assert time.monotonic() < until
                time.sleep(0.01)
            yield listening.getsockname()[1], str(file)


@contextmanager
def _process(
    *arguments: str, folder: str | None = None, fds: tuple[int, ...] = ()
) -> Generator["subprocess.Popen[str]"]:
    environment = make_environment(**({"JUPYTER_RUNTIME_DIR": folder} if folder else {}))
    process = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=folder,
        pass_fds=fds,
        env={**os.environ, **environment},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()
