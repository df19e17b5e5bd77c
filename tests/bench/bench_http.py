"""How soon the MCP server answers over HTTP, in both eras, and how it bears many clients."""

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from measure import Row, clocked_ms, kernel_with_stories, make_environment, medians_ms, row, scaled

from repl_pair.bridge.scratch_kernel import ScratchKernel
from repl_pair.bridge.tokens import Tokens

CALLS = 200
CLIENTS, TOKENS = 32, 4
LOAD_S, SETTLED_S = 60.0, 10.0
READS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "without a kernel": ("describe_op", {"op": "list_tags"}),
    "of the kernel": ("list_tags", {}),
}
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
BARE = "bare mcp.server with one trivial tool, behind the same uvicorn"
BARE_SERVER = """
import sys, uvicorn
from mcp.server.lowlevel import Server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

async def on_list_tools(ctx, params):
    schema = {"type": "object", "properties": {}}
    return ListToolsResult(tools=[Tool(name="describe_op", input_schema=schema)])

async def on_call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text="{}")], structured_content={})

server = Server("bare", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
config = uvicorn.Config(server.streamable_http_app(), port=0, access_log=False)
uvicorn.Server(config).run()
"""


class Web:
    """A server over HTTP, called in one era on one connection."""

    def __init__(self, port: int, token: str | None, era: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self._headers = request_headers(token, era)
        self._era = era
        if era == HANDSHAKE:
            who = {"clientInfo": {"name": "bench", "version": "1"}, "capabilities": {}}
            session = self._post("initialize", {"protocolVersion": era, **who})
            self._headers["Mcp-Session-Id"] = session.headers["mcp-session-id"]

    def call(self, tool: str, args: Mapping[str, Any]) -> None:
        """Call a tool; a refusal is a failure."""
        params = {"name": tool, "arguments": args, **meta(self._era)}
        answer = self._post("tools/call", params, **{"Mcp-Name": tool})
        assert answer.status == 200, answer.status

    def _post(self, method: str, params: dict[str, Any], **more: str) -> http.client.HTTPResponse:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        headers = {**self._headers, "Mcp-Method": method, **more}
        self._connection.request("POST", "/mcp", body, headers)
        answer = self._connection.getresponse()
        assert b'"isError":true' not in answer.read()
        return answer


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
        with (
            web_server(command, REPL_PAIR_CONFIG_DIR=config) as (own, port),
            web_server(["-c", BARE_SERVER]) as (_, bare_port),
        ):
            rows = [
                call_row(Web(port, tokens[0], era), Web(bare_port, None, era), what, era)
                for era in (STATELESS, HANDSHAKE)
                for what in READS
            ]
            return rows + load_rows(kernel, own, port, bare_port, tokens)


def call_row(server: Web, base: Web, what: str, era: str) -> Row:
    calls = [lambda: server.call(*READS[what]), lambda: base.call("describe_op", {})]
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
    """Measure many clients at once: answers a second, memory, and the person's own cells."""
    alone = cell_ms(kernel)
    load_s, settled_s = scaled(LOAD_S, 1.0), scaled(SETTLED_S, 0.5)
    memory: list[int] = []
    cells: list[float] = []

    def look(passed_s: float) -> None:
        if passed_s >= settled_s:
            memory.append(own.memory_info().rss)
        cells.append(clocked_ms(lambda: kernel.run("1+1")))

    bare = asyncio.run(load(bare_port, [None], "describe_op", load_s / 4))
    held = asyncio.run(load(port, tokens, "list_variants", load_s, look))
    who = f"{CLIENTS} clients for {load_s:g} s"
    return [
        row(
            f"reads of the kernel over HTTP, {who}",
            held / load_s,
            "1/s",
            baseline=bare / (load_s / 4),
            baseline_what=BARE,
            budget="ratio >= 0.8",
        ),
        row(
            f"memory of the server, {who}",
            memory[-1] / 1e6,
            "MB",
            baseline=memory[0] / 1e6,
            baseline_what="after the first ten seconds",
            budget="ratio <= 1.02",
        ),
        row(
            f"the person's 1+1, {who}",
            sorted(cells)[len(cells) // 2],
            "ms",
            baseline=alone,
            baseline_what="without clients",
            budget="ratio <= 2",
        ),
    ]


def cell_ms(kernel: ScratchKernel) -> float:
    taken = sorted(clocked_ms(lambda: kernel.run("1+1")) for _ in range(scaled(30, 3)))
    return taken[len(taken) // 2]


async def load(
    port: int,
    tokens: Sequence[str | None],
    tool: str,
    for_s: float,
    look: Callable[[float], None] = lambda passed_s: None,
) -> int:
    """Let clients call without a pause; returns how many answers came. One error is a failure."""
    began, counts = time.monotonic(), [0]

    async def client(token: str | None) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        request = raw_request(port, token, tool)
        while time.monotonic() - began < for_s:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            size = next(s for s in head.lower().split(b"\r\n") if s.startswith(b"content-length"))
            body = await reader.readexactly(int(size.partition(b":")[2]))
            assert b'"isError":true' not in body
            counts[0] += 1
        writer.close()

    async def watch() -> None:
        while (passed_s := time.monotonic() - began) < for_s:
            await asyncio.to_thread(look, passed_s)
            await asyncio.sleep(0.2)

    clients = [client(tokens[n % len(tokens)]) for n in range(CLIENTS)]
    await asyncio.gather(watch(), *clients)
    return counts[0]


def raw_request(port: int, token: str | None, tool: str) -> bytes:
    params = {"name": tool, "arguments": {}, **meta(STATELESS)}
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
