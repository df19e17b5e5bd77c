"""Starts both programs, and is their agent: it reads, calls and follows what they expose."""

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from mcp import Client, MCPError, StdioServerParameters

HERE = Path(__file__).parent
BOUND_S = 50.0


@contextmanager
def program(name: str) -> Iterator[str]:
    """Run one of the programs, with a kernel of a name of its own."""
    kernel = f"{name}-{os.getpid()}"
    own = {f"{name.upper()}_KERNEL": kernel, "SHOP_PORT": "0"}
    with subprocess.Popen(
        [sys.executable, f"{name}.py"], cwd=HERE, env=os.environ | own
    ) as process:
        try:
            yield kernel
        finally:
            process.terminate()
            process.wait(BOUND_S)


@asynccontextmanager
async def agent_of(kernel: str) -> AsyncIterator[Client]:
    """Connect an MCP client to a server of a kernel, once the program has started it."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "repl_pair", "mcp", "--kernel", kernel, "--toolsets", "surface"],
        env=dict(os.environ),
    )
    async with Client(server) as client:
        while not (await ask(client, "list_kernels"))["items"]:
            await asyncio.sleep(0.1)
        yield client


async def ask(client: Client, tool: str, **args: Any) -> Any:
    """Call a tool and return its result."""
    reply = (await client.call_tool(tool, args)).structured_content or {}
    if not reply.get("ok"):
        raise SystemExit(f"{tool} was refused: {reply}")
    return reply["result"]


async def tools_of(client: Client) -> set[str]:
    """Return the names of the tools that are functions of the program."""
    return {tool.name for tool in (await client.list_tools()).tools if "__" in tool.name}


async def follow_training(kernel: str) -> None:
    """Follow the loss until it falls, pause the training, and see it stand still."""
    async with agent_of(kernel) as client:
        listed = (await ask(client, "list_surfaces"))["items"]
        members = {member["id"] for surface in listed for member in surface["members"]}
        print("training:", *sorted(members))
        assert members == {
            *("training/done", "training/loss", "training/step"),
            *("watch/falling", "watch/loss"),
        }
        assert await tools_of(client) == {"training__pause"}
        async with client.listen(resource_subscriptions=["surface://watch/falling"]) as updates:
            # What changed before they were asked for is no update: read, then wait.
            while not (await ask(client, "read_member", member="watch/falling"))["value"]:
                await anext(aiter(updates))
        assert (await ask(client, "training__pause"))["value"] == "paused"
        stands = later = await ask(client, "read_member", member="training/step")
        while not later.get("timed_out"):  # the step that was under way is the last one
            stands, asked = later, {"since": later["next"], "wait_s": 1}
            later = await ask(client, "read_member", member="training/step", **asked)
        print("training: paused at step", stands["value"])


async def visit_shop(kernel: str) -> None:
    """Count the orders, and find no way to a refund."""
    async with agent_of(kernel) as client:
        assert await tools_of(client) == {"shop__count_open", "shop__pause"}
        count = (await ask(client, "shop__count_open"))["value"]
        print("shop:", count, "orders")
        orders = await ask(client, "read_member", member="shop/orders")
        assert count == orders["total"] == 1, orders
        assert orders["items"][0]["value"]["card"] == "[redacted]", orders
        try:
            await client.call_tool("shop__refund", {"order_id": "1"})
        except MCPError as error:
            print("shop:", error)
        else:
            raise SystemExit("a refund was within reach")


async def main() -> None:
    """Visit both programs."""
    async with asyncio.timeout(BOUND_S):
        with program("training") as training, program("shop") as shop:
            await follow_training(training)
            await visit_shop(shop)


if __name__ == "__main__":
    asyncio.run(main())
