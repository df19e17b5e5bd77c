"""A turnstile as a state machine on asyncio: a coin opens it, and it locks again by itself."""

import asyncio
from enum import Enum
from types import TracebackType
from typing import Self


class State(Enum):
    """What the turnstile is."""

    LOCKED = "locked"
    OPEN = "open"
    BROKEN = "broken"


class Turnstile:
    """Opens for a coin; `patience_s` later it is locked again, unless somebody went through."""

    def __init__(self, price: int = 2, patience_s: float = 0.05) -> None:
        self.state = State.LOCKED
        self.paid = 0
        self.passed = 0
        self._price = price
        self._patience_s = patience_s
        self._closing: asyncio.Task[None] | None = None

    async def coin(self, value: int) -> State:
        """Take a coin; what is paid adds up while it is locked."""
        if self.state is State.BROKEN:
            raise RuntimeError("the turnstile is broken: it takes no coins")
        self.paid += value
        if self.state is State.LOCKED and self.paid >= self._price:
            self._open()
        return self.state

    async def push(self) -> State:
        """Go through, if it is open."""
        if self.state is State.OPEN:
            self.passed += 1
            self._lock()
        return self.state

    async def kick(self) -> State:
        """Break it."""
        self._lock()
        self.state = State.BROKEN
        return self.state

    async def settled(self) -> State:
        """Wait until it no longer changes by itself."""
        if self._closing is not None:
            await asyncio.gather(self._closing, return_exceptions=True)
        return self.state

    def _open(self) -> None:
        self.state, self.paid = State.OPEN, self.paid - self._price
        self._closing = asyncio.get_running_loop().create_task(self._close_later())

    async def _close_later(self) -> None:
        await asyncio.sleep(self._patience_s)
        self.state, self._closing = State.LOCKED, None

    def _lock(self) -> None:
        if self._closing is not None:
            self._closing.cancel()
        self.state, self._closing = State.LOCKED, None

    async def __aenter__(self) -> Self:
        """Return itself."""
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave no timer behind."""
        self._lock()
