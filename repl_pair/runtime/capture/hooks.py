"""Hooks that capture output: installed together, removed together, also in later modules."""

import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture import descriptors, displays, person_calls, streams, threads
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.children import hook_children
from repl_pair.runtime.ipython import interactive_shell

redirect = descriptors.redirect


def install() -> None:
    """Install the hooks that are missing; also for new streams and newly imported modules."""
    with _lock:
        streams.hook_streams()
        shell = interactive_shell()
        if not _installed:
            _installed["loggers"] = list(streams.hook_loggers())
            _installed["threads"] = list(threads.hook_threads())
            _installed["processes"] = [*hook_children(), person_calls.hook_exit()]
        if (key := f"displays of {type(shell)}") not in _installed:
            calls = person_calls.hook_calls(shell)
            _installed[key] = [*displays.hook_displays(shell), *calls]
        if "prompts" not in _installed:
            _installed["prompts"] = [person_calls.hook_prompts(shell)]
        for name in _LATE:
            _hook_loaded(name)


def release_prompts() -> None:
    """Remove the hooks of `input` and `getpass`, at the end of the last run."""
    with _lock:
        for undo in _installed.pop("prompts", ()):
            undo()


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
    """Until the run ends, hook modules that are imported for the first time.

    `sys.meta_path` is replaced by a new list: a thread that iterates over the old one skips none.
    """
    missing = frozenset(name for name in _LATE if name not in _installed)
    if not missing:
        return
    hook = _ImportHook(missing)

    def unhook() -> None:
        with _lock:
            sys.meta_path = [finder for finder in sys.meta_path if finder is not hook]

    captured.at_end.append(unhook)
    with _lock:
        sys.meta_path = [hook, *sys.meta_path]


_lock = threading.RLock()
_installed: dict[str, list[Undo]] = {}


_LATE = {
    "matplotlib._pylab_helpers": "Gcf",
    "matplotlib_inline.backend_inline": "show",
    threads.POOLS: "ThreadPoolExecutor",
}
"""Modules that may be imported later, with the name in each that its hook needs."""


def _hook_loaded(name: str) -> None:
    with _lock:
        if name in _installed or not hasattr(sys.modules.get(name), _LATE[name]):
            return
        if name == threads.POOLS:
            _installed[name] = [threads.hook_pools()]
        else:
            # Only kernels with matplotlib load it.
            from repl_pair.runtime.capture import figures

            _installed[name] = [figures.hook_module(name)]


class _ImportHook:
    """A meta path finder that finds nothing; hooks each of its modules once it is imported."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        """Return what the other finders find; its loader is wrapped to hook the module."""
        if name not in self._names:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, _ImportHook)]
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        loader: Any = None if spec is None else spec.loader
        # A loader that is a class serves other modules too.
        if loader is None or isinstance(loader, type):
            return spec
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            load(module)
            _hook_loaded(name)

        loader.exec_module = exec_module
        return spec
