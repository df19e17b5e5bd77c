"""Keeps the context of another thread equal to the one here, for the duration of one run."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar, Token, copy_context
from typing import Any

_UNSET: Any = object()

_Tokens = dict[ContextVar[Any], Token[Any]]


class ContextPair:
    """Two contexts, here and on another thread; values set in one are copied to the other.

    The context there stays the same object, so that a token made there can be reset there later.
    """

    def __init__(self) -> None:
        self._there = copy_context()
        self._set_there: _Tokens = {}
        self._set_here: _Tokens = {}

    def copy_there(self) -> Context:
        """Return the context there with the values from here; a new one if it is in use."""
        here = copy_context()
        try:
            self._there.run(_copy_values, here, self._set_there)
        except RuntimeError:
            # Code that could not be stopped still runs in it.
            self._there, self._set_there = here, {}
        return self._there

    def copy_back(self) -> None:
        """Copy the values from there."""
        _copy_values(self._there, self._set_here)


def _copy_values(values: Context, tokens: _Tokens) -> None:
    """Set the variables of this context as in another; reset those that it no longer has."""
    for variable, value in values.items():
        if variable.get(_UNSET) is not value:
            tokens.setdefault(variable, variable.set(value))
    for variable in [known for known in tokens if known not in values]:
        variable.reset(tokens.pop(variable))


_PAIR: ContextVar[ContextPair | None] = ContextVar("repl_pair_context_pair", default=None)


@contextmanager
def pair_contexts() -> Generator[None]:
    """Let everything that the block runs on another thread share one context there."""
    outer = _PAIR.get()
    _PAIR.set(ContextPair())
    try:
        yield
    finally:
        _PAIR.set(outer)


def current_pair() -> ContextPair:
    """Return the context pair of the current block, or a new one outside of any."""
    return _PAIR.get() or ContextPair()
