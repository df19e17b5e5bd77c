"""Hooks that capture output: installed together, removed together, also in later modules."""

import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial

from repl_pair.records import Undo
from repl_pair.runtime.capture import (
    comms,
    descriptors,
    displays,
    figures,
    person_calls,
    streams,
    threads,
)
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.children import hook_children
from repl_pair.runtime.capture.late_imports import watch_late
from repl_pair.runtime.capture.settings import hold_settings
from repl_pair.runtime.ipython import kernel_shell, known_shells

redirect = descriptors.redirect
hold = hold_settings
close_comms = comms.close_comms


def install() -> None:
    """Install the hooks that are missing; also for new streams and newly imported modules."""
    with _lock:
        streams.hook_streams()
        if not _installed:
            _installed["loggers"] = list(streams.hook_loggers())
            _installed["threads"] = list(threads.hook_threads())
            _installed["processes"] = [*hook_children(), person_calls.hook_exit()]
        for shell in known_shells() or [None]:
            if (key := f"displays of {type(shell)}") not in _installed:
                calls = person_calls.hook_calls(shell)
                _installed[key] = [*displays.hook_displays(shell), *calls]
        for name in _LATE.keys() - _installed.keys() & sys.modules.keys():
            _hook_loaded(name)


def hook_prompts() -> None:
    """Hook `input` and `getpass` where they are not, at the begin of a run."""
    with _lock:
        if "prompts" not in _installed:
            places = person_calls.prompt_places(kernel_shell())
            _installed["prompts"] = [partial(person_calls.release_prompts, places)]
            person_calls.hook_prompts(places)


def release_prompts() -> None:
    """Remove the hooks of `input` and `getpass`, at the end of the last run."""
    with _lock:
        for undo in _installed.get("prompts", ()):
            undo()
        _installed.pop("prompts", None)


def uninstall() -> None:
    """Remove all hooks; where somebody has wrapped one, it stays and passes everything on."""
    with _lock:
        while _installed:
            _, undos = _installed.popitem()
            for undo in reversed(undos):
                undo()
        streams.unhook_streams()
        descriptors.close()


def watch_imports(captured: Captured) -> None:
    """Until the run ends, hook modules that are imported for the first time."""
    watch_late(frozenset(_LATE.keys() - _installed.keys()), _hook_loaded, captured)


_lock = threading.RLock()
_installed: dict[str, list[Undo]] = {}


def _hook_loaded(name: str) -> None:
    needed, hook = _LATE[name]
    with _lock:
        if name not in _installed and hasattr(sys.modules.get(name), needed):
            _installed[name] = [hook(name)]


_LATE: Mapping[str, tuple[str, Callable[[str], Undo]]] = {
    "matplotlib._pylab_helpers": ("Gcf", figures.hook_module),
    "matplotlib_inline.backend_inline": ("show", figures.hook_module),
    threads.POOLS: ("ThreadPoolExecutor", lambda _: threads.hook_pools()),
    displays.FUNCTIONS: ("display", displays.hook_functions),
    displays.PLOTLY: ("renderers", displays.hook_plotly),
    displays.PLOTLY_FIGURES: ("BaseFigure", displays.hook_plotly),
    comms.COMMS: ("BaseComm", lambda _: comms.hook_module()),
}
"""Modules that may be imported later: the name in each that its hook needs, and that hook."""
