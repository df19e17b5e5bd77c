"""Events of a kernel, over its lives: hints that something changed, and when to read all again."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields
from typing import Any

from repl_pair.bridge.link.attach import Attachment
from repl_pair.bridge.link.line import Line, Lost
from repl_pair.bridge.link.link import EVERYTHING, OnEvent, Undo
from repl_pair.errors import KernelError
from repl_pair.wire import Event

RETRY_S = 1.0
PULSE_S = 5.0
"""How long no event may come before the kernel is asked whether there was none."""
SETTLE_S = 0.5
"""What an event gets to arrive after a reply told of its change."""


class Watch:
    """The subscribers of one link; listens to the kernel while there is at least one.

    `ask_seq` gives the kernel's count of changes, None where it does not answer. A kernel drops
    what a slow reader does not take, without a word: only that count tells.
    """

    def __init__(
        self,
        attached: Callable[[], Awaitable[tuple[Line, Attachment]]],
        ask_seq: Callable[[], Awaitable[int | None]],
    ) -> None:
        self._attached = attached
        self._ask_seq = ask_seq
        self._subscribers: list[OnEvent] = []
        self._following: asyncio.Task[None] | None = None
        self._boot = ""
        self._seq: int | None = None

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

    def expect(self, boot: str | None, seq: int) -> None:
        """Take from a reply how many changes there were; announces those that no event tells."""
        if self._is_behind(boot, seq):
            asyncio.get_running_loop().call_later(SETTLE_S, self._settle, boot, seq)

    def _settle(self, boot: str | None, seq: int) -> None:
        if self._is_behind(boot, seq):
            self._seq = seq
            self._announce("missed")

    def _is_behind(self, boot: str | None, seq: int) -> bool:
        known = self._following is not None and boot == self._boot
        return known and self._seq is not None and seq > self._seq

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
                self._boot, self._seq = attachment.boot, None
                end = await attachment.carrier.listen(self._take)
            except (KernelError, Lost, TimeoutError):
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
        """Wait for the end of a line, and ask now and then whether silence means no change."""
        while True:
            heard = self._seq
            try:
                async with asyncio.timeout(PULSE_S):
                    await line.lost.wait()
                    return
            except TimeoutError:
                if self._seq == heard:
                    self.expect(self._boot, await self._ask_seq() or 0)

    def _take(self, content: Mapping[str, Any]) -> None:
        event = Event(**{f.name: content[f.name] for f in fields(Event) if f.name in content})
        follows = event.boot == self._boot
        expected = event.seq if self._seq is None or not follows else self._seq + 1
        self._seq = max(self._seq or 0, event.seq) if follows else event.seq
        self._boot = event.boot
        if event.seq > expected:
            self._announce("missed")
        self._tell(event)

    def _announce(self, change: str) -> None:
        event = Event(boot=self._boot, seq=self._seq or 0, member=EVERYTHING, change=change)
        self._tell(event)

    def _tell(self, event: Event) -> None:
        for fn in tuple(self._subscribers):
            fn(event)
