"""The functions that the app of a kernel exposes, as tools beside the ops.

They are of the kernel that was named or is in use; no other one is looked for, and none is attached
to for a list.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mcp.types import Tool

from repl_pair.bridge.link.link import EVERYTHING, Link
from repl_pair.bridge.session import Session
from repl_pair.errors import KernelError
from repl_pair.mcp_server.tool_list import NAME, annotations, clean_schema, clean_text
from repl_pair.records import Undo
from repl_pair.wire import MAX_FUNCTION_TOOLS, Event

LISTED_S = 1.5
"""How long a list waits for the functions of the kernel; without them it names the ops alone."""
GATHERED_S = 0.1
"""How long changes are gathered before the functions are read again."""
DOC_CHARS, SCHEMA_CHARS = 600, 1_200
"""With its name and its hints a tool has at most 2 kB."""
FUNCTIONS = "registry/function"
"""The member whose events report that a function came, went or is another one."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FunctionTool:
    """One function as a tool, the kernel that it is in, and what a call may take."""

    id: str
    kernel: str
    timeout_s: float | None
    tool: Tool


class FunctionTools:
    """The tools of the functions, as they were last read; `report` is awaited when others come.

    The kernel alone decides which there are for this session, at each list and each call. `shared`:
    by several clients, so that what is new in a list for one of them is reported to all.
    """

    def __init__(
        self, session: Session, report: Callable[[], Awaitable[None]], *, shared: bool = False
    ) -> None:
        self._session = session
        self._report = report
        self._shared = shared
        self._link: Link | None = None
        self._unsubscribe: Undo | None = None
        self._known: dict[str, FunctionTool] = {}
        self.more = ""
        """How those are called that are no tools, in a sentence, where there are some."""
        self._listed: dict[str, FunctionTool] | None = None
        """What the client was last shown, or all clients know of; None before the first list."""
        self._lists = 0
        """How many lists are being made now."""
        self._calls = 0
        """How many calls look for their tool now."""
        self._is_stale = True
        self._reading: asyncio.Task[None] | None = None

    async def tools(self) -> list[Tool]:
        """Return the tools of a list; none where the kernel does not answer within 1.5 s."""
        self._lists += 1
        try:
            is_current = await self._read_in_time()
        finally:
            self._lists -= 1
        found = dict(self._known) if is_current else {}
        if self._listed is None or not self._shared:
            self._listed = found
        elif found != self._listed:
            self.read_soon()
        return [known.tool for known in found.values()]

    async def find(self, name: str) -> FunctionTool | None:
        """Return the function that a tool is; one that is not known is looked for once more.

        As any call, it attaches again to the kernel that was left.
        """
        if name not in self._known and NAME.fullmatch(name):
            self._calls += 1
            try:
                await self._read_in_time()
            finally:
                self._calls -= 1
        return self._known.get(name)

    @property
    def names(self) -> tuple[str, ...]:
        """The tools that the session saw when they were last read."""
        return tuple(self._known)

    def follow(self) -> None:
        """Read the functions again where another kernel is in use since they were listed."""
        if self._listed is not None and self._session.links.in_use is not self._link:
            self.read_soon()

    async def _read_in_time(self) -> bool:
        reading = self.read_soon()
        await asyncio.wait({reading}, timeout=LISTED_S)
        if not reading.done():
            return False
        reading.result()
        return True

    def read_soon(self) -> "asyncio.Task[None]":
        """Read the functions again, and report where others came or one is gone."""
        self._is_stale = True
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
        return self._reading

    async def _read(self) -> None:
        try:
            while self._is_stale:
                self._is_stale = False
                await self._read_once()
        except KernelError as error:
            _log.info("the functions of the kernel were not read: %s", error)
        is_shown = self._lists and not self._shared
        if not is_shown and self._listed is not None and self._known != self._listed:
            self._listed = dict(self._known)
            await self._report()

    async def _read_once(self) -> None:
        links = self._session.links
        is_chosen = links.is_to_be_called if self._calls else links.is_chosen
        link = await links.get() if is_chosen else None
        if link is not self._link:
            self._leave()
        if link is None:
            return
        view = self._session.policy.view(self._session.principal)
        reply = await link.request("list_function_tools", {}, view=view, is_reported=False)
        if not reply["ok"]:
            return  # it is asked again after the next call
        self._link = link
        self._take(link, reply["result"])
        if self._unsubscribe is None:
            self._unsubscribe = link.subscribe(self._on_event)

    def _take(self, link: Link, found: Mapping[str, Any]) -> None:
        tools = (_read_line(line, link.kernel.id) for line in found["items"])
        self._known = {each.tool.name: each for each in tools if NAME.fullmatch(each.tool.name)}
        self.more = ""
        if found["total"] > MAX_FUNCTION_TOOLS:
            counts = f"{MAX_FUNCTION_TOOLS} of {found['total']} functions"
            _log.warning("%s are listed as tools; run_function calls every one", counts)
            self.more = (
                f"{counts} are tools: list_functions has the others, run_function calls each."
            )

    def _leave(self) -> None:
        if self._unsubscribe is not None:
            self._unsubscribe()
        self._link, self._unsubscribe, self._known, self.more = None, None, {}, ""

    def _on_event(self, event: Event) -> None:
        if event.member in (FUNCTIONS, EVERYTHING) and not self._is_stale:
            self._is_stale = True
            asyncio.get_running_loop().call_later(GATHERED_S, self.read_soon)


def _read_line(line: Mapping[str, Any], kernel: str) -> FunctionTool:
    schema = clean_schema(line["schema"])
    is_short = len(json.dumps(schema)) <= SCHEMA_CHARS
    doc = line.get("doc") or f"Call {line['id']} of the person's app."
    more = "" if is_short else "\nlist_functions has the schema of its arguments."
    tool = Tool(
        name=line["tool"],
        description=clean_text(doc, DOC_CHARS - len(more)) + more,
        input_schema=schema if is_short else {"type": "object"},
        annotations=annotations(reads=not line["mutates"], open_world=True),
    )
    return FunctionTool(id=line["id"], kernel=kernel, timeout_s=line.get("timeout_s"), tool=tool)
