"""IPython's displays: what a run shows becomes its outputs, not those of a cell or its history."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.captured import Captured, current_capture
from repl_pair.runtime.capture.wrapping import for_run, wrap
from repl_pair.runtime.ipython import ipython_module


def hook_displays(shell: Any | None) -> Iterator[Undo]:
    """Hook what displays for a shell, and `sys.displayhook` if it is a plain function."""
    for hook in _hooks(shell):
        yield wrap(hook, "__call__", for_run(_display))
    if not isinstance(type(sys.displayhook).__call__, _FUNCTION):
        yield wrap(sys, "displayhook", for_run(_show))
    if shell is not None:
        yield wrap(cast("Any", type(shell.display_formatter)), "format", _note_value)
        publisher = cast("Any", type(shell.display_pub))
        for kind in {publisher} | _loaded("core.displaypub", "CapturingDisplayPublisher"):
            yield wrap(kind, "publish", for_run(_publish))
            yield wrap(kind, "clear_output", for_run(_clear))
        yield wrap(shell, "_showtraceback", for_run(_show_traceback))


def hook_print(module: str) -> Undo:
    """Hook the `print` by which IPython's `display` shows objects where there is no shell.

    Whoever imported `display` holds the function itself; what it calls is found in its module.
    """
    functions = sys.modules[module]
    functions.__dict__.setdefault("print", print)
    unwrap = wrap(functions, "print", for_run(_print))

    def undo() -> None:
        unwrap()
        if vars(functions).get("print") is print:
            del functions.__dict__["print"]

    return undo


FUNCTIONS = "IPython.core.display_functions"
_FUNCTION = type(hook_displays)


def _hooks(shell: Any | None) -> set[Any]:
    """Return the classes of the display hooks that cells use, and of those between cells."""
    known: list[Any] = [sys.displayhook]
    if shell is not None:
        known += [shell.displayhook, shell.display_trap.old_hook]
    kinds = {cast("Any", type(hook)) for hook in known}
    own = {kind for kind in kinds if isinstance(kind.__call__, _FUNCTION)}
    return own | _loaded("core.displayhook", "CapturingDisplayHook")


def _loaded(module: str, name: str) -> set[Any]:
    """Return the class that displays for a cell whose output the person captures."""
    kind = getattr(ipython_module(module), name, None)
    return set() if kind is None else {kind}


def _display(captured: Captured, _hook: Any, result: Any = None) -> None:
    _show(captured, result)


def _show(captured: Captured, value: Any) -> None:
    if value is None:
        return
    shell = ipython_module("core.interactiveshell")
    if shell is None or not shell.InteractiveShell.initialized():
        data = {"text/plain": repr(value)}
        captured.note_formatted(data, value)
        captured.show(data)
    else:
        formatter = shell.InteractiveShell.instance().display_formatter
        captured.show(formatter.format(value)[0])


def _print(captured: Captured, *values: Any, **ends: str) -> None:
    if ends:  # an escape sequence that clears the line of a terminal
        return captured.clear()
    formatter = ipython_module("core.formatters").DisplayFormatter()
    for value in values:
        if data := formatter.format(value)[0]:  # else it has displayed itself
            captured.note_formatted(data, value)
            captured.show(data)
    return None


def _note_value(
    own: Callable[..., Any], formatter: Any, value: Any, *args: Any, **named: Any
) -> Any:
    found = own(formatter, value, *args, **named)
    if captured := current_capture():
        captured.note_formatted(found[0], value)
    return found


def _publish(captured: Captured, _publisher: Any, *args: Any, **named: Any) -> None:
    transient: dict[str, Any] = named.get("transient") or {}
    captured.show(
        args[0] if args else named["data"],
        display_id=transient.get("display_id"),
        update=bool(named.get("update")),
    )


def _clear(captured: Captured, _publisher: Any, wait: bool = False) -> None:
    captured.clear(wait=wait)


def _show_traceback(captured: Captured, _kind: Any, _value: Any, lines: list[str]) -> None:
    captured.write("stderr", "\n".join(lines) + "\n")
