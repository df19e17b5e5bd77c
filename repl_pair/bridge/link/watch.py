"""Events of a kernel, across its restarts: hints that something changed, or may have."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from repl_pair.bridge.link.attach import Attachment
from repl_pair.bridge.link.line import ConnectionLost, Line
from repl_pair.bridge.link.link import EVERYTHING, OnEvent
from repl_pair.errors import KernelError
from repl_pair.records import Undo
from repl_pair.wire import Event

RETRY_S = 1.0
PULSE_S = 5.0
"""How long no event may come before the kernel is asked for its count of changes."""
ARRIVE_S = 0.5
"""How long an event may take to arrive after a reply that counts its change."""


class Watch:
    """The subscribers of one link; listens to the kernel while there is at least one.

    `ask_seq` returns the kernel's count of changes, None where it does not answer. A kernel drops
    events that a slow reader does not take: only that count shows it.
    """

    def __init__(
        self,
        attached: Callable[[], Awaitable[tuple[Line, Attachment]]],
        ask_seq: Callable[[], Awaitable[int | None]],
    ) -> None:
        self._attached = attached
        self._ask_seq = ask_seq
        self._subscribers: dict[object, OnEvent] = {}
        self._following: asyncio.Task[None] | None = None
        self._boot = ""
        self._seq: int | None = None

    def add(self, fn: OnEvent) -> Undo:
        """Call `fn` on the event loop with each event, until the undo."""
        token = object()
        self._subscribers[token] = fn
        if self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())

        def remove() -> None:
            self._subscribers.pop(token, None)
            if not self._subscribers:
                self._stop()

        return remove

    def expect(self, boot: str | None, seq: int) -> None:
        """Take the count of changes from a reply; announces changes that no event reports."""
        if self._is_behind(boot, seq):
            asyncio.get_running_loop().call_later(ARRIVE_S, self._announce_missed, boot, seq)

    def _announce_missed(self, boot: str | None, seq: int) -> None:
        if self._is_behind(boot, seq):
            self._seq = seq
            self._announce("missed")

    def _is_behind(self, boot: str | None, seq: int) -> bool:
        known = self._following is not None and boot == self._boot
        return known and self._seq is not None and seq > self._seq

    async def close(self) -> None:
        """Remove every subscriber."""
        self._subscribers.clear()
        following = self._stop()
        if following:
            await asyncio.wait({following})

    def _stop(self) -> asyncio.Task[None] | None:
        following, self._following = self._following, None
        if following:
            following.cancel()
        return following

    async def _follow(self) -> None:
        while True:
            try:
                line, attachment = await self._attached()
                self._boot, self._seq = attachment.boot, None
                end = await attachment.carrier.listen(self._take)
            except (KernelError, ConnectionLost, TimeoutError):
                await asyncio.sleep(RETRY_S)
                continue
            try:
                self._seq = max(self._seq or 0, await self._ask_seq() or 0)
                self._announce("subscribed")
                await self._keep_up(line)
            finally:
                end()
            self._announce("lost")

    async def _keep_up(self, line: Line) -> None:
        while True:
            before = self._seq
            try:
                async with asyncio.timeout(PULSE_S):
                    await line.closed.wait()
                    return
            except TimeoutError:
                if self._seq == before:
                    self.expect(self._boot, await self._ask_seq() or 0)

    def _take(self, content: Mapping[str, Any]) -> None:
        event = Event(**{f.name: content[f.name] for f in fields(Event) if f.name in content})
        follows = event.boot == self._boot
        expected = event.seq if self._seq is None or not follows else self._seq + 1
        self._seq = max(self._seq or 0, event.seq) if follows else event.seq
        self._boot = event.boot
        if event.seq > expected:
            self._announce("missed")
        self._publish(event)

    def _announce(self, change: str) -> None:
        self._publish(Event(boot=self._boot, seq=self._seq or 0, member=EVERYTHING, change=change))

    def _publish(self, event: Event) -> None:
        for fn in tuple(self._subscribers.values()):
            fn(event)
