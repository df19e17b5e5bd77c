"""Stubs over dotted names: calls of one context get the replacement, all others the original.

While a stub of a name is active, a dispatcher replaces the attribute. The end of the last stub
restores the attribute, unless other code has set it to something else meanwhile.
"""

import importlib
import inspect
import io
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from types import ModuleType
from typing import Any
from weakref import WeakValueDictionary

from repl_pair.errors import AuthoringError, did_you_mean
from repl_pair.runtime.running.dispatcher import Dispatcher, Frame, enter, forget_ended


def stub(name: str, replacement: Callable[..., Any]) -> "Stub":
    """Replace a function or method for what this context calls, until the `with` block ends.

    This context is the run with its tasks, `asyncio.to_thread` and the threads that it starts. Of
    several stubs the innermost counts, and inside a replacement the next one outwards. A method's
    replacement takes `self`, a class method's `cls`; a plain one may stand for a coroutine
    function. AuthoringError: `not_found` for an unknown name, `bad_body` for what is no function
    or cannot be set.
    """
    if not callable(replacement):
        raise AuthoringError(
            "bad_body",
            f"stub {name!r}: the replacement is a {type(replacement).__name__}, which cannot be "
            f"called. To answer with a value: stub({name!r}, lambda *_, **__: value).",
        )
    owner, attribute = _find(name)
    is_async = inspect.iscoroutinefunction(_function(name, owner, attribute))
    key = (id(owner), attribute)
    with _lock:
        place = _places.get(key)
        if place is None:
            place = _places[key] = _Place(name, owner, attribute)
    return Stub(place, replacement, is_async)


class Stub(io.IOBase):
    """A stub that is active from `__enter__` to the end of the block; it is entered once.

    The exit of IOBase is C and calls `close`, here a generator's and C too: no signal comes between
    the end of the block and the `finally` of `_hold`. A method in Python could be cut off before
    its first statement.
    """

    def __init__(self, place: "_Place", replacement: Callable[..., Any], is_async: bool) -> None:
        self._held = _hold(place, replacement, is_async)
        self._entered = False
        self.close = self._held.close

    def __enter__(self) -> Any:
        if self._entered:
            raise AuthoringError("bad_body", "A stub is entered once: make another.")
        self._entered = True
        try:
            return next(self._held)
        except BaseException:
            self.close()
            raise


def _hold(
    place: "_Place", replacement: Callable[..., Any], is_async: bool
) -> Generator[Callable[..., Any]]:
    """Keep a stub active from `next` to `close`; after a signal at any step it is removed too."""
    frame = Frame(place, replacement, is_async=is_async)
    try:
        place.put_in(frame)
        enter(frame)
        yield replacement
    finally:
        # Inline, since a call could be cut off before it did anything.
        frame.place = frame.replacement = None
        try:
            place.take_out(frame)
        except BaseException:
            place.take_out(frame)
            raise
        forget_ended()


_lock = threading.RLock()
"""Reentrant: a generator that is collected here and now may close its stub."""

_ABSENT: Any = object()


class _Place:
    """One attribute that is stubbed, or was when other code took a reference to its dispatcher."""

    def __init__(self, name: str, owner: Any, attribute: str) -> None:
        self.name = name
        self.owner = owner
        self.attribute = attribute
        self._own: Mapping[str, Any] = vars(owner)
        self._frames: set[Frame] = set()
        self._before: Any = _ABSENT
        self._entry: Any = None

    def put_in(self, frame: Frame) -> None:
        """Replace the attribute by a dispatcher; AuthoringError `bad_body` if it cannot be set."""
        with _lock:
            self._frames.add(frame)
            while (current := self._own.get(self.attribute, _ABSENT)) is not self._entry:
                self._before, self._entry = current, self._entry_over(current)
                try:
                    self._swap(current, self._entry)
                except (TypeError, AttributeError) as error:
                    raise _unsettable(self.name, str(error)) from error
                if self._own.get(self.attribute, _ABSENT) is current:
                    why = f"a {type(self.owner).__name__} does not store it in its own attributes"
                    raise _unsettable(self.name, why)

    def take_out(self, frame: Frame) -> None:
        """Restore the attribute if this was the last frame; may be called twice."""
        with _lock:
            self._frames.discard(frame)
            if not self._frames:
                self._swap(self._entry, self._before)

    def _entry_over(self, current: Any) -> Any:
        if isinstance(self.owner, type):
            raw = inspect.getattr_static(self.owner, self.attribute)
            made = Dispatcher(self, function := _inner(raw))
            return made if function is raw else type(raw)(made)
        inherited = current is _ABSENT
        return Dispatcher(self, getattr(self.owner, self.attribute) if inherited else current)

    def _swap(self, current: Any, other: Any) -> None:
        """Set the attribute to `other` if its value is `current`.

        No thread and no signal comes between a comparison and the call after it: the interpreter
        lets them in after calls only.
        """
        own, attribute = self._own, self.attribute
        if current is _ABSENT:
            if attribute not in own:
                setattr(self.owner, attribute, other)
        elif attribute not in own or own[attribute] is not current:
            return
        elif other is _ABSENT:
            delattr(self.owner, attribute)
        else:
            setattr(self.owner, attribute, other)


_places: WeakValueDictionary[tuple[int, str], _Place] = WeakValueDictionary()
"""Places by owner and attribute; a place keeps its owner, so no id comes twice."""


def _find(name: str) -> tuple[Any, str]:
    path, *steps = name.split(".")
    if not steps or not all([path, *steps]):
        raise AuthoringError(
            "not_found", f"stub {name!r}: a dotted name is module.function or module.Class.method."
        )
    owner = _module(name, path, sys.modules)
    for step in steps[:-1]:
        inner, found = f"{path}.{step}", getattr(owner, step, _ABSENT)
        if found is _ABSENT:
            found = _module(name, inner, [f"{path}.{known}" for known in dir(owner)])
        path, owner = inner, found
    return owner, steps[-1]


def _module(name: str, path: str, known: Iterable[str]) -> Any:
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        # What the module itself imports may be missing; that is another fault.
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise AuthoringError(
            "not_found", f"stub {name!r}: there is no {path}.{did_you_mean(path, known)}"
        ) from error


def _function(name: str, owner: Any, attribute: str) -> Any:
    """Return the function behind a name; AuthoringError for what cannot be stubbed."""
    raw: Any = inspect.getattr_static(owner, attribute, _ABSENT)
    if raw is _ABSENT and (raw := getattr(owner, attribute, _ABSENT)) is _ABSENT:
        path = name.rpartition(".")[0]
        near = did_you_mean(name, [f"{path}.{known}" for known in dir(owner)])
        raise AuthoringError("not_found", f"stub {name!r}: {path} has no {attribute!r}.{near}")
    function = _inner(raw)
    if _is_own(owner) or _is_own(function):
        raise AuthoringError("bad_body", f"stub {name!r}: repl_pair itself is not stubbed.")
    if not (callable(function) and inspect.isroutine(function)):
        raise AuthoringError("bad_body", f"stub {name!r}: it is {_why_not_stubbed(function)}")
    if not hasattr(owner, "__dict__"):
        raise _unsettable(name, f"a {type(owner).__name__} takes no attributes")
    if attribute == "__new__":
        raise _unsettable(name, "Python cannot restore it on a class")
    return function


def _inner(raw: Any) -> Any:
    return raw.__func__ if type(raw) in (staticmethod, classmethod) else raw


def _is_own(value: Any) -> bool:
    of = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return f"{of}.".startswith("repl_pair.")


def _why_not_stubbed(value: Any) -> str:
    only = "Only functions and methods are stubbed:"
    if isinstance(value, type):
        return f"a class. {only} stub one of its methods, or the function that makes it."
    if isinstance(value, property):
        return f"a property. {only} stub a function that it calls."
    return (
        f"a {type(value).__name__}. {only} use it in a function of your own and stub that, or let "
        "the component take it as an argument."
    )


def _unsettable(name: str, why: str) -> AuthoringError:
    return AuthoringError(
        "bad_body",
        f"stub {name!r}: it cannot be set ({why}). "
        "Call it in a function of your own and stub that.",
    )
