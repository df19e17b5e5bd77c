"""A context on another thread that keeps pace with the one here, as long as one run lasts."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, Token, copy_context
from typing import Any

_UNSET: Any = object()

_Tokens = dict[ContextVar[Any], Token[Any]]


class ContextPair:
    """Two contexts, here and there, of which each gets what was set in the other.

    What runs there runs in one and the same context each time, so that a token made there can be
    reset there later.
    """

    def __init__(self) -> None:
        self._there = copy_context()
        self._set_there: _Tokens = {}
        self._set_here: _Tokens = {}

    def copy_there(self) -> Context:
        """Return the context there, with the values from here; not while something runs in it."""
        here = copy_context()
        try:
            self._there.run(_assume, here, self._set_there)
        except RuntimeError:
            # Something that could not be stopped is still in it.
            self._there, self._set_there = here, {}
        return self._there

    def copy_back(self) -> None:
        """Take the values from there."""
        _assume(self._there, self._set_here)


def _assume(values: Context, tokens: _Tokens) -> None:
    """Set the variables of this context as they are in another; what was set so before ends."""
    for variable, value in values.items():
        if variable.get(_UNSET) is not value:
            tokens.setdefault(variable, variable.set(value))
    for variable in [known for known in tokens if known not in values]:
        variable.reset(tokens.pop(variable))


_PAIR: ContextVar[ContextPair | None] = ContextVar("repl_pair_context_pair", default=None)


@contextmanager
def pair_contexts() -> Generator[None]:
    """Let all that this block sends to another thread share one context there."""
    outer = _PAIR.get()
    _PAIR.set(ContextPair())
    try:
        yield
    finally:
        _PAIR.set(outer)


def current_pair() -> ContextPair:
    """Return the twin of the block that runs here, or one for once."""
    return _PAIR.get() or ContextPair()
