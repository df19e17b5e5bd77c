"""A connection to the server: one on which nothing moves ends, and there are not too many."""

import asyncio
from typing import NamedTuple, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

MAX_CONNECTIONS = 512
"""How many connections there are at once, so that files are left for the links to kernels."""
HEAD_S = 30.0
"""How long a connection is kept, at least, on which no request begins, or nothing is read of an
answer; at most twice that."""


class _Progress(NamedTuple):
    """The last request, if it is answered, and how many bytes wait for a client that reads none."""

    answered: object = None
    unread: int = 0


class Connection(H11Protocol):
    """A connection as uvicorn serves it, which waits for its client with a bound."""

    _checking: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection; one too many ends at once."""
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._check_later(_Progress())

    def connection_lost(self, exc: Exception | None) -> None:
        """Let go of the connection."""
        if self._checking is not None:
            self._checking.cancel()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no request, where nothing is answered yet; then nothing else is sent."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        if cycle is not None:
            cycle.disconnected = True
            cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.close()

    def _check_later(self, before: _Progress) -> None:
        self._checking = self.loop.call_later(HEAD_S, self._check, before)

    def _check(self, before: _Progress) -> None:
        """End the connection where it stands as it stood before, with nothing under way."""
        cycle = cast("RequestResponseCycle | None", self.cycle)
        is_answered = cycle is None or cycle.response_complete
        unread = self.transport.get_write_buffer_size() if self.flow.write_paused else 0
        if (is_answered and cycle is before.answered) or 0 < before.unread == unread:
            self.transport.abort()
        else:
            self._check_later(_Progress(cycle if is_answered else self, unread))
