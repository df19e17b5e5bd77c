"""Starts a server as a host would, calls it as a client does, and reports the result."""

import logging
import os
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TextIO

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client

from repl_pair.cli.answers import Finding
from repl_pair.cli.hosts import Entry

BOUND_S = 30.0
LAST_LINES = 8
PASSED_ON = ("HOME", "LANG", "LC_ALL", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
"""The variables that the strictest host passes to a server, besides PATH."""
_UNCHOSEN = frozenset({"no_kernel", "ambiguous_kernel"})

logging.getLogger("mcp").addHandler(logging.NullHandler())  # the server's own stderr is shown


@dataclass(kw_only=True)
class ServerCheck:
    """The result of one start; `fault` is why it failed, `stderr` the last lines of its stderr."""

    started_s: float | None = None
    protocol: str = ""
    tools: list[str] = field(default_factory=list[str])
    listed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    status: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fault: str = ""
    stderr: list[str] = field(default_factory=list[str])


def check_server(entry: Entry) -> ServerCheck:
    """Start the entry's server with a bare environment in an empty folder, ask it, and end it."""
    return anyio.run(_check_server, entry)


async def _check_server(entry: Entry) -> ServerCheck:
    check = ServerCheck()
    with (
        tempfile.TemporaryFile("w+", errors="replace") as stderr,
        tempfile.TemporaryDirectory() as at,
    ):
        try:
            with anyio.fail_after(BOUND_S):
                await _connect(entry, at, stderr, check)
        except* TimeoutError:
            check.fault = f"it did not answer within {BOUND_S:g} s"
        except* MCPError as group:
            check.fault = f"it ended or refused: {_first(group)}"
        except* OSError as group:
            check.fault = f"it could not be started: {_first(group)}"
        stderr.seek(0)
        check.stderr = stderr.read().splitlines()[-LAST_LINES:]
    return check


async def _connect(entry: Entry, folder: str, stderr: TextIO, check: ServerCheck) -> None:
    passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    target = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**passed_on, "PATH": os.defpath, **entry.get("env", {})},
        cwd=folder,
    )
    began = time.monotonic()
    async with Client(stdio_client(target, errlog=stderr), mode="legacy") as client:
        check.tools = [tool.name for tool in (await client.list_tools()).tools]
        check.started_s = round(time.monotonic() - began, 2)
        check.protocol = client.protocol_version
        check.listed = (await client.call_tool("list_kernels", {})).structured_content or {}
        check.status = (await client.call_tool("kernel_status", {})).structured_content or {}


def _first(group: BaseException) -> BaseException:
    """Return the first real exception of a group."""
    return _first(group.exceptions[0]) if isinstance(group, BaseExceptionGroup) else group  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]  groups are generic


def judge(check: ServerCheck, kernel: str | None) -> list[Finding]:
    """Return the findings of a check; `kernel` is the one that the entry names."""
    if check.started_s is None or check.fault:
        lines = f" It wrote: {' | '.join(check.stderr)}" if check.stderr else " It wrote nothing."
        return [Finding(what="the server does not serve", well=False, remedy=check.fault + lines)]
    return [
        Finding(what=f"the server answers after {check.started_s:g} s, MCP {check.protocol}"),
        Finding(what=f"tools: {len(check.tools)} ({', '.join(check.tools)})"),
        _judge_kernels(check.listed),
        _judge_kernel(check.status, kernel),
    ]


def _judge_kernels(listed: Mapping[str, Any]) -> Finding:
    if not listed.get("ok"):
        return Finding(what="kernels are not listed", well=False, remedy=_why(listed))
    living = [_name(kernel) for kernel in listed["result"]["items"] if kernel["alive"]]
    return Finding(what=f"live kernels: {', '.join(living) or 'none'}")


def _judge_kernel(status: Mapping[str, Any], kernel: str | None) -> Finding:
    """Return which kernel a call would reach; none yet is well where the entry names none."""
    if not status.get("ok"):
        well = kernel is None and status.get("error", {}).get("code") in _UNCHOSEN
        return Finding(what="no kernel is chosen", well=well, remedy=_why(status))
    found = status["result"]
    if why := found.get("why"):
        return Finding(what=f"{_name(found)} does not answer", well=False, remedy=why)
    return Finding(what=f"calls go to {_name(found)}, which answers")


def _why(reply: Mapping[str, Any]) -> str:
    message: str = reply.get("error", {}).get("message", "It gave no answer.")
    return " ".join([message, *(f"{step.rstrip('.')}." for step in reply.get("next_steps", ()))])


def _name(kernel: Mapping[str, Any]) -> str:
    return f"{kernel['id']} ({kernel.get('notebook') or kernel['name']})"
