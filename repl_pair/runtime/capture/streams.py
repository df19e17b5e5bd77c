"""Standard streams and loggers: what a run writes or logs goes to the run, all else as before.

IPython sets `stream.write` anew for each cell, to keep what a cell prints. So the stream gets a
class in which `write` is a descriptor that comes before whatever is set: output of a run does not
reach that. A stream whose class cannot be replaced, such as one written in C, gets a dispatcher as
attribute `write`; what sets `write` after that comes before the dispatcher. What a run closes,
detaches or reconfigures stays as it is.
"""

import logging
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial, partialmethod
from types import CodeType
from typing import Any, cast

from repl_pair.errors import text_of
from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import current_capture
from repl_pair.runtime.capture.setting_rows import HOOKED, STREAMS
from repl_pair.runtime.capture.wrapping import wrap
from repl_pair.runtime.ipython import ipython_module

NAMES = ("stdout", "stderr", "__stdout__", "__stderr__")


def hook_streams() -> None:
    """Hook each standard stream that is not hooked now."""
    for name in NAMES:
        stream = getattr(sys, name)
        if stream is None or _has_write_hook(stream) or _is_dispatcher(_set_on(stream)):
            continue
        _hook(stream, name.strip("_"))
        HOOKED[id(stream)] = _reference(stream)


def unhook_streams() -> None:
    """Remove the hooks; what somebody has set as `write` meanwhile stays."""
    while HOOKED:
        _, known = HOOKED.popitem()
        stream: Any = known()
        if stream is not None and _has_write_hook(stream):
            stream.__class__ = _class_behind(type(stream))
        elif stream is not None and _is_dispatcher(dispatcher := _set_on(stream)):
            del stream.write
            if stream.write != dispatcher.args[1]:
                stream.write = dispatcher.args[1]
        for owner, method in () if stream is None else _ends(stream):
            if getattr(_set_on(owner, method), "func", None) is _keep:
                delattr(owner, method)


def hook_loggers() -> Iterator[Undo]:
    """Note each log record in the run that logs it, before its logger's handlers get it.

    The root logger's handlers and level that a run sets end with it: `logging.warning` adds one.
    """
    yield wrap(logging.Logger, "callHandlers", _call_handlers)
    yield wrap(logging.Logger, "addHandler", _add_handler)
    yield wrap(logging.Logger, "setLevel", _set_level)


def _reference(stream: Any) -> Callable[[], Any]:
    key = id(stream)
    try:
        return weakref.ref(stream, lambda _gone: HOOKED.pop(key, None))
    except TypeError:
        return lambda: stream


def _hook(stream: Any, name: str) -> None:
    base = cast("Any", type(stream))
    body: dict[str, Any] = {
        "__slots__": (),
        "__doc__": base.__doc__,
        "__module__": base.__module__,
        "__qualname__": base.__qualname__,
        "write": _WriteHook(name),
        "writelines": _write_lines,
    }
    ends = _ends(stream)
    body |= {method: partialmethod(_keep, method) for owner, method in ends if owner is stream}
    try:
        stream.__class__ = type(base)(base.__name__, (base,), body)
    except TypeError:
        stream.write = partial(_pass_on, name, stream.write)
    else:
        ends = [(owner, method) for owner, method in ends if owner is not stream]
    for owner, method in ends:
        setattr(owner, method, partial(_keep, owner, method))


def _ends(stream: Any) -> list[tuple[Any, str]]:
    """Return the methods that end or change a stream, with what has them; of xeus-python's none."""
    buffer = None
    with suppress(AttributeError, ValueError):  # the person may have detached it
        buffer = stream.buffer if hasattr(stream.buffer, "__dict__") else None
    methods = [(stream, "close"), (stream, "detach"), (stream, "reconfigure"), (buffer, "close")]
    return [(owner, method) for owner, method in methods if hasattr(owner, method)]


class _WriteHook:
    """The attribute `write` of one stream: a run gets its capture, other code what is set."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, stream: Any, owner: Any) -> Any:
        if stream is None:
            return _class_behind(owner).write
        captured = current_capture()
        if captured is not None and self._name in captured.writers:
            return captured.writers[self._name]
        current: Any = _set_on(stream) or cast("Any", super(owner, stream)).write
        caller = sys._getframe(1).f_code  # pyright: ignore[reportPrivateUsage]  there is no public name for it
        if captured is None and caller.co_name == "_tee" and caller is _tee():
            # It sets this again when the cell ends; the hook may be removed by then.
            return current
        return partial(_pass_on, self._name, current)

    def __set__(self, stream: Any, value: Any) -> None:
        captured = current_capture()
        if captured is None:
            vars(stream)["write"] = value.args[1] if _is_dispatcher(value) else value
        elif _is_dispatcher(value):
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


def _pass_on(name: str, current: Callable[..., Any], text: str, *args: Any, **named: Any) -> Any:
    captured = current_capture()
    return current(text, *args, **named) if captured is None else captured.write(name, text)


def _write_lines(stream: Any, lines: Iterable[str]) -> None:
    if current_capture() is None:
        _class_behind(type(stream)).writelines(stream, lines)
        return
    for line in lines:
        stream.write(line)


def _keep(owner: Any, method: str, *args: Any, **named: Any) -> Any:
    """Close, detach or reconfigure what is the person's, unless a run does."""
    if (captured := current_capture()) is None:
        cls = cast("Any", type(owner))
        behind = _class_behind(cls) if _has_write_hook(owner) else cls
        return getattr(behind, method)(owner, *args, **named)
    captured.restored[STREAMS] = STREAMS
    return owner.buffer if method == "detach" else None


def _has_write_hook(stream: Any) -> bool:
    return isinstance(vars(cast("type[Any]", type(stream))).get("write"), _WriteHook)


def _class_behind(hooked: Any) -> Any:
    return hooked.__bases__[0]


def _is_dispatcher(write: Any) -> bool:
    return isinstance(write, partial) and write.func is _pass_on


def _set_on(stream: Any, name: str = "write") -> Any:
    """Return the method that is set on the stream itself, not on its class."""
    return getattr(stream, "__dict__", {}).get(name)


def _tee() -> CodeType | None:
    """Return the code object in which IPython replaces `write` for a cell."""
    shell = ipython_module("core.interactiveshell")
    tee = getattr(shell.InteractiveShell, "_tee", None) if shell else None
    return getattr(getattr(tee, "__wrapped__", None), "__code__", None)


def _add_handler(own: Callable[..., None], logger: Any, handler: Any) -> None:
    captured = current_capture()
    if captured is not None and logger is logging.root and handler not in logger.handlers:
        captured.at_end.append(partial(logger.removeHandler, handler))
    own(logger, handler)


def _set_level(own: Callable[..., None], logger: Any, level: Any) -> None:
    captured = current_capture()
    if captured is not None and logger is logging.root:
        captured.at_end.append(partial(own, logger, logger.level))
    own(logger, level)


def _call_handlers(
    own: Callable[..., None], logger: logging.Logger, record: logging.LogRecord
) -> None:
    captured = current_capture()
    if captured is not None:
        try:
            message = record.getMessage()
        except Exception:  # noqa: BLE001  what does not fit is for the handlers to report
            message = text_of(cast("Any", record.msg))
        captured.note("logs", f"{record.levelname} {record.name}: {message}")
    own(logger, record)
