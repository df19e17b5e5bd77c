"""Where a run's output is taken from: put in together, taken out together, late modules too."""

import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from repl_pair.records import Undo
from repl_pair.runtime.capture import descriptors, displays, streams, threads
from repl_pair.runtime.capture.captured import Captured
from repl_pair.runtime.capture.children import put_into_children
from repl_pair.runtime.ipython import interactive_shell

redirect = descriptors.redirect


def install() -> None:
    """Put in what is not in; streams that are new and modules that were loaded meanwhile, too."""
    with _lock:
        streams.put_into_streams()
        shell = interactive_shell()
        if not _in:
            _in["loggers"] = [streams.put_into_loggers()]
            _in["threads"] = list(threads.put_into_threads())
            _in["children"] = list(put_into_children())
        if (key := f"displays of {type(shell)}") not in _in:
            _in[key] = list(displays.put_into_displays(shell))
        for name in _LATE:
            _put_into_loaded(name)


def uninstall() -> None:
    """Take all out; what somebody has put over one of ours stays, and passes through it."""
    with _lock:
        while _in:
            _, undos = _in.popitem()
            for undo in reversed(undos):
                undo()
        streams.take_out_of_streams()
        descriptors.close()


def watch_imports(captured: Captured) -> None:
    """Until the run ends, put doors into the modules that somebody is the first to load."""
    missing = frozenset(name for name in _LATE if name not in _in)
    if missing:
        lookout = ImportHook(missing, _put_into_loaded)
        captured.at_end.append(lookout.uninstall)
        lookout.install()


_lock = threading.RLock()


_in: dict[str, list[Undo]] = {}


def _put_into_registry() -> Undo:
    from repl_pair.runtime.capture import figures  # only where there is matplotlib

    return figures.put_into_registry()


def _put_into_inline() -> Undo:
    from repl_pair.runtime.capture import figures  # only where there is matplotlib

    return figures.put_into_inline()


_LATE: dict[str, tuple[str, Callable[[], Undo]]] = {
    "matplotlib._pylab_helpers": ("Gcf", _put_into_registry),
    "matplotlib_inline.backend_inline": ("show", _put_into_inline),
    threads.POOLS: ("ThreadPoolExecutor", threads.put_into_pools),
}
"""Modules that may never be loaded, with the last name that we need of each."""


def _put_into_loaded(name: str) -> None:
    needed, put_into = _LATE[name]
    with _lock:
        if name not in _in and hasattr(sys.modules.get(name), needed):
            _in[name] = [put_into()]


class ImportHook:
    """A finder that finds nothing by itself; calls `arrived` when one of its modules is loaded.

    It comes and goes with a new `sys.meta_path`: a thread that goes through the old one skips none.
    """

    def __init__(self, names: frozenset[str], arrived: Callable[[str], None]) -> None:
        self._names = names
        self._arrived = arrived

    def install(self) -> None:
        """Be asked first for every module from now on."""
        sys.meta_path = [self, *sys.meta_path]

    def uninstall(self) -> None:
        """Be asked no more."""
        sys.meta_path = [finder for finder in sys.meta_path if finder is not self]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> Any:
        """Return what the others find; see to it that we know when it is loaded."""
        if name not in self._names:
            return None
        others = [finder for finder in sys.meta_path if not isinstance(finder, ImportHook)]
        found = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in found if spec is not None), None)
        loader: Any = None if spec is None else spec.loader
        # A loader that is a class serves other modules too.
        if loader is not None and not isinstance(loader, type):
            self._watch(loader, name)
        return spec

    def _watch(self, loader: Any, name: str) -> None:
        load = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            load(module)
            self._arrived(name)

        loader.exec_module = exec_module
