"""IPython's displays: what a run shows becomes its outputs, not those of a cell or its history."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import current_capture, wrap
from repl_pair.runtime.ipython import ipython_module


def hook_displays(shell: Any | None) -> Iterator[Undo]:
    """Hook what displays for a shell, and `sys.displayhook` if it is a plain function."""
    for hook in _hooks(shell):
        yield wrap(hook, "__call__", _display)
    if not isinstance(type(sys.displayhook).__call__, _FUNCTION):
        yield wrap(sys, "displayhook", _plain_display)
    if shell is not None:
        for publisher in _publishers(shell):
            yield wrap(publisher, "publish", _publish)
            yield wrap(publisher, "clear_output", _clear)
        yield wrap(shell, "_showtraceback", _show_traceback)


_FUNCTION = type(hook_displays)


def _hooks(shell: Any | None) -> set[Any]:
    """Return the classes of the display hooks that cells use, and of those between cells."""
    known: list[Any] = [sys.displayhook]
    if shell is not None:
        known += [shell.displayhook, shell.display_trap.old_hook]
    kinds = {cast("Any", type(hook)) for hook in known}
    own = {kind for kind in kinds if isinstance(kind.__call__, _FUNCTION)}
    return own | _loaded("core.displayhook", "CapturingDisplayHook")


def _publishers(shell: Any) -> set[Any]:
    kind = cast("Any", type(shell.display_pub))
    return {kind} | _loaded("core.displaypub", "CapturingDisplayPublisher")


def _loaded(module: str, name: str) -> set[Any]:
    """Return the class that displays for a cell whose output the person captures."""
    kind = getattr(ipython_module(module), name, None)
    return set() if kind is None else {kind}


def _display(own: Callable[..., None]) -> Callable[..., None]:
    def display(hook: Any, *args: Any, **named: Any) -> None:
        if not _shown(*args):
            own(hook, *args, **named)

    return display


def _plain_display(own: Callable[..., None]) -> Callable[..., None]:
    def display(value: Any) -> None:
        if not _shown(value):
            own(value)

    return display


def _shown(value: Any = None) -> bool:
    """Give a displayed value to the run that displays it; False outside runs."""
    captured = current_capture()
    if captured is None:
        return False
    if value is not None:
        captured.show(_formatted(value))
    return True


def _formatted(value: Any) -> dict[str, Any]:
    shell = ipython_module("core.interactiveshell")
    if shell is None or not shell.InteractiveShell.initialized():
        return {"text/plain": repr(value)}
    formatter = shell.InteractiveShell.instance().display_formatter
    return cast("dict[str, Any]", formatter.format(value)[0])


def _publish(own: Callable[..., None]) -> Callable[..., None]:
    def publish(publisher: Any, *args: Any, **named: Any) -> None:
        captured = current_capture()
        if captured is None:
            own(publisher, *args, **named)
            return
        transient: dict[str, Any] = named.get("transient") or {}
        captured.show(
            args[0] if args else named["data"],
            display_id=transient.get("display_id"),
            update=bool(named.get("update")),
        )

    return publish


def _clear(own: Callable[..., None]) -> Callable[..., None]:
    def clear_output(publisher: Any, wait: bool = False) -> None:
        captured = current_capture()
        if captured is None:
            own(publisher, wait)
        else:
            captured.clear(wait=wait)

    return clear_output


def _show_traceback(own: Callable[..., None]) -> Callable[..., None]:
    def show_traceback(kind: Any, value: Any, lines: list[str]) -> None:
        captured = current_capture()
        if captured is None:
            own(kind, value, lines)
        else:
            captured.write("stderr", "\n".join(lines) + "\n")

    return show_traceback
