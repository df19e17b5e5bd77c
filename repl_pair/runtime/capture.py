"""What a run prints, logs, displays and warns goes to its own frame and to nobody else's output."""

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, cast

from repl_pair.runtime.origin import interactive_shell

Undo = Callable[[], None]

LIMIT_CHARS = 1_000_000
"""What one run may print; the rest is counted, not kept."""


@dataclass(kw_only=True, eq=False, repr=False)
class Captured:
    """What one run has put out so far; `warnings` is None where they could not be recorded."""

    stdout: list[str] = field(default_factory=list[str])
    stderr: list[str] = field(default_factory=list[str])
    logs: list[str] = field(default_factory=list[str])
    warnings: list[str] | None = None
    outputs: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    room: int = LIMIT_CHARS
    dropped: int = 0

    def write(self, stream: list[str], text: str) -> int:
        """Take what fits and count the rest, as a stream's write does."""
        kept = text[: self.room]
        self.room -= len(kept)
        self.dropped += len(text) - len(kept)
        stream.append(kept)
        return len(text)

    def text(self, stream: list[str]) -> str:
        """Give a stream's text, with a last line that says how much was dropped."""
        note = f"\n[{self.dropped} more characters were not kept]" if self.dropped else ""
        return "".join(stream) + (note if stream else "")


CAPTURED: ContextVar[Captured | None] = ContextVar("repl_pair_captured", default=None)

_one_recorder = threading.Lock()


@contextmanager
def capture(*, exclusive: bool) -> Generator[Captured]:
    """Collect what this context puts out.

    Warnings need the process-wide filters, so they are recorded only where the run has the main
    lane to itself (`exclusive`) and no other run records them now.
    """
    captured = Captured()
    put_in()
    token = CAPTURED.set(captured)
    try:
        if exclusive and _one_recorder.acquire(blocking=False):
            try:
                with _recorded_warnings(captured), _displayhook(captured):
                    yield captured
            finally:
                _one_recorder.release()
        else:
            yield captured
    finally:
        CAPTURED.reset(token)


def put_in() -> None:
    """Put the dispatchers into the streams, the display and logging, where they are not yet."""
    _wrap(sys.stdout, "write", lambda own: _stream_write(own, "stdout"))
    _wrap(sys.stderr, "write", lambda own: _stream_write(own, "stderr"))
    _wrap(logging.Logger, "callHandlers", _call_handlers)
    shell = interactive_shell()
    if shell is not None:
        _wrap(shell.display_pub, "publish", _publish)


def take_out() -> None:
    """Take every dispatcher out again."""
    while _PUT_IN:
        _PUT_IN.pop()()


_PUT_IN: list[Undo] = []


def _wrap(owner: Any, name: str, dispatcher: Callable[[Any], Any]) -> None:
    own = getattr(owner, name)
    if getattr(own, "_repl_pair", False):
        return
    wrapped = dispatcher(own)
    wrapped._repl_pair = True
    own_names = cast("dict[str, Any]", vars(owner))
    stood_there = name in own_names
    setattr(owner, name, wrapped)

    def undo() -> None:
        if own_names.get(name) is not wrapped:
            return
        if stood_there:
            setattr(owner, name, own)
        else:
            delattr(owner, name)

    _PUT_IN.append(undo)


def _stream_write(own: Callable[[str], int], name: str) -> Callable[[str], int]:
    def write(text: str) -> int:
        captured = CAPTURED.get()
        return own(text) if captured is None else captured.write(getattr(captured, name), text)

    return write


def _call_handlers(own: Callable[..., None]) -> Callable[..., None]:
    def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
        captured = CAPTURED.get()
        if captured is not None:
            captured.logs.append(f"{record.levelname} {record.name}: {record.getMessage()}")
        own(logger, record)

    return call_handlers


def _publish(own: Callable[..., None]) -> Callable[..., None]:
    def publish(data: dict[str, Any], *args: Any, **kwargs: Any) -> None:
        captured = CAPTURED.get()
        if captured is None:
            own(data, *args, **kwargs)
        else:
            captured.outputs.append(dict(data))

    return publish


@contextmanager
def _displayhook(captured: Captured) -> Generator[None]:
    own = sys.displayhook

    def display(value: Any) -> None:
        if CAPTURED.get() is not captured:
            own(value)
        elif value is not None:
            captured.outputs.append({"text/plain": repr(value)})

    sys.displayhook = display
    try:
        yield
    finally:
        if sys.displayhook is display:
            sys.displayhook = own


@contextmanager
def _recorded_warnings(captured: Captured) -> Generator[None]:
    recorded = captured.warnings = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        show = warnings.showwarning

        def show_or_record(message: Any, category: Any, *args: Any, **kwargs: Any) -> None:
            if CAPTURED.get() is captured:
                recorded.append(f"{category.__name__}: {message}")
            else:
                show(message, category, *args, **kwargs)

        warnings.showwarning = show_or_record
        yield
