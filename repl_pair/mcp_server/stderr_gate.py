"""What the server writes to stderr, scrubbed: hosts keep it, and tracebacks hold values."""

import logging
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO, cast

from repl_pair.mcp_server.byte_gate import scrub_text

HELD_CHARS = 65_536
"""How much of an unfinished line or private key is held back before it is scrubbed as it is."""


class GatedText:
    """A text stream that writes whole lines, scrubbed; a private key waits for its last line."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner
        self._held = ""

    def write(self, text: str) -> int:
        """Take a text; write what is complete of it."""
        self._held += text
        whole = self._held.endswith("\n") and not _is_inside_key(self._held)
        if whole or len(self._held) > HELD_CHARS:
            self.release()
        return len(text)

    def release(self) -> None:
        """Write what is held back, complete or not."""
        held, self._held = self._held, ""
        self._inner.write(scrub_text(held))
        self._inner.flush()

    def flush(self) -> None:
        """Do nothing: half a line could be half a secret."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _is_inside_key(text: str) -> bool:
    begin = text.rfind("-----BEGIN ")
    return begin >= 0 and "PRIVATE KEY" in text[begin:] and "-----END " not in text[begin:]


def install(stderr: TextIO | None = None) -> Callable[[], None]:
    """Put a gate before `sys.stderr`, or `stderr` in its place, logs included; gives the undo."""
    before = sys.stderr
    gated = GatedText(stderr or before)
    sys.stderr = cast("TextIO", gated)
    handlers = [handler for handler in _stream_handlers() if handler.stream is before]
    for handler in handlers:
        handler.setStream(gated)

    def undo() -> None:
        gated.release()
        sys.stderr = before
        for handler in handlers:
            handler.setStream(before)

    return undo


def _stream_handlers() -> Iterator[Any]:
    named = [logging.getLogger(name) for name in logging.Logger.manager.loggerDict]
    for logger in (logging.getLogger(), *named):
        for handler in logger.handlers:
            if isinstance(handler, logging.StreamHandler):
                yield handler
