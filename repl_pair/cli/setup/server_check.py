"""Starts a server as a host would, calls it as a client does, and reports the result."""

import logging
import os
import tempfile
import time
from collections.abc import Mapping
from typing import Any, TextIO

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from repl_pair.cli.answers import Finding, fault
from repl_pair.cli.setup.hosts import Entry

BOUND_S = 30.0
LAST_LINES = 8
PASSED_ON = ("HOME", "LANG", "LC_ALL", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""The variables that the strictest host passes to a server, besides PATH."""
_UNCHOSEN = frozenset({"no_kernel", "ambiguous_kernel"})

logging.getLogger("mcp").addHandler(logging.NullHandler())  # the server's own stderr is shown


def check_server(entry: Entry, kernel: str | None) -> list[Finding]:
    """Start the entry's server with a bare environment in an empty folder, ask it, and end it.

    `kernel` is the one that the entry names.
    """
    return anyio.run(_check_server, entry, kernel)


async def _check_server(entry: Entry, kernel: str | None) -> list[Finding]:
    with tempfile.TemporaryFile("w+", errors="replace") as stderr:
        try:
            with anyio.fail_after(BOUND_S), tempfile.TemporaryDirectory() as folder:
                return await _ask_server(entry, kernel, folder, stderr)
        except* TimeoutError:
            why = f"it did not answer within {BOUND_S:g} s"
        except* MCPError as group:
            why = f"it ended or refused: {_first(group)}"
        except* OSError as group:
            why = f"it could not be started: {_first(group)}"
        stderr.seek(0)
        lines = stderr.read().splitlines()[-LAST_LINES:]
    wrote = f"It wrote: {' | '.join(lines)}" if lines else "It wrote nothing."
    return [fault("the server does not serve", f"{why} {wrote}")]


async def _ask_server(
    entry: Entry, kernel: str | None, folder: str, stderr: TextIO
) -> list[Finding]:
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    target = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**passed_on, "PATH": os.defpath, **entry.get("env", {})},
        cwd=folder,
    )
    began = time.monotonic()
    async with Client(stdio_client(target, errlog=stderr), mode="legacy") as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        started_s = time.monotonic() - began
        listed = (await client.call_tool("list_kernels", {})).structured_content
        status = (await client.call_tool("kernel_status", {})).structured_content
        return [
            Finding(
                f"the server answers after {round(started_s, 2):g} s, MCP {client.protocol_version}"
            ),
            Finding(f"tools: {len(tools)} ({', '.join(tools)})"),
            _judge_kernels(listed or dict[str, Any]()),
            _judge_kernel(status or dict[str, Any](), kernel),
        ]


def _first(group: BaseException) -> BaseException:
    return _first(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  groups are generic


def _judge_kernels(listed: Mapping[str, Any]) -> Finding:
    if not listed.get("ok"):
        return fault("kernels are not listed", _why(listed))
    living = [_name(kernel) for kernel in listed["result"]["items"] if kernel["alive"]]
    return Finding(f"live kernels: {', '.join(living) or 'none'}")


def _judge_kernel(status: Mapping[str, Any], kernel: str | None) -> Finding:
    """Return which kernel a call would reach; none yet is well where the entry names none."""
    if not status.get("ok"):
        well = kernel is None and status.get("error", {}).get("code") in _UNCHOSEN
        return Finding("no kernel is chosen", well=well, remedy=_why(status))
    found = status["result"]
    if why := found.get("why"):
        return fault(f"{_name(found)} does not answer", why)
    return Finding(f"calls go to {_name(found)}, which answers")


def _why(reply: Mapping[str, Any]) -> str:
    message: str = reply.get("error", {}).get("message", "It gave no answer.")
    return " ".join([message, *reply.get("hints", ())])


def _name(kernel: Mapping[str, Any]) -> str:
    return f"{kernel['id']} ({kernel.get('notebook') or kernel['name']})"
