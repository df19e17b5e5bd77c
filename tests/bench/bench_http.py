"""How soon the MCP server answers over HTTP, in both eras, and how it bears many clients."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, wait
from contextlib import closing, contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

import psutil
from measure import Row, clocked_ms, kernel_with_stories, make_environment, medians_ms, row, scaled

from repl_pair.bridge.scratch_kernel import ScratchKernel
from repl_pair.bridge.tokens import Tokens

CALLS = 200
CLIENTS, TOKENS = 32, 4
LOAD_S, SETTLED_S, ROUNDS = 60.0, 10.0, 4
PAUSE_S = 0.2
"""Between two cells of the person: right after another one a cell takes half the time."""
READS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "without a kernel": ("describe_op", {"op": "list_tags"}),
    "of the kernel": ("list_variants", {}),
}
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
BARE = "bare mcp.server behind the same uvicorn, whose tool gives the same reply"
BARE_SERVER = """
import json, sys, uvicorn
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool
from measure import AGENT
from repl_pair.bridge.kernels.discovery import find_kernel
from repl_pair.bridge.link.kernel_link import KernelLink

links, kept = [], json.loads(sys.argv[2])

async def on_list_tools(ctx, params):
    schema = {"type": "object", "properties": {}}
    names = ("describe_op", "list_variants")
    return ListToolsResult(tools=[Tool(name=name, input_schema=schema) for name in names])

async def on_call_tool(ctx, params):
    reply = kept if params.name == "describe_op" else await ask(params.name, params.arguments or {})
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=reply)

async def ask(op, args):
    links[:] = links or [KernelLink(find_kernel(sys.argv[1]))]
    return await links[0].request(op, args, view=AGENT)

server = Server("bare", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
config = uvicorn.Config(server.streamable_http_app(), port=0, access_log=False)
uvicorn.Server(config).run()
"""
"""It gives the reply of the op of the bridge from memory, and asks the kernel for the other one."""


WHO = f"{CLIENTS} clients for a minute"
Place: TypeAlias = tuple[int, Sequence[str | None]]
Look: TypeAlias = Callable[[], None]


def nothing() -> None:
    pass


class Web:
    """A server over HTTP, called in one era on one connection."""

    def __init__(self, port: int, token: str | None, era: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = request_headers(token, era)
        self._era = era
        if era == HANDSHAKE:
            who = {"clientInfo": {"name": "bench", "version": "1"}, "capabilities": {}}
            _, session, _ = self._post("initialize", {"protocolVersion": era, **who})
            self._headers["Mcp-Session-Id"] = session

    def call(self, tool: str, args: Mapping[str, Any]) -> bytes:
        """Call a tool and return the body of its answer; a refusal is a failure."""
        params = {"name": tool, "arguments": args, **meta(self._era)}
        status, _, body = self._post("tools/call", params, **{"Mcp-Name": tool})
        assert status == 200, status
        assert b'"isError":true' not in body
        return body

    def close(self) -> None:
        self._connection.close()

    def _post(self, method: str, params: dict[str, Any], **more: str) -> tuple[int, str, bytes]:
        """Return the status, the session that is named, and the body."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {**self._headers, "Mcp-Method": method, **more}
        self._connection.request("POST", "/mcp", body, headers)
        answer = self._connection.getresponse()
        return answer.status, answer.headers.get("mcp-session-id", ""), answer.read()


def request_headers(token: str | None, era: str) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": era}
    headers["Accept"] = "application/json, text/event-stream"
    return headers | ({"Authorization": f"Bearer {token}"} if token else {})


def meta(era: str) -> dict[str, Any]:
    if era == HANDSHAKE:
        return {}
    slots = {"protocolVersion": era, "clientCapabilities": {}}
    return {"_meta": {f"io.modelcontextprotocol/{name}": slots[name] for name in slots}}


def figures() -> list[Row]:
    with tempfile.TemporaryDirectory() as config, kernel_with_stories() as kernel:
        store = Tokens(Path(config) / "tokens")
        tokens = [store.add(f"agent{n}", kernels=(str(kernel.path),)) for n in range(TOKENS)]
        command = ["-m", "repl_pair", "mcp", "--http", "127.0.0.1:0"]
        with web_server(command, REPL_PAIR_CONFIG_DIR=config) as (own, port):
            with closing(Web(port, tokens[0], STATELESS)) as web:
                kept = read_reply(web.call(*READS["without a kernel"]))
            bare = ["-c", BARE_SERVER, str(kernel.path), json.dumps(kept)]
            with web_server(bare, PYTHONPATH=os.pathsep.join(sys.path)) as (_, bare_port):
                rows = [
                    call_row((port, tokens[0]), (bare_port, None), what, era)
                    for era in (STATELESS, HANDSHAKE)
                    for what in READS
                ]
                return rows + load_rows(kernel, own, port, bare_port, tokens)


def read_reply(body: bytes) -> dict[str, Any]:
    """Return the reply of an op in the one event of a stream."""
    return json.loads(body.split(b"data: ")[1])["result"]["structuredContent"]


def call_row(here: tuple[int, str], there: tuple[int, None], what: str, era: str) -> Row:
    with closing(Web(*here, era)) as server, closing(Web(*there, era)) as base:
        calls = [partial(each.call, *READS[what]) for each in (server, base)]
        taken, bare = medians_ms(calls, scaled(CALLS, 3))
    return row(
        f"tools/call of a read {what} over HTTP, {era}, p50",
        taken,
        "ms",
        baseline=bare,
        baseline_what=BARE,
        budget="ratio <= 1.3",
    )


def load_rows(
    kernel: ScratchKernel, own: psutil.Process, port: int, bare_port: int, tokens: Sequence[str]
) -> list[Row]:
    """Measure many clients at once: answers a second, memory, and the person's own cells.

    The person works while either server asks the kernel, which then takes fewer requests.
    """
    memory: list[int] = []
    cells: list[float] = []
    alone: list[float] = []

    def run_cell() -> None:
        cells.append(clocked_ms(lambda: kernel.run("1+1")))

    def rest() -> None:
        for _ in range(scaled(15, 3)):
            alone.append(clocked_ms(lambda: kernel.run("1+1")))
            time.sleep(PAUSE_S)

    def look() -> None:
        memory.append(own.memory_info().rss)
        run_cell()

    here, there = (port, tokens), (bare_port, [None])
    rows = [load_row(here, there, "without a kernel")]
    rows.append(load_row(here, there, "of the kernel", look, run_cell, rest))
    settled = memory[int(len(memory) * SETTLED_S / LOAD_S)]
    return [
        *rows,
        row(
            f"memory of the server, {WHO}",
            memory[-1] / 1e6,
            "MB",
            baseline=settled / 1e6,
            baseline_what="after the first ten seconds",
            budget="ratio <= 1.02",
        ),
        row(
            f"the person's 1+1, {WHO}",
            median(cells),
            "ms",
            baseline=median(alone),
            baseline_what="without clients",
            budget="ratio <= 2",
        ),
    ]


def load_row(
    here: Place,
    there: Place,
    what: str,
    look: Look = nothing,
    look_there: Look = nothing,
    rest: Look = nothing,
) -> Row:
    """Load both servers in turns, so that both meet the same disturbances."""
    slice_s, counts = scaled(LOAD_S / ROUNDS, 1), [0, 0]
    for _ in range(scaled(ROUNDS, 1)):
        rest()
        counts[0] += load(here, what, slice_s, look)
        counts[1] += load(there, what, slice_s, look_there)
    per_s, bare_per_s = (count / (slice_s * scaled(ROUNDS, 1)) for count in counts)
    return row(
        f"reads {what} over HTTP, {WHO}",
        per_s,
        "1/s",
        baseline=bare_per_s,
        baseline_what=BARE,
        budget="ratio >= 0.8",
    )


def load(place: Place, what: str, for_s: float, look: Look) -> int:
    """Let clients call without a pause; returns how many answers came. One error is a failure.

    They are a process of their own: `look` measures nothing of them.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        pool.submit(nothing).result()  # it has imported this module
        counted = pool.submit(run_clients, *place, *READS[what], for_s)
        while not counted.done():
            look()
            wait([counted], timeout=PAUSE_S)
        return counted.result()


def run_clients(
    port: int, tokens: Sequence[str | None], tool: str, args: Mapping[str, Any], for_s: float
) -> int:
    until, counts = time.monotonic() + for_s, [0]

    async def client(token: str | None) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request = raw_request(port, token, tool, args)
        while time.monotonic() < until:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            size = next(s for s in head.lower().split(b"\r\n") if s.startswith(b"content-length"))
            body = await reader.readexactly(int(size.partition(b":")[2]))
            assert b'"isError":true' not in body
            counts[0] += 1
        writer.close()

    async def run() -> None:
        await asyncio.gather(*(client(tokens[n % len(tokens)]) for n in range(CLIENTS)))

    asyncio.run(run())
    return counts[0]


def raw_request(port: int, token: str | None, tool: str, args: Mapping[str, Any]) -> bytes:
    params = {"name": tool, "arguments": args, **meta(STATELESS)}
    frame = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    body = json.dumps(frame).encode()
    headers = {**request_headers(token, STATELESS), "Host": f"127.0.0.1:{port}"}
    headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool, "Content-Length": str(len(body))}
    lines = ["POST /mcp HTTP/1.1", *(f"{name}: {text}" for name, text in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@contextmanager
def web_server(command: Sequence[str], **more: str) -> Generator[tuple[psutil.Process, int]]:
    """Start a server; yields its process and its port, once it names the URL that it serves."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**psutil.Process().environ(), **make_environment(**more)},
        text=True,
    )
    try:
        assert process.stderr is not None
        line = next(line for line in process.stderr if "http://" in line)
        yield (
            psutil.Process(process.pid),
            int(line.split("http://")[1].split(":")[1].split()[0].split("/")[0]),
        )
    finally:
        process.terminate()
        process.communicate(timeout=30)
