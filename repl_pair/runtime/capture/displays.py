"""IPython's displays: what a run shows becomes its outputs, not those of a cell or its history."""

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any, cast

from repl_pair.records import Undo
from repl_pair.runtime.capture.bundles import draw, figure_of, mime_bundle
from repl_pair.runtime.capture.captured import Captured, current_capture
from repl_pair.runtime.capture.wrapping import for_run, replacement_of, wrap
from repl_pair.runtime.ipython import ipython_module


def hook_displays(shell: Any | None) -> Iterator[Undo]:
    """Hook what displays for a shell, and `sys.displayhook` if it is a plain function."""
    for hook in _hooks(shell):
        yield wrap(hook, "__call__", for_run(_display))
    if not isinstance(type(sys.displayhook).__call__, FunctionType):
        yield wrap(sys, "displayhook", for_run(_show))
    if shell is not None:
        yield wrap(cast("Any", type(shell.display_formatter)), "format", _note_value)
        publisher = cast("Any", type(shell.display_pub))
        for kind in {publisher} | _loaded("core.displaypub", "CapturingDisplayPublisher"):
            yield wrap(kind, "publish", for_run(_publish))
            yield wrap(kind, "clear_output", for_run(_clear))
        yield wrap(shell, "_showtraceback", for_run(_show_traceback))


def hook_functions(module: str) -> Undo:
    """Hook the functions by which IPython displays, unless there is a shell, whose hooks do.

    Whoever imported one holds the function itself: its code is replaced.
    """
    if _shell() is not None:
        return lambda: None
    functions = sys.modules[module]
    undos = [
        _take_over(function, _without_shell(take))
        for name, take in _TAKEN.items()
        if isinstance(function := getattr(functions, name), FunctionType)
        and not function.__closure__  # as that of a wrapper that somebody has set
    ]

    def undo() -> None:
        for one in undos:
            one()

    return undo


def _without_shell(take: Callable[..., Any]) -> Callable[..., Any]:
    def call(own: Callable[..., Any], *args: Any, **named: Any) -> Any:
        captured = current_capture()
        if captured is None or _shell() is not None:
            return own(*args, **named)
        return take(captured, None, *args, **named)

    return call


def hook_plotly(module: str) -> Undo:
    """Let plotly show without a shell what it does in a kernel: it prints, or opens a browser."""
    loaded = sys.modules[module]
    if module == PLOTLY_FIGURES:
        return wrap(loaded.BaseFigure, "_ipython_display_", _without_shell(_ask_plotly))
    renderers = cast("Any", type(loaded.renderers))
    if not all(hasattr(renderers, name) for name in ("_build_mime_bundle", _EXTERNAL)):
        return lambda: None  # a plotly that shows in another way
    return wrap(renderers, _EXTERNAL, _without_shell(_show_plotly))


def _take_over(function: Any, call: Callable[..., Any]) -> Undo:
    """Let a function run `call(own, …)`, whoever holds it; the undo keeps what others set since."""
    code, defaults, named = function.__code__, function.__defaults__, function.__kwdefaults__
    own = FunctionType(code, function.__globals__, function.__name__, defaults)
    own.__kwdefaults__ = named

    def stand_in(*args: Any, _repl_pair: Any = None, **named: Any) -> Any:
        return _repl_pair(*args, **named)

    # In this order a thread that calls it meanwhile finds what its code takes.
    function.__kwdefaults__ = {**(named or {}), "_repl_pair": replacement_of(own, call)}
    function.__code__, function.__wrapped__ = stand_in.__code__, own  # its signature stays

    def undo() -> None:
        if function.__code__ is stand_in.__code__:
            function.__code__, function.__kwdefaults__ = code, named
            del function.__wrapped__

    return undo


FUNCTIONS = "IPython.core.display_functions"
_EXTERNAL = "_perform_external_rendering"
PLOTLY, PLOTLY_FIGURES = "plotly.io._renderers", "plotly.basedatatypes"


def _hooks(shell: Any | None) -> set[Any]:
    """Return the classes of the display hooks that cells use, and of those between cells."""
    known: list[Any] = [sys.displayhook]
    if shell is not None:
        known += [shell.displayhook, shell.display_trap.old_hook]
    kinds = {cast("Any", type(hook)) for hook in known}
    own = {kind for kind in kinds if isinstance(kind.__call__, FunctionType)}
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
    shell = _shell()
    if shell is None:
        data = {"text/plain": repr(value), **mime_bundle(value)}
        captured.note_formatted(data, value)
    else:
        data = shell.display_formatter.format(value)[0]
    if data:  # else it has displayed itself
        captured.show(data)


def _shell() -> Any:
    """Return IPython's shell of this process, None where there is none."""
    cls = getattr(ipython_module("core.interactiveshell"), "InteractiveShell", None)
    return cls.instance() if cls is not None and cls.initialized() else None


def _display_objects(
    captured: Captured,
    _functions: Any,
    *values: Any,
    include: Any = None,
    exclude: Any = None,
    transient: dict[str, Any] | None = None,
    display_id: Any = None,
    raw: bool = False,
    clear: bool = False,
    update: bool = False,
    **_others: Any,
) -> Any:
    """Do what `display` does where there is a shell."""
    make = ipython_module("core.display_functions").DisplayHandle
    handle = make(None if display_id is True else display_id) if display_id else None
    id = handle.display_id if handle else (transient or {}).get("display_id")
    if update and id is None:
        raise TypeError("display_id required for update_display")
    if clear:
        captured.clear(wait=True)
    if not values and handle:
        values, raw = ({},), True
    formatter = ipython_module("core.formatters").DisplayFormatter()
    for value in values:
        chosen = {"include": include, "exclude": exclude}
        data = value if raw else _format(captured, formatter.format, value, **chosen)[0]
        if raw or data:  # else it has displayed itself
            captured.show(data, display_id=id, update=update)
    return handle


def _note_value(
    own: Callable[..., Any], formatter: Any, value: Any, *args: Any, **named: Any
) -> Any:
    captured, form = current_capture(), partial(own, formatter)
    if captured is None:
        return form(value, *args, **named)
    return _format(captured, form, value, *args, **named)


def _format(
    captured: Captured, form: Callable[..., Any], value: Any, *args: Any, **named: Any
) -> tuple[Any, Any]:
    """Format a value as IPython does; a figure has its image also before pyplot is imported."""
    data, about = form(value, *args, **named)
    is_whole = not any((*args, *named.values()))
    if is_whole and (figure := figure_of(value)) is not None and not any(map(_is_image, data)):
        data = {**data, **draw(figure)}
    captured.note_formatted(data, value)
    return data, about


def _is_image(kind: str) -> bool:
    return kind.startswith("image/")


def _publish(captured: Captured, _publisher: Any, *args: Any, **named: Any) -> None:
    transient: dict[str, Any] = named.get("transient") or {}
    captured.show(
        args[0] if args else named["data"],
        display_id=transient.get("display_id"),
        update=bool(named.get("update")),
    )


def _ask_plotly(_captured: Captured, _function: Any, figure: Any) -> None:
    figure.show()


def _show_plotly(
    captured: Captured, _function: Any, renderers: Any, figure: Any, **named: Any
) -> None:
    if not renderers._build_mime_bundle(figure, **named):  # else it was displayed
        captured.show(renderers["plotly_mimetype"].to_mimebundle(figure))


def _clear(captured: Captured, _publisher: Any, wait: bool = False) -> None:
    captured.clear(wait=wait)


def _show_traceback(captured: Captured, _kind: Any, _value: Any, lines: list[str]) -> None:
    captured.write("stderr", "\n".join(lines) + "\n")


_TAKEN: Mapping[str, Callable[..., Any]] = {
    "display": _display_objects,
    "publish_display_data": _publish,
    "clear_output": _clear,
}
"""What takes the place of functions of IPython where there is no shell."""
