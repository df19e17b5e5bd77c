"""What the demo plays on: the example's cells, a kernel that ran them, a client of the server."""

import os
import re
import sys
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.message import SessionMessage
from mcp.types import CallToolResult

from repl_pair.bridge.scratch_kernel import ScratchKernel

PACKAGE = Path(__file__).parents[1]
BOUND_S = 60.0


class Unexpected(Exception):
    """A step of the demo is not what it should be."""


def expect(holds: object, what: str) -> None:
    """Raise Unexpected with `what` should be, unless it is so."""
    if not holds:
        raise Unexpected(what)


@dataclass(kw_only=True)
class Stage:
    """What the steps share; `frames` holds every frame that the client got."""

    kernel: ScratchKernel
    client: Client
    tools: list[str]
    opened_ms: float
    frames: list[str]
    stderr: Path
    secret: str

    async def call(self, op: str, **args: Any) -> CallToolResult:
        """Call an op as an agent does: a read that is not in the list of tools by `read_op`."""
        if op not in self.tools:
            op, args = "read_op", {"op": op, "args": args}
        return await self.client.call_tool(op, args)

    async def ask(self, op: str, **args: Any) -> Any:
        """Call a tool and give the op's own answer; a refusal is unexpected."""
        reply = read_reply(await self.call(op, **args))
        expect(reply.get("ok") is True, f"{op} is answered, not refused: {reply.get('error')}")
        return reply["result"]


def read_reply(answered: CallToolResult) -> dict[str, Any]:
    """Return the envelope that a tool's structured content is."""
    reply: dict[str, Any] | None = answered.structured_content
    expect(reply, f"the answer is an envelope, not {answered.content}")
    return reply or {}


def find_example() -> Path:
    """Return the folder of the pricing example, in a checkout or in an installed package."""
    places = [folder / "examples" / "pricing" for folder in (PACKAGE.parent, PACKAGE)]
    for place in places:
        if (place / "stories_pricing.py").is_file():
            return place
    raise Unexpected(f"the example is in {' or '.join(map(str, places))}")


def read_cells(file: Path) -> list[tuple[str, str]]:
    """Return the title and code of each cell: what follows each `# %%` line of a file."""
    _, *parts = ("\n" + file.read_text(encoding="utf-8")).split("\n# %%")
    halves = (part.partition("\n") for part in parts)
    return [(title.strip(), code.strip()) for title, _, code in halves]


def read_secret(file: Path) -> str:
    """Return the made-up key that a cell of the example sets."""
    found = re.search(r'^PAYMENT_KEY = "(.+?)"', file.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise Unexpected(f"{file} sets PAYMENT_KEY")
    return found[1]


def forms_of(secret: str) -> Mapping[str, str]:
    """Return the forms in which a secret could cross, by name."""
    data = secret.encode()
    shifted = {f"base64 at {n}": b64encode(b"\0" * n + data).decode()[4:-4] for n in range(3)}
    return {"plain": secret, "URL": quote(secret, safe=""), "hex": data.hex(), **shifted}


def make_environment(kernel_file: Path | None = None) -> dict[str, str]:
    """Return what makes another process of this Python find this package, and only this kernel."""
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    runtime = {"JUPYTER_RUNTIME_DIR": str(kernel_file.parent)} if kernel_file else {}
    return {"PYTHONPATH": path} | runtime


@asynccontextmanager
async def open_stage(kernel: ScratchKernel, secret: str) -> AsyncGenerator[Stage]:
    """Start `repl-pair mcp` beside the kernel and connect a client to it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "repl_pair", "mcp"],
        env=make_environment(kernel.path),
        cwd=kernel.path.parent,
    )
    frames: list[str] = []
    stderr = kernel.path.parent / "server.log"
    started = time.perf_counter()
    with stderr.open("w", encoding="utf-8") as log:
        transport = _recorded(server, frames, log)
        async with Client(transport, read_timeout_seconds=BOUND_S, cache=None) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            yield Stage(
                kernel=kernel,
                client=client,
                tools=tools,
                opened_ms=(time.perf_counter() - started) * 1e3,
                frames=frames,
                stderr=stderr,
                secret=secret,
            )


@asynccontextmanager
async def _recorded(
    server: StdioServerParameters, frames: list[str], log: TextIO
) -> AsyncGenerator[Any]:
    """Return a client's streams to the server; what comes is also written down."""
    send, receive = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    async with stdio_client(server, log) as (source, sink), anyio.create_task_group() as tasks:

        async def relay() -> None:
            async with send:
                async for item in source:
                    is_frame = isinstance(item, SessionMessage)
                    frames.append(
                        item.message.model_dump_json(by_alias=True) if is_frame else str(item)
                    )
                    await send.send(item)

        tasks.start_soon(relay)
        async with receive:
            yield receive, sink
        tasks.cancel_scope.cancel()
