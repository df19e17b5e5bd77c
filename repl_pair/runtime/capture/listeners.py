"""Listeners that get the live objects which a run's record only describes."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(kw_only=True, eq=False, repr=False)
class RunListener:
    """What the runs of a block raised, in order, and the warnings that they gave.

    `warned` holds the arguments of `warnings.showwarning`.
    """

    raised: list[BaseException] = field(default_factory=list[BaseException])
    warned: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])


@contextmanager
def listen_to_runs() -> Generator[RunListener]:
    """Listen to the runs that this context begins during the block."""
    listener = RunListener()
    token = _LISTENER.set(listener)
    try:
        yield listener
    finally:
        _LISTENER.reset(token)


def report_raised(error: BaseException) -> None:
    """Report what a phase of a run raised."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.raised.append(error)


def report_warning(*warning: Any) -> None:
    """Report a warning that a run gave."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.warned.append(warning)


_LISTENER: ContextVar[RunListener | None] = ContextVar("repl_pair_listener", default=None)
