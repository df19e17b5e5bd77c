"""How soon the MCP server answers over stdio: at its start, and to calls of a read."""

import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from statistics import median

from measure import (
    STATES,
    Row,
    Server,
    cell_running,
    kernel_with_stories,
    make_environment,
    medians_ms,
    row,
    scaled,
)

from repl_pair.bridge.scratch_kernel import ScratchKernel

STARTS = 9
CALLS = 100
TOOL = "list_variants"
START = "repl-pair mcp, start to first tools/list"
BUDGETS = {
    "idle": "<= 3",
    "the person's cell sleeps": "<= 10",
    "the person's cell loops in Python": "<= 150",
}
BARE_SERVER = """
import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, ListToolsResult, TextContent, Tool

async def on_list_tools(ctx, params):
    schema = {"type": "object", "properties": {}}
    return ListToolsResult(tools=[Tool(name="list_variants", input_schema=schema)])

async def on_call_tool(ctx, params):
    return CallToolResult(content=[TextContent(type="text", text="{}")], structured_content={})

async def main():
    server = Server("bare", on_list_tools=on_list_tools, on_call_tool=on_call_tool)
    async with stdio_server() as (source, sink):
        await server.run(source, sink, server.create_initialization_options())

anyio.run(main)
"""
BARE = "bare mcp.server with one trivial tool"


def figures() -> list[Row]:
    # Bytecode goes where no other process writes; the first start of each fills it.
    with tempfile.TemporaryDirectory() as caches, kernel_with_stories() as kernel:
        environment = make_environment(PYTHONPYCACHEPREFIX=caches if scaled(1, 0) else "")
        alone, bare = ["-m", "repl_pair", "mcp"], ["-c", BARE_SERVER]
        commands = ([*alone, "--kernel", str(kernel.path)], bare)
        rows = [
            start_row(START, (alone, bare), environment, "ratio <= 1.15"),
            start_row(f"{START} that attaches to a kernel", commands, environment, "<= 0.6"),
        ]
        servers = (open_server(command, environment) for command in commands)
        with next(servers) as server, next(servers) as base:
            rows += [call_row(server, base, kernel, state) for state in STATES]
            rows.append(background_row(server))
        return rows


def start_row(
    what: str, commands: tuple[list[str], list[str]], environment: dict[str, str], budget: str
) -> Row:
    taken = [
        [start_ms(command, environment) for command in commands]
        for _ in range(scaled(STARTS + 1, 1))
    ][-STARTS:]
    measured, base = (median(column) for column in zip(*taken, strict=True))
    return row(
        what,
        measured / 1e3,
        "s",
        baseline=base / 1e3,
        baseline_what=BARE,
        budget=budget,
    )


def start_ms(command: list[str], environment: dict[str, str]) -> float:
    start = time.perf_counter()
    with open_server(command, environment):
        return (time.perf_counter() - start) * 1e3


@contextmanager
def open_server(command: list[str], environment: dict[str, str]) -> Generator[Server]:
    server = Server(command, environment)
    try:
        server.open()
        yield server
    finally:
        server.close()


def call_row(server: Server, base: Server, kernel: ScratchKernel, state: str) -> Row:
    with cell_running(kernel, STATES[state]):
        calls = [lambda: server.call(TOOL), lambda: base.call(TOOL)]
        taken, bare = medians_ms(calls, scaled(CALLS, 3))
    return row(
        f"tools/call of {TOOL}, {state}, p50",
        taken,
        "ms",
        baseline=bare,
        baseline_what=BARE,
        budget=BUDGETS[state],
    )


def background_row(server: Server) -> Row:
    """Measure a call that nobody waits for; its run has ended before the baseline is measured."""
    runs: list[str] = []

    def trigger() -> None:
        answer = server.call("trigger_void", call=TOOL)
        runs.append(answer["result"]["run"])

    calls = [
        trigger,
        lambda: server.call("read_run", run=runs[-1]),
        lambda: server.call("kernel_status"),
    ]
    taken, _, status = medians_ms(calls, scaled(CALLS, 3))
    return row(
        f"tools/call of trigger_void over {TOOL}, p50",
        taken,
        "ms",
        baseline=status,
        baseline_what="tools/call of kernel_status",
        budget="ratio <= 1.2",
    )
