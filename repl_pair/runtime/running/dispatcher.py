"""The replacement of a function that is stubbed: the caller's context decides what is called."""

import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pkgutil import resolve_name
from types import MethodType
from typing import Any

from repl_pair.runtime.planning.targets import INSIDE


class Frame:
    """One active stub; `place` is None once it ended, which other contexts may see later."""

    __slots__ = ("is_async", "place", "replacement")

    def __init__(self, place: object, replacement: Callable[..., Any], *, is_async: bool) -> None:
        self.place: object | None = place
        self.replacement: Callable[..., Any] | None = replacement
        self.is_async = is_async

    def answer(self, replacement: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the replacement; inside of it the name means the next stub outwards."""
        frames = _frames()
        try:
            _FRAMES.set(tuple([frame for frame in frames if frame is not self]))
            return replacement(*args, **kwargs)
        finally:
            _FRAMES.set(frames)

    async def answer_later(self, replacement: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the replacement of a coroutine function, which may be a plain function."""
        frames = _frames()
        try:
            _FRAMES.set(tuple([frame for frame in frames if frame is not self]))
            value = replacement(*args, **kwargs)
            return await value if hasattr(value, "__await__") else value
        finally:
            _FRAMES.set(frames)


_FRAMES: ContextVar[tuple[Frame, ...]] = ContextVar("repl_pair_stubs", default=())
"""The stubs of a context, innermost first; some of them may have ended. Threads inherit it."""

_frames = _FRAMES.get
_caller = sys._getframe  # pyright: ignore[reportPrivateUsage]  there is no public name for it


def enter(frame: Frame) -> None:
    """Make a frame the innermost of this context."""
    _FRAMES.set((frame, *_live()))


def forget_ended() -> None:
    """Remove the frames that ended from this context."""
    _FRAMES.set(_live())


def _live() -> tuple[Frame, ...]:
    return tuple([frame for frame in _frames() if frame.place is not None])


class Dispatcher:
    """Replaces a function, and looks like it down to its class and attributes.

    A reference to it that other code keeps behaves like the name: it calls the original, and the
    stub in a context that stubs the name again. Calls by repl_pair itself go to the original.
    """

    __slots__ = ("__weakref__", "_repl_pair_original", "_repl_pair_place")
    _repl_pair_original: Any
    _repl_pair_place: object

    def __init__(self, place: object, original: Any) -> None:
        object.__setattr__(self, "_repl_pair_place", place)
        object.__setattr__(self, "_repl_pair_original", original)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the innermost stub of this context, else the original."""
        for frame in _frames():
            # Read first: on another thread the frame may end at any moment.
            replacement = frame.replacement
            if (
                frame.place is self._repl_pair_place
                and replacement is not None
                and not _is_own(_caller(1).f_globals)
            ):
                if frame.is_async:
                    return frame.answer_later(replacement, args, kwargs)
                return frame.answer(replacement, args, kwargs)
        return self._repl_pair_original(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind as the original does: functions do, builtins and bound methods do not."""
        original: object = self._repl_pair_original
        bind: Any = getattr(type(original), "__get__", None)
        bound = original if bind is None else bind(original, instance, owner)
        return self if bound is original else MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._repl_pair_original, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._repl_pair_original, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._repl_pair_original, name)

    def __eq__(self, other: object) -> bool:
        return self._repl_pair_original == other

    def __hash__(self) -> int:
        return hash(self._repl_pair_original)

    def __repr__(self) -> str:
        return repr(self._repl_pair_original)

    def __dir__(self) -> list[str]:
        return dir(self._repl_pair_original)

    def __reduce__(self) -> tuple[Any, ...]:
        return resolve_name, (f"{self.__module__}:{self.__qualname__}",)

    # Attributes that every class gives its instances, for which `__getattr__` is not called.
    __annotations__ = property(lambda self: self._repl_pair_original.__annotations__)  # type: ignore[assignment]
    __class__ = property(lambda self: self._repl_pair_original.__class__)  # type: ignore[assignment]
    __dict__ = property(lambda self: self._repl_pair_original.__dict__)  # type: ignore[assignment]
    __doc__ = property(lambda self: self._repl_pair_original.__doc__)  # type: ignore[assignment]
    __module__ = property(lambda self: self._repl_pair_original.__module__)  # type: ignore[assignment]


INSIDE[id(Dispatcher)] = "_repl_pair_original"

_RUNS_CALLS = "repl_pair.runtime.capture.threads"
"""The module that calls what a run gave to a thread or pool."""


def _is_own(space: Mapping[str, Any]) -> bool:
    caller = str(space.get("__name__"))
    return caller.startswith("repl_pair.runtime.") and caller != _RUNS_CALLS
