"""IPython's displays: what a run shows becomes its outputs, and no cell's, nor its history's."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import current_capture, wrap


def put_into_displays(shell: Any | None) -> Iterator[Undo]:
    """Put dispatchers into what displays for a shell, and into `sys.displayhook` if it is plain."""
    for hook in _hooks(shell):
        yield wrap(hook, "__call__", _display)
    if not isinstance(type(sys.displayhook).__call__, _FUNCTION):
        yield wrap(sys, "displayhook", _plain_display)
    if shell is not None:
        for publisher in _publishers(shell):
            yield wrap(publisher, "publish", _publish)
            yield wrap(publisher, "clear_output", _clear)
        yield wrap(shell, "_showtraceback", _show_traceback)


_FUNCTION = type(put_into_displays)


def _hooks(shell: Any | None) -> set[Any]:
    """Return the classes of the hooks that cells have, and what runs between them."""
    known: list[Any] = [sys.displayhook]
    if shell is not None:
        known += [shell.displayhook, shell.display_trap.old_hook]
    kinds = {cast("Any", type(hook)) for hook in known}
    own = {kind for kind in kinds if isinstance(kind.__call__, _FUNCTION)}
    return own | _loaded("IPython.core.displayhook", "CapturingDisplayHook")


def _publishers(shell: Any) -> set[Any]:
    kind = cast("Any", type(shell.display_pub))
    return {kind} | _loaded("IPython.core.displaypub", "CapturingDisplayPublisher")


def _loaded(module: str, name: str) -> set[Any]:
    """Return the class that stands in for a cell whose output is captured by its person."""
    found = getattr(sys.modules.get(module), name, None)
    return set() if found is None else {found}


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
    """Take a value for the run that displays it; False where it is nobody's."""
    captured = current_capture()
    if captured is None:
        return False
    if value is not None:
        captured.show(_formatted(value))
    return True


def _formatted(value: Any) -> dict[str, Any]:
    shell: Any = sys.modules.get("IPython.core.interactiveshell")
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
