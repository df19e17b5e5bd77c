"""A scripted agent: it finds what fails over MCP, mends it as a variant of its own, and runs that.

What a model would decide is one function, `mend`; all else is what any MCP client does.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

HERE = Path(__file__).parent
SERVER = ["-m", "repl_pair", "mcp", "--here", "--allow", "write", "--toolsets", "write"]


async def ask(client: Client, tool: str, **args: Any) -> Any:
    """Call a tool; a refusal ends the script."""
    reply = (await client.call_tool(tool, args)).structured_content or {}
    print(f"{tool}({', '.join(map(str, args.values()))})")
    if not reply.get("ok"):
        raise SystemExit(f"refused: {reply.get('error')}")
    return reply["result"]


def mend(variant: dict[str, Any], failure: dict[str, Any]) -> dict[str, Any]:
    """Decide on another body: too low by a fifth is a forgotten VAT."""
    missing = failure["expected"] / failure["actual"] - 1
    assert 0.19 < missing < 0.21, failure
    return {
        "extends": variant["id"],
        "doc": "Mended: the VAT was left out.",
        "args": {"vat": round(missing, 2)},
        "play": variant["play"],
    }


async def work() -> list[str]:
    """Run all, mend what fails, and give the ids of what was mended and passes."""
    server = StdioServerParameters(command=sys.executable, args=SERVER, cwd=HERE)
    async with Client(stdio_client(server)) as client:
        listed = await ask(client, "list_variants")
        mended: list[str] = []
        for id in [item["id"] for item in listed["items"]]:
            verdict = await ask(client, "run_variant", variant_id=id)
            if verdict["status"] == "pass":
                continue
            (failure,) = [one for one in verdict["assertions"] if not one["passed"]]
            print(f"  {failure['reason']}")
            body = mend(await ask(client, "get_variant", variant_id=id), failure)
            new = f"{id}_mended"
            await ask(client, "register_variant", variant_id=new, body=body)
            again = await ask(client, "run_variant", variant_id=new)
            print(f"  {new}: {again['status']}")
            mended += [new] if again["status"] == "pass" else []
        return mended


if __name__ == "__main__":
    print("mended:", ", ".join(asyncio.run(work())))
