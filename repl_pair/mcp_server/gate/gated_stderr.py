"""Removes secrets by pattern from what this process writes to stderr."""

import logging
import sys
import threading
from typing import Any, TextIO, cast

from repl_pair.mcp_server.gate.byte_gate import scrub_text
from repl_pair.records import Undo

LOGGED = ("repl_pair", "mcp", "uvicorn")
"""Whose details are logged with --debug."""
HELD_CHARS = 65_536
"""How much of an unfinished line or private key is kept before it is scrubbed and written."""
LEFT_OUT = " [the rest of this line is left out]\n"


class GatedText:
    """A text stream that scrubs and writes whole lines; a private key waits for its last line.

    Of a line that comes in parts and has no end, half of what may be kept is written and the rest
    left out: a secret could stand across any place where it were cut.
    """

    def __init__(self, inner: TextIO) -> None:
        self._inner = inner
        self._held = ""
        self._is_leaving_out = False
        self._lock = threading.RLock()

    def write(self, text: str) -> int:
        """Take a text and write its complete lines."""
        with self._lock:
            if self._is_leaving_out:
                _, newline, rest = text.partition("\n")
                self._is_leaving_out = not newline
                self._take(rest)
            else:
                self._take(text)
        return len(text)

    def release(self) -> None:
        """Write what was kept, complete or not."""
        with self._lock:
            held, self._held = self._held, ""
            self._write(scrub_text(held))

    def _take(self, text: str) -> None:
        held = self._held + text
        _, begin, key = held.rpartition("-----BEGIN ")
        is_inside_key = bool(begin) and "PRIVATE KEY" in key and "-----END " not in key
        end = 0 if is_inside_key and len(held) <= HELD_CHARS else held.rfind("\n") + 1
        self._held = held[end:]
        if end:
            self._write(scrub_text(held[:end]))
        if len(self._held) > HELD_CHARS:
            self._is_leaving_out = True
            beginning, self._held = scrub_text(self._held)[: HELD_CHARS // 2], ""
            self._write(beginning + LEFT_OUT)

    def _write(self, text: str) -> None:
        self._inner.write(text)
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
