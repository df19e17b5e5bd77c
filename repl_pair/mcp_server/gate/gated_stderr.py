"""Removes secrets by pattern from what this process writes to stderr."""

import logging
import sys
from typing import Any, TextIO, cast

from repl_pair.mcp_server.gate.byte_gate import scrub_text
from repl_pair.records import Undo

LOGGED = ("repl_pair", "mcp", "uvicorn")
"""Whose details are logged with --debug."""
HELD_CHARS = 65_536
"""How much of an unfinished line or private key is kept before it is scrubbed and written."""


class GatedText:
    """A text stream that scrubs and writes whole lines; a private key waits for its last line."""

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner
        self._held = ""

    def write(self, text: str) -> int:
        """Take a text and write its complete lines."""
        self._held += text
        _, begin, key = self._held.rpartition("-----BEGIN ")
        is_inside_key = begin and "PRIVATE KEY" in key and "-----END " not in key
        whole = self._held.endswith("\n") and not is_inside_key
        if whole or len(self._held) > HELD_CHARS:
            self.release()
        return len(text)

    def release(self) -> None:
        """Write what was kept, complete or not."""
        held, self._held = self._held, ""
        self._inner.write(scrub_text(held))
        self._inner.flush()

    def flush(self) -> None:
        """Do nothing: half a line could hold half a secret."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def gate_stderr(stderr: TextIO | None = None) -> Undo:
    """Scrub `sys.stderr` and the logs that go there, until the undo; `stderr` replaces it."""
    before = sys.stderr
    gated = GatedText(stderr or before)
    sys.stderr = cast("TextIO", gated)
    loggers = [logging.getLogger(), *map(logging.getLogger, logging.Logger.manager.loggerDict)]
    every: list[Any] = [handler for logger in loggers for handler in logger.handlers]
    handlers = [each for each in every if hasattr(each, "setStream") and each.stream is before]
    for handler in handlers:
        handler.setStream(gated)

    def undo() -> None:
        gated.release()
        if sys.stderr is gated:
            sys.stderr = before
        for handler in handlers:
            if handler.stream is gated:
                handler.setStream(before)

    return undo


def log_details() -> None:
    """Log what the server does, in detail, to `sys.stderr` as it is now."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name in LOGGED:
        logger = logging.getLogger(name)
        logger.setLevel(logging.DEBUG)
        logger.addHandler(handler)
        logger.propagate = False
