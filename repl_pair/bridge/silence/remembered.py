"""The last known answers about a registry: returned with their age while a kernel cannot answer."""

import asyncio
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from repl_pair.bridge import manifest
from repl_pair.wire import Reply, Request, View

LIMIT_BYTES = 2_000_000
"""Limit for the answers of one kernel, as JSON."""
VIEWS = 4
"""For how many views answers are kept up to date: the latest ones."""
ALWAYS_KNOWN = ("list_stories", "list_variants", "list_tags", "list_modes")
"""Ops that are read for each view without a request."""
AT_FIRST_S = 0.05
"""Pause between a view's first answer and the first reading; single callers end before."""
PAUSE_S = 1.0
"""Least time between two such readings."""
SHARE = 0.05
"""Share of the time that such readings may take."""

_Key: TypeAlias = tuple[str, str, View]


@dataclass(frozen=True, kw_only=True)
class _Answer:
    at: float
    seq: int
    reply: str


class Memory:
    """The last answer to each registry read, for the very view that was given it."""

    def __init__(self, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._limit = limit_bytes
        self._boot: str | None = None
        self._seq = 0
        self._bytes = 0
        self._answers: OrderedDict[_Key, _Answer] = OrderedDict()

    def keep(self, request: Request, reply: Reply) -> None:
        """Keep a reply of the kernel; the first one after a restart removes all others."""
        if reply.get("boot") != self._boot:
            self._boot, self._seq, self._bytes = reply.get("boot"), 0, 0
            self._answers.clear()
        seq = reply.get("seq", 0)
        self._seq = max(self._seq, seq)
        if not reply["ok"] or not reads_registry(request.op):
            return
        text = json.dumps(reply, separators=(",", ":"))
        self._drop(_key(request))
        self._answers[_key(request)] = _Answer(at=time.monotonic(), seq=seq, reply=text)
        self._bytes += len(text)
        while self._bytes > self._limit:
            self._drop(next(iter(self._answers)))

    def recall(self, request: Request, why: str) -> Reply | None:
        """Return the last known answer, marked with its age and why it is not a new one."""
        if request.boot not in (None, self._boot):
            return None
        answer = self._answers.get(_key(request))
        if answer is None:
            return None
        self._answers.move_to_end(_key(request))
        age_s = time.monotonic() - answer.at
        changed = " Something was registered or run since." if answer.seq < self._seq else ""
        reply: Reply = json.loads(answer.reply)
        note = f"Last known, {age_s:.0f} s old: {why}.{changed}"
        notifications = [note, *reply.get("notifications", ())]
        return reply | {"age_s": round(age_s, 1), "notifications": notifications}

    def _drop(self, key: _Key) -> None:
        dropped = self._answers.pop(key, None)
        self._bytes -= len(dropped.reply) if dropped else 0


class Refresher:
    """Reads the registry again after it changed, while no caller waits for the kernel.

    `ask` sends one op for a view and returns None where that fails: it is tried again after the
    next reply. `is_idle` returns whether no caller waits.
    """

    def __init__(
        self, ask: Callable[[str, View], Awaitable[Reply | None]], *, is_idle: Callable[[], bool]
    ) -> None:
        self._ask = ask
        self._is_idle = is_idle
        self._known: OrderedDict[View, tuple[str | None, int]] = OrderedDict()
        self._newest: tuple[str | None, int] = (None, 0)
        self._pause_s = AT_FIRST_S
        self._reading: asyncio.Task[None] | None = None

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to read."""
        return self._reading is None or self._reading.done()

    def note(self, view: View, reply: Reply) -> None:
        """Take note of a reply; its view is kept up to date from now on."""
        self._newest = (reply.get("boot"), reply.get("seq", 0))
        self._known.setdefault(view, (None, 0))
        self._known.move_to_end(view)
        while len(self._known) > VIEWS:
            self._known.popitem(last=False)
        if self.is_done and self._outdated():
            self._reading = asyncio.create_task(self._read())

    async def close(self) -> None:
        """Stop reading."""
        if self._reading:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    def _outdated(self) -> list[View]:
        return [view for view, known in self._known.items() if known != self._newest]

    async def _read(self) -> None:
        while outdated := self._outdated():
            await asyncio.sleep(self._pause_s)
            self._pause_s = PAUSE_S
            if not self._is_idle():
                continue
            began = time.monotonic()
            for view in outdated:
                if not await self._read_for(view):
                    return
            self._pause_s = max(PAUSE_S, (time.monotonic() - began) / SHARE)

    async def _read_for(self, view: View) -> bool:
        """Read what is always known for a view; False, and it stays outdated, where that fails."""
        newest = self._newest
        for op in ALWAYS_KNOWN:
            reply = await self._ask(op, view)
            if reply is None:
                return False
            newest = (reply.get("boot"), reply.get("seq", 0))
        if newest[0] != self._newest[0] or newest[1] > self._newest[1]:
            self._newest = newest
        if view in self._known:
            self._known[view] = newest
        return True


def reads_registry(op: str) -> bool:
    """Return whether a built-in op lists or gets what is registered, and nothing else.

    Old answers of other ops would be wrong: `read_` ops report runs, verdicts and hashes are
    computed anew each time, and ops that inspect return values of the person's.
    """
    known = manifest.find(op)
    return (
        known.get("access") == "read"
        and known.get("toolset") in ("core", "story")
        and op.startswith(("list_", "get_"))
    )


def _key(request: Request) -> _Key:
    """Name a question: arguments at their defaults do not make another one."""
    properties: Mapping[str, Any] = manifest.by_name()[request.op]["input_schema"]["properties"]
    given = {
        name: value
        for name, value in request.args.items()
        if name not in properties or properties[name].get("default") != value
    }
    return request.op, json.dumps(given, sort_keys=True), request.view
