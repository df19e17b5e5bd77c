"""Standard streams and loggers: what a run writes or logs is its own, all else goes on as before.

IPython sets `stream.write` anew for each cell, to keep what a cell prints. So the stream gets a
class in which `write` is a door before whatever is set: what a run writes does not come that far.
A stream whose class cannot be exchanged, as of those written in C, gets a dispatcher as attribute,
and whoever sets `write` later is asked first.
"""

import logging
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import CodeType
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import current_capture, wrap

NAMES = ("stdout", "stderr", "__stdout__", "__stderr__")


def put_into_streams() -> None:
    """Put a door into each standard stream that has none now."""
    for name in NAMES:
        stream = getattr(sys, name)
        if stream is not None and not _has_door(stream):
            _put_into(stream, name.strip("_"))
            _in[id(stream)] = _reference(stream)


def take_out_of_streams() -> None:
    """Take the doors out; what somebody has set as `write` meanwhile stays."""
    while _in:
        _, known = _in.popitem()
        if (stream := known()) is not None:
            _take_out_of(stream)


def put_into_loggers() -> Undo:
    """Let the run that logs know of each record that a logger hands to its handlers."""
    return wrap(logging.Logger, "callHandlers", _call_handlers)


_in: dict[int, Callable[[], Any]] = {}
"""The streams that have a door, by id; one that the person made for a while is not kept alive."""


def _reference(stream: Any) -> Callable[[], Any]:
    key = id(stream)
    try:
        return weakref.ref(stream, lambda _gone: _in.pop(key, None))
    except TypeError:
        return lambda: stream


def _has_door(stream: Any) -> bool:
    return isinstance(_own_names(stream).get("write"), _Door) or _is_ours(_set_on(stream))


def _put_into(stream: Any, name: str) -> None:
    base = cast("Any", type(stream))
    body = {
        "__slots__": (),
        "__doc__": base.__doc__,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "write": _Door(name),
        "writelines": _write_lines,
    }
    try:
        stream.__class__ = type(base)(base.__name__, (base,), body)
    except TypeError:
        stream.write = partial(_pass_on, name, stream.write)


def _take_out_of(stream: Any) -> None:
    if isinstance(_own_names(stream).get("write"), _Door):
        stream.__class__ = _class_behind(type(stream))
    elif _is_ours(ours := _set_on(stream)):
        del stream.write
        if stream.write != ours.args[1]:
            stream.write = ours.args[1]


class _Door:
    """The attribute `write` of one stream: a run finds its own frame there, others what is set."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, stream: Any, owner: Any) -> Any:
        if stream is None:
            return _class_behind(owner).write
        captured = current_capture()
        if captured is not None and self._name in captured.writers:
            return captured.writers[self._name]
        standing: Any = _set_on(stream) or cast("Any", super(owner, stream)).write
        asker = sys._getframe(1).f_code  # pyright: ignore[reportPrivateUsage]  there is no public name for it
        if captured is None and asker.co_name == "_tee" and asker is _tee():
            # It sets this again when the cell ends, and the door may be gone by then.
            return standing
        return partial(_pass_on, self._name, standing)

    def __set__(self, stream: Any, value: Any) -> None:
        captured = current_capture()
        if captured is None:
            vars(stream)["write"] = value.args[1] if _is_ours(value) else value
        elif _is_ours(value):
            captured.writers.pop(self._name, None)
        else:
            captured.writers[self._name] = value

    def __delete__(self, stream: Any) -> None:
        captured = current_capture()
        names = cast("dict[str, Any]", vars(stream) if captured is None else captured.writers)
        name = "write" if captured is None else self._name
        if name not in names:
            raise AttributeError("write")
        del names[name]


def _pass_on(name: str, standing: Callable[..., Any], text: str, *args: Any, **named: Any) -> Any:
    captured = current_capture()
    return standing(text, *args, **named) if captured is None else captured.write(name, text)


def _write_lines(stream: Any, lines: Iterable[str]) -> None:
    if current_capture() is None:
        _class_behind(type(stream)).writelines(stream, lines)
        return
    for line in lines:
        stream.write(line)


def _own_names(stream: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", vars(cast("type[Any]", type(stream))))


def _class_behind(ours: Any) -> Any:
    return ours.__bases__[0]


def _is_ours(write: Any) -> bool:
    return isinstance(write, partial) and write.func is _pass_on


def _set_on(stream: Any) -> Any:
    """Return what stands as `write` in the stream itself, not in its class."""
    return getattr(stream, "__dict__", {}).get("write")


def _tee() -> CodeType | None:
    """Return the code in which IPython replaces `write` for a cell."""
    shell: Any = sys.modules.get("IPython.core.interactiveshell")
    tee = getattr(shell.InteractiveShell, "_tee", None) if shell else None
    return getattr(getattr(tee, "__wrapped__", None), "__code__", None)


def _call_handlers(own: Callable[..., None]) -> Callable[..., None]:
    def call_handlers(logger: logging.Logger, record: logging.LogRecord) -> None:
        captured = current_capture()
        if captured is not None:
            captured.note("logs", f"{record.levelname} {record.name}: {_message(record)}")
        own(logger, record)

    return call_handlers


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001  what does not fit its arguments is the handlers' to report
        return str(record.msg)
