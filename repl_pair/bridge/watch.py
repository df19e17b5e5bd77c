"""Events of a kernel, over its lives: hints that something changed, and when to read all again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from repl_pair.bridge.attach import Attachment
from repl_pair.bridge.line import Line, Lost
from repl_pair.bridge.link import EVERYTHING, OnEvent, Undo
from repl_pair.errors import KernelError
from repl_pair.wire import EVENT, Event

RETRY_S = 1.0


class Watch:
    """The subscribers of one link; listens to the kernel while there is at least one."""

    def __init__(self, attached: Callable[[], Awaitable[tuple[Line, Attachment]]]) -> None:
        self._attached = attached
        self._subscribers: list[OnEvent] = []
        self._following: asyncio.Task[None] | None = None
        self._boot = ""
        self._seq = 0

    def add(self, fn: OnEvent) -> Undo:
        """Call `fn` on the event loop with each event; give what ends that."""
        self._subscribers.append(fn)
        if self._following is None:
            self._following = asyncio.get_running_loop().create_task(self._follow())

        def remove() -> None:
            if fn in self._subscribers:
                self._subscribers.remove(fn)
            if not self._subscribers:
                self._stop()

        return remove

    async def close(self) -> None:
        """Let every subscriber go."""
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
                await line.listen(attachment.ident, EVENT, self._take)
            except (KernelError, Lost, TimeoutError):
                await asyncio.sleep(RETRY_S)
                continue
            self._boot = attachment.boot
            self._announce("subscribed")
            await line.lost.wait()
            self._announce("lost")

    def _take(self, content: Mapping[str, Any]) -> None:
        event = Event(**{f.name: content[f.name] for f in fields(Event) if f.name in content})
        expected = self._seq + 1 if event.boot == self._boot and self._seq else event.seq
        self._boot, self._seq = event.boot, event.seq
        if event.seq > expected:
            self._announce("missed")
        self._tell(event)

    def _announce(self, change: str) -> None:
        self._tell(Event(boot=self._boot, seq=self._seq, member=EVERYTHING, change=change))

    def _tell(self, event: Event) -> None:
        for fn in tuple(self._subscribers):
            fn(event)
