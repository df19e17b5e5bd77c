"""What a worker put out: a bounded end of it, without the secrets of the environment."""

import asyncio
import os

from repl_pair.runtime.secrets.egress import Limits, send_out
from repl_pair.runtime.secrets.known import NEEDLES
from repl_pair.runtime.secrets.learning import collect_environment
from repl_pair.runtime.secrets.needles import Needles

KEPT_BYTES = 16_384
_WHOLE = Limits(text=1 << 30)
_KEY_BEGIN, _KEY_END = "-----BEGIN ", "-----END "


def hide_secrets(text: str, needles: Needles = NEEDLES) -> str:
    """Return a text in which every known secret is replaced."""
    return str(send_out(text, limits=_WHOLE, needles=needles).value)


class Output(asyncio.Protocol):
    """Reads a pipe to its end and keeps the last `KEPT_BYTES` of it."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        self._kept = b""
        self._needles = Needles()
        # A worker has the environment that the server has now.
        collect_environment(os.environ, self._needles)

    def data_received(self, data: bytes) -> None:
        """Keep what was read, and drop what is too old."""
        self._kept = (self._kept + data)[-KEPT_BYTES:]

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that nothing writes to the pipe any more."""
        self.ended.set()

    def clear(self) -> None:
        """Drop all that was read."""
        self._kept = b""

    def tail(self, most: int) -> str:
        """Return the last whole lines, of at most `most` characters; of a longer line its end."""
        text = self._kept.decode(errors="replace")
        if len(self._kept) == KEPT_BYTES:
            text = _from_next_line(text)
        shown = hide_secrets(text, self._needles)
        if len(shown) <= most:
            return shown
        return _from_next_line(shown[-most:]) or f"…{shown[1 - most :]}"


def _from_next_line(text: str) -> str:
    """Return a text from where its first whole line begins, and not inside a private key."""
    _, _, rest = text.partition("\n")
    begin, end = rest.find(_KEY_BEGIN), rest.find(_KEY_END)
    if end >= 0 and not 0 <= begin < end:
        rest = rest[end:].partition("\n")[2]
    return rest or text.partition(" ")[2]
