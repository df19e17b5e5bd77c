"""An app that has embedded a kernel: the requests that it serves while an agent reads from it."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
from measure import Row, make_environment, row, scaled

from repl_pair.bridge.kernels.discovery import find_kernel
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
# Answers each line of seconds with the count of requests that were answered in that time. So many
# connections that the app never waits: what is measured is its own work.
CLIENT = """
import selectors, socket, sys, time
REQUEST = b"GET / HTTP/1.1\\r\\nHost: bench\\r\\n\\r\\n"
selector, got = selectors.DefaultSelector(), {}
for _ in range(8):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    selector.register(connection, selectors.EVENT_READ)
    got[connection] = b""
for line in sys.stdin:
    for connection in got:
        connection.sendall(REQUEST)
    count, asked, until = 0, len(got), time.perf_counter() + float(line)
    while asked:
        for key, _ in selector.select():
            one = key.fileobj
            got[one] += one.recv(65536)
            assert got[one].startswith(b"HTTP/1.1 200 OK"), got[one]
            if not got[one].endswith(b"}"):
                continue
            got[one], asked = b"", asked - 1
            if time.perf_counter() < until:
                count, asked = count + 1, asked + 1
                one.sendall(REQUEST)
    print(count, flush=True)
"""
INSPECTOR = View(principal="agent", access=("read", "inspect"))
ALONE, BESIDE = "without the agent", "beside the agent"
ROUNDS, TURN_S, READS_PER_S = 40, 0.5, 10
READS = (("list_variables", {}), ("get_value", {"path": "served"}), ("list_variants", {}))


def figures() -> list[Row]:
    return asyncio.run(_figures())


async def _figures() -> list[Row]:
    rounds, served, used_s = scaled(ROUNDS, 1), Counter[str](), Counter[str]()
    with _app() as (app, port, file), _process("-c", CLIENT, str(port)) as client:
        link = KernelLink(await asyncio.to_thread(find_kernel, file))
        try:
            await asyncio.gather(_count(client), _read(link))
            for n in range(rounds):
                # In short turns, so that both meet the same disturbances.
                for way in (ALONE, BESIDE) if n % 2 else (BESIDE, ALONE):
                    before = sum(app.cpu_times()[:2])
                    agents = [_read(link)] if way == BESIDE else []
                    served[way] += (await asyncio.gather(_count(client), *agents))[0] or 0
                    used_s[way] += sum(app.cpu_times()[:2]) - before
        finally:
            await link.close()
    what = f"that a uvicorn app serves while an agent reads {READS_PER_S} times a second"
    return [
        row(
            f"requests {what}{of}",
            served[BESIDE] / took[BESIDE],
            "requests/s",
            baseline=served[ALONE] / took[ALONE],
            baseline_what=ALONE,
            budget="ratio >= 0.95",
        )
        for of, took in (
            ("", dict.fromkeys((ALONE, BESIDE), rounds * TURN_S)),
            (", by its own time of the processor", used_s),
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
def _app() -> Generator[tuple[psutil.Process, int, str]]:
    """Start the app; give its process, its port and the connection file of its kernel."""
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
            yield psutil.Process(app.pid), listening.getsockname()[1], str(file)


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
