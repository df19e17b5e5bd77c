"""Who causes what changes here: the agent whose call runs, else the person."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from repl_pair.wire import PERSON

_CAUSE = ContextVar("who causes what changes", default=PERSON)


def current_cause() -> str:
    """Return the principal whose call runs here; the person where none does."""
    return _CAUSE.get()


@contextmanager
def caused_by(principal: str) -> Generator[None]:
    """Let what changes in the block be caused by a principal."""
    token = _CAUSE.set(principal)
    try:
        yield
    finally:
        _CAUSE.reset(token)
